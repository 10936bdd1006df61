#!/bin/bash
# record -p of thousands of threads takes no more descriptors than perf, still gets all side-band
# events of the process, and says what to do if the descriptors do not suffice.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd python3
need_root
cd "$T" || exit 1
S=$BUILD/tests/targets/spin-b
N=1200

cat >crowd.py <<'PY'
import subprocess, sys, threading
done = threading.Event()
threading.stack_size(65536)
for i in range(int(sys.argv[1]) - 1):
	threading.Thread(target=done.wait, daemon=True).start()
print('ready', flush=True)
for line in sys.stdin:
	subprocess.run(line.split(), stdout=subprocess.DEVNULL)
	print('ran', flush=True)
PY
mkfifo in
python3 crowd.py $N <in >told &
pid=$!
exec 7>in
wait_for 'grep -q ready told' 30 || skip_all "cannot start $N threads here"
is "it has so many threads" "$(ls /proc/$pid/task | wc -l)" $N

# fds COMMAND...: how many descriptors it has while it records, and how many of them are events.
fds() {
	# The kernel calls a file that began without a name "#INODE (deleted)" for ever.
	"$@" 2>err &
	r=$!
	wait_for "[ -e /proc/$r/fd ] && ls -l /proc/$r/fd 2>/dev/null | grep -Eq '/(perf\.)?data$|/#[0-9]+ .deleted.$'" 20
	wait_for "grep -q perf_event /proc/$r/maps" 20
	sleep 0.2
	n=$(ls /proc/$r/fd | wc -l)
	e=$(readlink /proc/$r/fd/* | grep -c perf_event)
}
fds "$NSPROF" record -e cpu-clock -F 499 -o data -p $pid
ours=$n
echo "# nsprof: $n descriptors, $e of them events"
is "one event for each thread and CPU" "$e" $((N * $(nproc)))
# A new child, and its program: the same events report it.
echo "$S --cpu 0.3" >&7
wait_for 'grep -q ran told' 20
kill -INT $r
wait $r
like "a program that is executed meanwhile has its names" "$("$NSPROF" symbolize -q --by process data 2>/dev/null)" '^spin-b-[0-9]+;.*main;bbb_outer;bbb_middle;bbb_inner;bbb_leaf'
unlike "and no stack is broken" "$("$NSPROF" symbolize -q --by process data 2>/dev/null | grep '^spin-b')" 'broken_stack|truncated|no mapping'
check "nothing is missing" [ "$("$NSPROF" info --json data | python3 -c 'import json, sys; l = json.load(sys.stdin)["ledger"]; print(l["lost_kernel"] + l["lost_sideband"])')" = 0 ]

if have_perf; then
	fds perf record -q -e cpu-clock -F 499 -o perf.data -p $pid
	kill -INT $r
	wait $r
	echo "# perf: $n descriptors, $e of them events"
	check "perf has no fewer" [ "$ours" -le $((n + 16)) -a $((N * $(nproc))) -le "$e" ]
else
	skip "perf has no fewer" "needs the command perf"
fi

# A limit that is enough for one event per thread is enough.
limit=$((N * $(nproc) + 100))
bash -c "ulimit -n $limit; exec '$NSPROF' record -q -e cpu-clock -F 99 -o few -p $pid --duration 0.2" 2>err
is "with so many descriptors it records" "$? $(cat err)" "0 "
# And one that is not.
bash -c "ulimit -n $N; exec '$NSPROF' record -q -e cpu-clock -F 99 -o none -p $pid --duration 0.2" 2>err
is "with too few it does not" $? 1
like "it says how many it takes" "$(cat err)" "cannot open $((N * $(nproc))) events: .*ulimit -n"
for option in -G --container -a; do
	like "and names $option" "$(cat err)" "[(, ]$option[,) ]"
done
is "in one line" "$(wc -l <err)" 1

# With few threads, each has a separate event for mappings.
"$S" 20 &
few=$!
fds "$NSPROF" record -e cpu-clock -F 499 -o data -p $few
kill -INT $r
wait $r
kill $few
is "few threads: two events each" "$e" $((2 * $(nproc)))
exec 7>&-

# A thread that begins while the recorder attaches, here while it opens the first events, has its
# samples all the same.
cat >late.py <<'PY'
import sys, threading, time
def spin():
	while True:
		pass
if sys.argv[1] == 'once':
	sys.stdin.readline()
	threading.Thread(target=spin, daemon=True).start()
	print('begun', flush=True)
	sys.stdin.readline()
else:
	until = time.monotonic() + 60
	print('begun', flush=True)
	while time.monotonic() < until:
		# Some are always there, however late it gets to start the next one.
		threading.Thread(target=time.sleep, args=(0.1,)).start()
		time.sleep(0.004)
PY
# attach MICROSECONDS: record, with every open delayed by that.
attach() {
	rm -f trace
	strace -qq -o trace -e trace=perf_event_open -e inject=perf_event_open:delay_enter="$1" \
		"$NSPROF-record" -e cpu-clock:u -F 499 -o late -p $pid --duration 0.5 2>err &
	r=$!
}
if command -v strace >/dev/null && strace -qq -o /dev/null true 2>err; then
	rm -f told
	python3 late.py once <in >told &
	pid=$!
	exec 7>in
	attach 100000
	wait_for 'grep -qs perf_event_open trace' 20
	echo now >&7
	wait_for 'grep -q begun told' 20
	wait $r
	exec 7>&-
	n=$("$NSPROF" info --json late | python3 -c 'import json, sys; print(json.load(sys.stdin)["samples"])')
	echo "# $n samples"
	# Half a second of its own, as far as this machine provides it; the others do nothing.
	check "a thread that begins while others are attached to is sampled" [ "$n" -gt 10 ]
	unlike "and nothing is said" "$(cat err)" 'began while'

	rm -f told
	python3 late.py always >told &
	pid=$!
	wait_for 'grep -q begun told' 20
	attach 5000
	wait $r
	kill $pid
	like "where threads never cease to begin, it is said" "$(cat err)" 'warning: [0-9]+ threads? began while nsprof attached to the process: samples of (it|them)'
else
	skip "a thread that begins while others are attached to is sampled" "needs strace: $(cat err)"
fi
done_testing
