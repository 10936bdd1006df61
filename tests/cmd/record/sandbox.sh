#!/bin/bash
# What the recorder gives up: capabilities, new privileges, system calls, in all of its threads, as
# /proc says. The command that it starts keeps everything, and what recording takes still works.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd setpriv jq
cd "$T" || exit 1
! grep -qa __asan_init "$BUILD/bin/nsprof-record" || skip_all "with a sanitizer nothing is given up"

# field NAME PID/TID: as a number, from /proc.
field() { awk -v n="$1:" '$1 == n { print $2 }' "/proc/$2/status" 2>/dev/null; }
# with BITS OF: do all capabilities of BITS lie in OF?
within() { ((0x$1 & ~0x$2)) && return 1 || return 0; }
# running ARGUMENTS...: starts a recorder in the background, $pid, and waits until it is confined.
running() {
	"$NSPROF-record" -q "$@" 2>err &
	pid=$!
	wait_for '[ "$(field Seccomp $pid)" = "${filters:+2}" ] && [ "$(field NoNewPrivs $pid)" = 1 ]' 10
}
ended() { kill -INT "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; }
each_thread() { # COMMAND: with $t = PID/task/TID
	local t
	for t in "/proc/$pid/task"/*; do
		t=${t#/proc/}
		eval "$1" || { cat "/proc/$t/comm" "/proc/$t/status"; return 1; }
	done
}

# CAP_DAC_READ_SEARCH 2, CAP_SYS_PTRACE 19, CAP_PERFMON 38, and what older kernels need: CAP_SYS_ADMIN 21.
allowed=$(printf %x $((1 << 2 | 1 << 19 | 1 << 21 | 1 << 38)))
# Openers: instead of CAP_PERFMON, CAP_CHECKPOINT_RESTORE 40. Who forks them may set priorities: CAP_SYS_NICE 23.
opens=$(printf %x $((1 << 2 | 1 << 19 | 1 << 21 | 1 << 40)))
forks=$(printf %x $((0x$opens | 1 << 23)))
# children PID NAME: those that are called NAME.
children() {
	local c
	for c in $(cat "/proc/$1/task"/*/children 2>/dev/null); do
		[ "$(cat "/proc/$c/comm" 2>/dev/null)" != "$2" ] || echo "$c"
	done
}
# limited PIDS BITS: their capabilities are among BITS, and they can get no others.
limited() {
	local p f
	[ -n "$1" ] || return 1
	for p in $1; do
		for f in CapEff CapPrm; do within "$(field $f $p)" "$2" || { echo "$f of $p: $(field $f $p)"; return 1; }; done
		[ "$(field NoNewPrivs $p)" = 1 ] || { echo "new privileges of $p"; return 1; }
	done
}
filters=1
[ "$(field Seccomp self)" ] || filters=

if running -a -o a.data; then
	check "-a: capabilities of all threads" each_thread 'within "$(field CapEff $t)" $allowed && within "$(field CapPrm $t)" $allowed'
	check "-a: bounding sets" each_thread 'within "$(field CapBnd $t)" $allowed'
	check "-a: no ambient and inheritable ones" each_thread '! ((0x$(field CapAmb $t) | 0x$(field CapInh $t)))'
	check "-a: no new privileges" each_thread '[ "$(field NoNewPrivs $t)" = 1 ]'
	if [ -n "$filters" ]; then
		check "-a: system calls are filtered" each_thread '[ "$(field Seccomp $t)" = 2 ]'
	else
		skip "-a: system calls are filtered" "the kernel has no seccomp"
	fi
	if [[ $(uname -r) =~ ^([6-9]|5\.([1-9][0-9])) ]] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
		is "-a: CAP_SYS_ADMIN is not needed" "$((0x$(field CapPrm "$pid") >> 21 & 1))" 0
	else
		skip "-a: CAP_SYS_ADMIN is not needed" "this kernel needs it"
	fi
	is "-a: root's files are not ours to write" "$(awk '/^[UG]id:/ { print $2, ($3 != 0), $4, ($5 != 0) }' "/proc/$pid/status" | sort -u)" "0 1 0 1"
	zygote=$(children $pid nsprof-opener)
	openers=$(children "$zygote" nsprof-opener)
	check "-a: openers keep what reading takes" limited "$openers" "$opens"
	check "-a: their parent hardly more" limited "$zygote" "$forks"
	is "-a: root's files are not theirs to write" "$(for p in $zygote $openers; do awk '/^[UG]id:/ { print ($3 != 0), ($5 != 0) }' "/proc/$p/status"; done | sort -u)" "1 1"
	if [ -n "$filters" ]; then
		is "-a: system calls of openers are filtered" "$(for p in $openers; do field Seccomp $p; done | sort -u)" 2
	else
		skip "-a: system calls of openers are filtered" "the kernel has no seccomp"
	fi
	ended
else
	fail "-a: a recorder that is confined" "$(cat err)"
fi
check "-a: the recording is whole" "$NSPROF" info a.data
unlike "-a: nothing was refused" "$(cat err)" refused

# ---- the command ----
mine=$(awk '/^(Cap|NoNewPrivs|Seccomp:|Uid)/' /proc/self/status)
check "a command" "$NSPROF" record -q -o b.data -- sh -c "awk '/^(Cap|NoNewPrivs|Seccomp:|Uid)/' /proc/self/status >command"
is "a command: keeps all rights" "$(cat command)" "$mine"
if for_nobody "$(command -v id)" 2>/dev/null; then
	chown root "$PUBLIC/id" && chmod 4755 "$PUBLIC/id"
	# id(1) prints the effective user.
	want=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$PUBLIC/id" -u)
	mkdir "$PUBLIC/w" && chmod 777 "$PUBLIC/w"
	if [ "$want" = 0 ]; then
		got=$(cd "$PUBLIC/w" && setpriv --reuid=65534 --regid=65534 --clear-groups "$PUBLIC/nsprof" record -q -e cpu-clock:u -o c.data -- "$PUBLIC/id" -u 2>&1)
		is "a user's set-user-ID command becomes root" "$got" 0
	else
		skip "a user's set-user-ID command becomes root" "$PUBLIC is mounted nosuid"
	fi
	"${NOBODY[@]}" sh -c "cd '$PUBLIC/w' && exec '$PUBLIC/nsprof-record' -q -e cpu-clock:u -o d.data -- sleep 100" 2>err &
	pid=$!
	if wait_for '[ "$(field NoNewPrivs $pid)" = 1 ]' 10; then
		check "a user: no new privileges" each_thread '[ "$(field NoNewPrivs $t)" = 1 ]'
		is "a user: no capabilities" "$((0x$(field CapPrm "$pid")))" 0
	else
		fail "a user: a recorder that is confined" "$(cat err)"
	fi
	ended
	chown 65534 "$PUBLIC/w" && chmod 755 "$PUBLIC/w"
else
	skip "a user" "$no_nobody"
fi
# The recorder ends a command that runs as another user by then.
"$NSPROF" record -q -a --duration 0.3 -o e.data -- sh -c 'echo $$ >e.pid; exec setpriv --reuid=65534 --clear-groups sleep 100' 2>err &
pid=$!
if wait_for '! kill -0 $pid 2>/dev/null' 10; then
	pass "a command of another user does not outlast the recording"
	is "it is gone" "$(cat "/proc/$(cat e.pid)/comm" 2>/dev/null)" ''
else
	fail "a command of another user does not outlast the recording" "$(cat err)"
	kill "$(cat e.pid)"
fi
wait "$pid"

# ---- more than one file, in a folder of somebody else ----
mkdir other && chown 4711:4711 other && chmod 755 other
check "files are rotated in a user's folder" "$NSPROF" record -q -a --duration 1 --switch-output=0.3s -o other/r.data
is "no file is missing" "$(($(ls other | wc -l) >= 2))" 1
running -a --switch-output=100s -o other/s.data
is "for that it may write everywhere" "$((0x$(field CapPrm "$pid") >> 1 & 1))" 1
ended
running -a --switch-output=100s -o s.data
is "in a folder of its own it may not" "$((0x$(field CapPrm "$pid") >> 1 & 1))" 0
ended

# ---- without it ----
"$NSPROF-record" -a -o f.data --no-sandbox 2>err &
pid=$!
wait_for '[ -s f.data ]' 10
zygote=$(children $pid nsprof-opener)
is "--no-sandbox: so do openers" "$(field CapEff "$zygote") $(field NoNewPrivs "$zygote")" "$(field CapEff self) $(field NoNewPrivs self)"
is "--no-sandbox: keeps its rights" "$(field CapEff "$pid") $(field NoNewPrivs "$pid") $(field Seccomp "$pid")" \
	"$(field CapEff self) $(field NoNewPrivs self) $(field Seccomp self)"
ended
like "--no-sandbox: says so" "$(cat err)" 'warning: --no-sandbox: the recorder keeps all of its rights'
"$NSPROF-record" -v -a --duration 0.1 -o g.data 2>err
like "-v says what is in force" "$(cat err)" 'sandbox: capabilities [a-z_,]*sys_ptrace.*; new privileges none; system calls '

# ps parses what tenants wrote as well.
"$NSPROF-ps" -w -d 0.2 >ps.out 2>err &
pid=$!
wait_for '[ "$(field Seccomp $pid)" = "${filters:+2}" ] && [ "$(field NoNewPrivs $pid)" = 1 ]' 10
check "ps: capabilities" limited "$pid" "$(printf %x $((1 << 2 | 1 << 19)))"
wait_for '[ "$(grep -c . ps.out)" -ge 4 ]' 20
check "ps: it goes on" test "$(grep -c . ps.out)" -ge 4
ended
is "ps: no call was refused" "$(<err)" ""
done_testing
