#!/bin/bash
# nsprof symbolize: every option, on a recording of a program with known stacks.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd jq python3
S=$BUILD/tests/targets/spin
cd "$T" || exit 1
[ -x "$S" ] || skip_all "test programs are not built: make test-targets"
"$NSPROF" record -q -o nsprof.data -e cpu-clock -F 499 -- "$S" --threads 2 1 2>err || skip_all "cannot record here: $(cat err)"
CHAIN='start_thread;app_thread;app_outer;app_middle;app_inner;app_leaf'
sum() { awk '{ n += $NF } END { print n + 0 }' "$@"; }
lead() { sed -E 's/;.*//' "$1" | sort -u | paste -sd,; }

"$NSPROF" symbolize >plain 2>err
n=$(sum plain)
like "folded, root first, the command's name first" "$(cat plain)" "^spin;[^;]*clone[^;]*;$CHAIN [0-9]+$"
is "counts are the recording's samples" "$n" "$("$NSPROF" info --json | jq .samples)"
is "-i FILE" "$("$NSPROF" symbolize -i nsprof.data)" "$(cat plain)"
is "FILE" "$("$NSPROF" symbolize nsprof.data)" "$(cat plain)"
is "a pipe" "$("$NSPROF" symbolize - <nsprof.data)" "$(cat plain)"
is "-i -" "$("$NSPROF" symbolize -i - <nsprof.data)" "$(cat plain)"
check "-o FILE" sh -c '"$NSPROF" symbolize -o out && cmp out plain'
is "sorted bytewise" "$(LC_ALL=C sort plain)" "$(cat plain)"
is "every line is frames and a count" "$(grep -Evc '^[^;]+(;[^;]+)* [0-9]+$' plain)" 0

"$NSPROF" symbolize --by none >by
like "--by none begins with a function" "$(cat by)" "^[^;]*clone[^;]*;$CHAIN "
"$NSPROF" symbolize --by process >by
like "--by process: comm-PID" "$(lead by)" '^spin-[0-9]+$'
"$NSPROF" symbolize --by thread >by
like "--by thread: comm-PID/TID, one for each thread" "$(lead by)" '^(spin-([0-9]+)/\2,)?spin-([0-9]+)/[0-9]+,spin-\3/[0-9]+$'
"$NSPROF" symbolize --by container >by
is "--by container: the comm follows" "$(cut -d';' -f2 by | sort -u)" spin
is "nothing is lost by it" "$(sum by)" "$n"
check_rc "--by of something else is a usage error" 129 "$NSPROF" symbolize --by colour

"$NSPROF" symbolize --weight period >period
# 499 Hz of cpu-clock: 1e9 / 499 ns per sample, within the kernel's rounding.
check "--weight period counts nanoseconds of cpu-clock" awk -v n="$n" '{ p += $NF }
	END { exit !(p > n * 1.9e6 && p < n * 2.1e6) }' period

is "--max-stack 2 keeps the leaf" "$("$NSPROF" symbolize -q --max-stack 2 | sed -E 's/ [0-9]+$//' | grep -c 'app_inner;app_leaf$')" 1
like "and says that it is cut" "$("$NSPROF" symbolize -q --max-stack 2)" '^spin;\[truncated_stack\];app_inner;app_leaf '
# A new thread has no rows for the few instructions after clone's system call, where the C library
# ends its call frame information on purpose: at most one sample for each of the two threads.
"$NSPROF" symbolize --stats 2>stats >/dev/null
check "--stats tells how stacks ended: all whole but for threads being born" awk '/^samples:/ { all = $2 + 0 }
	/%  complete$/ { whole = $1 } END { exit !(all > 0 && all - whole <= 2) }' stats
for u in libunwind libdw; do
	is "--unwind $u agrees" "$("$NSPROF" symbolize --unwind $u)" "$(cat plain)"
done
for n in 0 65537 99999999999999999999 -1 x; do
	check_rc "--max-stack $n" 129 "$NSPROF" symbolize --max-stack $n nsprof.data
	check_rc "--max-stack $n" 129 "$NSPROF" export --perf-data --max-stack $n nsprof.data
done
for c in symbolize script annotate "export --perf-data"; do
	for dir in "$T/nowhere" /bin/sh ""; do
		# shellcheck disable=SC2086
		check_rc "$c --proc '$dir'" 129 "$NSPROF" $c --proc "$dir" -i nsprof.data
		like "$c --proc '$dir': says what" "$(cat check.err)" "error: cannot use --proc '$dir': (No such file or|Not a) directory"
	done
done
check_rc "--unwind of something else" 129 "$NSPROF" symbolize --unwind guess
like "--unwind fp stops where there are none" "$("$NSPROF" symbolize -q --unwind fp)" 'app_leaf'

# Time in the kernel, and inlined functions.
"$NSPROF" record -q -e cpu-clock -F 999 -o k.data -- "$S" --kernel 0.5
"$NSPROF" symbolize --annotate k.data >k
if can_sample_kernel; then
	like "--annotate marks kernel frames" "$(cat k)" 'app_leaf;.*_\[k\] [0-9]+$'
else
	skip "--annotate marks kernel frames" "no right to sample the kernel"
fi
unlike "and user frames not" "$(cat k)" 'app_leaf_\[k\]'
"$NSPROF" record -q -e cpu-clock -F 999 --all-user -o u.data -- "$S" --kernel 0.5
unlike "--all-user leaves the kernel out" "$("$NSPROF" symbolize --annotate u.data)" '_\[k\]'
"$NSPROF" record -q -e cpu-clock -F 499 --call-graph none -o n.data -- "$S" 0.5
like "--call-graph none: the function alone" "$("$NSPROF" symbolize n.data)" '^spin;app_leaf [0-9]+$'
"$NSPROF" record -q -e cpu-clock -F 499 --call-graph fp -o f.data -- "$S" 0.5
like "--call-graph fp" "$("$NSPROF" symbolize f.data)" '^spin;.*app_leaf [0-9]+$'
"$NSPROF" record -q -e cpu-clock -F 499 --call-graph dwarf,256 -o s.data -- "$S" 0.5
like "a copy that is too small says so" "$("$NSPROF" symbolize -q s.data)" '^spin;\[truncated_stack\];.*app_leaf '
like "with what to do about it" "$("$NSPROF" symbolize s.data 2>&1 >/dev/null)" 'call-graph dwarf'
# info counts the copies that have the full requested size; a stack can only end in one of those.
n=$("$NSPROF" symbolize -q s.data | awk '/\[truncated_stack\]/ { n += $NF } END { print n + 0 }')
check "truncated in info, at least those $n" test "$("$NSPROF" info --json s.data | jq .truncated)" -ge "$n"

# Started with a closed standard descriptor: the next opened file must not get output meant for it.
# With stderr closed, the command's own messages are lost, and must not go to an event or a file of
# nsprof.
"$NSPROF" record -q -o - -- true 2>err >&-
is "standard output closed: status" $? 1
like "and said" "$(<err)" "cannot write 'standard output': Bad file descriptor"
"$NSPROF" record -o e.data -- readlink /proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 >fds <&- 2>&-
is "the others closed: status" $? 0
is "what a command has for them" "$(<fds)" "/dev/null
$T/fds
/dev/null"
check "and the recording is whole" "$NSPROF" info e.data
"$NSPROF" symbolize s.data >/dev/null 2>err <&-
is "symbolize with standard input closed" $? 0

# A path longer than the kernel reports (PATH_MAX): no name, but the mapped file is found.
(
	name=$(printf '%0250d' 0)
	for _ in $(seq 18); do mkdir "$name" && cd "$name" || exit 1; done
	cp "$S" spin && exec "$NSPROF" record -q -e cpu-clock -F 499 -o "$T/long.data" -- ./spin 0.5
)
like "a path that is too long" "$("$NSPROF" symbolize -q long.data)" '^spin;.*main;app_outer;app_middle;app_inner;app_leaf [0-9]+$'

# bad: bad input gives one line and status 1.
bad() {
	local out rc
	out=$("$NSPROF" symbolize "$2" 2>&1 >/dev/null)
	rc=$?
	is "$1: exit status" $rc 1
	is "$1: one line" "$(wc -l <<<"$out")" 1
	like "$1: names it" "$out" "$3"
}
: >empty
head -c 3000 /dev/urandom >noise
bad "missing" nosuch "cannot open 'nosuch'"
bad "empty" empty "'empty' is empty"
bad "foreign" noise "'noise' is not an nsprof recording"
bad "a directory" . "directory"
bad "a device without an end" /dev/zero "'/dev/zero' is not an nsprof recording"
bad "a pipe without an end" - "standard input is not an nsprof recording" < <(exec cat /dev/zero)
mkfifo fifo
timeout -s INT -k 5 0.5 "$NSPROF" symbolize fifo >/dev/null 2>err
is "Ctrl-C ends the wait for a writer of a pipe" $? 124
is "and needs no words" "$(cat err)" ""
size=$(stat -c %s nsprof.data)
head -c $((size / 2)) nsprof.data >cut
"$NSPROF" symbolize cut >cut.folded 2>cut.err
is "cut: exit status" $? 1
is "cut: one line" "$(wc -l <cut.err)" 1
like "cut: says where" "$(cat cut.err)" "'cut' is cut|cut"
# Damage in the captured data, not in the samples: then frames have no names, too.
"$NSPROF" record -q -e cpu-clock -F 499 -o bash.data -- bash -c 'for ((i = 0; i < 100000; i++)); do :; done'
at=$(python3 - bash.data <<'EOF'
import struct, sys
data = open(sys.argv[1], 'rb').read()
pos = struct.unpack_from('<I', data, 12)[0]
while True:
    magic, kind, flags, stored = struct.unpack_from('<IHHI', data, pos)
    if kind == 3 and stored > 100:      # CAPTURE
        break
    pos += 32 + stored
print(pos + 64)
EOF
)
{ head -c "$at" bash.data; printf 'damaged damaged '; tail -c +$((at + 17)) bash.data; } >damaged
"$NSPROF" symbolize damaged >damaged.folded 2>damaged.err
is "damaged: exit status" $? 1
is "damaged: one line" "$(wc -l <damaged.err)" 1
like "damaged: says where" "$(cat damaged.err)" "'damaged' is damaged in 1 place"
check "damaged: the samples are shown" [ -s damaged.folded ]
"$NSPROF" report damaged >/dev/null 2>damaged.err
like "report names the file, too" "$(cat damaged.err)" "'damaged' is damaged in 1 place"

# Frame pointers to nowhere: the frames without a name are in no file.
if command -v gcc >/dev/null; then
	cat >odd.c <<'EOF'
int main(void)
{
	static long frame[2] = { 0, 0x1234567 };

	for (long i = 0; i < 200; i++)
		asm volatile("push %%rbp; mov %0, %%rbp; mov $1000000, %%ecx; 1: dec %%ecx; jnz 1b; pop %%rbp" :: "r"(frame) : "ecx", "memory");
	return 0;
}
EOF
	gcc -O1 -mno-red-zone -o odd odd.c && "$NSPROF" record -q -e cpu-clock:u -F 999 --call-graph fp -o odd.data -- ./odd
	is "no mapping: no file is named" "$("$NSPROF" symbolize odd.data 2>&1 >/dev/null | sed 's/^[^%]*%/N %/')" \
		"N % of samples have frames without a name: address outside all known mappings; --stats tells more"
else
	skip "no mapping: no file is named" "no C compiler"
fi
done_testing
