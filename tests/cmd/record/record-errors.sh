#!/bin/bash
# A recording that cannot start gives one clear line with the object, the cause and the remedy, and
# the right exit status. Nothing is overwritten.
# beside others
. "$(dirname "$0")/../../lib.sh"

# refuses NAME STATUS REGEX ARGUMENT...: record has to end with STATUS, print one matching line, and
# leave the existing file alone.
refuses() {
	local name=$1 want=$2 regex=$3 rc
	shift 3
	echo precious >"$T/nsprof.data"
	rm -f "$T/nsprof.data.old"
	(cd "$T" && "${as[@]}" "$NSPROF" record "$@") >"$T/out" 2>"$T/err" </dev/null
	rc=$?
	if [ $rc != "$want" ]; then
		fail "$name" "exit status $rc, not $want: $(cat "$T/err")"
	elif [ "$(wc -l <"$T/err")" != "${lines:-1}" ]; then
		fail "$name" "not ${lines:-1} line: $(cat "$T/err")"
	elif ! grep -Eq -e "$regex" "$T/err"; then
		fail "$name" "nothing matches $regex in: $(cat "$T/err")"
	elif [ "$(cat "$T/nsprof.data")" != precious ] || [ -e "$T/nsprof.data.old" ]; then
		fail "$name" "the old recording was touched"
	elif [ -s "$T/out" ]; then
		fail "$name" "something on stdout"
	else
		pass "$name"
	fi
}
as=()
# Neither a terminal nor a pipe: a recording would go to the file.
out=(-o nsprof.data)

# A pid that cannot exist: above the largest possible one.
max=$(cat /proc/sys/kernel/pid_max)
free=$((max - 1))
while [ -e /proc/$free ]; do free=$((free - 1)); done

refuses "pid that is not there" 1 "no process $free .*No such process" "${out[@]}" -p $free
refuses "one of several pids is not there" 1 "no process $free " "${out[@]}" -p $$,$free
refuses "tid that is not there" 1 "no thread $free .*No such process" "${out[@]}" -t $free
refuses "pid that is no number" 129 "invalid list of process IDs 'abc'" "${out[@]}" -p abc
refuses "empty element in a list" 129 "invalid list of process IDs '1,'" "${out[@]}" -p 1,
refuses "pid 0" 129 "invalid list of process IDs '0'" "${out[@]}" -p 0
refuses "pid above all limits" 1 "no process 2147483647 .*No such process" "${out[@]}" -p 2147483647
refuses "pid that is too long" 129 "invalid list of process IDs" "${out[@]}" -p 99999999999999999999
refuses "a mistyped event" 129 "unknown event 'cyclse'\. Did you mean 'cycles'\?" "${out[@]}" -e cyclse:u
refuses "a mistyped event of the cache" 129 "Did you mean 'L1-dcache-load-misses'\?" "${out[@]}" -e L1-dcache-load-mises
refuses "unknown event" 129 "unknown event 'nosuchevent'\. 'nsprof list' shows" "${out[@]}" -e nosuchevent
refuses "unknown modifier" 129 "unknown modifier 'z' in event 'cycles:z'" "${out[@]}" -e cycles:z
refuses "the second of two events is unknown" 129 "unknown event 'nosuchevent'" "${out[@]}" -e cpu-clock,nosuchevent
refuses "the second of two events cannot be opened" 1 'use :w or :rw; --optional-events records the others without it' "${out[@]}" -e cpu-clock -e mem:0x10000:r -- true
refuses "CPU that is not there" 1 "CPU 4095 is not online: No such device; online are 0" "${out[@]}" -C 4095
refuses "CPU list that is none" 129 "invalid list of CPUs 'x'" "${out[@]}" -C x
refuses "CPU range upside down" 129 "invalid list of CPUs '1-0'" "${out[@]}" -C 1-0
refuses "cgroup with pid" 129 "-G cannot be combined with -p: the kernel" "${out[@]}" -G x -p $$
refuses "frequency and count" 129 "-F and -c exclude each other" "${out[@]}" -F 99 -c 1000 -- true
refuses "no such folder" 1 "cannot write '/no/such/dir/x': No such file" -o /no/such/dir/x -- true
refuses "output is a folder" 1 "cannot write '$T': Is a directory" -o "$T" -- true
refuses "--dry-run: no such command" 1 "cannot run 'no-such-command': No such file" "${out[@]}" --dry-run -- no-such-command
refuses "--dry-run: a command that is none" 1 "cannot run '/etc/passwd': Permission denied" "${out[@]}" --dry-run -- /etc/passwd
refuses "--dry-run: a folder" 1 "cannot run '/etc': Permission denied" "${out[@]}" --dry-run -- /etc
refuses "unknown option" 129 "unknown option '--bogus'" --bogus

lines=2	# the second one points to --help
refuses "frequency that is none" 129 "invalid frequency '0'; -F takes a number" -F 0
refuses "call graph that is none" 129 "unknown call graph 'x'; --call-graph takes dwarf" --call-graph x
refuses "dump larger than the kernel takes" 129 "invalid stack copy size '65536'; .*8 to 65528" \
	--call-graph dwarf,65536
refuses "stacks that are none" 129 "invalid value 'x' for --stacks; it takes masked or full" --stacks x
refuses "ring that is none" 129 "invalid ring size '5X'" -m 5X
refuses "duration that is none" 129 "invalid duration '-1'" --duration -1
refuses "duration in other digits" 129 "invalid duration '0x1'" --duration 0x1
refuses "duration behind a blank" 129 "invalid duration ' 1'" --duration ' 1'
refuses "time of a file in other digits" 129 "invalid value '0x10s' for --switch-output" --switch-output=0x10s
lines=1

if mount=$(awk '{ for (i = 7; $i != "-"; i++); if ($(i+1) == "cgroup" && $NF ~ /perf_event/ ||
		$(i+1) == "cgroup2") print $5 }' /proc/self/mountinfo | head -1) && [ -n "$mount" ]; then
	refuses "cgroup that is not there" 1 "no cgroup 'no/such': No such file.*: '.*/no/such'; list" \
		"${out[@]}" -G no/such
	refuses "absolute cgroup that is not there" 1 "no cgroup '/no/such': No such file" "${out[@]}" \
		-a -G /no/such
	refuses "folder that is no cgroup" 1 "no cgroup '/etc'" "${out[@]}" -G /etc
	refuses "empty cgroup list" 129 "-G needs the name of a cgroup" "${out[@]}" -G ,
else
	skip "cgroups that are not there" "no cgroup file system is mounted"
fi

# From here on events must be available, because the failure comes after opening them.
if ! "$NSPROF" record -q -o "$T/probe" -e cpu-clock:u -- true 2>"$T/err"; then
	skip "command that is not there" "no perf events here: $(cat "$T/err")"
else
	refuses "command that is not there" 1 "cannot run '/no/such/cmd': No such file" "${out[@]}" \
		-- /no/such/cmd
	refuses "command that may not be run" 1 "cannot run '/etc/passwd': Permission denied" "${out[@]}" \
		-- /etc/passwd
	refuses "timer that is not there" 1 "cannot run '/no/such/cmd': No such file" "${out[@]}" -p $$ \
		-- /no/such/cmd
	refuses "commands out of a file" 1 "control: cannot wait for commands: Operation not permitted; it takes a pipe" "${out[@]}" \
		--control fd:7 -- touch "$T/started" 7</etc/passwd
	check "and the command was not started" [ ! -e "$T/started" ]
	# Only in virtual machines without counters.
	if ! "$NSPROF" record -q -o "$T/probe" -e instructions:u -- true 2>/dev/null; then
		refuses "event the machine does not have" 1 "event 'instructions(:u)?' is not supported here: .*use -e cpu-clock" \
			"${out[@]}" -e instructions:u -- true
	else
		skip "event the machine does not have" "this machine has it"
	fi
fi

# With perf_event_open refused, as container runtimes do.
REFUSE=$BUILD/tests/targets/refuse
if "$REFUSE" perf_event_open 1 true 2>"$T/err"; then
	as=("$REFUSE" perf_event_open 1)
	refuses "seccomp says EPERM" 1 "Operation not permitted: .*seccomp.*seccomp=unconfined" "${out[@]}" -- true
	refuses "seccomp says EPERM, -a" 1 "Operation not permitted: .*seccomp" "${out[@]}" -a
	as=("$REFUSE" perf_event_open 38)
	refuses "seccomp says ENOSYS" 1 "Function not implemented: .*seccomp" "${out[@]}" -p $$
	as=("$REFUSE" clone3 11)
	refuses "no thread to be had" 1 "cannot start the writer thread: Resource temporarily unavailable; raise the limits" \
		"${out[@]}" -q -e cpu-clock -- true
	# The kernel's errors for a missing perf_event of cgroups, and for a removed cgroup
	# (tests/unit/record/containers/test_cgroup.c): the root always exists.
	as=("$REFUSE" perf_event_open 2)
	if [ -n "$mount" ]; then
		refuses "no cgroup is known to perf_event" 1 \
			"cannot record cgroup '$mount': perf_event_open: No such file or directory: the kernel has not set up perf_event" \
			"${out[@]}" -e cpu-clock -G "$mount"
	else
		skip "no cgroup is known to perf_event" "no cgroup file system is mounted"
	fi
	as=()
else
	skip "seccomp" "no filter can be made here: $(cat "$T/err")"
fi

# As a user without rights. Only root can become one. Needs the kernel's default of
# perf_event_paranoid or a stricter value.
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -lt 2 ]; then
	skip "user without rights" "kernel.perf_event_paranoid is below 2"
elif ! for_nobody; then
	skip "user without rights" "$no_nobody"
else
	chmod 777 "$T"
	echo precious >"$T/nsprof.data"
	chown 65534 "$T/nsprof.data"
	as=("${NOBODY[@]}")
	# Debian's kernels and Ubuntu's, at 3 or more: users cannot record anything.
	none=
	"${as[@]}" "$NSPROF" record -q -e cpu-clock:u -o /dev/null -- true 2>/dev/null || none=1
	missing=" and CAP_PERFMON is missing"
	[ -z "$none" ] || missing=", which only CAP_SYS_ADMIN lifts on this kernel"
	refuses "everything without the right" 1 \
		"all CPUs: Permission denied: kernel.perf_event_paranoid is [0-9]+$missing; run as root" "${out[@]}" -a
	refuses "a process of another user" 1 "thread $$: Permission denied: it belongs to user 0" "${out[@]}" -p $$
	refuses "the kernel without the right" 1 "Permission denied: kernel.perf_event_paranoid" "${out[@]}" \
		-e cpu-clock:k -- true
	refuses "a priority that is not to be had" 1 "r 5: cannot set this realtime priority: Operation not permitted" \
		"${out[@]}" -q -r 5 -- touch "$T/started"
	check "and the command was not started, too" [ ! -e "$T/started" ]
	refuses "folder that may not be written" 1 "cannot write '/proc/sys/x'" -o /proc/sys/x -- true
	if [ -n "$none" ]; then
		refuses "own command without the right" 1 "kernel.perf_event_paranoid is [0-9]+$missing" "${out[@]}" -- true
	else
		"${as[@]}" "$NSPROF" record -o "$T/user.data" -- true 2>"$T/err"
		is "own command without the right: status" $? 0
		like "own command without the right: said" "$(cat "$T/err")" "recording user space only: kernel.perf_event_paranoid"
	fi
fi

done_testing
