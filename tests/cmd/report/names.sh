#!/bin/bash
# A table of hostile names (tools/names.py) as threads, processes, functions, files, source lines,
# cgroups, BPF programs, host, command line and event: in every output of every program a reader sees
# all of them, as the text that names.py makes of them, and no two become one.
# beside others
# timeout: 300
. "$(dirname "$0")/../../lib.sh"
need_cmd python3 cc nm readelf
TOOLS=$TOP/tests/tools
cd "$T" || exit 1
unset PAGER NSPROF_PAGER
mkdir made && python3 "$TOOLS/made_names.py" "$T/made" || { fail "names are made"; done_testing; }

# out NAME COMMAND...: its standard output in NAME, its messages in NAME.err.
out() {
	local name=$1 rc
	shift
	"$NSPROF" "$@" >"$name" 2>"$name.err"
	rc=$?
	[ $rc = 0 ] || fail "$name: status" "$rc: $(head -n 3 "$name.err")"
}
ALL='--limit 0 --percent-limit 0'
SORT=container,cgroup,comm,pid,tid,dso,symbol,srcline
cp made/perf.data .
out import import -v -o data perf.data
out folded symbolize --by process,thread,comm data
out marked symbolize --annotate --by container data
out lines symbolize --srcline --annotate data
out profile symbolize --format profile --srcline -o profile.saved data
out pprof symbolize --format pprof -o p.pprof data
out speedscope symbolize --format speedscope -o s.speedscope data
out firefox symbolize --format firefox -o f.firefox data
out stats symbolize --stats -v -o /dev/null data
out split symbolize --split-by comm -o parts data
out script script --header -F +srcline,cgroup,period data
out info info data
out info.json info --json data
out annotate annotate --percent-limit 0 data
out annotate.json annotate --percent-limit 0 --json data
out export export -o exported.data data
for input in data profile.saved marked; do
	sort=symbol
	[ $input = marked ] || sort=$SORT
	# shellcheck disable=SC2086
	{
		out $input.text report $ALL --sort $sort --no-children $input
		out $input.tree report $ALL --tree $input
		out $input.tree.json report $ALL --tree --json $input
		out $input.csv report $ALL --sort $sort --csv $input
		out $input.json report $ALL --sort $sort --json $input
		out $input.dots report $ALL --sort $sort -t '|' $input
		out $input.chains report $ALL -g folded $input
	}
	out $input.functions report $ALL --sort symbol --no-children -n $input
	out $input.html report --format html $input -o $input.page
	out $input.svg report --format svg --width 20000 $input -o $input.picture
done
# shellcheck disable=SC2086
out dsos report $ALL --sort dso --csv data
out stat.text report --stats profile.saved
# The function that is called like a mark, from each kind of input.
for input in data marked; do
	out focus.$input report --focus 'x_[k]' $input
	out focus.$input.csv report --focus 'x_[k]' --csv $input
	out focus.$input.json report --focus 'x_[k]' --json $input
done
for f in text md json csv folded svg html; do
	out diff.$f diff --format $f --percent-limit 0 -n 0 profile.saved data -o diff.$f.out
	out mixed.$f diff --format $f --percent-limit 0 -n 0 profile.saved marked -o mixed.$f.out
done

check "in every output, each character can be seen" python3 - "$TOOLS" <<'PY'
import glob, gzip, sys
sys.path.insert(0, sys.argv[1])
import names
from protobuf import fields
n = 0
for path in sorted(glob.glob('*')):
    if path in ('made', 'perf.data', 'data', 'exported.data', 'parts', 'p.pprof', 'p.pprof.err'):
        continue
    text = open(path, 'rb').read()
    # Tabs separate the fields of a profile, and begin lines of perf's text and of our scripts.
    names.seen(text.replace(b'\t', b'') if path in ('profile.saved', 'script') or path.endswith(('.page', '.picture', '.html.out', '.svg.out')) else text, path)
    n += bool(text)
for s in fields(gzip.open('p.pprof').read())[6]:
    names.seen(s, 'pprof', False)
for path in glob.glob('parts/*'):
    names.seen(path.encode(), path, False)
    names.seen(open(path, 'rb').read(), path)
print('# %d outputs' % n)
assert n > 60
PY
# Stacks of -g folded, as flamegraph.pl would get them.
"$NSPROF" report -q --sort symbol -g folded,0,count --percent-limit 0 data | awk '/^[0-9]+ / { n = $1; sub(/^[0-9]+ /, ""); print $0, n }' >chains.folded
# shellcheck disable=SC2086
out chains report $ALL --no-children --json chains.folded
python3 "$TOOLS/names_outputs.py" made folded marked p.pprof s.speedscope f.firefox script info.json annotate.json annotate parts dsos \
	{data,profile.saved,marked}.{csv,json} {data,profile.saved}.text {data,marked}.functions chains {data,profile.saved,marked}.{page,picture} \
	{diff,mixed}.*.out >checked
while read -r verdict what; do
	if [ "$verdict" = ok ]; then pass "$what has each name"; else fail "each name" "$what"; fi
done <checked

# ---- readers of others ----
total=$(awk '{ n += $NF } END { print n }' folded)
"$NSPROF" script -q data >plain.script
python3 "$TOOLS/readers.py" plain.script >readers
check "perf script text: each reader finds each sample" awk -v n="$total" '$2 != n { exit 1 } END { exit !NR }' readers
if command -v flamegraph.pl >/dev/null; then
	flamegraph.pl marked >fg.svg 2>fg.err
	is "flamegraph.pl ignores no line" "$(cat fg.err)" ""
	check "and takes x_[k] for the kernel's only where it is" python3 -c 'import sys; sys.exit(open("fg.svg").read().count("x_[k]") < 1)'
else
	skip "flamegraph.pl" "it is not installed"
fi
"$NSPROF" import -q -o again exported.data
check "perf.data has the names as they are" cmp <("$NSPROF" symbolize -q --by comm data) <("$NSPROF" symbolize -q --by comm again)

# ---- names that come back: as shown, and as they are ----
for name in $'\e[31mred\e[m' $'\x9b31mcsi' ' a' '\u{1b}' 'semi;colon'; do
	shown=$(python3 -c 'import os, sys; sys.path.insert(0, sys.argv[1]); import names; print(names.escape(os.fsencode(sys.argv[2])))' "$TOOLS" "$name")
	want=$("$NSPROF" symbolize -q --by none --filter "comm=$name" data)
	[ -n "$want" ] || fail "a filter for '$shown'"
	is "--filter takes '$shown' as it is shown" "$("$NSPROF" symbolize -q --by none --filter "comm=$shown" data)" "$want"
	for given in "$name" "$shown"; do
		is "of a profile, too" "$("$NSPROF" report -q --no-children --csv --filter "comm=$given" profile.saved | awk -F, '{ n += $2 } END { print n }')" \
			"$(awk '{ n += $NF } END { print n }' <<<"$want")"
	done
done

# ---- messages ----
fake=$'no\e[2J\u202e\x9b\nnsprof report: error: fake'
while IFS=$'\t' read -r what; do
	eval "$what" 2>err >/dev/null
	check "all of it seen, and no line more: $what" python3 -c 'import sys; sys.path.insert(0, sys.argv[1]); import names
text = names.seen(open("err", "rb").read(), "message"); assert text.endswith("\n") and "\nnsprof" not in text, text' "$TOOLS"
done <<'END'
"$NSPROF" "$fake"
"$NSPROF" report "$fake"
"$NSPROF" report --focus "$fake" data
"$NSPROF" symbolize --filter "comm=$fake" data
"$NSPROF" symbolize --filter comm=nobody data
"$NSPROF" symbolize --split-by comm -o "./$fake/x" data
"$NSPROF" annotate -i data "$fake"
"$NSPROF" import -o "./$fake/x" perf.data
"$NSPROF" diff data "$fake"
"$NSPROF" info "$fake"
"$NSPROF" record -o x -p "$fake"
"$NSPROF" record -o x -e "$fake" true
"$NSPROF" record -o x -- "./$fake"
"$NSPROF" ps "$fake"
"$NSPROF" doctor "$fake"
END
done_testing
