#!/bin/bash
# nsprof report --format html: the page holds the contents of the profile, names stay text whatever
# they contain, the page loads nothing from the network, and it works in Chromium.
# beside others
# timeout: 300
. "$(dirname "$0")/../../lib.sh"
need_cmd python3
TOOLS=$TOP/tests/tools
cd "$T" || exit 1

page() { "$NSPROF" report -q --format html "$@"; }
sums() { awk '{ n = $NF; sub(/ [0-9]+$/, ""); gsub(/_\[joined\]/, ""); s[$0] += n } END { for (k in s) print k, s[k] }' "$@" | LC_ALL=C sort; }

python3 "$TOOLS/shop.py" profile >shop.profile
check "a page of a saved profile" page shop.profile -o shop.html --title 'a <b> & "c" </script>'
is "it holds each thread's stacks" "$(python3 "$TOOLS/unpage.py" shop.html)" "$(python3 "$TOOLS/unprofile.py" shop.profile samples)"
page shop.profile --weight period -o period.html
is "or their periods" "$(python3 "$TOOLS/unpage.py" period.html)" "$(python3 "$TOOLS/unprofile.py" shop.profile period)"
check "the same input gives the same bytes" cmp shop.html <(page shop.profile --title 'a <b> & "c" </script>')
unlike "no address of a network is in it" "$(cat shop.html)" '(https?:)?//[a-zA-Z0-9]+\.|@import|url\('
like "and the browser may not ask for any" "$(cat shop.html)" "Content-Security-Policy.*default-src 'none'"
check_rc "a full disk is noticed" 1 page shop.profile -o /dev/full
head -c 12000 shop.profile >cut.profile
check_rc "of a cut profile, what there is" 1 page cut.profile -o cut.html
like "and it says so" "$(cat cut.html)" '"cut":true'

# Folded text of any tool, with and without joined frames.
printf 'a;b;c_[k] 3\na;b 2\na;x;c_[k]_[joined] 5\na;x;c_[k] 1\nb;j_[j] 7\n' >a.folded
page a.folded -o a.html
is "folded text" "$(python3 "$TOOLS/unpage.py" a.html | sed 's/^[^;]*;//')" "$(sums a.folded)"
# Names that could end a script, a comment or a string, and names with every byte.
python3 - >bytes.folded <<'PY'
import sys
names = [b'x%sy' % bytes([b]) for b in range(1, 256) if b not in b';\n'] + [b'</script><img src=x onerror=alert(1)>', b'<!-- <script>', b']]>', b'\\',
         b'"', b"'", '\u2028\u2029'.encode(), b'\xed\xa0\x80', b'\xff\xfe', b'&lt', b'__proto__', b'constructor', '\U0001f525'.encode()]
for i, n in enumerate(names):
    sys.stdout.buffer.write(b'main;%d;%s 3\n' % (i, n))
PY
page bytes.folded -o bytes.html --title "$(printf 'x\001\377y</title>')"
check "names of any bytes stay names" python3 - "$TOOLS" <<'PY'
import sys
sys.path.insert(0, sys.argv[1])
import json, names, unpage
text = open('bytes.html', encoding='utf-8', newline='\n').read()
page = unpage.Page(text)
plain = unpage.Page(open('a.html', encoding='utf-8').read())
assert page.tags == plain.tags, 'other elements than in a plain page'
data = page.scripts[0][1]
assert not set('<>&\u2028\u2029') & set(data)
stacks = unpage.folded(json.loads(data), 0)
want = sorted(names.escape(l.split(b';', 1)[1], text=True) for l in open('bytes.folded', 'rb').read().split(b'\n') if l)
got = sorted(s[:-1].split(';', 2)[2] for s in stacks)
assert len(got) == len(want) > 250
assert got == want, set(got) ^ set(want)
PY

if command -v chromium >/dev/null && command -v node >/dev/null; then
	# Chromium's profile and the printed page go there.
	export TMPDIR=$T
	timeout 100 node "$TOOLS/page.js" shop.html "$TOOLS/shop_page.js" >did 2>err
	is "the script ended" "$(cat err)" ""
	is "picked, searched, brushed and grouped, it shows what is so" "$(grep -Ev '^(not )?ok ' did)" "$(python3 "$TOOLS/shop.py" expect)"
	while read -r line; do
		case $line in
		"not ok "*) fail "${line#not ok }" ;;
		"ok "*) pass "${line#ok }" ;;
		esac
	done <did
	printf 'app;main;f 100\napp;main;g 300\n' >before
	printf 'app;main;f 300\napp;main;h 300\n' >after
	"$NSPROF" diff -q --format html -o diff.html before after
	timeout 100 node "$TOOLS/page.js" diff.html "$TOOLS/diff_page.js" >did 2>err
	is "the script of a comparison ended" "$(cat err)" ""
	is "and checked all" "$(wc -l <did)" 8
	while read -r line; do
		case $line in
		"ok "*) pass "${line#ok }" ;;
		*) fail "${line#not ok }" ;;
		esac
	done <did
	amounts() { # FILE WORK
		awk -v work="$2" 'BEGIN { OFS = "\t"; print "nsprof-profile", 1; print "M", "event", "cpu-clock"; print "M", "duration_ns", 3000000000
			print "B", 100000000, 30; print "F", "main", "", "u", 0, "", ""; print "F", "work", "", "u", 0, "", ""; print "F", "rest", "", "u", 0, "", ""
			print "N", 0, 1; print "N", 1, 2; print "N", 1, 3
			for (b = 0; b < 30; b++) { print "C", 0, 2, b, work, work * 1000000; print "C", 0, 3, b, 50, 50000000 }
			print "E", 70 }' >"$1"
	}
	amounts before 50
	amounts after 100
	"$NSPROF" diff -q --per second --format html -o amounts.html before after
	timeout 100 node "$TOOLS/page.js" amounts.html "$TOOLS/amounts_page.js" >did 2>err
	is "the script of amounts ended" "$(cat err)" ""
	is "and checked them" "$(wc -l <did)" 4
	while read -r line; do
		case $line in
		"ok "*) pass "${line#ok }" ;;
		*) fail "${line#not ok }" ;;
		esac
	done <did
	# verdicts FILE SEED OUTER HOT WORDS...: 60 pieces of 100 samples, distributed at random: of
	# outer itself, which calls inner, and of hot, which parent calls. The rest is in other, so
	# that inner and outer together are the same on both sides.
	verdicts() {
		awk -v seed="$2" -v outer="$3" -v hot="$4" 'BEGIN {
			OFS = "\t"; n = 2; print "nsprof-profile", 1
			print "M", "event", "cpu-clock"; n++; print "M", "duration_ns", 6000000000; n++; print "B", 100000000, 60; n++
			split("main parent hot outer inner other", name, " ")
			for (i = 1; i <= 6; i++) { print "F", name[i], "", "u", 0, "", ""; n++ }
			print "N", 0, 1; print "N", 1, 2; print "N", 2, 3; print "N", 1, 4; print "N", 4, 5; print "N", 1, 6; n += 6
			for (b = 0; b < 60; b++) {
				split("", c)
				for (i = 0; i < 100; i++) {
					seed = (seed * 16807) % 2147483647
					x = 100 * seed / 2147483647
					c[x < 10 ? 2 : x < 10 + hot ? 3 : x < 10 + hot + outer ? 4 : x < 50 + hot ? 5 : 6]++
				}
				for (i = 2; i <= 6; i++) if (c[i]) { print "C", 0, i, b, c[i], c[i] * 1000000; n++ }
			}
			print "E", n - 1 }' >"$1"
	}
	verdicts before 11 10 20
	verdicts after 424242 20 10
	"$NSPROF" diff -q --format json before after >found.json
	"$NSPROF" diff -q --format html -o verdicts.html before after
	"$NSPROF" diff -q --format svg -o verdicts.svg before after
	# A frame shows its total: for a leaf that is its function's self.
	want=$(jq -r '.functions[] | "\(.name) \(if (.name | IN("hot", "inner", "other")) then .self.significant else .total.significant end)"' \
		found.json | sort)
	is "of an inner function the self changed and the total did not, and of another one only the total did" \
		"$(jq -c '[.functions[] | select(.name == "outer" or .name == "parent") | [.name, .self.significant, .total.significant]] | sort' found.json)" \
		'[["outer",true,false],["parent",false,true]]'
	is "the svg's colors are these verdicts" "$(sed -n 's/^<g class.*fill="\(#[0-9a-f]*\)".*<text[^>]*>\([a-z]*\)<.*/\2 \1/p' verdicts.svg |
		sed 's/#dcdcdc/false/; s/#.*/true/' | grep -v '^all ' | sort)" "$want"
	timeout 100 node "$TOOLS/page.js" verdicts.html "$TOOLS/verdicts_page.js" >did 2>err
	is "the script of verdicts ended" "$(cat err)" ""
	is "the page's colors are the same verdicts" "$(grep -Ev '^(not )?ok ' did | sort)" "$want"
	is "and it checked its words" "$(grep -cE '^(not )?ok ' did)" 4
	while read -r line; do
		case $line in
		"ok "*) pass "${line#ok }" ;;
		"not ok "*) fail "${line#not ok }" ;;
		esac
	done <did
	check "with hostile names no script fails" timeout 100 node "$TOOLS/page.js" bytes.html "$TOOLS/bytes_page.js"
	# A thread called spin with all its time in spin(); the kernel's function copy differs from
	# the program's of the same name.
	printf '%s\n' $'nsprof-profile\t1' $'T\tweb\t/web\tspin\tspin\t7\t7\t7\t0' $'F\tspin\t/spin\tu\t0\t\t' $'F\tcopy\t/spin\tu\t0\t\t' \
		$'F\tcopy\t[kernel.kallsyms]\tk\t0\t\t' $'N\t0\t1' $'N\t1\t2' $'N\t2\t3' $'C\t1\t1\t0\t50\t0' $'C\t1\t2\t0\t20\t0' \
		$'C\t1\t3\t0\t30\t0' $'E\t11' >names.profile
	for by in comm none; do
		page --by $by names.profile -o names.html
		is "its functions as the table of report has them, --by $by" "$(timeout 100 node "$TOOLS/page.js" names.html "$TOOLS/names_page.js")" \
			"$(printf '%s\n' 'copy 0 20 50' 'copy 1 30 30' 'spin 0 50 100')"
	done
	is "which are" "$("$NSPROF" report -q --csv -s symbol names.profile | sort)" \
		"$(printf '%s\n' 100.00,50.00,50,spin,user 30.00,30.00,30,copy,kernel 50.00,20.00,20,copy,user children,self,samples,symbol,kind)"
	awk -f "$TOOLS/big_folded.awk" >big.folded
	page big.folded -o big.html
	check "100,000 stacks: open within 2 s, and move smoothly" timeout 100 node "$TOOLS/page.js" big.html "$TOOLS/big_page.js"
else
	skip "the page in a browser" "chromium or node is not installed"
fi

# Pictures that other tools draw from our folded text.
if ! command -v flamegraph.pl >/dev/null; then
	skip "folded text in flamegraph.pl" "flamegraph.pl is not installed"
elif ! "$NSPROF" record -q -F 499 -g -o rec -- "$BUILD/tests/targets/spin" --kernel 0.3 >/dev/null 2>&1; then
	skip "folded text in flamegraph.pl" "cannot record here"
else
	"$NSPROF" symbolize -q --annotate rec >rec.folded
	check "flamegraph.pl draws folded text" flamegraph.pl rec.folded
	is "all of it" "$(sed -n 's/.*<title>all (\([0-9,]*\) samples, 100%.*/\1/p' check.out | tr -d ,)" "$(awk '{ n += $NF } END { print n }' rec.folded)"
fi
done_testing
