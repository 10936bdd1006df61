#!/bin/bash
# The process that parses perf.data: its rights as /proc shows them, the same results without it, and
# what happens if perf.data or a binary ends it.
# beside others
. "$(dirname "$0")/../../lib.sh"
. "$TOP/tests/parser.sh"
need_cmd python3 jq
need_target spin
cd "$T" || exit 1
! grep -qa __asan_init "$BUILD/bin/nsprof-record" || skip_all "with a sanitizer nothing is given up"
cp "$BUILD/tests/targets/spin" victim
made() { python3 "$TOP/tests/tools/made_perfdata.py" "$@"; }
made '<' file 112 2 "$T/victim" a.data || skip_all "no perf.data can be made"
made '<' pipe 112 2 "$T/victim" a.pipe

parser_same "import" "$NSPROF-import" -o - a.data
# Files without a device of their own (overlay, tmpfs, btrfs) have another identity.
mkdir ram
if mount -t tmpfs tmpfs ram 2>err; then
	cp victim ram
	made '<' file 112 2 "$T/ram/victim" ram.data
	parser_same "a binary on tmpfs" "$NSPROF-import" -o - ram.data
	parser_same "a binary on tmpfs, for symbolize" "$NSPROF-symbolize" ram.data
	umount -l ram
else
	skip "a binary on tmpfs" "cannot mount: $(cat err)"
fi
mkdir dir
cp a.data dir/data
parser_same "a directory" "$NSPROF-import" -o - dir
mkdir linked
ln -s "$T/a.data" linked/data
"$NSPROF-import" -q -o - linked >/dev/null 2>err
is "a folder with links to other files" "$? $(grep -c "^nsprof import: error: cannot read 'linked': Too many levels of symbolic links" err)" "1 1"
parser_same "perf.data for symbolize" "$NSPROF-symbolize" a.data
is "which names both" "$(grep -c 'with all rights$' without.err)" 2
# glibc looks up the kernel's overcommit mode when it shrinks the heap of a further thread.
if have_perf && perf record -q -e cpu-clock -F 2999 -g -o p.data -- ./victim 0.3 >err 2>&1; then
	GLIBC_TUNABLES=glibc.malloc.trim_threshold=4096:glibc.malloc.mmap_threshold=33554432:glibc.malloc.top_pad=4096 \
		parser_same "heaps that shrink early" "$NSPROF-import" -o - p.data
else
	skip "heaps that shrink early" "perf record does not work here: $(head -n 1 err)"
fi
check "through a pipe" sh -c "cat a.data | '$NSPROF-import' -q -i - -o pipe.ns"
check "the pipe format" sh -c "cat a.pipe | '$NSPROF-import' -q -i - -o piped.ns && '$NSPROF-symbolize' piped.ns"
check "to a file" "$NSPROF-import" -q -o file.ns a.data
is "whose owner and mode are as without" "$(stat -c %u:%g:%a file.ns)" "$(id -u):$(id -g):600"
check "again" "$NSPROF-import" -q -o file.ns a.data
check "the old one is kept" cmp file.ns file.ns.old
"$NSPROF-import" -q -o - a.data >/dev/full 2>err
is "a full disk: status" $? 1
like "a full disk" "$(cat err)" "^nsprof import: error: cannot write 'standard output': No space left on device; choose"

# ---- its rights, while it waits for input ----
mkfifo fifo
sleep 100 <>fifo &
"$NSPROF-import" -q -i - -o waits.ns <fifo 2>err &
pid=$!
parser_rights "$pid" "import"
kill -TERM "$pid"
wait "$pid" 2>/dev/null
is "SIGTERM" $? 143
"$NSPROF-import" -q -i - -o waits.ns <fifo 2>err &
pid=$!
if wait_for 'p=$(parser_of "$pid")' 60; then
	kill -SEGV "$p"
	wait "$pid"
	is "a fault: status" $? 1
	like "a fault" "$(cat err)" "^nsprof import: error: the process that reads standard input was ended by signal 11 \(.*\); what it should write is missing or cut$"
	is "nothing is left" "$(ls -d waits* 2>/dev/null)" ''
fi

# ---- a binary that ends it ----
if ! strace -qq -o /dev/null true 2>err; then
	skip "a binary that ends the parser" "$(cat err)"
	done_testing
	exit
fi
# hit WHEN OPTIONS...: the signal comes with that read of the file.
hit() {
	local when=$1
	shift
	strace -f -qq -o trace -P "$T/victim" -e trace=pread64 -e "inject=pread64:signal=SIGSEGV:when=$when" "$NSPROF-import" -o hit.ns "$@"
}
strace -f -qq -o trace -P "$T/victim" -e trace=pread64 "$NSPROF-import" -q -o all.ns a.data
last=$(awk '{ n[$1]++ } END { for (p in n) if (n[p] > max) max = n[p]; print max }' trace)
for when in 2 "$last"; do
	rm -f hit.ns
	hit "$when" a.data 2>err
	is "a binary that ends the parser at read $when: status" $? 0
	like "it is named" "$(cat err)" "^nsprof import: warning: reading '.*/victim' ended the process that reads files of others, by signal 11 .*: beginning again without that file\$"
	is "once" "$(grep -c 'beginning again' err)" 1
	is "no sample is lost" "$("$NSPROF-info" --json hit.ns | jq .samples)" "$("$NSPROF-info" --json all.ns | jq .samples)"
done
# shellcheck disable=SC2002
cat a.pipe | hit 2 -i - 2>err
is "from a pipe, it cannot begin again" "$? $(grep -c "while it read '.*/victim'; what it should write" err)" "1 1"
done_testing
