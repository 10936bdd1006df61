#!/bin/bash
# timeout: 400
# Every kind of binary that exists only inside a container, recorded from the host by its cgroup and
# by the pid of its first process: the stacks go from the root through every function it declares to
# the leaf.
# beside others
# waits
# takes: 30
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need

# variant, program, arguments, root of its stacks (regex), files
run_case() {
	local name=$1 prog=$2 args=$3 root=$4
	shift 4
	local chain mode
	chain=$(LD_LIBRARY_PATH=$TARGETS "$TARGETS/$prog" --chain)
	# Threads have the chain below their own start function.
	[ -z "$args" ] || chain=${chain/main;app_outer/app_thread;app_outer}
	ctr_rootfs "$T/root-$name" "$@"
	# shellcheck disable=SC2086
	if ! ctr_start "$name" "$T/root-$name" "/app/$prog" $args 300 || ! ctr_computes; then
		fail "$name: container starts"
		return
	fi
	# Two recorders at the same time.
	ctr_record "$T/$name.cgroup" -a -G "$CTR_CG" -F 499 --duration 1 &
	ctr_record "$T/$name.pid" -p "$CTR_PID" -F 499 --duration 1
	wait $!
	ctr_rest
	for mode in cgroup pid; do
		check "$name by $mode: symbolizes" "$NSPROF" symbolize -q "$T/$name.$mode" -o "$T/$name.$mode.folded"
		check "$name by $mode: every function of its chain" has_chain "$T/$name.$mode.folded" "$chain" "${MIN_CHAIN:-90}"
		check "$name by $mode: rooted" rooted "$T/$name.$mode.folded" "$root" 99
	done
	ctr_go
	ctr_stop "$name"
}

START='_start;__libc_start_main[^;]*;__libc_start_call_main;main'
THREAD='(__clone3?|clone3?|__GI___clone3?)[^;]*;start_thread;app_thread'
run_case pie spin "" "$START" "$TARGETS/spin"
run_case nopie spin-nopie "" "$START" "$TARGETS/spin-nopie"
run_case threads spin "--threads 3" "($THREAD|$START)" "$TARGETS/spin:/app/spin"
run_case static spin-static "" '_start;__libc_start_main[^;]*;(__libc_start_call_main;)?main' "$TARGETS/spin-static"
run_case staticpie spin-staticpie "" '_start;__libc_start_main[^;]*;(__libc_start_call_main;)?main' "$TARGETS/spin-staticpie"
run_case nobuildid spin-nobid "" "$START" "$TARGETS/spin-nobid"
run_case minidebug spin-mini "" "$START" "$TARGETS/spin-mini"
run_case debuglink spin-split "" "$START" "$TARGETS/spin-split" "$TARGETS/spin-split.debug"
MIN_CHAIN=25 run_case sharedlib uselib "" "$START" "$TARGETS/uselib"
MIN_CHAIN=20 run_case cxx deep "" "$START" "$TARGETS/deep"
if [ -x "$TARGETS/spin-musl" ]; then
	# Debian's ld-musl is stripped: its static functions between _start and main have no names
	# anywhere.
	MUSL1='(libc_start_main_stage2|__libc_start_main[^;]*|\[ld-musl-[^;]*\])'
	MUSL="_start;(_start_c;)?$MUSL1;($MUSL1;)?main"
	run_case musl spin-musl "" "$MUSL" "$TARGETS/spin-musl"
	run_case muslstatic spin-musl-static "" "$MUSL" "$TARGETS/spin-musl-static"
else
	skip musl "musl-gcc is not installed"
fi
if [ -x "$TARGETS/spin-clang" ]; then
	run_case clang spin-clang "" "$START" "$TARGETS/spin-clang"
else
	skip clang "clang is not installed"
fi

# Time in the kernel: kernel frames on top of the user's.
ctr_rootfs "$T/root-kern" "$TARGETS/spin"
if ctr_start kern "$T/root-kern" /app/spin --kernel 300; then
	ctr_record "$T/kern" -a -G "$CTR_CG" -F 499 --duration 1
	"$NSPROF" symbolize -q --annotate "$T/kern" >"$T/kern.folded"
	if [ "$(awk '$3 !~ /^0*$/ { n++ } n > 10 { print "yes"; exit }' <(awk '{ print "x", "x", $1 }' /proc/kallsyms | head -n 1000))" = yes ]; then
		check "kernel frames have names and lie on top" \
			grep -Eq ';app_leaf(_\[i\])?;(__GI_)?[^;]*read[^;]*;.*(vfs_read|read_iter_zero|read_zero)[^;]*_\[k\]' "$T/kern.folded"
	else
		check "kernel frames are [kernel]" grep -q ';\[kernel\]' "$T/kern.folded"
	fi
	ctr_stop kern
else
	fail "kernel: container starts"
fi
done_testing
