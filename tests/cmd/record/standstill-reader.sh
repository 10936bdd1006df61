#!/bin/bash
# If the reader of a recording stops reading, the summary says so instead of advising larger rings or
# a faster disk. A second Ctrl-C ends the recorder, though it still waits for the reader.
# beside others
# takes: 20
. "$(dirname "$0")/../../lib.sh"
need_cmd python3
need_target spin
cd "$T" || exit 1
"$NSPROF" record -q -e cpu-clock:u -o probe -- true 2>err || skip_all "cannot record here: $(cat err)"
# A thread, because the copies of its stack are large.
"$BUILD/tests/targets/spin" --threads 1 1000 &
spin=$!

cat >reader.py <<'PY'
import fcntl, os, signal, subprocess, sys, time
nsprof, spin, what = sys.argv[1:4]
r, w = os.pipe()
fcntl.fcntl(w, 1031, 4096)	# F_SETPIPE_SZ
rec = subprocess.Popen([nsprof + '-record', '-o', '-', '-e', 'cpu-clock', '-F', '1999', '--stacks=full', '-p', spin], stdout=w,
                       stderr=open('err', 'w'))
os.close(w)
if what == 'late':
	os.read(r, 100)
	time.sleep(float(sys.argv[4]))
	rec.send_signal(signal.SIGINT)
	while os.read(r, 1 << 20):
		pass
	print(rec.wait())
else:
	os.read(r, 100)
	time.sleep(1.5)
	rec.send_signal(signal.SIGINT)
	time.sleep(4)
	print('alive' if rec.poll() is None else 'ended', end=' ')
	begun = time.monotonic()
	rec.send_signal(signal.SIGINT)
	try:
		print(rec.wait(5), 'at once' if time.monotonic() - begun < 2 else 'late')
	except subprocess.TimeoutExpired:
		rec.kill()
		print('not at all')
PY
is "a pipe that nobody reads: Ctrl-C waits, a second one does not" "$(python3 reader.py "$NSPROF" $spin never)" "alive -2 at once"
like "in between it is said" "$(cat err)" 'still writing what was recorded; a second Ctrl-C ends it at once'
like "and at the end" "$(cat err)" 'ended by the second signal; what was written until then can be read'
is "read late: it ends by itself" "$(python3 reader.py "$NSPROF" $spin late 8)" -2
like "read late: it is said" "$(cat err)" '(was|were) dropped and the stacks of [0-9]+ cut because standard output took no data for [0-9.]+ s: its reader did not read'
unlike "read late: no other advice" "$(cat err)" 'use -m|faster disk|could not keep up'
done_testing
