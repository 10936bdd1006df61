#!/bin/bash
# Profiles of several events: a report of one of them is that of a profile that has only this event.
# The table has a group of columns for each, the page a list, and diff matches events by name.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd python3 jq
TOOLS=$TOP/tests/tools
cd "$T" || exit 1
export NO_COLOR=1

# p has three events; e0, e1 and e2 have one each, from the same samples.
cat >make.py <<'PY'
import random
random.seed(11)
EVENTS = [('cpu-clock', '', 'ns', 99, 0, 'samples'), ('cycles', 'u', '', 0, 0, 'period'), ('sched:sched_switch', '', '', 0, 1, 'samples')]
threads = sorted(('web' if i % 2 else 'host', '/cg/%d' % (i % 2), 'w%d' % (i % 3), 'p', 100, 200 + i) for i in range(4))
frames = [('f%d' % i, '/lib/%s.so' % 'ab'[i % 2], 'uk'[i % 5 == 4]) for i in range(8)]
counts = {}
for _ in range(500):
    e = random.randrange(3)
    key = (e, random.choice(threads), random.randrange(5), tuple(random.choices(frames, k=random.randint(1, 6))))
    n = random.randint(1, 5)
    s, p = counts.get(key, (0, 0))
    counts[key] = s + n, p + n * ((10 ** 7, random.randint(1, 900), 1)[e])
for out, which in ('p', [0, 1, 2]), ('e0', [0]), ('e1', [1]), ('e2', [2]), ('p01', [0, 1]):
    several = len(which) > 1
    name, modifier, unit, hz, fixed, weight = EVENTS[which[0]]
    mine = {k: v for k, v in counts.items() if k[0] in which}
    t = sorted({k[1] for k in mine})
    f = sorted({x for k in mine for x in k[3]})
    # In the order of a saved profile: each node is followed by what is below it.
    nodes = sorted({tuple(f.index(x) + 1 for x in k[3][:i]) for k in mine for i in range(len(k[3]) + 1)})
    number = {n: i for i, n in enumerate(nodes)}
    lines = ['nsprof-profile\t%d' % (1 + several)]
    lines += ['M\t%s\t%s' % m for m in (('event', name), ('event_modifier', modifier), ('frequency', hz), ('fixed_period', fixed),
                                        ('weight', weight), ('call_graph', 'dwarf'), ('inlines', '0')) if m[1] not in ('', 0)]
    lines += ['B\t10000000\t5']
    if several:
        lines += ['V\t%s\t%s\t%s\t%d\t%d\t%s\t0\t0' % EVENTS[e] for e in which]
    lines += ['T\t%s\t%s\t%s\t%s\t%d\t%d\t-1\t0' % x for x in t]
    lines += ['F\t%s\t%s\t%s\t0\t\t' % x for x in f]
    lines += ['N\t%d\t%d' % (number[n[:-1]], n[-1]) for n in nodes[1:]]
    rows = sorted((k[0], t.index(k[1]) + 1, k[2], number[tuple(f.index(x) + 1 for x in k[3])]) + v for k, v in mine.items())
    lines += ['C\t%d\t%d\t%d\t%d\t%d' % (t_, n, b, s, per) + ('\t%d' % which.index(e) if several else '') for e, t_, b, n, s, per in rows]
    lines.append('E\t%d' % len(lines))
    open(out, 'w').write('\n'.join(lines) + '\n')
PY
python3 make.py

# alone EVENT FILE OPTION...: the outputs for one event of p, and for the file that has only that one.
names=(cpu-clock cycles:u sched:sched_switch)
alone() {
	local i=$1
	shift
	is "--event ${names[i]}: $*" "$("$NSPROF" report --event "${names[i]}" "$@" p 2>&1)" "$("$NSPROF" report "$@" "e$i" 2>&1 | sed "s/'e$i'/'p'/")"
}
for i in 0 1 2; do
	alone $i --limit 0 --percent-limit 0
	alone $i --csv --sort container,symbol
done
alone 1 -g
alone 1 --focus f3
alone 2 --stats
alone 2 --format svg
alone 1 -g folded,0,count
is "the first one is the default of the tree" "$("$NSPROF" report -q -g p)" "$("$NSPROF" report -q -g --event cpu-clock p)"
like "which a message says, with the others" "$("$NSPROF" report -g p 2>&1 >/dev/null)" \
	"^nsprof report: 'p' has 3 events, and this is 'cpu-clock'; --event NAME takes another: 'cycles:u', 'sched:sched_switch'; --by event shows all$"
is "not if it was asked for" "$("$NSPROF" report --event cpu-clock -g p 2>&1 >/dev/null)" ""
is "nor if all are shown" "$("$NSPROF" report --csv --percent-limit 0 --limit 0 p 2>&1 >/dev/null)" ""
check_rc "an unknown event" 1 "$NSPROF" report --event faults p
is "lists those that there are" "$(cat "$T/check.err")" "nsprof report: error: 'p' has no event 'faults'; it has 'cpu-clock', 'cycles:u', 'sched:sched_switch'"
check_rc "an unclear name" 1 "$NSPROF" report --event c p
is "lists what it may be" "$(cat "$T/check.err")" "nsprof report: error: 'c' matches several events of 'p': 'cpu-clock', 'cycles:u'"
for name in cycles sched_switch sched: cpu; do
	check "'$name' is enough" "$NSPROF" report --event $name p
done
check "the only event has its name, too" "$NSPROF" report --event cycles e1
check_rc "and no other" 1 "$NSPROF" report --event cpu-clock e1

# The table: the columns of each event are those of its own table.
cat >table.py <<'PY'
import json, subprocess, sys
def run(*args):
    return json.loads(subprocess.run([sys.argv[1], 'report', '--json', '--limit', '0', '--percent-limit', '0', *args], check=True, stdout=subprocess.PIPE).stdout)
names, sort = sys.argv[2:5], 'container,comm,symbol'
key = lambda r: tuple(r[k] for k in sort.split(',') + ['kind'])
for more in [], ['--no-children'], ['--weight', 'period']:
    both = run('--sort', sort, *more, 'p')
    rows = {key(r): r for r in both['rows']}
    assert len(rows) == len(both['rows'])
    seen = set()
    for i, name in enumerate(names):
        own = run('--sort', sort, *more, 'e%d' % i)
        unit = own['unit']
        assert both['events'][i] == dict(both['events'][i], event=name, unit=unit)
        for r in own['rows']:
            seen.add(key(r))
            for k in ('children', 'self', unit):
                if k in r:
                    assert rows[key(r)][k + ':' + name] == r[k], (name, k, r)
        for k in set(rows) - {key(r) for r in own['rows']}:
            assert not rows[k]['self:' + name] and not rows[k][unit + ':' + name]
    assert seen == set(rows)
    by = ('self:' if more == ['--no-children'] else 'children:') + names[0]
    assert [r[by] for r in both['rows']] == sorted((r[by] for r in both['rows']), reverse=True)
PY
check "the table has the columns of each event's own" python3 table.py "$NSPROF" "${names[@]}"
is "CSV names them" "$("$NSPROF" report --csv -s dso p | head -n 1)" \
	"children:cpu-clock,self:cpu-clock,samples:cpu-clock,children:cycles:u,self:cycles:u,period:cycles:u,children:sched:sched_switch,self:sched:sched_switch,samples:sched:sched_switch,dso"
like "text has a line above the titles" "$("$NSPROF" report -s dso p | grep -B 1 Shared)" '^# cpu-clock +cycles:u +sched:sched_switch$'
is "each column stands below its event" "$("$NSPROF" report -s dso p | awk '/cpu-clock  / { a = index($0, "cycles"); b = index($0, "sched") }
	/Shared/ { n = index($0, "Period"); print (n > a && n < b ? "yes" : "no"); exit }')" yes
like "the head says how each was sampled" "$("$NSPROF" report p)" '^# event cpu-clock, 99 Hz: [0-9]+ samples$'
like "and in which unit it counts" "$("$NSPROF" report p)" '^# event cycles:u: [0-9]+ samples, [0-9]+ events$'

# --by event: the tree of each event below its name.
tree() { "$NSPROF" report -q --json -g --percent-limit 0 "$@" | jq -r '.tree[] | "\(.depth) \(.symbol) \(.count // .period // .samples)"'; }
tree --by event,comm p >tree
for i in 0 1 2; do
	is "--by event: ${names[i]}" "$(awk -v e="${names[i]}" '$1 == 1 { in_it = $2 == e; next } in_it { $1--; print }' tree)" "$(tree --by comm e$i)"
done
check_rc "the page has a list instead" 129 "$NSPROF" report --format html -o x.html --by event p
like "the stats of each" "$("$NSPROF" report --stats p)" "^cycles:u stats:\$"

# The page.
"$NSPROF" report --format html -o p.html p
for i in 0 1 2; do
	is "the page holds ${names[i]}" "$(python3 "$TOOLS/unpage.py" p.html 0 $i)" \
		"$(python3 "$TOOLS/unprofile.py" e$i "$([ $i = 1 ] && echo period || echo samples)")"
	is "and so does the profile" "$(python3 "$TOOLS/unprofile.py" p samples "${names[i]}")" "$(python3 "$TOOLS/unprofile.py" e$i samples)"
done

if command -v chromium >/dev/null && command -v node >/dev/null; then
	export TMPDIR=$T
	"$NSPROF" report --format html -o e1.html e1
	timeout 100 node "$TOOLS/page.js" e1.html "$TOOLS/events_page.js" >want 2>&1
	EVENT=1 timeout 100 node "$TOOLS/page.js" p.html "$TOOLS/events_page.js" >got 2>&1
	check "an event that is picked looks as in a page of its own" diff want got
	check "with counts and facts" grep -q '^event=cycles$' got
	# p without the samples of its first event.
	awk -F'\t' '$1 != "C" || $7 > 0' p | awk -F'\t' -v OFS='\t' '$1 == "E" { $2 = NR - 1 } { print }' >late
	cat >opened.js <<-'JS'
		module.exports = async function (p) {
			console.log(await p.eval('[document.getElementById("event").value, nsprofPage.flame.w[0], document.getElementById("summary").textContent].join()'));
			console.log(p.errors.join());
		};
	JS
	"$NSPROF" report -q --format html -o late.html late
	timeout 100 node "$TOOLS/page.js" late.html opened.js >got 2>&1
	like "the page opens with the first event that has samples" "$(<got)" "^1,$("$NSPROF" report --json e1 | jq .total),"
else
	skip "the page's list of events" "needs chromium and node"
fi

# Events without samples, as most of a pattern are: m has ten of them before those of p, and two behind.
python3 - <<'PY'
lines = open('p').read().split('\n')
first = next(i for i, l in enumerate(lines) if l.startswith('V\t'))
last = max(i for i, l in enumerate(lines) if l.startswith('V\t'))
empty = ['V\tsyscalls:sys_enter_x%d\t\t\t0\t1\tsamples\t0\t0' % i for i in range(12)]
out = lines[:first] + empty[:10] + lines[first:last + 1] + empty[10:]
for l in lines[last + 1:-2]:
    f = l.split('\t')
    if f[0] == 'C':
        f[6:] = [str(int(f[6] if len(f) > 6 else 0) + 10)]
    out.append('\t'.join(f))
open('m', 'w').write('\n'.join(out + ['E\t%d' % len(out), '']))
PY
without() { sed "s/'m'/'p'/; s/; 12 other events without samples//; s/15 events/3 events/"; }
is "events without samples have neither columns nor lines" "$("$NSPROF" report m 2>&1 | without)" "$("$NSPROF" report p 2>&1)"
is "nor keys" "$("$NSPROF" report --csv m)" "$("$NSPROF" report --csv p)"
is "the first event with samples is the default" "$("$NSPROF" report -q -g m | without)" "$("$NSPROF" report -q -g p)"
is "of the comparison, too" "$("$NSPROF" diff -q --format csv --force m m)" "$("$NSPROF" diff -q --format csv --force p p)"
unlike "which does not name the others" "$("$NSPROF" diff --format csv --force m m 2>&1 >/dev/null)" sys_enter_x
"$NSPROF" report -q --format html -o m.html m
is "the page has the others" "$(python3 "$TOOLS/unpage.py" m.html 0 1)" "$(python3 "$TOOLS/unpage.py" p.html 0 1)"
is "--event finds those without samples" "$("$NSPROF" report -q --csv --event x3 m | tail -n +2)" ""
# The text has no more columns than fit.
python3 - <<'PY'
lines = ['nsprof-profile\t2', 'M\tevent\te0', 'M\tweight\tsamples'] + ['V\te%d\t\t\t0\t1\tsamples\t0\t0' % i for i in range(9)]
lines += ['T\tc\t/c\tw\tp\t1\t1\t-1\t0', 'F\tf\t/lib/a.so\tu\t0\t\t', 'N\t0\t1'] + ['C\t1\t1\t0\t1\t1\t%d' % i for i in range(9)]
open('nine', 'w').write('\n'.join(lines + ['E\t%d' % len(lines), '']))
PY
is "a table of nine events" "$("$NSPROF" report nine | grep -E '^# e0 |^# columns' | tr -s ' ')" "# e0 e1 e2 e3 e4 e5
# columns of the first 6 of 9 events: --event NAME shows another one, --csv all"
is "and all of them in CSV" "$("$NSPROF" report --csv -s dso nine | head -n 1 | tr , '\n' | grep -c ^self)" 9

# Filters and other options keep events apart.
for o in "--filter comm=w1" "--dsos a.so" "--merge-threads" "--no-inline" "--filter time=0.01-0.03"; do
	is "$o" "$("$NSPROF" report -q $o --json p | jq -c '[.events[].samples]')" \
		"$(for i in 0 1 2; do "$NSPROF" report -q $o --json --weight samples e$i | jq .total; done | jq -sc .)"
done

# diff
is "diff compares the first event that both have" "$("$NSPROF" diff -q --format csv --force p01 p)" "$("$NSPROF" diff -q --format csv --force e0 e0)"
like "which it says, with the other one" "$("$NSPROF" diff --format csv --force p01 p 2>&1 >/dev/null)" "this compares the event 'cpu-clock'; --event NAME compares another: 'cycles:u'\$"
like "and which are only in one file" "$("$NSPROF" diff --format csv --force p01 p 2>&1 >/dev/null)" "the event 'sched:sched_switch' is not compared: only 'p' has it\$"
is "--event" "$("$NSPROF" diff -q --format csv --force --event cycles p01 p)" "$("$NSPROF" diff -q --format csv --force e1 e1)"
like "one event against several" "$("$NSPROF" diff --format csv --force e1 p 2>&1 >/dev/null)" "this compares the event 'cycles:u'\$"
check_rc "none in common" 3 "$NSPROF" diff e2 p01
like "are different events" "$(cat "$T/check.err")" "different events"


# ---- losses of each: whole, lost, cut, dropped, without their user stack ----
printf '%s\n' 'nsprof-profile|2' 'M|event|cpu-clock' 'M|kept|7' 'M|cut|2' 'M|lost|1' 'M|dropped|9' 'M|withheld|0' 'M|truncated|0' 'M|incomplete|0' \
	'V|cpu-clock||ns|0|1000|samples|0|0|5|1|2|3|0' 'V|page-faults|||0|1|samples|0|0|2|0|0||0' 'T|a|/a|x|x|1|1|1|0' 'F|main|/x|u|0|symtab|' \
	'N|0|1' 'C|1|1|0|7|7000|0' 'C|1|1|0|2|2|1' 'E|15' | tr '|' '\t' >losses.profile
heads=$("$NSPROF" report -i losses.profile 2>&1)
like "each event has its own in the head" "$heads" '^# event cpu-clock, every 1000 ns: 7 samples, 2 with cut stacks, 1 lost, 3 dropped, 0 truncated$'
like "and nothing that is not known" "$heads" '^# event page-faults, every 1: 2 samples, 0 truncated$'
like "there is a sum" "$heads" '^# all events; 2 with cut stacks, 1 lost, 9 dropped, 0 truncated$'
is "in JSON" "$("$NSPROF" report --json -i losses.profile | jq -c '[.events[] | [.kept, .lost, .cut, .dropped]]')" '[[5,1,2,3],[2,0,0,null]]'
like "one by itself has its own" "$("$NSPROF" report --event cpu-clock -i losses.profile 2>&1)" '^# event cpu-clock; 2 with cut stacks, 1 lost, 3 dropped, 0 truncated$'
"$NSPROF" report --format html -o losses.html -i losses.profile
like "in the page" "$(tr '\n' ' ' <losses.html)" '"facts":\[\["event","page-faults"\],[^}]*"kept","2"[^}]*"lost","0"[^}]*"cut","0"'
unlike "which does not make up what is not known" "$(tr '\n' ' ' <losses.html)" '"page-faults"\],[^}]*"dropped"'
done_testing
