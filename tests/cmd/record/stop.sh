#!/bin/bash
# timeout: 200
# nsprof symbolize on a terminal: progress counts appear after a second, and Ctrl-C shows what is
# done, while samples are read and while names are looked up; the same holds for a report of a
# recording. strace delays reads of the binaries' files, so that both take long.
# beside others
# waits
# takes: 45
. "$(dirname "$0")/../../lib.sh"
need_cmd python3 jq strace
S=$BUILD/tests/targets/spin
cd "$T" || exit 1
[ -x "$S" ] || skip_all "test programs are not built: make test-targets"
strace -qq -o /dev/null true 2>err || skip_all "no process can be traced here: $(cat err)"
# slow.py CALL DELAY WHEN STOP: symbolize as on a terminal, with a delay (us) at each system call
# CALL from number WHEN on. With STOP, send SIGINT once STOP is on the terminal or in the trace.
# Prints the status. COMMAND runs another program, and sends SIGINT to its whole process group, as a
# terminal does. TASKSET: the CPUs it may use.
cat >slow.py <<'END'
import os, pty, re, signal, subprocess, sys, threading, time
call, delay, when, stop = sys.argv[1:5]
master, slave = pty.openpty()
open('trace', 'w')
p = subprocess.Popen((['taskset', '-c', os.environ['TASKSET']] if 'TASKSET' in os.environ else []) + ['strace', '-f', '-qq', '-o', 'trace', '-e', 'trace=' + call, '-e',
                      'inject=%s:delay_enter=%s:when=%s+' % (call, delay, when),
                      os.environ['NSPROF'] + '-' + os.environ.get('COMMAND', 'symbolize'), 'data'] +
                     os.environ.get('OPTIONS', '--no-cache').split(), stderr=slave, stdout=open('out', 'w'),
                     start_new_session=True)
os.close(slave)
text, over = b'', False
def interrupt():
    while not over:
        if stop.encode() in text + open('trace', 'rb').read():
            pid = int(open('/proc/%d/task/%d/children' % (p.pid, p.pid)).read().split()[0])
            os.killpg(p.pid, signal.SIGINT) if 'COMMAND' in os.environ else os.kill(pid, signal.SIGINT)
            return
        time.sleep(0.01)
if stop:
    threading.Thread(target=interrupt).start()
try:
    while chunk := os.read(master, 4096):
        text += chunk
except OSError:
    pass
status = p.wait()
over = True
open('tty', 'wb').write(text)
print(status)
END
lines() { tr '\r' '\n' <tty; }
sum() { awk '{ n += $NF } END { print n + 0 }' "$@"; }

"$NSPROF" record -q -o data -e cpu-clock -F 4999 --call-graph dwarf,8192 -- "$S" --cpu --threads 2 1.2 2>err ||
	skip_all "cannot record here: $(cat err)"
n=$("$NSPROF" info --json data | jq .samples)
"$NSPROF" symbolize -q --no-cache data >whole
is "slow binaries: status" "$(python3 slow.py openat2 400000 1 '')" 0
check "the whole recording is shown" cmp out whole
if [ "$n" -gt 3000 ]; then
	like "with a count of samples after a second" "$(lines)" '^[0-9]+ samples, [0-9]+ s '
	# Overwritten with blanks, with the cursor at the beginning of the line.
	check "which is wiped away in the end" python3 -c 'import re, sys
t = open("tty", "rb").read()
sys.exit(not re.search(rb"samples, [0-9]+ s \r( {40,})\r(nsprof symbolize: [^\r]*\r\n)?$", t))'
else
	skip "with a count of samples after a second" "only $n samples"
fi
is "-q: status" "$(OPTIONS="-q --no-cache" python3 slow.py openat2 400000 1 '')" 0
is "-q: nothing on the terminal" "$(cat tty)" ""
check "no terminal" sh -c 'strace -f -qq -o /dev/null -e trace=openat2 -e inject=openat2:delay_enter=400000:when=1+ \
	"$NSPROF-symbolize" --no-cache data >out 2>err'
unlike "no terminal: no counts" "$(tr '\r' '\n' <err)" 'samples,'
is "Ctrl-C while samples are read: status" "$(python3 slow.py openat2 400000 1 'openat2(')" 1
like "it is said" "$(lines)" 'interrupted: this is what was read so far'
check "what was read is shown" awk -v n="$n" '{ s += $NF } END { print "# " s " of " n; exit !(s > 0 && s < n) }' out
check "with names" grep -q ';[a-z_]*.* [0-9]*$' out
export XDG_CACHE_HOME=$T/none	# a report has no --no-cache
# in_table: the number of samples in the header of the report in 'out'.
in_table() { awk '/^# [0-9]+ samples? in/ { print $2 }' out; }
is "Ctrl-C in a report while samples are read: status" "$(COMMAND=report OPTIONS='' python3 slow.py openat2 400000 1 'openat2(')" 1
check "the table has what was read" awk -v n="$n" -v t="$(in_table)" 'BEGIN { print "# " t " of " n; exit !(t > 0 && t < n) }'
like "and says so" "$(cat out)" '^# interrupted: some samples'
like "functions are in it" "$(cat out)" '^ +[0-9.]+% +[0-9.]+% +[0-9]+ '
# The second Ctrl-C kills nsprof-symbolize. This stand-in does not wait for it.
mkdir bin
cp "$NSPROF-report" bin
printf '#!/bin/sh\nkill -INT $$\n' >bin/nsprof-symbolize
chmod +x bin/nsprof-symbolize
check_rc "what Ctrl-C ends, ends a report" 130 sh -c 'bin/nsprof-report data >out; exit $?'
is "without output" "$(cat out)" ""
# All processes of a pipe get it, and the recorder still writes its data.
cat >pipe.py <<'END'
import os, signal, subprocess, sys, time
nsprof = os.environ['NSPROF']
rec = subprocess.Popen([nsprof + '-record', '-q', '-o', '-', '-e', 'cpu-clock', '-F', '999', '--', sys.argv[1], '60'],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=os.setpgrp)
rep = subprocess.Popen([nsprof + '-report', '-'], stdin=rec.stdout, stdout=open('out', 'w'),
                       preexec_fn=lambda: os.setpgid(0, rec.pid))
rec.stdout.close()
def has_run():	# for 100 ms
    pids = open('/proc/%d/task/%d/children' % (rec.pid, rec.pid)).read().split()
    stats = [open('/proc/%s/stat' % pid).read().rpartition(')')[2].split() for pid in pids]
    return any(int(st[11]) >= 10 for st in stats)
def tree(pid):
    below = [p for t in os.listdir('/proc/%d/task' % pid) for p in open('/proc/%d/task/%s/children' % (pid, t)).read().split()]
    return [pid] + [p for b in below for p in tree(int(b))]
def catches(pid):
    status = open('/proc/%d/status' % pid).read()
    return int(status.partition('SigCgt:')[2].split()[0], 16) & 1 << (signal.SIGINT - 1)
def handles():	# the program and its parser
    try:
        ours = [p for p in tree(rep.pid) if open('/proc/%d/comm' % p).read() == 'nsprof-report\n']
        return len(ours) == 2 and all(catches(p) for p in ours)
    except OSError:
        return False
while not (has_run() and handles()):
    time.sleep(0.01)
os.killpg(rec.pid, signal.SIGINT)
print(rep.wait())
END
is "Ctrl-C in a pipe: status of the report" "$(python3 pipe.py "$S")" 0
like "it shows the recording" "$(cat out)" ' app_leaf$'

cp "$BUILD/tests/bench/many-2-1" many 2>err && "$NSPROF" record -q -o data -e cpu-clock -F 999 -- ./many $(seq 20000) 2>err ||
	{ skip "Ctrl-C while names are looked up" "no such program: $(cat err)"; done_testing; exit; }
"$NSPROF" symbolize -q --no-cache data >whole
# On one CPU: with more, debug info is read while samples are read.
export TASKSET=0
is "slow debug info: status" "$(python3 slow.py pread64 40000 30 '')" 0
like "a count of names after a second" "$(lines)" '^names of [0-9]+ of [0-9]+ addresses'
check "all are right" cmp out whole
is "Ctrl-C while names are looked up: status" "$(python3 slow.py pread64 40000 30 'names of')" 1
like "it is said" "$(lines)" 'interrupted: [0-9]+ of [0-9]+ addresses have no name'
is "all samples are shown" "$(sum out)" "$(sum whole)"
check "those without a name as their binary" grep -qE '\[(many|lib|ld-)' out
is "Ctrl-C in a report while names are looked up: status" \
	"$(COMMAND=report OPTIONS='--format svg' python3 slow.py pread64 40000 30 'names of')" 1
like "the picture has all samples and says so" "$(cat out)" "$(sum whole) samples in [0-9]+ stacks; interrupted: some samples"
done_testing
