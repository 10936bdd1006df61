#!/bin/bash
# Samples in HotSpot's entry barrier stub have their callers. Compiled methods call this stub when
# the garbage collector has armed them. The stub pushes a word before it saves the frame pointer.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd java javac
cd "$T" || exit 1
"$NSPROF" record -q -o probe -- true 2>err || skip_all "no perf events here: $(cat err)"
{
	echo 'public class Bar {'
	for i in $(seq 300); do echo "static int f$i(int n) { return n * $i + (n >> 3); }"; done
	echo 'static int all(int n) { int s = 0;'
	for i in $(seq 300); do echo "s += f$i(s + n);"; done
	cat <<-'END'
		return s; }
		static volatile boolean on = true;
		static int out;
		public static void main(String[] a) throws Exception
		{
			Thread collector = new Thread(() -> { while (on) System.gc(); });
			long end = System.currentTimeMillis() + 2000;
			int s = 0;
			collector.start();
			while (System.currentTimeMillis() < end)
				for (int i = 0; i < 20; i++)
					s += all(s);
			on = false;
			out = s;
		}}
	END
} >Bar.java
javac Bar.java 2>err || skip_all "javac: $(cat err)"
java=(java -XX:+UseZGC -Xmx256m -XX:+PreserveFramePointer -XX:MaxInlineSize=0 -XX:FreqInlineSize=0 -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit)
"${java[@]}" -version 2>err || skip_all "this Java has no ZGC: $(head -n 1 err)"
"$NSPROF" record -q -e cpu-clock:u -F 2999 -o data -- "${java[@]}" Bar 2>err || fail "it is recorded" "$(cat err)"
for u in cached libdw; do
	"$NSPROF" symbolize -q --no-inline --unwind $u data | grep ';BarrierSetNMethod::nmethod_stub_entry_barrier' >folded
	# Java writes its map when it ends. Methods that it has replaced by then have no name, so
	# the test only requires some frame between the two stubs.
	check "$u: from the method that called it to JavaMain()" awk '
		/^java;.*;JavaMain;.*;StubRoutines \([^)]*\);[^;]*(Interpreter|\[jit\]|Bar|System)[^;]*;(.*;)?StubRoutines \([^)]*\);BarrierSetNMethod::/ { ok += $NF }
		/^java;/ { all += $NF; if (/\[broken_stack\]|\[truncated_stack\]/) bad += $NF }
		END { print ok + 0, "of", all + 0, bad + 0, "broken"; exit !(all >= 20 && ok >= 0.9 * all && bad <= 0.005 * all) }' folded
done
done_testing
