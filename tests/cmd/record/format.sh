#!/bin/bash
# timeout: 400
# nsprof.data(5) is enough to read recordings. A reader written from that page alone, which shares
# no code with nsprof, finds the same content as nsprof's own reader: each sample with all registers
# and words, each event and capture. This also holds for cut and damaged recordings.
# beside others
# takes: 30
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd python3 zstd
TARGETS=$BUILD/tests/targets

by_page() { python3 -B "$TOP/tests/tools/read_recording.py" "$@" >"$T/page" 2>"$T/page.err"; }

# alike NAME DATA: both readers find the same content. Samples and events in order; the rest may be
# ordered differently.
alike() {
	"$BUILD/tests/tools/dump" "$2" >"$T/own" 2>"$T/own.err"
	is "$1: nsprof's reader" $? 0
	is "$1: nothing else is said" "$(cat "$T/page.err")" ""
	check "$1: the same samples and events" cmp <(grep '^[es][va]' "$T/page") <(grep '^[es][va]' "$T/own")
	is "$1: the same settings, captures and counts" "$(diff <(grep -v '^[es][va]\|^damage' "$T/page" | sort) <(grep -v '^[es][va]' "$T/own" | sort))" ""
}

# read_both NAME DATA SAMPLES: whole, with at least SAMPLES samples.
read_both() {
	by_page "$2"
	is "$1: read" "$? $(grep '^damage' "$T/page")" "0 "
	alike "$@"
	check "$1: there were samples" test "$(grep -c '^sample' "$T/page")" -ge "$3"
}

# recorded NAME LEAST ARG...: record with nsprof's arguments
recorded() {
	local name=$1 least=$2
	shift 2
	if ! "$NSPROF" record -q -e cpu-clock -o "$T/data" "$@" >"$T/out" 2>"$T/err"; then
		fail "$name: recorded" "$(cat "$T/err")"
		return
	fi
	read_both "$name" "$T/data" "$least"
}

# has NAME REGEX: the page has such a line
has() { check "$1" grep -Eq -e "$2" "$T/page"; }

# recoded NAME TIMES HOW: repeat the last recording TIMES times, in the form HOW
recoded() {
	if "$BUILD/tests/tools/recode" "$T/data" "$T/recoded" "$2" "$3" >"$T/out" 2>"$T/err"; then
		read_both "$1" "$T/recoded" "$2"
	else
		fail "$1: written" "$(cat "$T/err")"
	fi
}

recorded "C" 30 -F 499 -- "$TARGETS/spin" --cpu 0.3
has "C: stack copies" ' stack=7[0-9a-f]*\+[1-9]'
recorded "threads" 30 -F 499 -- "$TARGETS/spin" --cpu --threads 4 0.3
is "threads: of five, and more than one has samples" \
	"$(sed -n 's/^sample.* \(tid=[0-9]*\) .*/\1/p' "$T/page" | sort -u | awk 'END { print (NR > 1 && NR < 6) }')" 1
recoded "several events" 1 events
has "several events: their list" '^event event .* index=19 .* name=made '
has "several events: coded as an index, guessed, and in full" '^sample.* event=1[3-9] '
has "several events: payloads" '^sample.* event=[0-9]+ payload=[1-9]'
has "several events: switches" '^event switch .* preempted'
has "several events: wakeups" '^event wakeup '
has "several events: the kernel's times" '^event schedstat '
has "several events: switched on and off" '^event toggle time=[0-9]+ on=[01]$'
cp "$T/recoded" "$T/data"
recoded "several events, without compression" 1 plain
recorded "two events" 30 -F 499 -e context-switches/period=1/ -- "$TARGETS/spin" --cpu --threads 2 0.2
has "two events: samples of the second" '^sample.* event=1 payload=0'
recorded "stacks of one event only" 30 -F 499 -e cpu-clock,context-switches/period=1,call-graph=no/ -- "$TARGETS/spin" --cpu --threads 2 0.2
has "stacks of one event only: which" '^event event .* name=cpu-clock .* callgraph=0 dumpsize=0 maxstack=0$'
has "stacks of one event only: and which not" '^event event .* name=context-switches .* callgraph=1 dumpsize=0 maxstack=0$'
if "$NSPROF" list syscalls:sys_enter_write | grep -q '^  syscalls:'; then
	recorded "payloads" 30 -F 499 -e syscalls:sys_enter_write/period=1/ --fields -- bash -c 'for i in {1..50}; do echo $i; done'
	has "payloads: of the tracepoint" '^sample.* event=1 payload=[1-9]'
else
	skip "payloads" "this kernel has no syscalls:sys_enter_write"
fi
recorded "short processes" 10 -F 999 -- bash -c 'for i in {1..40}; do ls -l /usr/bin /usr/lib >/dev/null; done'
has "short processes: forks" '^event fork '
recorded "frame pointers" 30 -F 499 --call-graph fp -- "$TARGETS/spin" --cpu 0.2
has "frame pointers: no copies" ' stack=0\+0 '
if can_sample_kernel; then
	recorded "kernel" 20 -F 499 -- "$TARGETS/spin" --kernel --cpu 0.3
	has "kernel: its frames" ' chain=ffffffffffffff80,ffffffff[0-9a-f]{8},ffffffff[0-9a-f]{8}'
else
	skip "kernel" "the kernel cannot be sampled"
fi
if [ -x "$TARGETS/deep" ]; then
	# The program ends by the clock; here it ends after a second of its CPU time.
	deep=(bash -c 'ulimit -c 0 -t 1; "$1" 100000 60; exit 0' - "$TARGETS/deep")
	recorded "deep" 50 -F 499 --call-graph dwarf,16384 -- "${deep[@]}"
	recorded "deep, cut copies" 50 -F 499 --call-graph dwarf,2048 -- "${deep[@]}"
	has "deep, cut copies: as large as was asked for" '^sample.* full .*\+2048 crc'
	# More words than the history holds: some 800 per sample.
	recorded "deep, all words" 50 -F 199 --stacks=full --call-graph dwarf,65528 -- "${deep[@]}"
	has "deep, all words: unmasked" '^sample.* unmasked '
	recoded "without compression" 1 plain
else
	skip "deep stacks" "no C++ compiler"
fi

# ---- many blocks: the coding of samples restarts at the 65th ----
recorded "few samples" 3 -F 49 -- "$TARGETS/spin" --cpu 0.2
cp "$T/data" "$T/few.data"
recoded "many blocks" 70 blocks
cp "$T/page" "$T/whole"
mv "$T/recoded" "$T/many.data"
by_page --blocks "$T/many.data"
# Flags, offset, stored bytes and samples of the STREAM blocks
sed -n 's/^block at=\([0-9]*\) type=2 flags=\([0-9]*\) stored=\([0-9]*\) .* samples=\([0-9]*\)$/\2 \1 \3 \4/p' "$T/page" >"$T/streams"
is "many blocks: which are KEY" "$(awk '$1 == 2 { printf "%d ", NR }' "$T/streams")" "1 65 "
# Samples are lost from the fourth up to the second KEY block.
read -r _ at stored _ < <(sed -n 4p "$T/streams")
lost=$(sed -n 4,64p "$T/streams" | awk '{ n += $4 } END { print n }')

# changed OFFSET: change one byte
changed() {
	cp "$T/many.data" "$T/bad.data"
	printf "\\$(printf %o $(($(od -An -tu1 -j "$1" -N 1 "$T/many.data") ^ 85)))" | dd of="$T/bad.data" bs=1 seek="$1" conv=notrunc 2>/dev/null
	by_page "$T/bad.data"
	is "byte $2: status" $? 1
}
while read -r offset what said; do
	changed $((at + offset)) "$what"
	has "byte $what: said" "^damage at $at: $said"
	alike "byte $what" "$T/bad.data"
	is "byte $what: samples of the blocks before, and from the next KEY block on, are there" "$(grep -c '^sample' "$T/page")" \
		$(($(grep -c '^sample' "$T/whole") - lost))
done <<-END
	0 magic no block magic
	6 flags wrong checksum
	8 length wrong checksum|cut within
	16 sequence wrong checksum
	28 checksum wrong checksum
	32 payload wrong checksum
	$((31 + stored)) end wrong checksum
END

# ---- cut ----
size=$(stat -c %s "$T/many.data")
# cut_at OFFSET SAMPLES: the rest has at least SAMPLES samples
cut_at() {
	head -c "$1" "$T/many.data" >"$T/cut.data"
	by_page "$T/cut.data"
	is "cut after $1 of $size: status" $? 1
	has "cut after $1 of $size: said" '^damage at [0-9]*: .*(cut|trailer)'
	alike "cut after $1 of $size" "$T/cut.data"
	check "cut after $1 of $size: what is whole is there" test "$(grep -c '^sample' "$T/page")" -ge "$2"
	check "cut after $1 of $size: as it was" cmp <(grep '^sample' "$T/page") <(grep '^sample' "$T/whole" | head -n "$(grep -c '^sample' "$T/page")")
}
before=$(head -n 3 "$T/streams" | awk '{ n += $4 } END { print n }')
cut_at "$at" "$before"
cut_at $((at + 20)) "$before"
cut_at $((at + 32 + stored / 2)) "$before"
cut_at $((at + 31 + stored)) "$before"
cut_at $((at + 32 + stored)) $((before + 1))
cut_at $((size / 2)) $((before + 1))
cut_at $((size - 1)) "$(grep -c '^sample' "$T/whole")"

# ---- not a recording ----
head -c 63 "$T/few.data" >"$T/bad.data"
by_page "$T/bad.data"
is "a file header that is cut: status" $? 1
sed 's/^NSPROF\r/NSPROG\r/' "$T/few.data" >"$T/bad.data"
by_page "$T/bad.data"
is "another magic: status" "$? $(sed 's/.*: //' "$T/page.err")" "1 not a recording"
done_testing
