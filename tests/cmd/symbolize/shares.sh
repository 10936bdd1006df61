#!/bin/bash
# Long recordings are read by one thread per CPU, and for shorter ones a thread decodes samples
# ahead. The output is the same with one CPU and with all. The test repeats short recordings to make
# them, the long ones until the coding has restarted several times.
# beside others
# takes: 30
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd taskset jq python3
[ "$(nproc)" -gt 1 ] || skip_all "one CPU: there is but one thread"

RECODE=$BUILD/tests/tools/recode
TARGETS=$BUILD/tests/targets

# same NAME FILE OPTION...
same() {
	local name=$1 file=$2
	shift 2
	taskset -c 0 "$NSPROF" symbolize "$@" "$file" >"$T/one" 2>"$T/one.err"
	"$NSPROF" symbolize "$@" "$file" >"$T/all" 2>"$T/all.err"
	check "$name: $*: the same stacks" cmp "$T/one" "$T/all"
	check "$name: $*: the same said" cmp "$T/one.err" "$T/all.err"
	check "$name: $*: there are stacks" test -s "$T/all"
}

# made FILE SAMPLES: make FILE from $T/short, repeated to SAMPLES
made() {
	local n
	n=$("$NSPROF" info --json "$T/short" | jq .samples)
	"$RECODE" "$T/short" "$1" $(($2 / n + 1)) >"$T/out" 2>"$T/err"
}

# long NAME SAMPLES COMMAND...: record it for a second, and repeat that to SAMPLES
long() {
	local name=$1 want=$2
	shift 2
	"$NSPROF" record -q -F 999 -e cpu-clock --call-graph dwarf,65528 -o "$T/short" -- \
		bash -c 'timeout 1 "$@"; exit 0' - "$@" >"$T/out" 2>"$T/err" ||
		{ fail "$name: recorded" "$(cat "$T/err")"; return; }
	made "$T/some" 20000 && made "$T/long" "$want" || { fail "$name: made long" "$(cat "$T/err")"; return; }
	same "$name, part of it" "$T/some" --stats --no-inline
	same "$name" "$T/long" --stats
	same "$name" "$T/long" -q --no-inline --by thread --weight period
	same "$name" "$T/long" --format profile --srcline
	same "$name" "$T/long" --annotate --srcline
}

long "C++, deep stacks" 160000 "$TARGETS/deep" 100000 60
is "a pipe" "$("$NSPROF" symbolize -q - <"$T/long" | cksum)" "$("$NSPROF" symbolize -q "$T/long" | cksum)"
# Cut, and damaged where the second stretch begins: the rest is the same.
head -c $(($(stat -c %s "$T/long") * 3 / 4)) "$T/long" >"$T/cut"
printf 'ruin' | dd of="$T/cut" bs=1 seek=$(($(stat -c %s "$T/long") / 2)) conv=notrunc status=none
same "cut and damaged" "$T/cut" --stats
# In the last block of samples: all others depend on the first one, and its end in the file varies.
read -r blocks at < <(python3 -B "$TOP/tests/tools/read_recording.py" --blocks "$T/some" | sed 's/[a-z]*=//g' |
	awk '$3 == 2 { n++; at = $2 + int($5 / 2) } END { print n + 0, at }')
check "a part: more blocks than the first" test "$blocks" -gt 1
printf 'ruin' | dd of="$T/some" bs=1 seek="$at" conv=notrunc status=none
same "a part, damaged" "$T/some" --stats --no-inline
like "a part: damaged where it was meant to be" "$(<"$T/all.err")" "damaged in 1 place, .*: [1-9][0-9]* samples could not be read"
long "short processes" 100000 bash -c 'while :; do awk "BEGIN { while (i++ < 20000) s = s i }"; done'
long "JIT code" 300000 "$TARGETS/jitdump" rows 100000 "$T"
like "JIT code: its lines" "$(<"$T/all")" ';outer_fn \(outer.jit:42\)_\[j\];native_mid .*;inner_fn \(inner.jit:7\)_\[j\];leaf_one '
done_testing
