#!/bin/bash
# nsprof script prints the text of perf script. No reader of that text loses a sample, whatever
# bytes the names of threads, functions and files contain. tests/tools/readers.py restates the
# readers' patterns; the real stackcollapse-perf.pl runs where it is installed.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd python3
TARGETS=$BUILD/tests/targets

samples() { awk '{ n += $NF } END { print n + 0 }' "$1"; }

# all_read NAME FILE SAMPLES
all_read() {
	local reader n frames
	while read -r reader n frames; do
		is "$1: $reader reads each sample" "$n" "$3"
		check "$1: $reader reads the frames" test "$frames" -ge "$3"
	done < <(python3 "$TOP/tests/tools/readers.py" "$2")
}

# ---- hostile names ----
comms=('worker 12' 'a;b' '#hash' 'x' ' lead' $'new\nline' 'java 7/8 9' '[k]' '123' $'\xff\xfe' 'a:b: c:')
mkdir -p "$T/a (b) c"
cp "$TARGETS/spin" "$T/a (b) c/it is (new)"
pids=
for c in "${comms[@]}"; do
	# shellcheck disable=SC2016
	bash -c 'printf %s "$1" >/proc/$$/comm; while :; do :; done' - "$c" &
	pids+=,$!
done
"$T/a (b) c/it is (new)" 1000 &
pids+=,$!
if command -v g++ >/dev/null; then
	cat >"$T/arrow.cc" <<-'CC'
		struct Arrow {
			volatile long n;
			__attribute__((noinline)) Arrow *operator->() { for (long i = 0; i < 100000; i++) n = n + i; return this; }
		};
		int main() { static Arrow a; for (;;) a->n; }
	CC
	g++ -O1 -g -o "$T/arrow" "$T/arrow.cc" && { "$T/arrow" & pids+=,$!; }
fi
sleep 0.2
"$NSPROF" record -q -e cpu-clock -F 199 -p "${pids#,}" --duration 3 -o "$T/data" 2>"$T/err"
for p in ${pids//,/ }; do
	kill "$p" && wait "$p"
done 2>/dev/null
"$NSPROF" symbolize -q -o "$T/folded" "$T/data"
"$NSPROF" script -q "$T/data" >"$T/script"
is "script: status" $? 0
n=$(samples "$T/folded")
check "there are samples of several of them" test "$n" -ge 50
all_read "hostile names" "$T/script" "$n"
check "a file with blanks and parentheses is one word" grep -qF '/a\u{20}\u{28}b\u{29}\u{20}c/it\u{20}is\u{20}\u{28}new\u{29})' "$T/script"
[ ! -x "$T/arrow" ] || check "operator-> is no inlined call" grep -q 'Arrow::operator- >() (' "$T/script"
check "in the order of time" sort -c -n <(sed -nE 's/^[^\t].* ([0-9]+\.[0-9]+): .*/\1/p' "$T/script")
if command -v stackcollapse-perf.pl >/dev/null; then
	stackcollapse-perf.pl --all "$T/script" >"$T/collapsed" 2>"$T/err"
	is "the real stackcollapse-perf.pl counts all periods" "$(samples "$T/collapsed")" \
		"$("$NSPROF" symbolize -q --weight period "$T/data" | awk '{ n += $NF } END { print n }')"
else
	skip "the real stackcollapse-perf.pl" "it is not installed"
fi

# The real speedscope, in a browser: it exports what it has read. It merges samples with the same
# stack.
if find_speedscope; then
	cp "$T/script" "$T/script.linux-perf.txt"
	through_speedscope "$T/script.linux-perf.txt" "$T/exported"
	is "speedscope reads it" $? 0
	python3 "$TOP/tests/tools/speedscope_stacks.py" "$T/exported" >"$T/exported.stacks"
	check "and has each stack" diff "$T/exported.stacks" <(python3 "$TOP/tests/tools/speedscope_stacks.py" "$T/script")
	check "down to the function" grep -q ';app_leaf$' "$T/exported.stacks"
else
	skip "the real speedscope" "needs chromium, node and speedscope: npm install -g speedscope"
fi

# ---- the stacks are those of symbolize ----
# The same few lines of awk that fold perf's own text.
awk -f "$TOP/tests/bench/fold-perf.awk" "$T/script" | grep '^it_is' | sort >"$T/from-script"
"$NSPROF" symbolize -q "$T/data" | grep '^it is' | sed 's/^it is (new)/it_is_(new)/' | sort >"$T/from-folded"
check "the stacks of symbolize" cmp "$T/from-script" "$T/from-folded"

# ---- an event restricted to user space: each text with its name shows that ----
"$NSPROF" record -q -e cpu-clock:u -F 499 --call-graph fp -o "$T/user" -- "$BUILD/tests/targets/spin" 0.3
is "-F event: with its modifier, as perf has it" "$("$NSPROF" script -q -F event "$T/user" | grep -o '^cpu-clock.*' | sort -u)" "cpu-clock:u: "
like "report's head" "$("$NSPROF" report -q --header-only "$T/user")" '^# event cpu-clock:u, 499 Hz, command; '
like "report --stats" "$("$NSPROF" report -q --stats "$T/user")" '^cpu-clock:u stats:$'
like "diff's head" "$("$NSPROF" diff -q "$T/user" "$T/user")" '^# after: .* samples, cpu-clock:u, 499 Hz, '

# ---- fields ----
is "-F sym: nothing but symbols" "$("$NSPROF" script -q -F sym "$T/data" | grep -c '(')" \
	"$("$NSPROF" script -q -F sym "$T/data" | grep -c '[^ ].*(')"
check "-F with a plus" grep -q '^  spin.c:[0-9]' <("$NSPROF" script -q -F +srcline "$T/data")
check "offsets" grep -q ' app_leaf+0x[0-9a-f]* (' <("$NSPROF" script -q -F +symoff "$T/data")
check "no cpu" test "$("$NSPROF" script -q -F -cpu "$T/data" | grep -c '^[^\t].*\[[0-9]*\] ')" = 0
check "ns" grep -qE ' [0-9]+\.[0-9]{9}: ' <("$NSPROF" script -q --ns "$T/data")
check "header" grep -q '^# cmdline : .*record' <("$NSPROF" script -q --header "$T/data")
is "filters" "$("$NSPROF" script -q --filter comm=x "$T/data" | grep -a '^[^[:blank:]]' | cut -d ' ' -f 1 | sort -u)" x
"$NSPROF" script -F nonsense "$T/data" >"$T/out" 2>"$T/err"
is "an unknown field: status" $? 129
check "is named" grep -q "invalid field 'nonsense'; -F takes comm, pid" "$T/err"
check_rc "no field at all" 129 "$NSPROF" script -F "" "$T/data"
check_rc "each field left out" 129 "$NSPROF" script -F -comm,-pid,-tid,-cpu,-time,-period,-event,-ip,-sym,-dso "$T/data"
"$NSPROF" symbolize --ns "$T/data" >"$T/out" 2>"$T/err"
is "--ns without a script: status" $? 129
like "and who has it" "$(cat "$T/err")" '^nsprof symbolize: error: perf.s --ns is not an option here: nsprof script'
like "help is script's own" "$("$NSPROF" script --help)" '^usage: nsprof script '
like "and so is its name in messages" "$("$NSPROF" script "$T/nothing" 2>&1)" "^nsprof script: error: cannot open '.*/nothing'"

# ---- messages of a program that runs for another one carry the called one's name ----
head -c 3000 "$T/data" >"$T/cut"
for c in report info "symbolize" "script" "diff $T/data"; do
	# shellcheck disable=SC2086
	"$NSPROF" $c "$T/cut" >"$T/out" 2>"$T/err"
	unlike "$c: no other program speaks" "$(grep -v "^nsprof ${c%% *}: " "$T/err")" '^nsprof'
	check "$c says that the recording is cut" grep -q "^nsprof ${c%% *}: " "$T/err"
done
printf 'PERFILE2%s' "$(head -c 200 /dev/zero | tr '\\0' x)" >"$T/bad.perf"
for c in report info symbolize script; do
	"$NSPROF" $c "$T/bad.perf" >"$T/out" 2>"$T/err"
	unlike "$c of a bad perf.data: no other program speaks" "$(grep -v "^nsprof $c: " "$T/err")" '^nsprof'
	check "$c says what is wrong with it" grep -q "^nsprof $c: error: " "$T/err"
done
check "a full disk is told of" test "$("$NSPROF" script -q "$T/data" 2>&1 >/dev/full | grep -c 'No space left')" = 1
done_testing
