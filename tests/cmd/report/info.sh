#!/bin/bash
# nsprof info prints the recorder's numbers as text and JSON, and reports damaged and foreign files.
# beside others
. "$(dirname "$0")/../../lib.sh"

cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi
# monotonic: ns of the kernel's CLOCK_MONOTONIC, which a time namespace may offset; empty without
# python3.
monotonic() {
	local clock secs=0 ns=0
	read -r clock secs ns < <(grep -s '^monotonic' /proc/self/timens_offsets)
	python3 -c "import time; print(time.monotonic_ns() - ${secs:-0} * 10**9 - ${ns:-0})" 2>/dev/null
}
begun=$(monotonic)
"$NSPROF" record -F 999 -e cpu-clock --call-graph dwarf,8192 -o a.data -- \
	bash -c 'for ((i = 0; i < 300000; i++)); do :; done' 2>err
ended=$(monotonic)
samples=$(sed -n 's/.*(\([0-9]*\) samples\{0,1\}, .*/\1/p' err)

# ---- text
"$NSPROF" info a.data >a.txt 2>a.err
is "status of a whole recording" $? 0
is "nothing on stderr" "$(cat a.err)" ""
like "says it is complete" "$(cat a.txt)" "^bytes +$(stat -c %s a.data), complete$"
like "samples as the recorder counted them" "$(cat a.txt)" "^samples +$samples, "
like "the ledger says so, too" "$(cat a.txt)" "^ +$samples  samples in the file, whole$"
like "the event" "$(cat a.txt)" '^event +cpu-clock$'
like "the process" "$(cat a.txt)" "^ +[0-9]+ +[0-9]+ +[0-9]+ +bash +$(readlink -f "$(command -v bash)") /"
like "captured rows" "$(cat a.txt)" '^captured +[0-9]+ sliced ELF files, [1-9][0-9]* bytes$'
is "-i FILE" "$("$NSPROF" info -i a.data)" "$(cat a.txt)"
is "standard input, a file" "$("$NSPROF" info - <a.data | tail -n +2)" "$(tail -n +2 a.txt)"
# shellcheck disable=SC2002 # a pipe is what is tested
is "standard input, a pipe" "$(cat a.data | "$NSPROF" info - | tail -n +2)" "$(tail -n +2 a.txt)"
cp a.data nsprof.data
is "nsprof.data is the default" "$("$NSPROF" info | tail -n +2)" "$(tail -n +2 a.txt)"
check_rc "one recording at a time" 129 "$NSPROF" info a.data nsprof.data
if [ -w /dev/full ]; then
	"$NSPROF" info a.data >/dev/full 2>full.err
	is "a full output is an error" $? 1
	like "and says so" "$(cat full.err)" 'No space left'
fi

# ---- JSON
if command -v python3 >/dev/null; then
	"$NSPROF" info --json a.data >a.json
	check "the JSON has what scripts rely on" python3 - a.json "$samples" "$(stat -c %s a.data)" "$begun" "$ended" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
d['begun'], d['ended'] = int(sys.argv[4]), int(sys.argv[5])
n, size = int(sys.argv[2]), int(sys.argv[3])
assert (d['samples'], d['bytes'], d['event'], d['frequency'], d['dump_size']) == (n, size, 'cpu-clock', 999, 8192), d
assert d['begun'] <= d['first_sample_ns'] <= d['last_sample_ns'] <= d['ended'], d
assert isinstance(d['lost'], int) and isinstance(d['truncated'], int) and d['complete'] is True, d
assert d['ledger']['kept'] == n and d['settings']['event'] == 'cpu-clock', d
assert sum(p['samples'] for p in d['processes']) == n, d['processes']
assert sum(c['samples'] for c in d['containers']) == n, d['containers']
assert any(p['comm'] == 'bash' for p in d['processes']), d['processes']
PY
else
	skip "the JSON has what scripts rely on" "no python3"
fi

# ---- damaged: the intact part is shown, with one warning and status 1
size=$(stat -c %s a.data)
for cut in 64 100 $((size / 2)) $((size - 40)); do
	head -c "$cut" a.data >cut.data
	"$NSPROF" info cut.data >cut.txt 2>cut.err
	is "cut after $cut bytes: status" $? 1
	is "cut after $cut bytes: one line" "$(wc -l <cut.err)" 1
	like "cut after $cut bytes: the warning" "$(cat cut.err)" "^nsprof info: warning: 'cut.data' is cut after"
	like "cut after $cut bytes: the rest is shown" "$(cat cut.txt)" "^bytes +$cut, cut or damaged$"
done
like "nearly whole: all samples" "$(cat cut.txt)" "^samples +$samples, "
cp a.data bad.data
printf '\125' | dd of=bad.data bs=1 seek=$((size / 3)) conv=notrunc status=none
"$NSPROF" info bad.data >bad.txt 2>bad.err
is "a damaged block: status" $? 1
like "a damaged block: the warning" "$(cat bad.err)" "^nsprof info: warning: 'bad.data' is damaged in 1 place"

# ---- more data after its end: another recording, also one of the same size, so that the first
# one's index fits the second; rubbish
"$NSPROF" record -q -o b.data -- true
for second in a.data b.data text; do
	echo rubbish >text
	cat a.data $second >two.data
	"$NSPROF" info two.data >two.txt 2>two.err
	is "$second behind it: status" $? 1
	is "$second behind it: said" "$(cat two.err)" \
		"nsprof info: warning: 'two.data' has $(stat -c %s $second) more bytes after its end, not read: if recordings are concatenated, only the first one is read"
	like "$second behind it: the first is shown" "$(cat two.txt)" "^samples +$samples, "
done
"$NSPROF" symbolize -q a.data >a.folded
cat a.data b.data | "$NSPROF" symbolize - >two.folded 2>two.err
is "from a pipe: status" "${PIPESTATUS[1]}" 1
check "from a pipe: the first" cmp a.folded two.folded
like "from a pipe: said" "$(cat two.err)" 'standard input has [0-9]+ more bytes after its end'

# ---- not a recording: one line, status 1, nothing on stdout
refuses() {
	"$NSPROF" info "$2" >ref.out 2>ref.err
	is "$1: status" $? 1
	is "$1: nothing shown" "$(cat ref.out)" ""
	is "$1: one line" "$(wc -l <ref.err)" 1
	like "$1: says why" "$(cat ref.err)" "$3"
}
: >empty
refuses "an empty file" empty "'empty' is empty"
printf 'PERFILE2........' >perf.data
refuses "perf's magic and a few bytes" perf.data "'perf.data' is cut inside its header: there is nothing to read"
echo hello >text
refuses "some text" text "'text' is not an nsprof recording or a perf.data file"
head -c 30 a.data >short
refuses "half a header" short "'short' is cut inside its header"
refuses "no such file" missing "cannot open 'missing': No such file or directory"
refuses "a folder" . "'.' is a directory"
done_testing
