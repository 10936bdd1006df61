# Containers of real runtimes, started for real. Sourced after tests/container/lib.sh. A test says
#
#	rt_root			a root folder in $T/root: two programs and code of a JIT, started by rt_command
#	rt_checks CGROUP PID	record by cgroup and by pid, symbolized alive
#	rt_gone			after the container was removed: the same names, and perf 6.1 has none
#
# CGROUP is below the hierarchy of perf_event. RT_COMMAND, to be started in the container, does not end by itself.

rt_root() {
	ctr_rootfs "$T/root" "$TARGETS/spin" "$TARGETS/spin-nobid" "$TARGETS/spin-a" "$TARGETS/jitloop"
	RT_COMMAND=(/bin/sh -c '/app/spin 600 & /app/spin-nobid 600 & exec /app/jitloop 600 in_jit map jit')
}

rt_names() { # FOLDED
	check "$1" has_chain <(grep ';spin;' "$2") "$("$TARGETS/spin" --chain)" 95
	check "$1, without build-id" has_chain <(grep ';spin-nobid;' "$2") "$("$TARGETS/spin-nobid" --chain)" 95
	check "$1, JIT code" has_chain <(grep ';jit;' "$2") "run_jit;in_jit" 95
}

# rt_checks CGROUP PID [LABEL]: LABEL is in the name that samples have by container (default: the last part of CGROUP).
rt_checks() {
	local cg=$1 pid=$2 label=${3:-${1##*/}} f pids
	check "it is in its cgroup, $cg" test -d "$CTR_V2/$cg"
	check "its process is there" wait_for "grep -qs '^jit\$' /proc/$pid/comm" 20
	pids=$(tr '\n' , <"$CTR_V2/$cg/cgroup.procs")
	perf_record "$T/perf" -F 499 --call-graph dwarf -p "$pid" -- sleep 3
	ctr_record "$T/by-cgroup" -G "$cg" -F 499 --duration 3
	ctr_record "$T/by-pid" -p "${pids%,}" -F 499 --duration 3
	perf_wait "$T/perf"
	for f in by-cgroup by-pid; do
		"$NSPROF" symbolize -q --no-inline --by container "$T/$f" >"$T/$f.alive"
		rt_names "$f, alive" "$T/$f.alive"
		is "$f: the container is named in every stack of it" \
			"$(grep -E '^[^;]*;(spin|spin-nobid|jit);' "$T/$f.alive" | cut -d';' -f1 | grep -cv -- "$label")" 0
	done
}

rt_gone() {
	local f
	rm -rf "$T/root"
	for f in by-cgroup by-pid; do
		"$NSPROF" symbolize -q --no-inline --by container "$T/$f" >"$T/$f.gone"
		rt_names "$f, gone" "$T/$f.gone"
		is "$f: the same stacks and names as before" "$(cat "$T/$f.gone")" "$(cat "$T/$f.alive")"
	done
	perf_fold "$T/perf"
	perf_not "JIT code, gone" grep -q ';run_jit;in_jit ' "$T/perf.perf"
}

# A runtime leaves its folders in every v1 hierarchy.
rt_cgroups() {
	later "for d in /sys/fs/cgroup/*/$CTR_CGROOT; do find \"\$d\" -depth -type d -exec rmdir {} ';'; done"
}
# rt_unmount DIR: what is still mounted below it.
rt_unmount() {
	awk -v d="$1/" 'index($5, d) == 1 { print $5 }' /proc/self/mountinfo | sort -r | while read -r m; do umount -l "$m"; done
}
