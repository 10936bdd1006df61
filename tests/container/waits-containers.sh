#!/bin/bash
# Time off the CPU of containers: one that its CPU limit throttles, beside the counters of its
# cgroup; one that waits for the disk, beside the clock of dd; and the same after it is gone.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../waits.sh"
need_cmd jq
ctr_need
can_sample_kernel || skip_all "the kernel may not be recorded"

# ---- throttled: a tenth of a CPU

# The cgroup of the cpu controller: v1's where it is mounted, otherwise the container's own.
CPU=$(awk '/ - cgroup / && ("," $NF ",") ~ /,cpu,/ { print $5; exit }' /proc/self/mountinfo)
limit() { # NAME QUOTA: us per 100 ms
	if [ -n "$CPU" ]; then
		mkdir -p "$CPU/$CTR_CGROOT/$1" && later "rmdir '$CPU/$CTR_CGROOT/$1' '$CPU/$CTR_CGROOT'" || return
		echo "$2" >"$CPU/$CTR_CGROOT/$1/cpu.cfs_quota_us" && CPU_CG=$CPU/$CTR_CGROOT/$1
	else
		ctr_cpu && echo "$2 100000" >"$CTR_V2/$CTR_CGROOT/$1/cpu.max" && CPU_CG=$CTR_V2/$CTR_CGROOT/$1
	fi
} 2>/dev/null
# ns for which it was throttled so far. v1 counts ns, v2 us.
throttled() { awk '$1 == "throttled_time" { print $2 } $1 == "throttled_usec" { printf "%.0f\n", $2 * 1000 }' "$CPU_CG/cpu.stat"; }
counter() { awk -v key="$1" '$1 == key { print $2 }' "$CPU_CG/cpu.stat"; }
used() { awk '$1 == "usage_usec" { print $2 }' "$CTR_V2/$CTR_CG/cpu.stat"; }

throttled_waits() {
	local f=$T/tight p before begun ended after got
	ctr_rootfs "$T/root" "$TARGETS/spin"
	ctr_start tight "$T/root" /app/spin 60 || { fail "the container starts"; return; }
	limit tight 10000 || { skip "throttled" "no cpu controller to be had"; return; }
	if [ -n "$CPU" ]; then
		for p in $(<"$CTR_V2/$CTR_CG/cgroup.procs"); do echo "$p" >"$CPU_CG/cgroup.procs"; done
	fi
	wait_for '[ "$(throttled)" -gt 0 ]' 30 || { fail "it is throttled"; return; }
	# Counted is what has ended, in periods of 100 ms. So the first may have begun before the recording,
	# and the last may be missing.
	before=$(throttled)
	waits_begin "$f" -a -G "$CTR_CG"
	begun=$(throttled)
	sleep 1.5
	ended=$(throttled)
	waits_end
	after=$(throttled)
	got=$(off "$f" '^spin-.*;main;.*;\[throttled\]')
	if ! grep -q ' throttle_cfs_rq_work$' /proc/kallsyms; then
		# The kernel takes the whole queue away, and no stack tells.
		check "who is throttled waits for a CPU" test "$(off "$f" '^spin-.*;\[runnable\] ')" -ge $((ended - begun - 100000000))
		skip "[throttled]" "no stack tells before Linux 6.18"
	else
		check "[throttled]: $(ms "$got"), by the counters around it at most $(ms $((after - before)))" test "$got" -gt 0 -a "$got" -le $((after - before + 100000000))
		check "and by those within it at least $(ms $((ended - begun)))" \
			test $((got + $(off "$f" '^spin-.*;(\[before recording\];.*|\[runnable\]) ') + 100000000)) -ge $((ended - begun))
		share "its own code is on these stacks" "$f" ";$("$TARGETS/spin" --chain | cut -d';' -f1);" '^spin-.*;\[throttled\]' 99
	fi
	ctr_stop tight
}
throttled_waits

# The limit of a pod: the container itself has none. The recorder has to find it above, also if it is
# set after the first sample, and removed before the end.
throttled_above() {
	local f=$T/above p none=max got all
	[ -z "$CPU" ] || none=-1
	ctr_start above "$T/root" /app/spin 60 || { fail "the container starts"; return; }
	limit above $none || { skip "a limit above" "no cpu controller to be had"; ctr_stop above; return; }
	if [ -n "$CPU" ]; then
		for p in $(<"$CTR_V2/$CTR_CG/cgroup.procs"); do echo "$p" >"$CPU_CG/cgroup.procs"; done
	fi
	waits_begin "$f-later" -G "$CTR_CG"
	used=$(used)
	wait_for '[ "$(used)" -gt $((used + 100000)) ]' 30
	limit . 10000
	wait_for '[ "$(counter nr_throttled)" -gt 3 ]' 30 || fail "its pod is throttled"
	limit . $none
	waits_end
	all=$(counter nr_throttled)
	like "info has a limit that was set and removed meanwhile" "$("$NSPROF" info "$f-later")" 'throttled in [1-9]'
	got=$(jq --arg cg "/$CTR_CGROOT" '.containers[] | select(.cgroup == $cg) | .nr_throttled' "$f-later.json")
	check "how often: ${got:=0} of $all" test "$got" -gt 0 -a "$got" -le "$all"

	limit . 10000
	wait_for "[ \"\$(counter nr_throttled)\" -gt $all ]" 30
	waits_begin "$f" -G "$CTR_CG"
	sleep 1
	waits_end
	limit . $none
	if ! grep -q ' throttle_cfs_rq_work$' /proc/kallsyms; then
		skip "[throttled] by a limit above" "no stack tells before Linux 6.18"
	else
		got=$(off "$f" '^spin-.*;main;.*;\[throttled\]')
		check "[throttled] by a limit above: $(ms "$got")" test "$got" -gt 0
	fi
	like "info has that cgroup" "$("$NSPROF" info "$f")" 'limit 0\.10 CPUs; throttled in [1-9]'
	ctr_stop above
}
throttled_above

# ---- disk: dd measures itself

is_tmpfs() { [ "$(stat -f -c %T "$1")" = tmpfs ]; }
disk_waits() {
	local f=$T/disk dd wrote read w r tmp= reason='\[sleep\]'
	dd=$(command -v dd)
	ctr_rootfs "$T/root2" "$dd"
	if is_tmpfs "$CTR_BASE" && ! is_tmpfs /var/tmp; then
		tmp=$(mktemp -d /var/tmp/nsprof-disk.XXXXXX) && later "rm -rf '$tmp'"
	fi
	CTR_TMP=$tmp ctr_start disk "$T/root2" sh -c 'until [ -e /tmp/go ]; do sleep 0.05; done
		/app/dd if=/dev/zero of=/tmp/file bs=64k count=40 oflag=dsync
		/app/dd if=/tmp/file of=/dev/null bs=8k iflag=direct; : >/tmp/over; sleep 60' || { fail "the container starts"; return; }
	waits_begin "$f" -a -G "$CTR_CG"
	: >"/proc/$CTR_PID/root/tmp/go"
	wait_for "[ -e '/proc/$CTR_PID/root/tmp/over' ]" 60
	waits_end
	# "2621440 bytes (2.6 MB, 2.5 MiB) copied, 0.0512 s, 51.2 MB/s"
	read -r wrote read < <(sed -n 's/.* copied, \([0-9.e-]*\) s,.*/\1/p' "${CTR_DIR[disk]}/log" | awk '{ printf "%.0f ", $1 * 1e9 }')
	w=$(sed -n 's:^dd-[0-9]*/\([0-9]*\);.*:\1:p' "$f.folded" | sort -un | head -n 1)
	r=$(sed -n 's:^dd-[0-9]*/\([0-9]*\);.*:\1:p' "$f.folded" | sort -un | tail -n 1)
	if [ -z "$read" ]; then
		skip "disk" "dd cannot do this here: $(tail -n 1 "${CTR_DIR[disk]}/log")"
	elif [ -z "$tmp" ] && is_tmpfs "$CTR_BASE"; then
		skip "disk" "a tmpfs has nothing to wait for"
	elif [ "$wrote" -lt 10000000 ] || [ "$w" = "$r" ]; then
		skip "disk" "this file system has nothing to wait for: $(ms "$wrote")"
	else
		reason='\[disk\]'
		agrees "synchronous writes" "$(off "$f" "/$w;.*;(__)?write;")" "$wrote" $(($(on "$f" "$w") + $(off "$f" "/$w;.*;\\[runnable\\] ")))
		share "wait for the disk" "$f" ';\[disk\];\[blocked\] ' "/$w;.*;(__)?write;.*;\[blocked\] " 90
		agrees "direct reads" "$(off "$f" "/$r;.*;(__)?read;")" "$read" $(($(on "$f" "$r") + $(off "$f" "/$r;.*;\\[runnable\\] ")))
		share "wait for the disk, too" "$f" ';\[disk\];\[blocked\] ' "/$r;.*;(__)?read;.*;\[blocked\] " 90
	fi
	like "a shell waits for its child" "$(<"$f.folded")" '^sh-.*;\[wait child\];\[blocked\] '

	# The container and all its files are gone. Inlined functions go with them.
	sym() { "$NSPROF" symbolize -q --no-inline --event off-cpu --all --by thread "$@" "$f"; }
	sym >"$T/live"
	ctr_stop disk
	rm -rf "$T/root2"
	mkdir "$T/noproc"
	sym --proc "$T/noproc" >"$T/gone"
	check "the same stacks, reasons and times after it is gone" diff "$T/live" "$T/gone"
	"$NSPROF" symbolize -q --format profile -o "$T/profile" --proc "$T/noproc" "$f"
	like "and a profile for later has them" "$("$NSPROF" report -q --csv --limit 0 --percent-limit 0 --event off-cpu -i "$T/profile")" "$reason"
}
disk_waits
done_testing
