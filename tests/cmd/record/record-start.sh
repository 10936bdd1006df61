#!/bin/bash
# Sampling begins soon: with 500 processes on the host, inside the target or not, the recorder reads
# nothing from /proc for each of them before sampling starts.
. "$(dirname "$0")/../../lib.sh"
need_root
V2=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
[ -n "$V2" ] || skip_all "no cgroup2 mount"
CG=nsprof-start-$$
mkdir "$V2/$CG" 2>/dev/null || skip_all "cannot make a cgroup"
NPROCS=500

stop_all() {
	local p
	while [ -n "$(cat "$V2/$CG/cgroup.procs" 2>/dev/null)" ]; do
		for p in $(cat "$V2/$CG/cgroup.procs"); do kill -KILL "$p" 2>/dev/null; done
		sleep 0.05
	done
	rmdir "$V2/$CG"
}
later stop_all
(
	echo $BASHPID >"$V2/$CG/cgroup.procs"
	for _ in $(seq "$NPROCS"); do sleep 1000 & done
	exec sleep 1000
) >/dev/null 2>&1 &
ONE=$!
disown
for _ in $(seq 200); do
	[ "$(wc -l <"$V2/$CG/cgroup.procs")" -ge $NPROCS ] && break
	sleep 0.05
done
is "there are $NPROCS processes" "$(($(wc -l <"$V2/$CG/cgroup.procs") >= NPROCS))" 1

# started WHAT STATUS ARGS...: the start-up time according to the recording. perf takes hundreds of
# milliseconds here. The bound leaves room for a machine with both CPUs busy.
started() {
	local what=$1 status=$2 us best=999999 i
	shift 2
	for i in 1 2 3; do
		check_rc "$what is recorded ($i)" "$status" "$NSPROF" record -q -F 99 -o "$T/$what.data" "$@"
		us=$("$NSPROF" info --json "$T/$what.data" | grep -o '"startup_us":"[0-9]*"' | tr -dc 0-9)
		[ "${us:-999999}" -lt $best ] && best=$us
	done
	echo "# $what: sampling began $best us after the start"
	is "sampling of $what begins within 50 ms" "$((best < 50000))" 1
}
started host 0 --duration 0.1 -a
# All of them sleep: that nothing ran is an error.
started cgroup 1 --duration 0.1 -G "$CG"
started process 0 --duration 0.1 -p "$ONE"
started command 0 -- sleep 0.1

if ! command -v strace >/dev/null; then
	skip "processes read before sampling began" "strace is not installed"
	done_testing
	exit
fi

# before WHAT MARK ARGS...: accesses to /proc/PID before the first call that matches MARK, by PID.
# Process 1 does not count: its mounts and root show where runtimes keep their state, and are read
# once, whatever else runs.
before() {
	local what=$1 mark=$2
	shift 2
	strace -f -s 256 -e trace=openat,openat2,readlink,ioctl,execve -o "$T/strace" "$NSPROF" record -q -F 99 \
		-o "$T/$what.data" "$@" 2>/dev/null
	awk -v mark="$mark" '$0 ~ mark { seen++ } END { exit !seen }' "$T/strace" || { echo "no $mark"; return; }
	awk -v mark="$mark" '$0 ~ mark { exit } match($0, /"\/proc\/[0-9]+/) && !/"\/proc\/1[\/"]/ {
		print substr($0, RSTART + 7, RLENGTH - 7) }' "$T/strace" | sort -u | wc -l
}
if [ -n "$("$NSPROF" ps --interval 0.01 2>&1 | sed 1d)" ]; then
	skip "no process is read before anything is sampled" "containers run here, and other processes may tell their names"
else
	is "no process is read before the host is sampled" "$(before host PERF_EVENT_IOC_ENABLE --duration 0.1 -a)" 0
	is "no process is read before a cgroup is sampled" "$(before cgroup PERF_EVENT_IOC_ENABLE --duration 0.1 -G "$CG")" 0
	check "but its processes are read then" grep -qE 'openat\([0-9]+, "maps"' "$T/strace"
	is "of others none is read before a process is sampled" \
		"$(before process PERF_EVENT_IOC_ENABLE --duration 0.1 -p "$ONE")" 1
fi

# A file that is mapped thousands of times, by code that sets up its own views of it: opening it
# once per mapping would take a second in which no ring is drained.
python3 -c '
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
fd = os.open("/proc/self/exe", os.O_RDONLY)
for i in range(3000):
	assert libc.mmap(None, ctypes.c_size_t(4096), 5, 2, fd, ctypes.c_long(0)) != ctypes.c_void_p(-1).value
print("ready", flush=True)
while True:
	pass
' >"$T/mapper" &
mapper=$!
later "kill $mapper"
wait_for '[ -s "$T/mapper" ]' 20
strace -f -e trace=openat -o "$T/strace" "$NSPROF" record -q -F 99 -o "$T/mapper.data" --duration 0.5 -p $mapper
check "there are 3,000 mappings" [ "$(grep -c r-xp /proc/$mapper/maps)" -ge 3000 ]
check "that process is read" grep -q '"maps"' "$T/strace"
check "files are opened once, not for each mapping" [ "$(grep -c map_files "$T/strace")" -lt 100 ]
is "none is read before a command runs" "$(before command 'execve.*sleep", "0.1"' -- sleep 0.1)" 0
done_testing
