#!/bin/bash
# timeout: 600
# JIT and native frames in one stack, for runtimes that write perf maps or jitdumps: node, java,
# erlang, php, python. Each runs in its own mount and pid namespaces with a tmpfs on /tmp, and all
# of that is gone before symbolizing. (perf 6.1 looks for maps when it reports, and finds none;
# shown in maps.sh.) The programs declare their callchains; "whole" requires them in order, from the
# thread's root on. They run for 1.5 s of CPU time, however long that takes.
# beside others
# takes: 45
. "$(dirname "$0")/../lib.sh"
need_root
need_cmd unshare
unshare -m -p --fork --mount-proc true 2>/dev/null || skip_all "cannot make namespaces here"

mkdir "$T/app"
cat >"$T/app/app.js" <<'JS'
const zlib = require('zlib');
const data = Buffer.alloc(20000, 'abcdefgh');
function jsLeaf(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
function jsMiddle(n) { return jsLeaf(n) + 1; }
function jsNative() { return zlib.deflateSync(data).length; }
function jsOuter(n) { return jsMiddle(n) + jsNative(); }
let t = 0;
// From here on: on a machine that has just begun the start alone may take as long.
const end = process.cpuUsage().user + 1.5e6;
while (process.cpuUsage().user < end) t += jsOuter(20000);
JS
cat >"$T/app/Work.java" <<'JAVA'
import java.io.File;
import java.lang.management.*;
import java.util.zip.Deflater;
public class Work {
	static byte[] in = new byte[100000], out = new byte[200000];
	static int jLeaf(int n) { int s = 0; for (int i = 0; i < n; i++) s = (s * 31 + i) % 1000003; return s; }
	static int jMiddle(int n) { return jLeaf(n) + 1; }
	static int jNative() { Deflater d = new Deflater(); d.setInput(in); d.finish(); int n = d.deflate(out); d.end(); return n; }
	static int jOuter(int n) { return jMiddle(n) + jNative(); }
	public static void main(String[] a) throws Exception {
		ThreadMXBean me = ManagementFactory.getThreadMXBean();
		long t = 0;
		while (me.getCurrentThreadCpuTime() < 1500000000L) t += jOuter(50000);
		if (a.length == 0) return;
		new File("/tmp/done").createNewFile();
		while (!new File("/tmp/go").exists()) Thread.sleep(20);
	}
}
JAVA
cat >"$T/app/app.py" <<'PY'
import time, zlib
data = bytes(100000)
def py_leaf(n):
    s = 0
    for i in range(n): s = (s * 31 + i) % 1000003
    return s
def py_middle(n): return py_leaf(n) + 1
def py_key(x): return py_leaf(50)
def py_sorted(n): return sorted(range(n), key=py_key)[0]
def py_native(): return len(zlib.compress(data))
def py_outer(n): return py_middle(n) + py_sorted(n // 50) + py_native()
t, end = 0, time.process_time() + 1.5
while time.process_time() < end: t += py_outer(5000)
PY

# can COMMAND...: does it work? Files that it writes to /tmp are discarded.
can() {
	unshare -m --propagation private sh -c 'mount -t tmpfs tmpfs /tmp && exec "$@"' sh "$@" >/dev/null 2>&1
}

# boxed NAME COMMAND...: record it; files that it writes to /tmp are discarded. /mnt is the folder
# of programs.
boxed() {
	local name=$1
	shift
	"$NSPROF" record -q -e cpu-clock -F 999 -o "$T/$name" -- \
		unshare -m -p --fork --mount-proc --propagation private sh -c \
		'mount --bind "$0" /mnt && mount -t tmpfs tmpfs /tmp && cd /tmp && exec "$@"' "$T/app" "$@" >"$T/$name.out" 2>&1 ||
		fail "$name: the program ran" "$(cat "$T/$name.out")"
	"$NSPROF" symbolize -q --no-inline --stats "$T/$name" >"$T/$name.folded" 2>"$T/$name.stats"
	# Show how many stacks are complete, and why the others are not.
	awk -v name="$name" 'NR > 1 && /^[^ ]/ { exit } NR > 1 { sub(/^ */, ""); print "# " name ": " $0 }' "$T/$name.stats"
}

# whole NAME FUNCTION CHAIN: at least 50 samples are in FUNCTION, and 99.5 % of them in CHAIN (both
# are regular expressions for frames).
whole() {
	awk -v fn=";($2)[; ]" -v chain="^[^;]*;($3)[; ]" '
	$0 ~ fn { all += $NF; if ($0 ~ chain) hit += $NF; else if (bad++ < 3) print "# not: " $0 }
	{ n += $NF; l = $0; sub(/ [0-9]+$/, "", l); sub(/.*;/, "", l); leaf[l] += $NF }
	END {
		printf "# %d of %d samples\n", hit, all
		if (all >= 50)
			exit !(hit >= 0.995 * all)
		printf "# of %d; most are in:\n", n
		for (l in leaf)
			if (leaf[l] > n / 20)
				print "# " leaf[l], l
		exit 1
	}' "$T/$1.folded"
}

# ---- node
node_checks() { # NAME
	# "LazyCompile:*jsLeaf /mnt/app.js:3", "JS:~jsLeaf ...": the tier in the name changes over
	# time.
	local fn="(JS|LazyCompile|Function):[^a-zA-Z]*" rest=" /mnt[^;]*" glue="(Builtins_[^;]*;)*"
	local deflate="(Cr_z_)?deflate([.@][^;]*)?"
	check "$1: JavaScript from the root on" whole "$1" "${fn}jsLeaf$rest" \
		"_start;.*node::Start[^;]*;.*;${fn}jsOuter$rest;$glue${fn}jsMiddle$rest;$glue${fn}jsLeaf$rest"
	check "$1: native code that JavaScript called" whole "$1" "$deflate" \
		"_start;.*node::Start[^;]*;.*;${fn}jsOuter$rest;$glue${fn}jsNative$rest;.*;$deflate"
}
# nodes: one installed node of each version. NODES adds others, for example node_modules/node/bin
# after "npm install node@18".
nodes() {
	local p
	for p in "$(command -v node)" /usr/bin/node "${NVM_DIR:-$HOME/.nvm}"/versions/node/*/bin/node ${NODES-}; do
		[ -x "$p" ] && echo "$("$p" --version 2>/dev/null):$p"
	done | sort -t : -k 1,1 -u
}
found=
for vp in $(nodes); do
	v=node-${vp%%.*} p=${vp#*:}
	found+=" ${v#node-v}"
	# Interpreted functions get their own frames, and no function is inlined.
	# shellcheck disable=SC2207
	flags=(--interpreted-frames-native-stack $(node_no_inlining "$p"))
	! "$p" --v8-options | grep -q -e '--maglev ' || flags+=(--no-maglev)
	boxed $v-map "$p" --perf-basic-prof "${flags[@]}" /mnt/app.js
	node_checks $v-map
	boxed $v-dump "$p" --perf-prof "${flags[@]}" /mnt/app.js
	node_checks $v-dump
	like "$v-dump: names from the jitdump" "$(cat "$T/$v-dump.stats")" '[0-9] +jitdump'
done
for v in 18 20; do
	# 20 stands for any later version, too.
	case " $found " in
	*" 18 "*) [ $v = 18 ] && continue ;;&
	*" "2[0-9]" "*) [ $v = 20 ] && continue ;;
	esac
	skip "node $v" "it is not installed"
done

# ---- java
# Nothing tells the name of an interpreted method.
java_frame() {
	echo "(Interpreter|[^;]*Work.$1[^;]*)"
}
java_chain="(__clone3?|clone3?);start_thread;.*JavaMain;.*;StubRoutines[^;]*;$(java_frame main);$(java_frame jOuter)"
java_checks() { # NAME
	check "$1: Java from the thread's root on" whole "$1" "[^;]*Work.jLeaf[^;]*" \
		"$java_chain;$(java_frame jMiddle);[^;]*Work.jLeaf[^;]*"
	check "$1: native code that Java called" whole "$1" "deflate(@plt)?" \
		"$java_chain;.*;Java_java_util_zip_Deflater[^;]*;deflate(@plt)?"
}
if command -v java >/dev/null && command -v javac >/dev/null && javac -d "$T/app" "$T/app/Work.java" 2>"$T/javac.err"; then
	java=(java -XX:CompileCommand=quiet "-XX:CompileCommand=dontinline,Work.*" -cp /mnt)
	if can java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -version; then
		at_exit=(-XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit)
		boxed java-fp "${java[@]}" "${at_exit[@]}" -XX:+PreserveFramePointer Work
		java_checks java-fp
		boxed java-nofp "${java[@]}" "${at_exit[@]}" -XX:-PreserveFramePointer Work
		like "java-nofp: says what is missing" "$(cat "$T/java-nofp.stats")" \
			'callers +\[jit\] of java +jitted code without frame pointer or unwind rows +run java with -XX:\+PreserveFramePointer'
		check "java-nofp: still the names of leaves" grep -q ';[^;]*Work.jLeaf' "$T/java-nofp.folded"
	else
		skip "java: map at exit" "this java has no DumpPerfMapAtExit"
	fi
	if can jcmd -l; then
		# In the same namespaces, once everything is compiled.
		boxed java-jcmd sh -c '"$@" & until [ -e /tmp/done ]; do sleep 0.1; done
			jcmd $! Compiler.perfmap; : >/tmp/go; wait' sh \
			"${java[@]}" -XX:+PreserveFramePointer Work wait
		java_checks java-jcmd
	else
		skip "java: map by jcmd" "jcmd is not installed"
	fi
else
	skip "java" "java and javac are not installed"
fi

# ---- erlang
cat >"$T/app/work.erl" <<'ERL'
-module(work).
-export([main/0]).
e_leaf(0, S) -> S;
e_leaf(N, S) -> e_leaf(N - 1, (S * 31 + N) rem 1000003).
e_middle(N) -> e_leaf(N, 0) + 1.
e_outer(N) -> e_middle(N) + e_middle(N) + 1.
e_loop(T) -> case element(1, statistics(runtime)) < 1500 of true -> e_loop(T + e_outer(20000)); false -> T end.
main() -> io:format("~p~n", [e_loop(0)]), halt().
ERL
if command -v erl >/dev/null && command -v erlc >/dev/null && erlc -o "$T/app" "$T/app/work.erl" 2>"$T/erlc.err" &&
	can erl +JPperf true -noshell -eval 'halt().'; then
	# An Erlang process has its own stack, made by JIT code, with nothing native below it. Where
	# a loop starts its next round its frame is torn down and built again: frame pointers skip
	# the caller then.
	boxed erlang erl +JPperf true -noshell -pa /mnt -s work main
	check "erlang: from the process's root on" whole erlang "work:e_leaf/2[^; ]*" \
		"erts_beamasm:normal_exit[^;]*;init:do_boot/3;init:start_em/1;(init:start_it/1;)?work:main/0;work:e_loop/1;work:e_outer/1(;work:e_middle/1)?;work:e_leaf/2[^; ]*"
else
	skip "erlang" "an Erlang with a JIT that writes perf maps (+JPperf) is not installed"
fi

# ---- php
cat >"$T/app/app.php" <<'PHP'
<?php
function p_leaf($n) { $s = 0; for ($i = 0; $i < $n; $i++) $s = ($s * 31 + $i) % 1000003; return $s; }
function p_key($a, $b) { return p_leaf(10) ? $a <=> $b : 0; }
function p_sort() { $a = range(1, 200); usort($a, 'p_key'); return count($a); }
function p_native() { return strlen(gzcompress(str_repeat("abcdefgh", 5000))); }
function p_outer($n) { return p_leaf($n) + p_sort() + p_native(); }
for ($t = $u = 0; $u < 1.5; ) {
	for ($k = 0; $k < 10; $k++) $t += p_outer(20000);
	$r = getrusage();
	$u = $r['ru_utime.tv_sec'] + $r['ru_utime.tv_usec'] / 1e6;
}
PHP
php_jit=(-d opcache.enable=1 -d opcache.enable_cli=1 -d opcache.file_update_protection=0 -d opcache.jit_buffer_size=32M)
if command -v php >/dev/null && can php "${php_jit[@]}" -d opcache.jit=function \
	-r 'exit(!function_exists("gzcompress") || empty(opcache_get_status()["jit"]["on"]));'; then
	# JIT code runs in the frame of the interpreter's loop, and takes the place of execute_ex()
	# in a stack.
	for dump in map:0x10 dump:0x20; do
		name=php-${dump%:*}
		boxed "$name" php "${php_jit[@]}" -d opcache.jit=function -d "opcache.jit_debug=${dump#*:}" /mnt/app.php
		check "$name: PHP from the root on" whole "$name" 'JIT\$p_leaf' \
			'_start;.*main;.*;zend_execute;(JIT\$p_sort;.*;zend_call_function;)?JIT\$p_leaf'
		check "$name: native code that PHP called" whole "$name" "deflate(@plt)?" \
			'_start;.*main;.*;zend_execute;JIT\$p_(outer|native);.*;deflate(@plt)?'
		check "$name: PHP called by native code" grep -q 'JIT\$p_sort;.*;zend_call_function;JIT\$p_leaf' "$T/$name.folded"
	done
else
	skip "php" "no php with opcache's JIT is installed"
fi

# ---- python
python_checks() { # NAME PYTHON
	local f="py::" r=":/mnt/app.py" c="[^;]*" sort="list_sort"
	# A stripped interpreter only has names for exported functions.
	{ realpath "$2"; ldd "$2" | awk '/libpython/ { print $3 }'; } | xargs readelf -sW | grep -q ' list_sort' || sort='\[(lib)?python'
	check "$1: Python from the root on" whole "$1" "${f}py_leaf$r" \
		"_start;.*main;.*;${f}py_outer$r;.*;${f}py_(middle|key)$r;.*;${f}py_leaf$r"
	check "$1: Python called by native code" whole "$1" "${f}py_key$r" \
		"_start;.*main;.*;${f}py_outer$r;.*;${f}py_sorted$r;.*$sort$c;.*;${f}py_key$r"
	check "$1: native code that Python called" whole "$1" "deflate(@plt)?" \
		"_start;.*main;.*;${f}py_outer$r;.*;${f}py_native$r;.*;deflate(@plt)?"
}
# pythons: one installed python of each minor version from 3.12 on.
pythons() {
	local v p
	for v in 12 13 14; do
		for p in "$(command -v "python3.$v")" /usr/bin/python3.$v /usr/local/bin/python3.$v \
			"${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$v".*/bin/python3.$v; do
			[ -x "$p" ] && can "$p" -c 'import zlib' && echo "$v:$p" && break
		done
	done
}
# Before 3.12 only the interpreter is visible: one of its frames stands for any number of Python
# functions.
if [ -x /usr/bin/python3 ]; then
	boxed python3 /usr/bin/python3 /mnt/app.py
	loop=_PyEval_EvalFrameDefault
	# Debian strips its own python, and the remaining symbol of the loop in 3.14 does not cover
	# the loop.
	can /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 14))' && loop='\[python3[^];]*\]'
	check "python3: the interpreter from the root on" whole python3 "$loop" "_start;.*main;.*;$loop"
else
	skip "python3" "no /usr/bin/python3"
fi
found=
for vp in $(pythons); do
	v=${vp%%:*} p=${vp#*:}
	can "$p" -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())' || continue
	found=1
	boxed "python3.$v-map" "$p" -X perf /mnt/app.py
	python_checks "python3.$v-map" "$p"
	can "$p" -X perf_jit -c 'import sys; sys.exit(sys.version_info < (3, 13))' || continue
	boxed "python3.$v-dump" "$p" -X perf_jit /mnt/app.py
	python_checks "python3.$v-dump" "$p"
	like "python3.$v-dump: names from the jitdump" "$(cat "$T/python3.$v-dump.stats")" '[0-9] +jitdump'
done
[ -n "$found" ] || skip "python" "no python 3.12 or later that knows -X perf"
done_testing
