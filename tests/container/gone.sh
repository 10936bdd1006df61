#!/bin/bash
# timeout: 400
# The container has exited and its files are gone before symbolizing. Function names are as before,
# from the rows in the recording. perf 6.1 keeps no rows, only copies of binaries by build-id in a
# folder of its user. It loses the names of binaries without a build-id, of JIT code, and on another
# machine all names (shown in outlive.sh and maps.sh). Also tests a process that lived 0.2 s during
# the recording.
# beside others
# waits
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need

# name program args files...
gone_case() {
	local name=$1 prog=$2 args=$3
	shift 3
	ctr_rootfs "$T/root-$name" "$@"
	# shellcheck disable=SC2086
	ctr_start "$name" "$T/root-$name" "/app/$prog" $args 60 || { fail "$name: container starts"; return; }
	ctr_record "$T/$name" -a -G "$CTR_CG" -F 499 --duration 1
	ctr_rest
	"$NSPROF" symbolize -q --no-inline "$T/$name" >"$T/$name.alive"
	ctr_go
	ctr_stop "$name"
	rm -rf "$T/root-$name"
	"$NSPROF" symbolize -q --no-inline "$T/$name" >"$T/$name.dead"
	check "$name: there are samples" test -s "$T/$name.alive"
	check "$name: the same stacks and names after it is gone" diff "$T/$name.alive" "$T/$name.dead"
	check "$name: the chain" has_chain "$T/$name.dead" "$(LD_LIBRARY_PATH=$TARGETS "$TARGETS/$prog" --chain)" "${MIN_CHAIN:-90}"
	check "$name: moved to another place, nothing of /proc at hand" sh -c \
		"mkdir -p '$T/emptyproc' && '$NSPROF' symbolize -q --no-inline --proc '$T/emptyproc' '$T/$name' | cmp - '$T/$name.dead'"
	# perf, too, with the captured data. It goes by build-ids, and does not read .gnu_debugdata.
	[ -n "$PERF" ] && [[ $name != @(nobuildid|musl|minidebug) ]] || return
	"$NSPROF" export -q --perf-data --buildid-dir "$T/$name.syms" -o "$T/$name.perf" "$T/$name"
	"$PERF" --buildid-dir "$T/$name.syms" script --no-inline -i "$T/$name.perf" 2>"$T/$name.err" |
		awk -f "$TOP/tests/bench/fold-perf.awk" >"$T/$name.by-perf"
	check "$name: exported, perf names the chain" has_chain "$T/$name.by-perf" \
		"$(LD_LIBRARY_PATH=$TARGETS "$TARGETS/$prog" --chain)" "${MIN_CHAIN:-90}"
	is "$name: exported, perf has nothing to say" "$(cat "$T/$name.err")" ""
}

gone_case pie spin "" "$TARGETS/spin"
gone_case static spin-static "" "$TARGETS/spin-static"
gone_case minidebug spin-mini "" "$TARGETS/spin-mini"
gone_case debuglink spin-split "" "$TARGETS/spin-split" "$TARGETS/spin-split.debug"
gone_case nobuildid spin-nobid "" "$TARGETS/spin-nobid"
MIN_CHAIN=25 gone_case sharedlib uselib "" "$TARGETS/uselib"
[ ! -x "$TARGETS/spin-musl" ] || gone_case musl spin-musl "" "$TARGETS/spin-musl"

# A process of 0.2 s that is born and dies during the recording, in a container that is also gone
# when the recording ends.
ctr_rootfs "$T/root-short" "$TARGETS/spin-a"
ctr_start short "$T/root-short" sh -c 'until [ -e /tmp/go ]; do sleep 0.05; done; /app/spin-a 0.2; : >/tmp/over; sleep 60' || fail "short: container starts"
ctr_record_while "$T/short" ': >"/proc/$CTR_PID/root/tmp/go"; wait_for "[ -e \"${CTR_DIR[short]}/upper/tmp/over\" ]" 30; ctr_stop short' \
	-a -G "$CTR_CG" -F 999
rm -rf "$T/root-short"
# Without its exec and the dynamic linker, which take a tenth of 0.2 s on a slow host.
"$NSPROF" symbolize -q "$T/short" | grep '^spin-a;' | grep -vE ';(__x64_sys_execve|_dl_start);' >"$T/short.folded"
check "0.2 s: sampled" sh -c "awk '{ n += \$NF } END { exit n < 5 }' '$T/short.folded'"
check "0.2 s: the chain" has_chain "$T/short.folded" "$("$TARGETS/spin-a" --chain)" 90
done_testing
