#!/bin/bash
# The processes that parse the inputs of report, diff and info: their rights as /proc shows them, the same
# results without them, and what happens if an input ends them.
# beside others
. "$(dirname "$0")/../../lib.sh"
. "$TOP/tests/parser.sh"
need_target spin
cd "$T" || exit 1
! grep -qa __asan_init "$BUILD/bin/nsprof-record" || skip_all "with a sanitizer nothing is given up"
"$NSPROF" record -q -e cpu-clock:u -F 999 -o a.data -- "$BUILD/tests/targets/spin" --cpu 0.2 >/dev/null || skip_all "nothing can be recorded here"
"$NSPROF" symbolize -q --format profile -o a.profile a.data
"$NSPROF" symbolize -q -o a.folded a.data
mkfifo fifo
sleep 100 <>fifo &

for input in a.data a.profile a.folded; do
	parser_same "report of $input" "$NSPROF-report" "$input"
done
parser_same "CSV" "$NSPROF-report" --format csv a.profile
parser_same "a page" "$NSPROF-report" --format html a.profile
parser_same "info" "$NSPROF-info" a.data
parser_same "info as JSON" "$NSPROF-info" --json a.data
like "info: a parser without rights" "$("$NSPROF-info" -v a.data 2>&1 >/dev/null)" 'sandbox of the parser: .* no capabilities: yes; .* system calls filtered: yes'
check "info of a pipe" sh -c "cat a.data | '$NSPROF-info' --json - | grep -q samples"
parser_same "diff" "$NSPROF-diff" a.data a.profile
check "a pipe" sh -c "'$NSPROF-report' - <a.profile >with && cat a.profile | '$NSPROF-report' - | cmp - with"
check "standard input" sh -c "'$NSPROF-diff' a.folded - <a.folded >with"
check "an output" "$NSPROF-report" -o out.txt a.profile
is "its owner and mode are as usual" "$(stat -c %u:%g:%a out.txt)" "$(id -u):$(id -g):$([ "$(id -u)" = 0 ] && echo 600 || printf %o $((0666 & ~0$(umask))))"
"$NSPROF-report" a.profile >/dev/full 2>err
is "a full disk" "$? $(cat err)" "1 nsprof report: error: cannot write 'standard output': No space left on device"

mkfifo gone
exec 7<>gone 8>gone 7<&-
"$NSPROF-report" a.profile >&8
is "a reader that has gone" $? 141
exec 8>&-

# A terminal's Ctrl-C goes to program and parser.
ctrl_c() {
	python3 -c '
import os, pty, sys, time
pid, fd = pty.fork()
if not pid:
    os.execv(sys.argv[1], sys.argv[1:])
for i in range(200):
    time.sleep(0.05)
    # Both wait: the program for the writer of the FIFO, the parser for the program.
    if len(os.popen("pgrep -P %d" % pid).read().split()) and "S" in open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1][:3]:
        break
time.sleep(0.1)
os.write(fd, b"\x03")
print(os.WTERMSIG(os.waitpid(pid, 0)[1]))' "$@"
}
if command -v python3 >/dev/null; then
	mkfifo empty
	is "Ctrl-C while it waits for input" "$(ctrl_c "$NSPROF-report" empty)" 2
else
	skip "Ctrl-C while it waits for input" "no python3"
fi

# The pager. It runs with the rights of its user.
if check "with a terminal" script -qec "NSPROF_PAGER='cat >paged; awk \"\\\$1 == \\\"NoNewPrivs:\\\" { print \\\$2 }\" /proc/self/status >rights' '$NSPROF-report' a.profile" /dev/null; then
	check "the pager gets the text" grep -q 'app_leaf' paged
	is "the pager keeps its rights" "$(cat rights)" "$(parser_field NoNewPrivs self)"
fi

# ---- their rights, while they wait for input ----
"$NSPROF-report" fifo 2>err >/dev/null &
pid=$!
parser_rights "$pid" report
kill -TERM "$pid"
wait "$pid" 2>/dev/null
is "SIGTERM ends it" $? 143
for command in "report fifo" "diff a.folded fifo"; do
	# shellcheck disable=SC2086
	"$NSPROF-"$command 2>err >/dev/null &
	pid=$!
	wait_for 'p=$(parser_of "$pid") && grep -q "^State:.S" "/proc/$p/status"' 60
	kill -SEGV "$p"
	wait "$pid"
	is "${command%% *} after a fault: status" $? "$([ "$command" = "report fifo" ] && echo 1 || echo 3)"
	like "${command%% *} after a fault" "$(cat err)" "error: the process that reads the inputs? was ended by signal 11 \(.*\).*; what it should write is missing or cut$"
done

# ---- an input that ends it ----
if ! strace -qq -o /dev/null true 2>err; then
	skip "an input that ends the parser" "$(cat err)"
	done_testing
	exit
fi
strace -f -qq -o trace -P "$T/a.folded" -e trace=read,pread64 -e inject=read:signal=SIGSEGV "$NSPROF-report" -o hit.txt a.folded 2>err
is "an input that ends the parser: status" $? 1
like "it is named" "$(cat err)" "^nsprof report: error: the process that reads the input was ended by signal 11 \(.*\) while it read 'a.folded'; what"
strace -f -qq -o trace -P "$T/a.data" -e trace=read,pread64 -e inject=pread64:signal=SIGSEGV:when=5 "$NSPROF-info" a.data >/dev/null 2>err
is "a recording that ends info's: status" $? 1
like "it says so" "$(cat err)" "^nsprof info: error: the process that reads 'a.data' was ended by signal 11 "
is "and no output is left" "$(ls hit* 2>/dev/null)" ''
done_testing
