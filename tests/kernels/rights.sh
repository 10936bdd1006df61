#!/bin/bash
# doctor and record with CAP_PERFMON, with CAP_SYS_ADMIN and without capabilities, at each value of
# kernel.perf_event_paranoid and kernel.kptr_restrict. Changes these sysctls: only for a virtual
# machine of "make check-kernels".
. "$(dirname "$0")/../lib.sh"
need_root
need_cmd setpriv
[ -e /run/nsprof-guest ] || skip_all "changes sysctls; it runs in the machines of 'make check-kernels'"
cd "$T" || exit 2
chmod 755 "$T"
mkdir bin out
cp "$BUILD"/bin/nsprof* bin/
chmod 777 out
cd out || exit 2

# as CAPS COMMAND...: run as root with these capabilities only; as user COMMAND...: run as a user
# without any.
as() {
	local who=$1
	shift
	if [ "$who" = user ]; then
		setpriv --reuid=1000 --regid=1000 --clear-groups --bounding-set=-all --inh-caps=-all "$@"
	else
		setpriv --bounding-set="-all,+${who//,/,+}" --inh-caps=-all "$@"
	fi
}
paranoid() { echo "$1" >/proc/sys/kernel/perf_event_paranoid; }
line() { grep -E "^(ok|not ok|cannot tell|works|in part|no) +$1( |$)" doctor | sed 's/  */ /g'; }

# Does this kernel require CAP_SYS_ADMIN? Try to record the own user space at 3.
paranoid 3
if as user ../bin/nsprof record -q -e cpu-clock:u -o /dev/null -- true 2>/dev/null; then
	ADMIN_ONLY=
	echo "# mainline's rule: CAP_PERFMON is enough at any value"
else
	ADMIN_ONLY=1
	echo "# Debian's rule: from 3 on CAP_SYS_ADMIN is needed"
fi

# CAP_IPC_LOCK, because before 5.16 RLIMIT_MEMLOCK is 64 KiB, and doctor would report small rings.
for p in -1 0 1 2 3 4; do
	paranoid "$p"
	for caps in perfmon,sys_ptrace,ipc_lock sys_admin,sys_ptrace,ipc_lock; do
		at="paranoid $p, $caps"
		as "$caps" ../bin/nsprof doctor >doctor
		as "$caps" ../bin/nsprof record -a -o x.data -- true >said 2>&1
		rc=$?
		if [ -n "$ADMIN_ONLY" ] && [ "$p" -ge 3 ] && [[ $caps = perfmon* ]]; then
			is "$at: nothing is recorded" "$rc" 1
			like "$at: record names the sysctl and the right" "$(cat said)" \
				"kernel.perf_event_paranoid is $p, which only CAP_SYS_ADMIN lifts on this kernel; .*--cap-add SYS_ADMIN.*sysctl kernel.perf_event_paranoid=2$"
			unlike "$at: record blames nothing else" "$(cat said)" "security module|seccomp|dmesg"
			like "$at: doctor: paranoid" "$(line paranoid)" "^not ok .*is $p, which only CAP_SYS_ADMIN lifts.*paranoid=2$"
			like "$at: doctor: -a" "$(line -a)" "^no .*which only CAP_SYS_ADMIN lifts"
		else
			is "$at: recorded" "$rc: $(grep error said)" "0: "
			like "$at: doctor: paranoid" "$(line paranoid)" "^ok .*is $p, which CAP_(PERFMON|SYS_ADMIN) lifts"
			like "$at: doctor: -a" "$(line -a)" "^works"
		fi
	done
done

# Following the advice makes recording possible.
paranoid 3
value=$(as perfmon,sys_ptrace ../bin/nsprof record -a -o x.data -- true 2>&1 | sed -n 's/.*perf_event_paranoid=\([-0-9]*\)$/\1/p')
if [ -n "$value" ]; then
	paranoid "$value"
	check "the remedy for CAP_PERFMON helps" as perfmon,sys_ptrace ../bin/nsprof record -q -a -o x.data -- true
	paranoid 3
	rm -f x.data
	value=$(as user ../bin/nsprof record -o x.data -- true 2>&1 | sed -n 's/.*perf_event_paranoid=\([-0-9]*\)$/\1/p')
	paranoid "${value:-3}"
	rm -f x.data
	check "the remedy for a user and his command helps ($value)" as user ../bin/nsprof record -q -o x.data -- true
	paranoid 3
	rm -f x.data
	value=$(as user ../bin/nsprof record -a -o x.data -- true 2>&1 | sed -n 's/.*perf_event_paranoid=\([-0-9]*\)$/\1/p')
	paranoid "${value:-3}"
	rm -f x.data
	check "the remedy for a user and all CPUs helps" as user ../bin/nsprof record -q -a -o x.data -- true
fi

# Kernel addresses: the message names the sysctl that hides them, and its advice helps.
for kptr in 0 1 2; do
	for p in 1 2 3; do
		echo "$kptr" >/proc/sys/kernel/kptr_restrict
		paranoid "$p"
		at="user, kptr_restrict $kptr, paranoid $p"
		as user ../bin/nsprof doctor >doctor
		if [ "$(as user awk '$1 !~ /^0+$/ { print 1; exit }' /proc/kallsyms)" = 1 ]; then
			like "$at: addresses are seen" "$(line "kernel names")" "^ok "
			continue
		fi
		case $kptr in
		0) why="kernel.perf_event_paranoid is $p and CAP_SYSLOG is missing" ;;
		1) why="kernel.kptr_restrict is 1 and CAP_SYSLOG is missing" ;;
		2) why="kernel.kptr_restrict is 2, which hides them from root, too" ;;
		esac
		like "$at: the reason" "$(line "kernel names")" "^not ok kernel names .* shows no addresses: $why;"
		for set in $(line "kernel names" | grep -o 'kernel\.[a-z_]*=[-0-9]*'); do
			echo "${set#*=}" >"/proc/sys/${set%%.*}/$(cut -d. -f2 <<<"${set%%=*}")"
		done
		[ "$kptr" != 2 ] || continue
		as user ../bin/nsprof doctor >doctor
		like "$at: the sysctl helps" "$(line "kernel names")" "^ok "
	done
done
done_testing
