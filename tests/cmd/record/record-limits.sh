#!/bin/bash
# At the limits of the machine: missing resources, and things that go away during a recording. Each
# is reported in one clear line, and what was recorded stays readable. (Wrong command lines and
# targets: record-errors.sh; CPUs that go away: record-cpus.sh.)
# beside others
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
S=$BUILD/tests/targets/spin
cd "$T" || exit 1
[ -x "$S" ] || skip_all "test programs are not built: make test-targets"
"$NSPROF" record -q -e cpu-clock:u -o probe -- true 2>err || skip_all "cannot record here: $(cat err)"

# rec STATUS ARGUMENT...: record to a.data (or as the arguments say); the messages are in err.
rec() {
	local name=$1 want=$2
	shift 2
	"$NSPROF" record -e cpu-clock -o a.data "$@" 2>err </dev/null
	is "$name: status" $? "$want"
}
samples() { "$NSPROF" info --json "${1:-a.data}" 2>info.err | jq .samples; }

# ---- a rate above the kernel's limit: lowered, reported, and recorded
limit() { cat /proc/sys/kernel/perf_event_max_sample_rate; }
max=$(limit)
rec "rate above the limit" 0 -F $((max * 2)) --call-graph none -- "$S" 0.2
said "rate above the limit: said" "^nsprof record: warning: $((max * 2)) Hz is above kernel.perf_event_max_sample_rate, recording at [0-9]+ Hz$"
one_line "rate above the limit" 'max_sample_rate'
# The kernel lowers it further when its interrupts take long, including those for other recorders.
rate=$(sed -n 's/.*recording at \([0-9]*\) Hz$/\1/p' err)
check "rate above the limit: at the limit" test "${rate:-0}" -le "$max" -a "${rate:-0}" -ge "$(limit)"
is "rate above the limit: the recording has the rate in force" "$("$NSPROF" info --json a.data | jq .frequency)" "$rate"
check "rate above the limit: samples" test "$(samples)" -gt 0

# ---- rings that cannot be allocated
rec "rings beyond all reason" 129 -m 64G -- true
said "rings beyond all reason: said" "invalid ring size '64G'; -m takes a number of pages .*at most 1G"
rec "rings of so many pages" 129 -m 99999999999 -- true
said "rings of so many pages: said" "invalid ring size '99999999999'"
user=("${NOBODY[@]}")
if ! command -v prlimit >/dev/null; then
	skip "rings of a user" "needs prlimit"
elif ! for_nobody "$S"; then
	skip "rings of a user" "$no_nobody"
else
	S=$PUBLIC/${S##*/}
	mkdir -m 777 user
	chmod 711 .
	prlimit --memlock=0 "${user[@]}" "$NSPROF" record -m 64M -o user/a.data -- true 2>err
	is "a user's rings above the limit: status" $? 1
	said "a user's rings above the limit: said" \
		"cannot map rings of 65536 KiB for [0-9]+ CPUs: Operation not permitted: kernel.perf_event_mlock_kb is [0-9]+; use a smaller -m"
	is "a user's rings above the limit: one line" "$(wc -l <err)" 1
	check "a user's rings above the limit: no file" [ ! -e user/a.data ]
	prlimit --memlock=0 "${user[@]}" "$NSPROF" record -F 99 -o user/a.data -- "$S" 0.3 2>err
	is "a user without -m gets the rings there are: status" $? 0
	said "and is told what they hold" 'rings? .*hold|does not hold'

	# ---- outputs that a user may not write
	mkdir -m 755 locked
	"${user[@]}" "$NSPROF" record -o locked/a.data -- true 2>err
	is "a folder of another user: status" $? 1
	said "a folder of another user: said" "^nsprof record: error: cannot write 'locked/a.data': Permission denied; choose another file with -o$"
	echo precious >user/other.data
	"${user[@]}" "$NSPROF" record -o user/other.data -- true 2>err
	is "a file of another user: status" $? 1
	said "a file of another user: said" "^nsprof record: error: cannot write 'user/other.data': Permission denied"
	is "a file of another user: untouched" "$(cat user/other.data)" precious
fi

if [ "$(id -u)" != 0 ]; then
	skip "full disks and cgroups that go away" "needs root"
	done_testing
fi

# ---- next to no descriptors: it records, or names the limit that is too low, down to what a shell
# itself needs
unclear=
begun=
failures=0
for n in $(seq 6 24); do
	rm -f started
	echo precious >few.data
	(ulimit -n "$n" && exec "$NSPROF" record -q -o few.data -- touch started) 2>err && continue
	failures=$((failures + 1))
	grep -q 'Too many open files' err || unclear+=" $n: $(cat err)"
	[ ! -e started ] && [ "$(tr -d '\0' <few.data)" = precious ] || begun+=" $n: $(cat err)"
done
check "$failures limits are too low" [ $failures -gt 0 ]
is "and each is said" "$unclear" ""
is "before anything is begun or overwritten" "$begun" ""

# ---- a FIFO whose reader goes away: nothing is left of it. Open for reading and writing from the
# start: the recorder would wait, with another line, for a reader that is still on its way to
# open(2)
mkfifo fifo
exec 9<>fifo
head -c 1 <&9 >first &
exec 9<&-
"$NSPROF" record -e cpu-clock -F 999 -o fifo -- "$S" 30 2>err
is "a FIFO whose reader goes away: status" $? 1
said "a FIFO whose reader goes away: said" "^nsprof record: error: cannot write 'fifo': Broken pipe; its reader has ended$"
one_line "a FIFO whose reader goes away"
wait %+

# ---- and one without a reader: nothing is started, and signals end the wait
rm -f started
for signal in INT TERM; do
	: >err	# the previous run printed the same
	"$NSPROF" record -e cpu-clock -o fifo -- touch started 2>err &
	recorder=$!
	check "a FIFO without a reader: said" wait_for 'grep -q waiting err' 20
	kill -$signal $recorder
	wait $recorder
	is "a FIFO without a reader: status after SIG$signal" $? $((128 + $(kill -l $signal)))
	is "a FIFO without a reader: all that is said" "$(cat err)" "nsprof record: waiting for somebody to read from 'fifo'"
	check "a FIFO without a reader: the command was not started" [ ! -e started ]
done
"$NSPROF" record -e cpu-clock -F 999 -o fifo -- "$S" 0.3 2>err &
recorder=$!
wait_for 'grep -q waiting err' 20
cat fifo >late.data
wait $recorder
is "a FIFO whose reader is late: status" $? 0
check "a FIFO whose reader is late: samples" test "$(samples late.data)" -gt 0

# ---- /sys not visible, as in a chroot: the CPUs come from /proc/stat
if unshare -m mount -t tmpfs none /sys 2>/dev/null && command -v taskset >/dev/null; then
	last=$(awk '/^cpu[0-9]/ { n = $1 } END { print substr(n, 4) }' /proc/stat)
	rm -f a.data
	unshare -m sh -c "mount -t tmpfs none /sys && exec \"\$@\"" - taskset -c "$last" "$NSPROF" record -e cpu-clock -F 499 -o a.data -- "$S" 0.3 2>err
	is "no /sys: status" $? 0
	check "no /sys: samples of CPU $last" test "$(samples)" -gt 0
	unshare -m sh -c "mount -t tmpfs none /sys && exec \"\$@\"" - "$NSPROF" record -e cpu-clock -C 4095 -o a.data -- true 2>err
	is "no /sys, a CPU that is not there: status" $? 1
	said "no /sys, a CPU that is not there: said" "CPU 4095 is not online: No such device; online are 0(,[0-9]+)*$"
else
	skip "no /sys" "nothing can be mounted"
fi

# ---- disks that are full or read-only
mkdir disk
if mount -t tmpfs -o size=64k none disk 2>/dev/null; then
	later "umount '$T/disk'"
	echo precious >disk/a.data
	dd if=/dev/zero of=disk/fill bs=4096 2>/dev/null
	rec "full from the start" 1 -o disk/a.data -- true
	is "full from the start: what was there is still there" "$(cat disk/a.data)" precious
	check "full from the start: and under that name only" [ ! -e disk/a.data.old ]
	"$NSPROF" record -q -o disk/b.data -- true 2>/dev/null
	check "full from the start: nothing is left over" [ ! -e disk/b.data ]
	said "full from the start: said" "^nsprof record: error: cannot write 'disk/a.data': No space left on device"
	one_line "full from the start"
	rm -f disk/*
	mount -o remount,ro disk
	rec "a read-only file system" 1 -o disk/a.data -- true
	said "a read-only file system: said" "^nsprof record: error: cannot write 'disk/a.data': Read-only file system; choose another file with -o$"
	one_line "a read-only file system"
	mount -o remount,rw disk

	# Full in the stream, and, with the last sizes, in the sections at the end: symbols and the
	# ledger.
	full=0
	for size in 8 16 32 96 8192; do
		rm -f disk/*
		mount -o remount,size=${size}k disk
		"$NSPROF" record -e cpu-clock -F 1999 -o disk/a.data -- \
			sh -c 'for i in 1 2 3; do ls -lR /usr/lib; done >/dev/null' 2>err
		rc=$?
		[ $rc = 1 ] || break
		full=$((full + 1))
		said "full after $size KiB: said" "^nsprof record: error: cannot write 'disk/a.data': No space left on device; make room, or use -o"
		said "full after $size KiB: what is left" "what was written until then, [0-9.]+ MB, is in 'disk/a.data' and can be read$"
		is "full after $size KiB: these two lines" "$(wc -l <err)" 2
		n=$(samples disk/a.data)
		said=$(cat info.err)
		check "full after $size KiB: readable, $n samples" [ -n "$n" ]
		like "full after $size KiB: the reader says that it is cut" "$said" "'disk/a.data' is cut after"
		if [ "$size" -ge 32 ]; then
			check "full after $size KiB: the samples before are there" [ "${n:-0}" -gt 0 ]
			"$NSPROF" symbolize -q --no-inline disk/a.data >folded 2>sym.err
			is "full after $size KiB: and have stacks" "$(awk '{ s += $NF } END { print s + 0 }' folded)" "$n"
		fi
	done
	is "with room enough, $size KiB, it is whole" $rc 0
	check "without, it was full $full times" [ $full -ge 2 ]
else
	skip "full and read-only disks" "no tmpfs can be mounted"
fi

# ---- cgroups that are removed
mount=$(awk '{ for (i = 7; $i != "-"; i++); if ($(i+1) == "cgroup" && $NF ~ /perf_event/) v1 = $5; else if ($(i+1) == "cgroup2") v2 = $5 }
	END { print v1 ? v1 : v2 }' /proc/self/mountinfo)
cg=nsprof-limits-$$
if [ -n "$mount" ] && mkdir "$mount/$cg" "$mount/$cg/a" "$mount/$cg/b" 2>/dev/null; then
	later "rmdir '$mount/$cg/a' '$mount/$cg/b' '$mount/$cg'"
	sh -c "echo \$\$ >'$mount/$cg/a/cgroup.procs'; exec '$S' 60" &
	a=$!
	sh -c "echo \$\$ >'$mount/$cg/b/cgroup.procs'; exec '$BUILD/tests/targets/spin-a' 60" &
	b=$!
	rm -f a.data
	t0=$(now)
	"$NSPROF" record -e cpu-clock -F 499 -G $cg/a,$cg/b -o a.data 2>err &
	recorder=$!
	wait_for '[ -s a.data ]' 20
	t1=$(now)
	sleep 1
	kill $a
	wait $a 2>/dev/null
	t2=$(now)
	wait_for 'rmdir "$mount/$cg/a" 2>/dev/null' 5
	check "a cgroup is removed: said at once" wait_for 'grep -q "was removed" err' 20
	t3=$(now)
	sleep 0.3
	kill -INT $recorder
	wait $recorder
	is "a cgroup is removed: status" $? 130
	said "a cgroup is removed: in these words" "^nsprof record: warning: cgroup '$cg/a' was removed, seen after [0-9.]+ s: what ran in it until then is recorded$"
	one_line "a cgroup is removed" "was removed"
	absent "a cgroup is removed" '[.absences[] | .what + " " + .cgroup] | join(",")' "cgroup removed /$cg/a"
	absent "a cgroup is removed, in the ledger" '.ledger | [.cgroups_gone, .cpus_away] | join(" ")' "1 0"
	dated "a cgroup is removed"
	like "a cgroup is removed: info says so" "$("$NSPROF" info a.data)" "^ +[0-9.]+  cgroup '/$cg/a' was removed: what ran in it"
	f=$(folded)
	like "a cgroup is removed: what ran in it" "$f" 'app_leaf'
	like "a cgroup is removed: the other one" "$f" 'aaa_leaf'
	rec "a cgroup that is removed before" 1 -G $cg/a --duration 1
	said "a cgroup that is removed before: said" "no cgroup '$cg/a': No such file"
	one_line "a cgroup that is removed before"
	kill $b
	wait $b 2>/dev/null
else
	skip "cgroups that are removed" "no cgroup can be made here"
fi
done_testing
