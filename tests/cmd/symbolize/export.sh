#!/bin/bash
# timeout: 400
# nsprof export writes a recording as perf.data. The tests' own reader checks each byte. perf
# script, report and diff read it without a warning and show the same stacks as nsprof. Importing it
# again gives the same recording.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd python3
TARGETS=$BUILD/tests/targets

samples() { awk '{ n += $NF } END { print n + 0 }' "$1"; }
PD() { python3 "$TOP/tests/tools/perfdata.py" "$@"; }
PERF() { perf --buildid-dir "$T/cache" "$@"; }
rec() { "$NSPROF" record -q -e cpu-clock "$@" 2>"$T/err"; }

# quiet ARG...: perf's output; any text on standard error is a failure.
quiet() {
	PERF "$@" >"$T/out" 2>"$T/perf.err"
	is "perf ${*//$T\//}: status, and nothing to say" "$? $(cat "$T/perf.err")" "0 "
}

# exported NAME DATA PERF: export, and check each byte.
exported() {
	"$NSPROF" export -o "$3" "$2" >"$T/out" 2>"$T/err"
	is "$1: status" "$? $(cat "$T/out")" "0 "
	check "$1: it tells how many samples" grep -q "wrote [0-9]* samples to '$3'" "$T/err"
	PD check "$3" >"$T/counts" 2>"$T/err"
	is "$1: laid out as perf.data is" "$? $(cat "$T/err")" "0 "
	SAMPLES=$("$NSPROF" symbolize -q "$2" | awk '{ n += $NF } END { print n }')
	is "$1: all samples, all periods" "$(sed -n 's/ lost .*//p' "$T/counts")" \
		"samples $SAMPLES periods $("$NSPROF" symbolize -q --weight period "$2" | awk '{ n += $NF } END { print n }')"
}

# alike NAME DATA PERF, after exported: perf script shows the stacks of nsprof script, sample by
# sample.
alike() {
	PERF script --no-inline --max-stack 1024 -i "$3" >"$T/perf.txt" 2>"$T/perf.err"
	is "$1: perf script has nothing to say" "$(cat "$T/perf.err")" ""
	"$NSPROF" script -q --no-inline "$2" >"$T/our.txt"
	is "$1: the same stacks, sample by sample" "$(python3 "$TOP/tests/tools/same_stacks.py" "$T/perf.txt" "$T/our.txt" 2>&1)" \
		"$SAMPLES 0 0 0"
	is "$1: each thread has its name" "$(grep '^[^[:blank:]]' "$T/perf.txt" | awk '{ print $1, $2 }' | sort | uniq -c)" \
		"$(grep '^[^[:blank:]]' "$T/our.txt" | awk '{ sub(".*/", "", $2); print $1, $2 }' | sort | uniq -c)"
}

# ---- a program that declares its chain ----
rec -F 499 -o "$T/a.data" -- "$TARGETS/spin" --cpu 0.3
exported "C" "$T/a.data" "$T/a.perf"
n=$SAMPLES
check "C: samples" test "$n" -ge 30
"$NSPROF" symbolize -q -o "$T/a.folded" "$T/a.data"
"$NSPROF" symbolize -q -o "$T/a2.folded" "$T/a.perf"
check "C: our own import makes the same of it" cmp "$T/a.folded" "$T/a2.folded"
"$NSPROF" export -q -o "$T/strict.perf" "$T/missing" 2>"$T/err"
is "no recording: status" $? 1
check "no file is left of that" test ! -e "$T/strict.perf"

if have_perf; then
	alike "C" "$T/a.data" "$T/a.perf"
	chain=$("$TARGETS/spin" --chain | tr '\n' ';')
	is "C: perf's names are the program's own" \
		"$(awk -f "$TOP/tests/bench/fold-perf.awk" "$T/perf.txt" | grep -F "${chain%;}" | samples /dev/stdin)" \
		"$(grep -F "${chain%;}" "$T/a.folded" | samples /dev/stdin)"
	check "C: most have that chain" test "$(grep -F "${chain%;}" "$T/a.folded" | samples /dev/stdin)" -ge $((n / 2))
	quiet report --stdio --header -i "$T/a.perf"
	check "perf report counts all" grep -q "^# Samples: $n  *of event 'cpu-clock'" "$T/out"
	for line in "hostname : $(uname -n)" "os release : $(uname -r)" "arch : $(uname -m)" "total memory : $(awk '/^MemTotal/ { print $2 }' /proc/meminfo) kB" 'cmdline : .*record' 'clockid: monotonic' \
		'sample duration'; do
		check "perf report --header: $line" grep -q "^# $line" "$T/out"
	done
	quiet diff "$T/a.perf" "$T/a.perf"
	check "perf diff finds the function" grep -q 'app_leaf' "$T/out"
	quiet evlist -v -i "$T/a.perf"
	check "perf evlist names the event" grep -q '^cpu-clock: .*4..[0-9]*.*sample_type: IP|TID|TIME|CALLCHAIN|CPU|PERIOD' "$T/out"
else
	skip "perf reads it" "perf is not installed"
fi
parser=$(compgen -G '/usr/lib/*/libexec/hotspot-perfparser')
if [ -n "$parser" ]; then
	# This version does not know SAMPLE_TIME, which perf writes into each file; the other line
	# is about its buffering.
	is "hotspot's parser reads it" "$("$parser" --input "$T/a.perf" --print-stats 2>&1 |
		grep -v 'SAMPLE_TIME\|^FINISHED_ROUND' | sed -n '/^samples: \|^[^:]*$/p;/violations: [^0]/p')" "samples: $n"
	"$parser" --input "$T/a.perf" --output "$T/hotspot" 2>/dev/null
	check "hotspot's parser names the functions" grep -aq app_leaf "$T/hotspot"
else
	skip "hotspot's parser reads it" "hotspot is not installed"
fi

# ---- threads, forks and execs ----
# shellcheck disable=SC2016
rec -F 999 -o "$T/b.data" -- bash -c 'for i in 1 2 3 4 5; do ls /usr >/dev/null; done; (printf quiet >/proc/$BASHPID/comm; exec "$@")' - \
	"$TARGETS/spin" --threads 3 0.12
exported "threads" "$T/b.data" "$T/b.perf"
have_perf && alike "threads" "$T/b.data" "$T/b.perf"
check "threads: forks, exits and names" grep -q '3:[0-9]* 4:[0-9]* 7:[0-9]* 9:' "$T/counts"

# ---- deeper than the copies ----
if [ -x "$TARGETS/deep" ]; then
	rec -F 499 --call-graph dwarf,4096 -o "$T/deep.data" -- timeout 0.4 "$TARGETS/deep" 100000 60
	exported "deep" "$T/deep.data" "$T/deep.perf"
	have_perf && alike "deep" "$T/deep.data" "$T/deep.perf"
else
	skip "deep stacks" "no C++ compiler"
fi

# ---- another event ----
"$NSPROF" record -q -e page-faults:u -c 1 -o "$T/f.data" -- ls / >/dev/null
"$NSPROF" export -q -o "$T/f.perf" "$T/f.data"
if have_perf; then
	# perf 6.12 and later append the names of numbers.
	check "an event by its name, type and period" grep -q '^page-faults:u: type: 1, size: 112, config: 0x2, { sample_period, sample_freq }: 1,.*exclude_kernel: 1' \
		<(PERF evlist -v -i "$T/f.perf" | sed 's/ ([^)]*)//g')
fi

# ---- two binaries under one path ----
cp "$TARGETS/spin-a" "$T/app" && cp "$TARGETS/spin-b" "$T/app.new"
# shellcheck disable=SC2016
rec -F 499 -o "$T/two.data" -- bash -c '"$1" --cpu 0.15; mv "$1.new" "$1"; "$1" --cpu 0.15' - "$T/app"
exported "one path" "$T/two.data" "$T/two.perf"
if have_perf; then
	PERF script --no-inline -i "$T/two.perf" >"$T/two.txt" 2>"$T/perf.err"
	is "one path: the first has nobody's names" "$(awk '/^[^\t ]/ { n++ } /bbb_/ { b[n] } /aaa_/ { a[n] } END { print length(a), length(b) }' \
		"$T/two.txt")" "0 0"
	check "one path: the second has a path of its own" grep -q "($T/app~2)" "$T/two.txt"
fi

# ---- names of removed files ----
rm "$T/app"
"$NSPROF" export -q --buildid-dir "$T/syms" -o "$T/two.perf" "$T/two.data" 2>"$T/err"
is "--buildid-dir: status" "$? $(cat "$T/err")" "0 "
if have_perf; then
	perf --buildid-dir "$T/syms" report --stdio --no-children -g none -s dso,sym -t '|' -i "$T/two.perf" >"$T/out" 2>"$T/perf.err"
	is "--buildid-dir: perf has nothing to say" "$(cat "$T/perf.err")" ""
	check "--buildid-dir: the first one's names" grep -q '|app *|\[\.\] aaa_leaf' "$T/out"
	check "--buildid-dir: the second one's" grep -q '|app~2 *|\[\.\] bbb_leaf' "$T/out"
	perf --buildid-dir "$T/syms" script --no-inline -i "$T/two.perf" 2>"$T/perf.err" | awk -f "$TOP/tests/bench/fold-perf.awk" |
		sed 's/@@[A-Z0-9_.]*//g' | grep 'aaa_leaf$\|bbb_leaf$\|aaa_leaf [0-9]*$\|bbb_leaf [0-9]*$' | sort >"$T/from-perf"
	"$NSPROF" symbolize -q --no-inline "$T/two.data" | grep 'aaa_leaf [0-9]*$\|bbb_leaf [0-9]*$' | sort >"$T/from-us"
	check "--buildid-dir: whole stacks, by name" cmp "$T/from-perf" "$T/from-us"
fi
# An imported recording does not contain the boot in which it was made, so its kernel is unknown.
rec -F 499 -o "$T/k.data" -- "$TARGETS/spin" --cpu --kernel 0.2
"$NSPROF" export -q -o "$T/k.perf" "$T/k.data"
"$NSPROF" import -q -o "$T/k2.data" "$T/k.perf"
"$NSPROF" export -q --buildid-dir "$T/ksyms" -o "$T/k2.perf" "$T/k2.data"
if have_perf; then
	kernel() { perf --buildid-dir "$1" script --no-inline -F ip,sym -i "$2" 2>"$T/perf.err" | awk '/^\t *ffff/ { print $2 }' | sort; }
	# Several names may share one address (__x86_indirect_thunk_rax,
	# __pi___x86_indirect_thunk_rax). The kernel reports one to nsprof, and perf takes another
	# one from /proc/kallsyms. Map either to the first of them. sort(1) trusts the size from
	# stat(2), and for 0 bytes makes a file of every other line: hence cat.
	alike_kernel() {
		awk 'NR == FNR { if ($1 != at) { at = $1; first = $3 } if ($3 in to && to[$3] != first) two[$3]; to[$3] = first; next }
			{ print $1 in to && !($1 in two) ? to[$1] : $1 }' <(sort -s -k1,1 <(cat /proc/kallsyms)) "$1" | sort
	}
	kernel "$T/cache" "$T/k.perf" >"$T/here"
	is "the kernel of this boot: perf has nothing to say" "$(cat "$T/perf.err")" ""
	check "the kernel of this boot: perf names it" grep -q '^do_syscall_64$' "$T/here"
	kernel "$T/cache" "$T/k2.perf" >"$T/out"
	# A recording of perf with another kernel's build-id: perf 7.2 takes that kernel for the
	# running one, too.
	perf --buildid-dir "$T/cache" record -q -e cpu-clock -g -o "$T/own.perf" -- "$TARGETS/spin" --cpu --kernel 0.2 >"$T/perf.log" 2>&1
	python3 - "$T/own.perf" <<'PY'
import sys
data, id = open(sys.argv[1], 'rb').read(), open('/sys/kernel/notes', 'rb').read()[16:36]
open(sys.argv[1], 'wb').write(data.replace(id, bytes(b ^ 0x55 for b in id)))
PY
	kernel "$T/cache" "$T/own.perf" >"$T/own"
	if grep -q '^do_syscall_64$' "$T/own" && grep -q '^do_syscall_64$' "$T/out"; then
		skip "a kernel that is not known: not taken for the running one" "this perf takes any kernel for it, in its own recordings as well"
	else
		check "a kernel that is not known: not taken for the running one" test "$(grep -vcF '[unknown]' "$T/out")" = 0
	fi
	kernel "$T/ksyms" "$T/k2.perf" >"$T/out"
	is "a kernel that is not known, --buildid-dir: perf has nothing to say" "$(cat "$T/perf.err")" ""
	check "a kernel that is not known, --buildid-dir: the same names" diff <(alike_kernel "$T/here") <(alike_kernel "$T/out")
fi
"$NSPROF" export --buildid-dir "$T/syms" -o "$T/x.perf" "$T/two.data" 2>"$T/err"
is "a folder with something in it: status" $? 1
check "and the message" grep -q "'$T/syms' is not an empty directory" "$T/err"
check "and no file" test ! -e "$T/x.perf"

# ---- what was lost ----
PD lost 1234 "$T/a.perf" "$T/lost.perf"
"$NSPROF" import -q -o "$T/lost.data" "$T/lost.perf"
"$NSPROF" export -q -o "$T/lost2.perf" "$T/lost.data"
PD check "$T/lost2.perf" >"$T/out"
check "what was lost is told of" grep -q ' lost 1234$' "$T/out"

# ---- incomplete files, and failures ----
head -c $(($(stat -c %s "$T/b.data") * 2 / 3)) "$T/b.data" >"$T/cut.data"
"$NSPROF" export -o "$T/cut.perf" "$T/cut.data" 2>"$T/err"
is "cut: status" $? 1
check "cut: told" grep -q 'cut' "$T/err"
check "cut: what is there is written" PD check "$T/cut.perf"
"$NSPROF" export --strict --buildid-dir "$T/strict.syms" -o "$T/strict.perf" "$T/cut.data" 2>"$T/err"
is "cut, --strict: status" $? 1
check "cut, --strict: no file" test ! -e "$T/strict.perf"
is "cut, --strict: and no symbols" "$(ls -A "$T/strict.syms")" ""
if [ -s "$T/deep.data" ]; then
	# Without its own end, the first recording gets the ledger of the second, in which no stack
	# is deeper than its copy.
	{ head -c -40 "$T/deep.data" && cat "$T/a.data"; } >"$T/mixed.data"
	"$NSPROF" export -o "$T/mixed.perf" "$T/mixed.data" 2>"$T/err"
	is "two recordings, the first one cut: status" $? 1
	check "two recordings, the first one cut: what is there is written" PD check "$T/mixed.perf"
else
	skip "two recordings, the first one cut" "no C++ compiler"
fi
"$NSPROF" export -q -o "$T/x.perf" "$T/a.data"
"$NSPROF" export -o - "$T/a.data" 2>"$T/err" | cat >"$T/out"
check "a pipe is refused" grep -q "cannot write perf.data to '-': it is not a regular file, .* Use -o FILE" "$T/err"
check "nothing is written to it" test ! -s "$T/out"
"$NSPROF" export --perf-data -q -o "$T/said.perf" "$T/a.data"
check "--perf-data is the default" cmp "$T/said.perf" "$T/x.perf"
"$NSPROF" export -i "$T/a.data" "$T/a.data" 2>"$T/err"
is "two recordings: status" $? 129
mkdir "$T/small" && mount -t tmpfs -o size=64k tmpfs "$T/small" 2>/dev/null && later 'umount "$T/small"'
if mountpoint -q "$T/small"; then
	head -c 60000 /dev/zero >"$T/small/fill"
	echo old >"$T/small/x.perf"
	"$NSPROF" export -o "$T/small/x.perf" "$T/a.data" 2>"$T/err"
	is "a full disk: status" $? 1
	check "a full disk: told" grep -q "cannot write '$T/small/x.perf': No space left" "$T/err"
	is "a full disk: what was there stays" "$(ls "$T/small") $(cat "$T/small/x.perf")" "fill
x.perf old"
else
	skip "a full disk" "no tmpfs can be mounted"
fi
done_testing
