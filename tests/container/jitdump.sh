#!/bin/bash
# timeout: 240
# Jitdumps inside containers: the recorder does the work of perf inject --jit while recording. It
# writes nothing where the program runs, and needs nothing from there afterwards. Tested with a JIT
# of our own, node, and Java with two agents: our own, and perf's where it is installed.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need
JIT=$TARGETS/jitdump
need_target slowopen.so

count() { # FOLDED REGEX: samples
	awk -v re="$2" '$0 ~ re { n += $NF } END { print n + 0 }' "$1"
}

# left NAME: all files of the container, and when each was made or changed, except those that the
# program still writes.
left() {
	find "${CTR_DIR[$1]}/upper" ! -name 'jit-*.dump' ! -name 'isolate*.log' -printf '%P %T@ %C@\n' | sort
}

# ---- a container, alive and gone ----
ctr_rootfs "$T/root" "$JIT"
if ctr_start own "$T/root" /app/jitdump rows 100 /tmp; then
	wait_for "[ -e '${CTR_DIR[own]}/upper/tmp/jit-1.dump' ]" 60
	left own >"$T/before"
	ctr_record "$T/own.data" -k mono -a -G "$CTR_CG" -F 499 --duration 1
	"$NSPROF" symbolize -q --no-inline "$T/own.data" >"$T/own.alive"
	is "nothing is written in the container" "$(left own)" "$(<"$T/before")"
	ctr_stop own
	"$NSPROF" symbolize -q --no-inline "$T/own.data" >"$T/own.gone"
	is "its chain, and no other one" "$(sed -n 's/^[^;]*;\(.*;leaf_one\)[ ;].*/\1/p' "$T/own.alive" | sed 's/.*;main;/main;/' | sort -u)" \
		'main;run;outer_fn;native_mid;inner_fn;leaf_one'
	check "the same when it is gone" cmp "$T/own.alive" "$T/own.gone"
else
	fail "a container with a JIT starts"
fi

# ---- it answers late: its process is busy with its mappings, or the machine ----
"$JIT" rows 100 "$T" &
late=$!
later "kill $late 2>/dev/null; rm -f '$T/jit-$late.dump'"
wait_for "[ -s '$T/jit-$late.dump' ]" 60
SLOW_MAPPED=jit-$late.dump LD_PRELOAD=$TARGETS/slowopen.so "$NSPROF-record" -k mono -e cpu-clock -F 499 -p "$late" --duration 2 -o "$T/late.data" 2>"$T/err" ||
	cat "$T/err"
kill "$late"
"$NSPROF" symbolize -q --no-inline "$T/late.data" >"$T/late"
check "late: it has its names" test "$(count "$T/late" ';outer_fn;native_mid;inner_fn;leaf_one ')" -ge 20

# ---- runtimes, in a mount namespace with a private /tmp ----
cat >"$T/Work.java" <<'JAVA'
public class Work {
	static int jLeaf(int n) { int s = 0; for (int i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
	static int jMiddle(int n, String[] a, long b) { return jLeaf(n) + a.length; }
	static int jOuter(int n) { return jMiddle(n, new String[1], 2) + 1; }
	public static void main(String[] a) {
		java.lang.management.ThreadMXBean me = java.lang.management.ManagementFactory.getThreadMXBean();
		long t = 0, end = me.getCurrentThreadCpuTime() + 1000000000L;
		while (me.getCurrentThreadCpuTime() < end) t += jOuter(50000);
	}
}
JAVA
cat >"$T/work.js" <<'JS'
function jsLeaf(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
function jsOuter(n) { return jsLeaf(n) + 1; }
let t = 0, end = process.cpuUsage().user + 1e6;
while (process.cpuUsage().user < end) t += jsOuter(50000);
JS
# boxed NAME COMMAND...
boxed() {
	local name=$1
	shift
	"$NSPROF" record -q -k mono -e cpu-clock -F 499 -o "$T/$name.data" -- unshare -m -p --fork --mount-proc --propagation private sh -c \
		'mount --bind "$0" /mnt && mount -t tmpfs tmpfs /tmp && cd /tmp && HOME=/tmp && export HOME && "$@"; ls -R /tmp >&2' \
		"$T" "$@" >"$T/$name.out" 2>"$T/$name.left"
	"$NSPROF" symbolize -q --stats "$T/$name.data" >"$T/$name.folded" 2>"$T/$name.stats"
	like "$name: names come from the jitdump" "$(<"$T/$name.stats")" '[0-9] +jitdump'
	unlike "$name: no files made of it" "$(<"$T/$name.left")" 'jitted-'
}
if command -v node >/dev/null && (cd "$T" && node --perf-prof -e 0) >/dev/null 2>&1; then
	# shellcheck disable=SC2046
	boxed node node --perf-prof $(node_no_inlining node) /mnt/work.js
	n=$(count "$T/node.folded" 'JS:[^;]*jsOuter[^;]*;[^;]*JS:[^;]*jsLeaf')
	check "node: JavaScript's callers and callees, $n samples" test "$n" -ge 50
else
	skip "node" "needs node with --perf-prof"
fi

java_case() { # NAME AGENT
	boxed "$1" java -XX:+PreserveFramePointer -XX:CompileCommand=quiet "-XX:CompileCommand=dontinline,Work.*" "-agentpath:$2" -cp /mnt Work
	grep 'Work' "$T/$1.folded" >"$T/$1.work"
	like "$1: a method as the source has it" "$(<"$T/$1.work")" ';Work.jOuter\(int\);Work.jMiddle\(int, java.lang.String\[\], long\);Work.jLeaf\(int\) '
	# The JVM tells agents about a method some time after it starts to run.
	n=$(count "$T/$1.folded" 'Work.jLeaf\\(int\\)')
	check "$1: its hot method, $n samples" test "$n" -ge 50
	unlike "$1: no descriptor is left" "$(<"$T/$1.work")" 'LWork[;:]'
}
if command -v java >/dev/null && command -v javac >/dev/null && javac -d "$T" "$T/Work.java" 2>"$T/javac.err"; then
	if [ -e "$TARGETS/javadump.so" ]; then
		cp "$TARGETS/javadump.so" "$T/"
		java_case java /mnt/javadump.so=/tmp
		like "java: lines of the source" "$("$NSPROF" symbolize -q --srcline "$T/java.data" | grep Work)" ';Work.jLeaf\(int\) \(Java:2\) '
	else
		skip "java" "the JDK has no jvmti.h"
	fi
	agent=$(find /usr/lib /usr/lib64 /usr/libexec -name libperf-jvmti.so -print -quit 2>/dev/null)
	if [ -n "$agent" ]; then
		java_case libperf-jvmti "$agent"
	else
		skip "libperf-jvmti.so" "linux-perf here comes without it, as Debian's does"
	fi
else
	skip "java" "java and javac are not installed"
fi
done_testing
