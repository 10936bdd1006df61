#!/bin/bash
# Where threads of Java and Python wait for locks: beside the clocks of the programs, and per thread
# beside what perf and bpftrace make of the scheduler's tracepoint.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../waits.sh"
need_cmd jq python3
ctr_need
later ctr_end
can_sample_kernel || skip_all "the kernel may not be recorded"
cd "$T" || exit 1
mkdir "$CTR_V2/$CTR_CGROOT/a" || exit 1

# Lines "NAME TID WHAT NS CPU": as the thread saw it, ns, and the CPU time of the whole thread.
cat >locks.py <<'PY'
import os, sys, threading, time
clock, n = time.monotonic_ns, int(sys.argv[2])
lock = threading.Lock()
def say(what, ns):
    os.write(1, b'python %d %s %d %d\n' % (threading.get_native_id(), what.encode(), ns, time.thread_time_ns()))
def locker():
    waited = slept = 0
    for _ in range(n):
        t = clock()
        lock.acquire()
        u = clock()
        time.sleep(0.004)
        v = clock()
        lock.release()
        w = clock()
        time.sleep(0.0005)	# or it has the lock again before anybody is awake
        waited += u - t
        slept += v - u + clock() - w
    say('lock', waited)
    say('sleep', slept)
def computing():
    begin = clock()
    until = begin + n * 1000000
    while clock() < until:
        pass
    say('gil', clock() - begin)
threads = [threading.Thread(target=globals()[sys.argv[1]]) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()
PY
cat >Contend.java <<'JAVA'
import java.lang.management.*;
import java.nio.file.*;
import java.util.concurrent.*;

public class Contend {
	static final Object lock = new Object();
	static final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
	static int rounds;

	static void say(String what, long ns) throws Exception {
		String tid = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
		System.out.println("java " + tid + " " + what + " " + ns + " " + threads.getCurrentThreadCpuTime());
	}

	static void hold() throws Exception {
		Thread.sleep(4);
	}

	static long enter() throws Exception {
		long t = System.nanoTime();
		synchronized (lock) {
			t = System.nanoTime() - t;
			hold();
		}
		return t;
	}

	static void work() {
		long waited = 0;
		try {
			for (int i = 0; i < rounds; i++) {
				waited += enter();
				Thread.sleep(1);	// or it has the monitor again before anybody is awake
			}
			ThreadInfo me = threads.getThreadInfo(Thread.currentThread().getId());
			say("monitor", waited);
			say("blocked", me.getBlockedTime() * 1000000);
			say("blocks", me.getBlockedCount());
		} catch (Exception e) {
			System.out.println(e);
		}
	}

	public static void main(String[] args) throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(2);
		Thread[] t = new Thread[3];
		threads.setThreadContentionMonitoringEnabled(true);
		rounds = Integer.parseInt(args[0]);
		for (int i = 0; i < 2; i++)
			pool.submit(() -> { say("pool", 0); return 0; }).get();
		for (int i = 0; i < t.length; i++)
			(t[i] = new Thread(Contend::work, "contend-" + i)).start();
		for (Thread x : t)
			x.join();
		for (ThreadInfo i : threads.dumpAllThreads(false, false))
			System.out.println("state " + i.getThreadName() + " " + i.getThreadState());
		pool.shutdown();
	}
}
JAVA
have_java=''
if command -v java >/dev/null && command -v javac >/dev/null; then
	check "compile" javac Contend.java
	have_java=1
fi
# Not a script that finds out which Python to run, and that from there.
PYTHON=$(python3 -c 'import sys; print(sys.executable)')
JAVA=(java -XX:+PreserveFramePointer -XX:TieredStopAtLevel=1 -XX:CompileCommand=quiet '-XX:CompileCommand=compileonly,Contend::*' -Xcomp
	-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -cp "$T" Contend 60)
cat >run <<-RUN
	echo \$\$ >"$CTR_V2/$CTR_CGROOT/a/cgroup.procs"
	$PYTHON "$T/locks.py" locker 40 >python
	$PYTHON "$T/locks.py" computing 400 >>python
	[ -z "$have_java" ] || ${JAVA[*]@Q} >java
RUN

# What else looks at the same switches: perf around it, and bpftrace around both.
cmd=(sh run) have_perf='' have_bpftrace=''
if command -v perf >/dev/null && perf record -q -a -e sched:sched_switch -o probe -- true 2>err; then
	have_perf=1
	cmd=(perf record -q -B -N -a -m 8M -e sched:sched_switch -o switches -- sh run)
fi
cat >switches.bt <<'BT'
tracepoint:sched:sched_switch
{
	if (@left[args->prev_pid]) { @missed[args->prev_pid] = 1; }
	@left[args->prev_pid] = nsecs;
	if (@left[args->next_pid]) {
		if (!@ended[args->next_pid]) {
			@off[args->next_pid] = @off[args->next_pid] + nsecs - @left[args->next_pid];
		}
		delete(@left[args->next_pid]);
	} else if (@off[args->next_pid]) { @missed[args->next_pid] = 1; }
}
tracepoint:sched:sched_process_exit { @ended[args->pid] = 1; }
END { clear(@left); clear(@ended); }
BT
printf '%q ' "${cmd[@]}" >all
if command -v bpftrace >/dev/null && bpftrace -e 'BEGIN { exit(); } tracepoint:sched:sched_switch { @ = count(); }' >/dev/null 2>&1; then
	have_bpftrace=1
	cmd=(env BPFTRACE_MAP_KEYS_MAX=65536 bpftrace -o bpftrace.out -c "/bin/sh all" switches.bt)
fi

f=$T/rt
waits_begin "$f" -a -G "$CTR_CGROOT/a"
"${cmd[@]}" >log 2>&1 || fail "the programs run" "$(<log)"
waits_end
[ -z "$have_java" ] || rm -f "/tmp/perf-$(jq -r 'first(.cpu_times.threads[] | select(.comm == "contend-0") | .pid)' "$f.json").map"

# each WHAT FILE: "TID NS CPU" of each thread that reports WHAT.
each() { awk -v what="$1" '$3 == what { print $2, $4, $5 }' "$2"; }

# The kernel copies the stack of a thread that leaves the CPU after it has stopped that thread's CPU clock, and
# before nsprof's record of the switch. Others look at the clock before the copy. So it is off the CPU for
# them, and for nsprof it is the wait of the thread that comes. It takes some 10 us, more on a busy machine. The
# machines of "make check-kernels" are 12 times slower.
copy_ns=50000
[ ! -e /run/nsprof-guest ] || copy_ns=$((12 * copy_ns))

# other TID REGEX: ns for which that thread was off the CPU at other stacks. Some of it may be between
# two looks at its clock: it may have been preempted there, or wait for the interpreter or the JVM. In slow
# machines, too, what its stacks took.
other() {
	local copies=0
	[ ! -e /run/nsprof-guest ] || copies=$(jq ".cpu_times.threads[] | select(.tid == $1) | .waits * $copy_ns" "$f.json")
	echo $(($(off "$f" "/$1;") - $(off "$f" "/$1;.*$2") + copies))
}

# ---- Python

# Its locks wait in a semaphore since 3.13.
PY_LOCK='(PyThread_acquire_lock_timed|_PySemaphore_Wait)'

n=0
while read -r tid ns cpu; do
	n=$((n + 1))
	agrees "python thread $n: lock.acquire" "$(off "$f" "/$tid;.*;$PY_LOCK;")" "$ns" \
		$((cpu + $(other "$tid" ";($PY_LOCK|clock_nanosleep);")))
done < <(each lock python)
is "python: three threads wait for a lock" $n 3
while read -r tid ns cpu; do
	agrees "python: time.sleep" "$(off "$f" "/$tid;.*;clock_nanosleep;")" "$ns" \
		$((cpu + $(other "$tid" ";($PY_LOCK|clock_nanosleep);")))
done < <(each sleep python)
tids=$(each lock python | awk '{ printf "%s%s", sep, $1; sep = "|" }')
share "python: a lock is a futex" "$f" ';\[futex\];\[blocked\] ' "/($tids);.*;$PY_LOCK;.*;\[blocked\] " 100
share "python: time.sleep sleeps" "$f" ';\[sleep\];\[blocked\] ' "/($tids);.*;clock_nanosleep;.*;\[blocked\] " 100
# Threads that compute have one lock together. They are off the CPU for the rest of their time.
while read -r tid ns cpu; do
	check "python: waits for the interpreter: $(ms "$(off "$f" "/$tid;")"), by its own clocks $(ms $((ns - cpu)))" \
		test "$(off "$f" "/$tid;")" -ge $((ns - cpu - ns / 100))
	share "python: which is a futex" "$f" ';\[futex\];\[blocked\] ' "/$tid;.*;\[blocked\] " 95
done < <(each gil python)
is "python: three threads compute" "$(each gil python | wc -l)" 3

# ---- Java

java_waits() {
	local tid ns cpu n=0 tids pool blocked
	while read -r tid ns cpu; do
		n=$((n + 1))
		agrees "java thread $n: a monitor" "$(off "$f" "/$tid;.*;ObjectMonitor::enter")" "$ns" $((cpu + $(other "$tid" ';(ObjectMonitor::enter|JVM_Sleep)')))
		# The JVM's own statistics, which begin a little later, and are in whole milliseconds.
		blocked=$(each blocked java | awk -v t="$tid" '$1 == t { print $2 }')
		check "java thread $n: $(ms "$blocked") blocked, by the JVM" test "$blocked" -le "$ns" -a "$(off "$f" "/$tid;.*;ObjectMonitor::enter")" -ge \
			$((blocked - cpu - $(other "$tid" ';(ObjectMonitor::enter|JVM_Sleep)') - CLOCK_SLACK))
	done < <(each monitor java)
	is "java: three threads wait for a monitor" $n 3
	tids=$(each monitor java | awk '{ printf "%s%s", sep, $1; sep = "|" }')
	share "java: a monitor is a futex" "$f" ';\[futex\];\[blocked\] ' "/($tids);.*;ObjectMonitor::enter.*;\[blocked\] " 100
	share "java: so is Thread.sleep" "$f" ';\[futex\];\[blocked\] ' "/($tids);.*;JVM_Sleep;.*;\[blocked\] " 100
	share "java: the method that waits is on the stack" "$f" ';[^;]*Contend[.]work[^;]*;.*;ObjectMonitor::enter' "/($tids);.*;ObjectMonitor::enter" 95
	share "java: and the one that sleeps" "$f" ';[^;]*Contend[.]work[^;]*;.*;JVM_Sleep;' "/($tids);.*;JVM_Sleep;" 95
	is "java: a pool of two threads" "$(each pool java | wc -l)" 2
	for pool in $(each pool java | cut -d' ' -f1); do
		is "java: a thread of the pool is waiting, by the JVM" "$(grep -c '^state pool-1-thread-[12] WAITING$' java)" 2
		like "java: its wait is in park" "$(<"$f.folded")" "^pool-1-thread-[0-9/-]*/$pool;.*;Unsafe_Park;.*;\[futex\];\[blocked\] "
	done
}
if [ -n "$have_java" ]; then
	java_waits
else
	skip "Java" "java or javac is not installed: contrib/install-deps servers"
fi

# ---- totals per thread, as others see them

# The waits of threads that began in the recording, after the first time that they got a CPU.
jq -r '.cpu_times.threads[] | select(.before_ns == 0 and .comm != "sh") | "\(.tid) \(.off_ns - .starting_ns) \(.waits)"' "$f.json" >ours
# beside NAME FILE: "TID NS" in FILE; "missed TID": it has two switches in a row that go the same way.
beside() {
	local seen
	seen=$(awk '$1 == "missed" { missed[$2]; next } FILENAME == "ours" { if (!($1 in missed)) n++ } END { print n + 0 }' "$2" ours)
	# A kernel may give neither perf nor ftrace what the idle task of a CPU does that was offline once.
	if [ "$seen" -lt 6 ] && [ "$seen" -lt "$(wc -l <ours)" ]; then
		skip "$1" "it has missed switches of all but $seen of $(wc -l <ours) threads"
		return
	fi
	check "$1: the same time off the CPU for each thread" awk -v copy_ns=$copy_ns '
		FNR == NR { ns[$1] += $2; n[$1] += $3; next }
		$1 == "missed" { missed[$2]; next }
		$1 in missed { if ($1 in ns) print "# the other has missed a switch of thread " $1; next }
		$1 in ns { all++; d = $2 - ns[$1]; sum += $2; diff += d
			if (d < -copy_ns * n[$1] - 1e6 || d > copy_ns * n[$1] + 1e6) { bad++; printf "# thread %d: %.0f ns, by the other %.0f in %d waits\n", $1, ns[$1], $2, n[$1] } }
		END { printf "# %d threads, %.3f s off the CPU, the other has %.3f %% more\n", all, sum / 1e9, sum ? 100 * diff / sum : 0; exit bad || all < 6 }' ours "$2"
}
if [ -n "$have_perf" ]; then
	# "perf sched timehist" itself leaves out the last wait of a thread that ends.
	perf script --ns --show-task-events -i switches -F time,event,trace 2>err | awk '
		/PERF_RECORD_EXIT/ { match($0, /:[0-9]+\)/); ended[substr($0, RSTART + 1, RLENGTH - 2)]; next }
		{ split($1, at, "[.:]"); now = at[1] * 1e9 + at[2]; prev = next_ = ""
		for (i = 2; i <= NF; i++) { if ($i ~ /^prev_pid=/) prev = substr($i, 10); if ($i ~ /^next_pid=/) next_ = substr($i, 10) }
		if (prev == "") next
		if (prev in left) missed[prev]
		left[prev] = now
		if (next_ in left) { if (!(next_ in ended)) off[next_] += now - left[next_]; delete left[next_] }
		else if (next_ in off) missed[next_] }
		END { for (t in missed) print "missed", t; for (t in off) printf "%d %.0f\n", t, off[t] }' >theirs
	beside "perf" theirs
else
	skip "perf" "perf is not installed, or cannot record sched:sched_switch"
fi
if [ -n "$have_bpftrace" ]; then
	sed -n 's/^@missed\[\([0-9]*\)\]: .*/missed \1/p' bpftrace.out >theirs
	sed -n 's/^@off\[\([0-9]*\)\]: \([0-9]*\)$/\1 \2/p' bpftrace.out >>theirs
	beside "bpftrace" theirs
else
	skip "bpftrace" "bpftrace is not installed, or cannot attach to sched:sched_switch"
fi
done_testing
