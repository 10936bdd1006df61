#!/bin/bash
# timeout: 400
# A JIT in a pid namespace: node writes /tmp/perf-1.map (the host's pid differs). JIT names and the
# native frames around them appear in one stack: on the overlay, on a tmpfs /tmp, in nested pid
# namespaces, and after the container is gone. perf 6.1 gets no whole stack of these in any mode
# (dwarf ends at JIT code, frame pointers end at libnode). It does not keep the map, and without it
# has no JIT names (maps.sh).
# beside others
# takes: 20
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd node
ctr_need

cat >"$T/app.js" <<'JS'
const crypto = require('crypto');
function jsLeafWork(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
function jsMiddle(n) { return jsLeafWork(n) + 1; }
function jsNative(n) { return crypto.pbkdf2Sync('pw', 'salt' + n, 200, 32, 'sha512')[0]; }
function jsOuter(n) { return jsMiddle(n) + jsNative(n); }
const end = Date.now() + 1000 * Number(process.argv[2]);
let t = 0;
while (Date.now() < end) t += jsOuter(20000);
console.log(t);
JS
NODE=$(readlink -f "$(command -v node)")
no_inlining=$(node_no_inlining "$NODE" | tr '\n' ' ')
ctr_rootfs "$T/root" "$NODE:/usr/bin/node" "$T/app.js"
# Debian's node keeps parts of itself in separate files.
if [ -d /usr/share/nodejs ]; then
	mkdir -p "$T/root/usr/share"
	cp -r /usr/share/nodejs "$T/root/usr/share/"
fi

share() { # FOLDED AWK-CONDITION: per cent of the samples
	awk "{ n = \$NF; all += n; if ($2) hit += n } END { printf \"%d\", all ? 100 * hit / all : 0 }" "$1"
}

jit_checks() { # WHAT FOLDED
	local s
	check "$1: the JIT's functions by name" grep -q 'jsLeafWork.*jsLeafWork\|jsOuter.*jsLeafWork' "$2"
	s=$(share "$2" '/jsOuter/ && /;(main|node::Start)[^;]*;/')
	check "$1: native frames below the JIT's ($s % of the samples go from main through jsOuter)" test "$s" -ge 60
	s=$(share "$2" '/jsNative.*(PBKDF2|pbkdf2|EVP|sha512|SHA512)/')
	check "$1: native frames above the JIT's ($s %)" test "$s" -ge 10
	s=$(share "$2" '/\[jit\]|\[no mapping\]/')
	check "$1: no more than 5 % without a name ($s %)" test "$s" -le 5
}

for kind in overlay tmpfs nested; do
	CTR_OPTS='' CTR_TMPFS=''
	# shellcheck disable=SC2206
	cmd=(/usr/bin/node --perf-basic-prof $no_inlining /app/app.js 600)
	case $kind in
	tmpfs) CTR_TMPFS=1 ;;
	nested) cmd=(sh -c 'exec busybox unshare -p -f -m --mount-proc /usr/bin/node --perf-basic-prof '"$no_inlining"' /app/app.js 600') ;;
	esac
	if ! ctr_start "$kind" "$T/root" "${cmd[@]}"; then
		fail "$kind: container starts"
		continue
	fi
	node_pid() {
		while read -r p; do
			case $(readlink "/proc/$p/exe") in */node) echo "$p" ;; esac
		done <"${CTR_CGDIR[$kind]}/cgroup.procs" | head -n 1
	}
	wait_for '[ -n "$(node_pid)" ]' 20
	pid=$(node_pid)
	# Do not test the stacks before node compiles hot functions: on an emulated machine its
	# start takes many seconds.
	wait_for "grep -q '[*+].*jsLeafWork' /proc/$pid/root/tmp/perf-*.map" 100
	computes "$pid" 1000
	# Two recorders at the same time.
	ctr_record "$T/$kind.G" -a -G "$CTR_CG" -F 499 --duration 1.5 &
	ctr_record "$T/$kind.p" -p "$pid" -F 499 --duration 1.5
	wait $!
	ctr_rest
	"$NSPROF" symbolize -q "$T/$kind.G" >"$T/$kind.G.alive"
	"$NSPROF" symbolize -q "$T/$kind.p" >"$T/$kind.p.alive"
	jit_checks "$kind by cgroup" "$T/$kind.G.alive"
	jit_checks "$kind by pid" "$T/$kind.p.alive"
	ctr_go
	ctr_stop "$kind"
	"$NSPROF" symbolize -q "$T/$kind.G" >"$T/$kind.G.dead"
	jit_checks "$kind gone" "$T/$kind.G.dead"
done
done_testing
