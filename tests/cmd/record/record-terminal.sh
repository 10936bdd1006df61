#!/bin/bash
# A terminal shows that nsprof records, how to end that, and what to do next. A file of messages
# contains none of that.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd python3
S=$BUILD/tests/targets/spin
cd "$T" || exit 1
"$NSPROF" record -q -e cpu-clock:u -o probe -- true 2>err || skip_all "cannot record here: $(cat err)"

# onterm.py WHEN COMMAND...: write the output of COMMAND on a terminal to 'tty'. Type Ctrl-C there
# once the output contains WHEN. Prints the status.
cat >onterm.py <<'PY'
import os, pty, sys
when, command = sys.argv[1].encode(), sys.argv[2:]
pid, fd = pty.fork()
if not pid:
	os.execvp(command[0], command)
text = b''
try:
	while chunk := os.read(fd, 4096):
		text += chunk
		if when and when in text:
			os.write(fd, b'\x03')
			when = b''
except OSError:
	pass
open('tty', 'wb').write(text.replace(b'\r\n', b'\n'))
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
tty() { STATUS=$(timeout 60 python3 onterm.py "$@"); }

"$S" 100 &
spin=$!
rm -f nsprof.data
tty 'Ctrl-C stops it' sh -c "exec '$NSPROF' record -e cpu-clock -F 999 -p $spin"
is "Ctrl-C ends it, as what is shown says" "$STATUS" -2
is "it says that it records first" "$(head -1 tty)" 'nsprof record: recording; Ctrl-C stops it'
# Ctrl-C comes at once: there may be no sample yet.
unlike "nothing of being woken" "$(cat tty)" woken

tty '' "$NSPROF" record -e cpu-clock -F 999 -p $spin --duration 0.3
is "for a time: it says how long" "$(head -1 tty)" 'nsprof record: recording for 0.3 s; Ctrl-C stops it earlier'
is "at the end it names the next command" "$(tail -1 tty)" 'nsprof record: to see where the time went: nsprof report'
tty '' env SUDO_USER=somebody "$NSPROF" record -e cpu-clock -F 999 -p $spin --duration 0.3
is "under sudo that needs sudo, too" "$(tail -1 tty)" 'nsprof record: to see where the time went: sudo nsprof report'
check "which works" sh -c "'$NSPROF' report >out"
tty '' "$NSPROF" record -e cpu-clock -F 999 -p $spin --duration 0.3 -o "it's mine.data"
next=$(sed -n 's/.*time went: nsprof //p' tty)
is "with the file's name where it is another one" "$next" "report -i 'it'\\''s mine.data'"
check "as a shell reads it" sh -c "'$NSPROF' $next >out"
tty '' "$NSPROF" record -e cpu-clock -F 999 -- "$S" --cpu 0.2
is "a command: it says whose end it waits for" "$(head -1 tty)" "nsprof record: recording until '$S' ends; Ctrl-C stops it earlier"
like "with -v it tells how often it was woken" "$(tty '' "$NSPROF" record -v -e cpu-clock -p $spin --duration 0.1; cat tty)" 'woken [0-9]+ times?, '
tty '' "$NSPROF" record -e cpu-clock -F 999 -p $spin -D 200 --duration 0.3
like "-D: it says when it begins" "$(head -1 tty)" '^nsprof record: sampling begins in 0\.2 s; Ctrl-C ends the recording$'
mkfifo ctl
tty "'enable'" "$NSPROF" record -e cpu-clock -p $spin -D -1 --control fifo:ctl
like "-D -1: it says what it waits for" "$(head -1 tty)" "^nsprof record: sampling begins when --control says 'enable'; Ctrl-C ends the recording\$"
tty 'Ctrl-C writes them' "$NSPROF" record -e cpu-clock -p $spin --overwrite=5s -o last
like "--overwrite: it says how it writes" "$(head -1 tty)" "^nsprof record: keeping the last 5\.0 s in memory; 'kill -USR2 [0-9]+' writes them, Ctrl-C writes them and ends"
tty '' "$NSPROF" record -q -e cpu-clock -p $spin --duration 0.2
is "-q: nothing" "$(cat tty)" ""
tty '' sh -c "'$NSPROF' record -e cpu-clock -p $spin --duration 0.2 -o - >x.data"
unlike "standard output has no name to be reported" "$(cat tty)" 'nsprof report'
"$NSPROF" record -e cpu-clock -p $spin --duration 0.2 -o data 2>err
is "no terminal: the closing line alone" "$(grep -vc 'wrote' err)" 0
kill $spin

# ---- CPU time without a sample: reported only if the recording shows why.
"$S" 100 &
spin=$!
for hz in 3 5 7 9; do
	"$NSPROF" record -e cpu-clock -F $hz -p $spin --duration 0.7 -o data 2>>few
done
kill $spin
unlike "a thread that lives, with few samples: nothing is claimed" "$(cat few)" 'in no sample|ended'
"$NSPROF" record -e cpu-clock -F 49 -o data -- sh -c 'i=0; while [ $i -lt 400 ]; do /bin/true; i=$((i + 1)); done; exec $0 --cpu 0.3' "$S" 2>err
like "400 processes shorter than a period: they are" "$(cat err)" \
	'% of the CPU time is in no sample: a thread is sampled when it has run for a period \(20\.[0-9]+ ms\), and 40[0-9] threads ended, each with less than a period left'
done_testing
