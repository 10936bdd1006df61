#!/bin/bash
# Fields of tracepoints: script -F trace, --by field:NAME, report --sort field:NAME, and saved
# profiles. A shell knows the numbers of its children, and so what the fields have to be.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd jq python3
cd "$T" || exit 1
export NO_COLOR=1

# The shell forks three times and writes down who is whose child.
# shellcheck disable=SC2016
forks='for i in 1 2 3; do sleep 0 & echo "$$ $!"; done >pids; wait'
"$NSPROF" record -q -e sched:sched_process_fork -c 1 -e context-switches -c 1 --fields=all -o rec -- bash -c "$forks" >log 2>&1 ||
	skip_all "tracepoints cannot be recorded here: $(tail -n 1 log)"
sort pids >want
is "script -F trace has the fields" "$("$NSPROF" script -q -F event,trace rec | sed -nE 's/.*sched_process_fork: .*parent_pid=([0-9]+) .*child_pid=([0-9]+)$/\1 \2/p' | sort)" "$(cat want)"
is "text is a word" "$("$NSPROF" script -q -F event,trace rec | grep -c 'parent_comm=bash ')" 3
is "perf's prefix for tracepoints" "$("$NSPROF" script -q -F trace:event,trace rec)" "$("$NSPROF" script -q -F event,trace rec)"
unlike "only where it is asked for" "$("$NSPROF" script rec 2>/dev/null)" 'child_pid'
is "other events have none" "$("$NSPROF" script -q --event context-switches -F event,trace rec | grep . | sort -u | tr -d ' ')" "context-switches:"

# In perf.data: perf prints the fields as nsprof does, and import reads them back.
shown() { grep -a '[a-z]:[a-z]' | sed 's/^ *//; s/ *$//; s/  */ /g' | sort; }
"$NSPROF" script -q -F comm,event,trace rec | shown >want.trace
check "export" "$NSPROF" export -q -o rec.perf rec
check "import it back, with fields" "$NSPROF" import -q --fields=all -o back rec.perf
is "the same fields" "$("$NSPROF" script -q -F comm,event,trace back | shown)" "$(cat want.trace)"
if have_perf; then
	is "perf script shows them" "$(perf script -i rec.perf -F comm,event,trace 2>/dev/null | shown)" "$(cat want.trace)"
else
	skip "perf script shows them" "needs a perf that runs"
fi
# Numbers and text of all kinds: signed and unsigned, pointers, arrays.
"$NSPROF" record -q -e 'syscalls:sys_enter_openat,syscalls:sys_enter_munmap,sched:sched_stat_runtime,block:*,sched:sched_wakeup' --fields=all -o kinds -- \
	sh -c 'dd if=/dev/zero of=x bs=64k count=4 conv=fsync; sleep 0.1' >log 2>&1
"$NSPROF" script -q -F comm,event,trace kinds | shown >want.kinds
"$NSPROF" export -q -o kinds.perf kinds
check "there is something of it" grep -q '0x[0-9a-f]' want.kinds
if have_perf; then
	is "perf shows all kinds of fields" "$(perf script -i kinds.perf -F comm,event,trace 2>/dev/null | shown)" "$(cat want.kinds)"
else
	skip "perf shows all kinds of fields" "needs a perf that runs"
fi

"$NSPROF" symbolize --by field:child_pid,none rec >folded 2>err
is "--by field: a frame for each value" "$(sed -nE 's/^child_pid=([0-9]+);.* 1$/\1/p' folded | sort)" "$(cut -d' ' -f2 want | sort)"
like "the event with the field is taken" "$(cat err)" "this is 'sched:sched_process_fork'"
is "report: a row for each value" "$("$NSPROF" report -q --json --event fork --sort field:parent_pid,field:child_pid rec | jq -r '.rows[] | "\(.["field:parent_pid"]) \(.["field:child_pid"]) \(.samples)"' | sort)" \
	"$(sed 's/$/ 1/' want)"
is "CSV names it" "$("$NSPROF" report -q --csv --event fork --no-children --sort field:child_pid rec | head -n 1)" "self,samples,field:child_pid"
for key in child_pid sched_process_fork.child_pid; do
	is "perf's spelling: --sort $key" "$("$NSPROF" report -q --csv --event fork --sort "comm,$key" rec)" "$("$NSPROF" report -q --csv --event fork --sort comm,field:child_pid rec)"
done
for key in symbl com '' a,,b; do
	check_rc "no field: --sort '$key'" 129 "$NSPROF" report --sort "$key" rec
done
check_rc "another word is no field of this recording" 1 "$NSPROF" report --sort nosuch rec
like "and those that are are listed" "$(cat "$T/check.err")" "keeps a field 'nosuch': sched:sched_process_fork has parent_comm"
is "with several events, the others have none" "$("$NSPROF" report -q --json --percent-limit 0 --sort field:child_pid rec | jq -r '.rows[] | select(.["samples:context-switches"] > 0) | .["field:child_pid"]' | sort -u)" "[none]"
is "the tree by field" "$("$NSPROF" report -q --json -g --percent-limit 0 --by field:child_pid rec | jq -r '.tree[] | select(.depth == 1) | .symbol' | sort)" \
	"$(sed 's/.* /child_pid=/' want | sort)"
check "the page by field" "$NSPROF" report -q --event fork --format html --by field:child_pid -o rec.html rec
cat >fields.js <<'JS'
module.exports = async function (p) {
	console.log(await p.eval('(function () { const v = nsprofPage.flame.view, t = v.tree, out = [];' +
		' for (let i = 1; i < t.n; i++) if (t.depth[i] === 1) out.push(v.frames.name[t.frame[i]] + " " + nsprofPage.flame.w[i]);' +
		' return out.sort().join("\\n"); }())'));
	console.log(p.errors.join());
};
JS
# A value that is picked leaves the samples that have it. "field FIELD VALUE: summary" for each value, and
# what there is for an event without fields.
"$NSPROF" report -q --format html --with-fields child_pid,parent_pid -o pick.html rec
check_rc "--with-fields is for the page" 129 "$NSPROF" report --with-fields child_pid rec
check_rc "a field that no event has: the page" 1 "$NSPROF" report --format html --with-fields nope -o x.html rec
cat >pick.js <<'JS'
module.exports = async function (p) {
	const choose = (id, value) => p.eval('(() => { const s = document.getElementById("' + id + '"); s.value = ' + JSON.stringify(value) + '; s.dispatchEvent(new Event("change")); })()');
	const list = (id) => p.eval('Array.from(document.getElementById("' + id + '").options).map(o => o.value).filter(Boolean)');
	const text = (id) => p.eval('document.getElementById("' + id + '").textContent');
	const hidden = (id) => p.eval('document.getElementById("' + id + '-label").hidden');
	const events = await p.eval('Array.from(document.getElementById("event").options).map(o => o.textContent)');
	const event = (name) => choose('event', String(events.findIndex(e => e.startsWith(name))));
	await event('sched:sched_process_fork');
	const all = await text('summary');
	console.log('fields ' + await list('field') + ' ' + await hidden('field') + ' ' + await hidden('value'));
	for (const field of await list('field')) {
		await choose('field', field);
		for (const value of await list('value')) {
			await choose('value', value);
			console.log(value + ': ' + await text('summary'));
		}
	}
	await event('context-switches');
	console.log('another event ' + await hidden('field') + ' ' + await hidden('value') + ' ' + /^[\d,]+ samples$/.test(await text('summary')));
	await event('sched:sched_process_fork');
	console.log('back ' + (await text('summary') === all));
	console.log('groups ' + (await list('by')).filter(g => /^field:/.test(g)));
	console.log(p.errors.join());
};
JS
if command -v chromium >/dev/null && command -v node >/dev/null; then
	is "the page chooses by the value of a field" "$(TMPDIR=$T timeout 100 node "$TOP/tests/tools/page.js" pick.html pick.js | LC_ALL=C sort)" "$(LC_ALL=C sort <<-END
		fields field:child_pid,field:parent_pid false true
		$(sed 's/.* \(.*\)/child_pid=\1: 1 sample of 3 samples (33.33%)/' want)
		parent_pid=$(head -n 1 want | cut -d' ' -f1): 3 samples
		another event true true true
		back true
		groups field:child_pid,field:child_pid,thread,field:parent_pid,field:parent_pid,thread

	END
	)"
	is "has a box for each value" "$(TMPDIR=$T timeout 100 node "$TOP/tests/tools/page.js" rec.html fields.js)" "$(sed 's/.* \(.*\)/child_pid=\1 1/' want | sort)"
else
	skip "has a box for each value" "needs chromium and node"
fi
"$NSPROF" symbolize -q --format profile --with-fields child_pid,parent_pid -o profile rec
is "a saved profile keeps what it is told to" "$("$NSPROF" report -q --csv --event fork --sort field:child_pid profile)" "$("$NSPROF" report -q --csv --event fork --sort field:child_pid rec)"
is "and its reader" "$(python3 "$TOP/tests/tools/unprofile.py" profile samples sched:sched_process_fork | awk '{ n += $NF } END { print n }')" 3
check_rc "another field" 1 "$NSPROF" report --sort field:child_comm profile
like "says how to keep it" "$(cat "$T/check.err")" "has no field 'child_comm', which is not a sort key either; symbolize --format profile --with-fields child_comm keeps it"
check_rc "a field that no event has" 1 "$NSPROF" symbolize --by field:nope rec
like "lists those that there are" "$(cat "$T/check.err")" "no event of 'rec' keeps a field 'nope': sched:sched_process_fork has parent_comm, parent_pid, child_comm, child_pid$"
check_rc "--with-fields is for profiles" 129 "$NSPROF" symbolize --with-fields child_pid rec

# A value that a tenant chose: a program's path.
hostile=$'./=esc\e[2J;x'
cp "$(type -P true)" "$hostile"
"$NSPROF" record -q -e sched:sched_process_exec -c 1 --fields=all -o execs -- bash -c '"$1"; :' - "$hostile" >log 2>&1
like "a hostile value as a frame" "$("$NSPROF" symbolize -q --by field:filename execs)" '^filename=\./=esc\\u\{1b\}\[2J\\u\{3b\}x;'
"$NSPROF" symbolize -q --by field:filename,none execs >execs.folded
is "and back" "$("$NSPROF" report -q --tree execs.folded --json | jq -r '.tree[] | select(.depth == 1) | .symbol' | grep esc)" 'filename=./=esc\u{1b}[2J;x'
is "in a table" "$("$NSPROF" report -q --json --sort field:filename execs | jq -r '.rows[]["field:filename"]' | grep esc)" './=esc\u{1b}[2J;x'

"$NSPROF" record -q -e sched:sched_process_fork -c 1 --fields -o numbers -- bash -c "$forks" >log 2>&1
is "without text, numbers are there" "$("$NSPROF" script -q -F event,trace numbers | sed -nE 's/.*parent_pid=([0-9]+) .*child_pid=([0-9]+)$/\1 \2/p' | sort)" "$(sort pids)"
# By default, text is of the first event that has samples, and a tracepoint with "clock" in its name is none.
"$NSPROF" record -q -e 'sched:sched_kthread_stop,syscalls:sys_enter_clock_nanosleep' -o never -- sleep 0 >log 2>&1
is "the default is an event with samples" "$("$NSPROF" symbolize never 2>/dev/null | grep -c clock_nanosleep)" 1
"$NSPROF" record -q -e syscalls:sys_enter_clock_nanosleep -c 1 -o one -- sleep 0 >log 2>&1
like "calls are no time" "$("$NSPROF" report -q --weight period one)" '^# 1 sample, 1 event, in'
"$NSPROF" record -q -e sched:sched_process_fork -c 1 -o none -- bash -c "$forks" >log 2>&1
check_rc "without --fields" 1 "$NSPROF" report --sort field:child_pid none
like "it is said how" "$(cat "$T/check.err")" "no event of 'none' keeps a field 'child_pid'; nsprof record --fields keeps them"
done_testing
