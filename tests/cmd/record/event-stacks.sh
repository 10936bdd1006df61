#!/bin/bash
# Each event takes stacks as its own terms say: in the kernel's attributes, in the file, in all outputs, and from and to perf.data.
# takes: 20
. "$(dirname "$0")/../../lib.sh"
need_cmd jq
need_target spin
need_target faults
cd "$T" || exit 2
TARGETS=$BUILD/tests/targets

rec() { "$NSPROF" record -q "$@"; }
facts() { "$NSPROF" info --json "$1" | jq -c '[.events[] | [.name, .call_graph, .dump_size, .max_stack]]'; }
# depths FILE [OPTION...]: per event, samples, fewest and most frames of a stack, those that are not whole, as "EVENT N MIN MAX BAD"
depths() {
	"$NSPROF" symbolize -q --by event --no-inline "${@:2}" "$1" | awk '{
		n = $NF; sub(/ [0-9]+$/, ""); frames = split($0, part, ";") - 2; e = part[1]
		count[e] += n; if (!(e in min) || frames < min[e]) min[e] = frames; if (frames > max[e]) max[e] = frames
		bad[e] += /\[(no_stack|truncated_stack|broken_stack)\]/ ? n : 0 }
		END { for (e in count) print e, count[e], min[e], max[e], bad[e] }' | sort
}

# ---- what the kernel is asked for: as perf asks for the same terms ----
if [ -e "$TARGETS/attrs.so" ]; then
	# attrs PROGRAM... -e EVENTS: of each sampling event, copies of registers and stack, and the limits
	attrs() {
		rm -f log
		ATTRS=$T/log LD_PRELOAD=$TARGETS/attrs.so "$@" -o attrs.data -- true >/dev/null 2>&1
		sed -nE '/^(software:(0|2)|tracepoint:[0-9]+) /{
			/ callchain/!s/$/ leaf/; / exclude_callchain_kernel exclude_callchain_user.* callchain/{/ stack_user/!s/$/ leaf/}
			s/^([a-z]+:[0-9]+).*/\1 &/; p }' log | awk '{
			s = $1; for (i = 2; i <= NF; i++) if ($i ~ /^(regs_user|stack_user|stack=.*|max_stack=.*|leaf)$/ && !(index(s " ", " " $i " "))) s = s " " $i
			print s }' | sort -u
	}
	while IFS='|' read -r events want; do
		case $events in *sched:*) "$NSPROF" list sched:sched_switch >/dev/null 2>&1 || continue ;; esac
		is "attributes of $events" "$(attrs "$NSPROF" record -q -e "$events" | sed 's/^tracepoint:[0-9]*/tracepoint/' | paste -sd,)" "$want"
		have_perf || continue
		# perf also opens clocks to see what the kernel can do.
		is "and so does perf" "$(attrs perf record -q -e "$events" | sed 's/^tracepoint:[0-9]*/tracepoint/' | grep -vx "software:0 leaf" | paste -sd,)" "$want"
	done <<'LIST'
cpu-clock/call-graph=dwarf,stack-size=8192/|software:0 regs_user stack_user stack=8192
cpu-clock/call-graph=dwarf,stack-size=4090/,page-faults/call-graph=no/|software:0 regs_user stack_user stack=4096,software:2 leaf
{cpu-clock/call-graph='dwarf,1024'/,page-faults/call-graph=fp,max-stack=7/}|software:0 regs_user stack_user stack=1024,software:2 max_stack=7
cpu-clock/call-graph=dwarf,stack-size=64,max-stack=7/u,sched:sched_switch/call-graph=no/|software:0 regs_user stack_user stack=64 max_stack=7,tracepoint leaf
LIST
else
	skip "attributes" "needs the test program attrs.so"
fi

# ---- what the file and the outputs have of it ----
rec -F 999 -e cpu-clock/call-graph=dwarf,stack-size=16384/,page-faults/call-graph=no,period=1/,minor-faults/call-graph=fp,max-stack=2,period=1/ \
	-o mixed -- "$TARGETS/spin" --cpu 0.3
is "info tells each event's stacks" "$(facts mixed)" \
	'[["cpu-clock","dwarf",16384,0],["page-faults","none",0,0],["minor-faults","fp",0,2]]'
like "also as text" "$("$NSPROF" info mixed)" 'page-faults, each single one, without stacks$'
like "and their limits" "$("$NSPROF" info mixed)" 'minor-faults, each single one, stacks by fp, at most 2 frames$'
depths mixed >deep
like "the clock: the declared chain" "$("$NSPROF" symbolize -q --event cpu-clock mixed)" ';main;app_outer;app_middle;app_inner;app_leaf '
like "a fault without stacks is its leaf, and nothing is missing from it" "$(<deep)" '^page-faults [0-9]+ 1 1 0$'
like "a fault with two frames" "$(<deep)" '^minor-faults [0-9]+ 1 2 0$'
for event in page-faults minor-faults; do
	is "$event: no sample counts as incomplete" \
		"$("$NSPROF" report -q --json --event $event -i mixed | jq -c '[.truncated, .incomplete, .withheld // 0]')" '[0,0,0]'
	unlike "$event: nothing is missing" "$("$NSPROF" symbolize -q --stats --event $event mixed 2>&1 >/dev/null)" "incomplete|32-bit|no user stack"
done
is "script has one address of each such fault" "$("$NSPROF" script -q --event page-faults --no-inline mixed | awk '/^\t/ { n++ } /:/ && !/^\t/ { s++ } END { print (n > 0 && n == s) }')" 1
is "a profile tells the stacks of its event" "$("$NSPROF" report -q --json --event page-faults -i mixed | jq -c '[.call_graph, .stack_bytes]')" '["none",0]'

"$NSPROF" symbolize -q --format profile -o mixed.p mixed
for event in page-faults minor-faults cpu-clock; do
	is "a saved profile, too: $event" "$("$NSPROF" report -q --json --event $event -i mixed.p | jq -c '[.call_graph, .stack_bytes]')" \
		"$("$NSPROF" report -q --json --event $event -i mixed | jq -c '[.call_graph, .stack_bytes]')"
done
rec -e page-faults/call-graph=dwarf,period=1/,cpu-clock -o other -- "$TARGETS/spin" --cpu 0.1
"$NSPROF" symbolize -q --format profile -o other.p other
check_rc "diff refuses an event with other stacks" 3 "$NSPROF" diff -q --event page-faults mixed.p other.p
like "and says so" "$(<check.err)" "different kinds of stacks: 'mixed.p' has call_graph none, 'other.p' dwarf"

# Copies are cut when they are unwound. That is no loss.
rec -F 999 -e cpu-clock/call-graph=dwarf,max-stack=3/ -o short -- "$TARGETS/spin" --cpu 0.3
like "max-stack with copies: so many frames" "$(depths short)" '^cpu-clock [0-9]+ [123] 3 0$'
like "of the leaf" "$("$NSPROF" symbolize -q short)" '^spin;app_middle;app_inner;app_leaf [0-9]+$'
is "and none of them is incomplete" "$("$NSPROF" report -q --json -i short | jq -c '[.truncated, .incomplete]')" '[0,0]'

# One event is described by the settings alone, as ever.
rec -F 999 -e cpu-clock/call-graph=fp,max-stack=9/ -o one -- "$TARGETS/spin" --cpu 0.1
is "one event: version 2" "$("$NSPROF" info --json one | jq -c '[.version, .settings.call_graph, .settings.dump_size, .settings.max_stack]')" '[2,"fp","0","9"]'

# A group that its leader reads has the leader's stacks.
"$NSPROF" record -F 999 -e '{cpu-clock/call-graph=no/,page-faults/call-graph=dwarf/}:S' -o read -- "$TARGETS/spin" --cpu 0.1 2>err
is "members have the stacks of their leader" "$(facts read)" '[["cpu-clock","none",0,0],["page-faults","none",0,0]]'
like "which is said" "$(<err)" "event 'page-faults' has the stacks of 'cpu-clock', which leads its group"

# Time off the CPU has stacks as --call-graph says, whatever a clock has.
rec --wall --off-cpu=1 -e cpu-clock/call-graph=no/ -o wall -- "$TARGETS/spin" --threads 1 0.3
is "--wall beside a clock without stacks" "$(facts wall)" '[["cpu-clock","none",0,0],["off-cpu","dwarf",65528,0]]'
like "waits have their stacks" "$("$NSPROF" symbolize -q --all --event off-cpu wall)" '^spin;_start;.*;main;'

# ---- what takes no stacks is small ----
for how in no dwarf; do
	rec -F 4999 -e "cpu-clock/call-graph=$how/" -o size -- bash -c 'for i in {1..60000}; do x=${i//1/22}; case $x in *3*) y=$((i * 3)) ;; esac; done'
	python3 -B "$TOP/tests/tools/read_recording.py" --blocks size | sed -nE 's/.* type=2 .*stored=([0-9]*) .* samples=([0-9]*).*/\1 \2/p' |
		awk '{ b += $1; n += $2 } END { print n, b / n }' >"each.$how"
	rec -m 512K -e "page-faults/period=1,call-graph=$how/u" -o lost -- "$TARGETS/faults" 2000 </dev/null >/dev/null
	"$NSPROF" info --json lost | jq '.samples, .lost' | paste -sd' ' >"lost.$how"
done
is "without stacks: two thirds of the bytes per sample, or less" "$(paste each.no each.dwarf | awk '{ print ($1 > 50 && $3 > 50 && $2 * 3 < $4 * 2) ? "yes" : $0 }')" yes
is "and small rings hold a burst of faults, of which copies fill them" "$(paste lost.no lost.dwarf | awk '{ print ($1 > 2000 && !$2 && $4 > 0) ? "yes" : $0 }')" yes
is "in smaller rings" "$("$NSPROF" record -q -F 999 -e cpu-clock/call-graph=no/ -o one -- true && "$NSPROF" info --json one | jq -r .settings.ring_bytes)" 524288

# ---- mistakes ----
echo keep >kept
refuses() { # PATTERN OPTION...
	check_rc "${*:2}" 129 rec "${@:2}" -o kept -- true
	like "${*:2}: said in one line" "$(<"$T/check.err")" "$1"
	is "${*:2}: nothing else is said, and the file is as it was" "$(wc -l <"$T/check.err") $(<kept)" "1 keep"
}
max=$(cat /proc/sys/kernel/perf_event_max_stack)
refuses "invalid call-graph in event 'cpu-clock/call-graph=xyz/': call-graph= takes dwarf, fp or no$" -e cpu-clock/call-graph=xyz/
refuses "perf has call-graph=lbr, nsprof does not: branch records are not taken" -e cpu-clock/call-graph=lbr/
refuses "stack-size= takes 8 to 65528 bytes" -e cpu-clock/stack-size=0/
refuses "stack-size= takes 8 to 65528 bytes" -e cpu-clock/stack-size=65529/
refuses "event 'cpu-clock': stack-size= .* only call-graph=dwarf takes them" -e cpu-clock/call-graph=fp,stack-size=64/
refuses "event 'page-faults': stack-size= .* only call-graph=dwarf takes them" --call-graph fp -e cpu-clock,page-faults/stack-size=64/
refuses "max-stack= takes a number of frames" -e cpu-clock/max-stack=0/
refuses "event 'cpu-clock': max-stack=$((max + 1)) is above kernel.perf_event_max_stack \($max\)" -e cpu-clock/max-stack=$((max + 1))/
refuses "event 'cpu-clock': max-stack= .* it takes none: add call-graph=dwarf" -e cpu-clock/call-graph=no,max-stack=4/
refuses "events 'page-faults' and 'page-faults#2' count the same" -e '{page-faults/call-graph=no/,page-faults}'
refuses "events 'context-switches' and 'off-cpu' count the same" --off-cpu -e cs/call-graph=no/

# ---- perf.data ----
if ! have_perf; then
	skip "perf.data" "perf record does not work here"
	done_testing
	exit
fi
# chains FILE: per event, samples and the most addresses that perf shows of one, as "EVENT N MAX"
chains() {
	perf script -f -F event,ip -i "$1" 2>/dev/null | awk '/^ *[^ \t].*:/ { e = $1; sub(/:.*/, "", e); n[e]++; k = NF > 1; if (k > max[e]) max[e] = k; next }
		NF { k++; if (k > max[e]) max[e] = k }
		END { for (e in n) print e, n[e], max[e] }' | sort
}
"$NSPROF" export -q -o exported mixed
perf evlist -v -i exported >attrs 2>&1
like "exported: no callchain of an event without stacks" "$(grep ^page-faults attrs)" 'sample_type: (IDENTIFIER\|)?IP\|TID\|TIME\|CPU\|PERIOD(\|IDENTIFIER)?,'
like "and one of the others" "$(grep ^minor-faults attrs)" 'CALLCHAIN'
is "perf counts the same samples" "$(chains exported | cut -d' ' -f1,2)" "$(awk '{ print $1, $2 }' deep)"
like "perf shows one address of a fault without stacks" "$(chains exported)" '^page-faults [0-9]+ 1$'
"$NSPROF" import -q -o again exported
is "imported again: the same, with unwound chains in place of copies" "$(facts again)" '[["cpu-clock","fp",0,0],["page-faults","none",0,0],["minor-faults","fp",0,2]]'

if perf record -q -F 999 -e cpu-clock/call-graph=dwarf,stack-size=16384,name=clock/ -e page-faults/call-graph=no,period=1,name=leaf/ \
	-e minor-faults/call-graph=fp,max-stack=2,period=1,name=two/ -o perf.data -- "$TARGETS/spin" --cpu 0.3 >perf.log 2>&1; then
	"$NSPROF" import -q -o imported perf.data
	is "a perf.data of such events" "$(facts imported)" '[["clock","dwarf",16384,0],["leaf","none",0,0],["two","fp",0,2]]'
	depths imported >deep
	like "its clock: the declared chain" "$("$NSPROF" symbolize -q --event clock imported)" ';main;app_outer;app_middle;app_inner;app_leaf '
	like "its faults without stacks" "$(<deep)" '^leaf [0-9]+ 1 1 0$'
	like "its faults with two frames" "$(<deep)" '^two [0-9]+ 1 2 0$'
	is "as many as perf has" "$(cut -d' ' -f1,2 deep)" "$(chains perf.data | cut -d' ' -f1,2)"
else
	skip "a perf.data of such events" "this perf does not record them"
fi
done_testing
