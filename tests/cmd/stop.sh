#!/bin/bash
# timeout: 150
# nsprof symbolize on a terminal: counts after a second, and Ctrl-C shows what is done, while samples are read and
# while they get their names. Both take long when the files of the binaries do, which is strace's part.
# beside others
. "$(dirname "$0")/../lib.sh"
need_cmd python3 jq strace
S=$BUILD/tests/targets/spin
cd "$T" || exit 1
[ -x "$S" ] || skip_all "test programs are not built: make test-targets"
strace -qq -o /dev/null true 2>err || skip_all "no process can be traced here: $(cat err)"
# slow.py CALL DELAY WHEN STOP: symbolizes with a delay (us) at each system call CALL from number WHEN on, as on a
# terminal; with STOP sends SIGINT when there is STOP on the terminal or in the trace. Prints the status.
cat >slow.py <<'END'
import os, pty, re, signal, subprocess, sys, threading, time
call, delay, when, stop = sys.argv[1:5]
master, slave = pty.openpty()
open('trace', 'w')
p = subprocess.Popen(['strace', '-f', '-qq', '-o', 'trace', '-e', 'trace=' + call, '-e',
                      'inject=%s:delay_enter=%s:when=%s+' % (call, delay, when),
                      os.environ['NSPROF'] + '-symbolize', '--no-cache', 'data'] +
                     os.environ.get('OPTIONS', '').split(), stderr=slave, stdout=open('out', 'w'))
os.close(slave)
text, over = b'', False
def interrupt():
    while not over:
        if stop.encode() in text + open('trace', 'rb').read():
            pid = open('/proc/%d/task/%d/children' % (p.pid, p.pid)).read().split()[0]
            os.kill(int(pid), signal.SIGINT)
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

"$NSPROF" record -q -o data -e cpu-clock -F 4999 --call-graph dwarf,8192 -- "$S" --threads 2 2 2>err ||
	skip_all "cannot record here: $(cat err)"
n=$("$NSPROF" info --json data | jq .samples)
"$NSPROF" symbolize -q --no-cache data >whole
is "slow binaries: status" "$(python3 slow.py openat2 400000 1 '')" 0
check "the whole recording is shown" cmp out whole
if [ "$n" -gt 3000 ]; then
	like "with a count of samples after a second" "$(lines)" '^[0-9]+ samples, [0-9]+ s '
	# Written over with blanks, and the cursor at the beginning of the line.
	check "which is wiped away in the end" python3 -c 'import re, sys
t = open("tty", "rb").read()
sys.exit(not re.search(rb"samples, [0-9]+ s \r( {40,})\r(nsprof symbolize: [^\r]*\r\n)?$", t))'
else
	skip "with a count of samples after a second" "only $n samples"
fi
is "-q: status" "$(OPTIONS=-q python3 slow.py openat2 400000 1 '')" 0
is "-q: nothing on the terminal" "$(cat tty)" ""
check "no terminal" sh -c 'strace -f -qq -o /dev/null -e trace=openat2 -e inject=openat2:delay_enter=400000:when=1+ \
	"$NSPROF-symbolize" --no-cache data >out 2>err'
unlike "no terminal: no counts" "$(tr '\r' '\n' <err)" 'samples,'
is "Ctrl-C while samples are read: status" "$(python3 slow.py openat2 400000 1 'openat2(')" 1
like "it is said" "$(lines)" 'interrupted: this is what was read so far'
check "what was read is shown" awk -v n="$n" '{ s += $NF } END { print "# " s " of " n; exit !(s > 0 && s < n) }' out
check "with names" grep -q ';[a-z_]*.* [0-9]*$' out

"$TOP/tests/tools/manyunits" "$T/many" 2 1 2>err && "$NSPROF" record -q -o data -e cpu-clock -F 999 -- ./many $(seq 20000) 2>err ||
	{ skip "Ctrl-C while names are looked up" "no such program: $(cat err)"; done_testing; exit; }
"$NSPROF" symbolize -q --no-cache data >whole
is "slow debug info: status" "$(python3 slow.py pread64 200000 30 '')" 0
like "a count of names after a second" "$(lines)" '^names of [0-9]+ of [0-9]+ addresses'
check "all are right" cmp out whole
is "Ctrl-C while names are looked up: status" "$(python3 slow.py pread64 200000 30 'names of')" 1
like "it is said" "$(lines)" 'interrupted: [0-9]+ of [0-9]+ addresses have no name'
is "all samples are shown" "$(sum out)" "$(sum whole)"
check "those without a name as their binary" grep -qE '\[(many|lib|ld-)' out
done_testing
