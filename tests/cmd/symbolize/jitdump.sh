#!/bin/bash
# Code described by a jitdump: a small JIT of our own with modes that declare their callchains
# (tests/targets/jitdump.c). It removes its dump when it ends, so all names come from the recording.
# beside others
# takes: 30
. "$(dirname "$0")/../../lib.sh"

cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi
JIT=$BUILD/tests/targets/jitdump
[ -x "$JIT" ] || skip_all "$JIT is not built (make test-targets)"

# stacks FOLDED LEAF: the stacks in function LEAF, from main on, without kernel frames above it. One
# line for each different one.
stacks() {
	sed -n "s/.*;\(main;.*;$2\)[; ].*/\1/p; /;main;/!s/^[^;]*;\(.*;$2\)[; ].*/\1/p" "$1" | sort -u
}

for mode in rows fork child two bare nested reuse move; do
	"$NSPROF" record -q -k mono -e cpu-clock -F 999 -o $mode.data -- "$JIT" $mode 0.6 "$T"
	is "$mode: the program ran" $? 0
	"$NSPROF" symbolize -q $mode.data >$mode.folded
	for u in libunwind libdw; do
		"$NSPROF" symbolize -q --unwind $u $mode.data >$mode.$u
		check "$mode: $u agrees" cmp $mode.$u $mode.folded
	done
done
is "the dumps are gone" "$(ls jit-*.dump two/jit-*.dump 2>/dev/null)" ''
is "rows: a register that is no frame pointer" "$(stacks rows.folded leaf_one)" "main;run;outer_fn;native_mid;inner_fn;leaf_one"
is "fork: code compiled before it" "$(stacks fork.folded leaf_one)" "main;run;outer_fn;native_mid;inner_fn;leaf_one"
for mode in child two; do
	is "$mode: code of the dump before" "$(stacks $mode.folded leaf_one)" "main;run_second;run;outer_fn;native_mid;inner_fn;leaf_one"
	is "$mode: code of the second dump" "$(stacks $mode.folded leaf_two)" "main;run_second;run;own_fn;leaf_two"
done
is "bare: neither rows nor frame pointer" "$(stacks bare.folded leaf_one)" "main;run;outer_fn;native_mid;inner_fn;leaf_one"
is "nested: what cannot be told is not guessed" "$(stacks nested.folded leaf_one)" "[broken_stack];inner_fn;leaf_one"
is "reuse: the first function at the address" "$(stacks reuse.folded leaf_one)" "main;run;f;leaf_one"
is "reuse: the second one" "$(stacks reuse.folded leaf_two)" "main;run;g2;leaf_two"
is "move: before" "$(stacks move.folded leaf_one)" "main;run;mover;leaf_one"
is "move: after" "$(stacks move.folded leaf_two)" "main;run;mover;leaf_two"
"$NSPROF" symbolize -q --srcline rows.data >lines.folded
like "rows: the lines of the calls" "$(<lines.folded)" ';run \(jitdump.c:[0-9]+\);outer_fn \(outer.jit:42\);native_mid \(jitdump.c:[0-9]+\);inner_fn \(inner.jit:7\);leaf_one \('
# An interrupt may hit the start of a function, so only check callers.
unlike "rows: and no others" "$(grep -v ';entry_SYSCALL\|;asm_' lines.folded)" '(outer|inner)_fn( \((outer.jit:(1|99)|inner.jit:(1|99))\))?;'
unlike "rows: only when asked for" "$(<rows.folded)" 'jit:'
like "nested: the reason" "$("$NSPROF" symbolize --stats nested.data 2>&1 >stats.folded)" \
	'callers .*jitted code without frame pointer or unwind rows .*if it can, have it keep frame pointers'
like "where names came from" "$("$NSPROF" symbolize --stats rows.data 2>&1 >stats.folded)" ' [2-9] +jitdump'
like "info counts it" "$("$NSPROF" info rows.data)" '1 jitdumps?($|[^a-z])|jitdumps +1|jitdumps: 1'

# V8: each function has lines from its own source.
if command -v node >/dev/null && node --perf-prof -e 0 2>/dev/null; then
	cat >work.js <<-'EOF'
	function heavy(n) {
	  let k = n;
	  for (let i = 0; i < 2000000; i++)
	    k = (k * 31 + i) % 1000003;
	  return k;
	}



	function outside(n) {
	  let s = 0;
	  for (let i = 0; i < 4; i++)
	    s += heavy(n + i);
	  return s;
	}
	const end = process.cpuUsage().user + 1500000;
	let t = 0;
	while (process.cpuUsage().user < end)
	  t += outside(t % 1000);
	EOF
	# shellcheck disable=SC2046
	"$NSPROF" record -q -e cpu-clock -F 499 -o node.data -- node --perf-prof $(node_no_inlining node) work.js
	"$NSPROF" symbolize -q --srcline --no-inline node.data >node.folded
	read -r in out none < <(awk '{ n = $NF }
		match($0, /;JS:[*^~+]heavy [^;]*/) { f = substr($0, RSTART, RLENGTH); sub(/ [0-9]+$/, "", f)
			if (f !~ /\)$/) none += n; else { sub(/.*js:/, "", f); if (f + 0 >= 1 && f + 0 <= 6) in_ += n; else out += n } }
		END { print in_ + 0, out + 0, none + 0 }' node.folded)
	check "node: lines of heavy, $in samples ($none without)" test "$in" -ge 100
	is "node: none of another function" "$out" 0
	check "node: most have one" test $((9 * none)) -le "$in"
	# The loop takes most of its time.
	read -r loop all < <(awk '{ n = $NF } match($0, /;JS:[*^~+]heavy [^;]* \(work.js:[0-9]+\) [0-9]+$/) {
		f = substr($0, RSTART, RLENGTH); sub(/.*js:/, "", f); all += n; if (f + 0 == 3 || f + 0 == 4) loop += n } END { print loop + 0, all + 0 }' node.folded)
	check "node: its loop, $loop of $all" test $((10 * loop)) -ge $((9 * all)) -a "$all" -ge 100
	unlike "node: nor of outside" "$(grep -o ';JS:[*^~+]outside [^;]* (work.js:[0-9]*)' node.folded | sed 's/.*js://')" '^([1-9]|1[6-9]|2[0-9])\)$'
	rm -f jit-*.dump isolate*.log
else
	skip "node: lines" "needs node with --perf-prof"
fi

# Each of several files has the data for its own addresses.
"$NSPROF" record -q -e cpu-clock -F 999 --switch-output=1s -o row.data -- "$JIT" reuse 3 "$T"
seen=
for f in row.data.*; do
	"$NSPROF" symbolize -q "$f" >row.folded
	seen+=" $(stacks row.folded leaf_one) $(stacks row.folded leaf_two)"
done
is "a row of files: names and times" "$(tr ' ' '\n' <<<"$seen" | sort -u | tr '\n' ' ')" " main;run;f;leaf_one main;run;g2;leaf_two "

# A recording without rows, because the recorder was killed: names come from the living process.
"$JIT" rows 30 "$T" &
pid=$!
wait_for "grep -q 'jit-$pid.dump' /proc/$pid/maps" 10
"$NSPROF" record -q -e cpu-clock -F 999 -o cut.data -p $pid 2>rec.err &
rec=$!
# The recorder writes whole blocks; the first is due after half a second.
wait_for '[ "$(stat -c %s cut.data 2>/dev/null || echo 0)" -gt 4096 ]' 20
kill -KILL $rec
wait $rec 2>/dev/null
"$NSPROF" symbolize -q cut.data >cut.folded
if [ "$(id -u)" = 0 ]; then
	is "cut recording, living process" "$(stacks cut.folded leaf_one)" "main;run;outer_fn;native_mid;inner_fn;leaf_one"
else
	skip "cut recording, living process" "needs root to open what is mapped"
fi
kill $pid
rm -f jit-$pid.dump
done_testing
