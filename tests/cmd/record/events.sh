#!/bin/bash
# Events by all of perf's syntaxes, tracepoints and filters are taken or refused as the kernel and
# perf take or refuse them; nsprof list shows what perf list shows.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd jq
cd "$T" || exit 2

dry() {
	"$NSPROF" record -q --dry-run -o "$T/out" "$@"
}
takes() { # WHAT OPTION...
	check "$1" dry "${@:2}" -- true
}
refuses() { # WHAT STATUS PATTERN OPTION...
	check_rc "$1" "$2" dry "${@:4}" -- true
	like "$1: said" "$(<"$T/check.err")" "$3"
}

# ---- syntax ----
takes "a term: period" -e cpu-clock/period=1000000/u
takes "a term: freq" -e cpu-clock/freq=49/
takes "type and number" -e 1:0
takes "names of any case, as perf 7" -e PAGE-FAULTS:u,l1-DCACHE-loads
takes "dummy beside others" -e cpu-clock,dummy:HG
takes "an event of the software PMU" -e software/page-faults/u
takes "S on the leader, or on an event alone" -e '{cs:S,faults},cpu-clock:S'
# ---- what an event counts is told by its type, not by its name ----
while read -r event facts unit; do
	check "record $event" "$NSPROF" record -q -e "$event" -o named -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
	is "$event: in info" "$("$NSPROF" info --json named | jq -c '.events[0] | [.name, .type, .config, .unit]')" "$facts"
	"$NSPROF" symbolize -q --format profile -o named.p named
	for f in named named.p; do
		is "$event: its unit in $f" "$("$NSPROF" report -q --json -i $f | jq -r .event_unit)" "$unit"
	done
	is "$event: its unit in pprof" "$("$NSPROF" symbolize -q --format pprof named | zcat | grep -ao nanoseconds | sort -u)" "$([ "$unit" != ns ] || echo nanoseconds)"
	# The same beside another event, and chosen.
	"$NSPROF" record -q -e "$event,minor-faults" -o named -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'
	"$NSPROF" symbolize -q --format profile -o named.p named
	for f in named named.p; do
		is "$event beside another one: its unit in $f" "$("$NSPROF" report -q --json -i $f --event "$(jq -r '.[0]' <<<"$facts")" | jq -r .event_unit)" "$unit"
	done
done <<'LIST'
cpu-clock/name=foo/ ["foo",1,0,"ns"] ns
software/config=1/ ["software/config=1/",1,1,"ns"] ns
page-faults/name=cpu-clock/ ["cpu-clock",1,2,""] events
LIST
check "--wall takes a clock of any name" "$NSPROF" record -q --wall -e task-clock/name=foo/ -o named -- true
is "and no other" "$("$NSPROF" info --json named | jq -c '.events | map(.name)')" '["foo","off-cpu"]'
if have_perf && perf record -q -e cpu-clock/name=foo/ -o foo.data -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' >perf.log 2>&1; then
	is "a perf.data of such a clock" "$("$NSPROF" report -q --json -i foo.data | jq -r '.event + " " + .event_unit')" "foo ns"
	"$NSPROF" import -q -o foo.ns foo.data
	"$NSPROF" export -q -o again.data foo.ns
	like "exported again" "$(perf evlist -v -i again.data)" '^foo: type: 1, '
else
	skip "a perf.data of such a clock" "perf record does not work here"
fi

while IFS='|' read -r event what; do
	refuses "-e '$event'" 129 "$what" -e "$event"
done <<'LIST'
nosuch|unknown event 'nosuch'
page-fault|Did you mean 'page-faults'\?
cpu-clok:u|unknown event 'cpu-clok'\. Did you mean 'cpu-clock'\?
nosuchpmu/x=1/|there is no PMU 'nosuchpmu'.* This machine has .*software
software/x=1/|PMU 'software' has no event or term 'x'.*'nsprof list sw' shows events
cpu-clock/nosuch=1/|unknown term 'nosuch' in event 'cpu-clock/nosuch=1/'
cpu-clock/period=0/|invalid period in event
cpu-clock/period=1|the second slash is missing
cpu-clock/metric-id=x/|term 'metric-id' in event 'cpu-clock/metric-id=x/' is not supported: it is for perf stat
cpu-clock/overwrite/|term 'overwrite' .* is not supported: --overwrite is for all events
cpu-clock/no-inherit/|term 'no-inherit' .* is not supported: .* with -i for none
cpu-clock/name=wall/|the name 'wall' is that of an event of --off-cpu or --wall
cpu-clock:z|unknown modifier 'z'
cpu-clock:G|modifier 'G' .* guests
dummy|no event takes samples: dummy counts nothing
bpf-output/no-inherit=1/|cannot be sampled: data that BPF programs write
inst_retired.any|nsprof has no tables of CPU models
{cpu-clock,cs|the brace '\{' is not closed
cpu-clock}|there is a brace '}' without '\{'
{}|an event is missing
|it is empty; name an event
cpu-clock,|an event is missing
mem:0x1000/3:w|the length is 1, 2, 4 or 8 bytes
LIST
refuses "2,000 events" 129 "at most 1024" -e "$(seq -f 'r%.0f' -s, 1000 2999)"
refuses "--filter without an event" 129 "no event is given before it" --filter 'x==1'
refuses "--filter of an event that is no tracepoint" 129 "'-e cpu-clock' before it names no tracepoint" -e cpu-clock --filter 'x==1'

# What this machine does not have is left out if that is allowed, and a mistake in the syntax is not.
"$NSPROF" record -q --optional-events -e 'cs,nosuch,{nosuchpmu/x/,faults}' -e nosuch:tracepoint -c 1 -o some -- true
is "absent events are left out" "$("$NSPROF" info --json some | jq -r '.event, (.settings.left_out | split("\n") | .[] | split(":")[0])')" "context-switches
unknown event 'nosuch'. 'nsprof list' shows the events of this machine.
event 'nosuchpmu/x/'
event 'page-faults'
$("$NSPROF" record -q --dry-run -e nosuch:tracepoint -o x -- true 2>&1 | sed -E "s/^[^:]*: error: //; s/:.*//")"
refuses "but not a term that is wrong" 129 "invalid period" --optional-events -e cs,faults/period=0/
refuses "nor all of them" 129 "unknown event 'nosuch'" --optional-events -e nosuch

# ---- what only the kernel knows ----
# A breakpoint on what sh never writes; x86 has four.
if [ "$(uname -m)" = x86_64 ] && "$NSPROF" record -q -e mem:0x10000:w -o bp -- true 2>/dev/null; then
	refuses_now() { # WHAT PATTERN OPTION...
		check_rc "$1" 1 "$NSPROF" record -q -o "$T/out" "${@:3}" -- true
		like "$1: said" "$(<"$T/check.err")" "$2"
	}
	refuses_now "reading alone" "'mem:0x10000:r' .*Invalid argument: .*use :w or :rw" -e mem:0x10000:r
	refuses_now "an address that does not fit the length" "'mem:0x10001/4:w' .*multiple of the length" -e mem:0x10001/4:w
	refuses_now "five breakpoints" "'mem:0x10040:w' .*No space left on device: all breakpoint registers" \
		-e mem:0x10000:w,mem:0x10010:w,mem:0x10020:w,mem:0x10030:w -e mem:0x10040:w
else
	skip "breakpoints" "this machine has none, or they are in use"
fi

# ---- list ----
"$NSPROF" list >list || fail "list"
like "software events" "$(<list)" '^  page-faults .*\(also: faults\)$'
check_rc "a pattern that matches nothing" 1 "$NSPROF" list nosuchevent
like "and says so" "$(<"$T/check.err")" "no event matches 'nosuchevent'"
is "kinds and patterns" "$("$NSPROF" list --json SW 'PAGE-f*' | jq -r '[.events[].kind] | unique | join(",")')" software
is "what the kernel does not have is not available" "$("$NSPROF" list --json hw | jq -r '[.events[].available] | any')" \
	"$("$NSPROF" list hw | grep -q '^  cycles ' && echo true || echo false)"

# ---- tracepoints ----
if [ "$(id -u)" != 0 ]; then
	skip "tracepoints" "needs root"
	done_testing
	exit
fi
tracing=$(awk '$3 == "tracefs" { print $2; exit }' /proc/mounts)
if ! "$NSPROF" list --json | jq -e '[.events[] | select(.name == "sched:sched_switch")] | length == 1' >/dev/null; then
	skip "tracepoints" "$("$NSPROF" list --json | jq -r '.absent.tracepoint // "this kernel has no sched:sched_switch"')"
	done_testing
	exit
fi
"$NSPROF" list tracepoint | awk '/^  [^ ]*:/ { print $1 }' | sort >ours
if [ -n "$tracing" ]; then
	(cd "$tracing/events" && printf '%s\n' */*/id) | sed 's,/id$,,; s,/,:,' | sort >kernel
	is "list has all tracepoints of tracefs" "$(comm -3 ours kernel)" ""
else
	skip "list has all tracepoints of tracefs" "tracefs is not mounted"
fi
if command -v perf >/dev/null; then
	# perf 7.2 also lists those of ftrace that have no id, and refuses to record them.
	perf list --raw-dump tracepoint 2>/dev/null | tr ' ' '\n' | grep : | sort -u |
		while IFS=: read -r group name; do
			[ -n "$tracing" ] && [ ! -e "$tracing/events/$group/$name/id" ] || echo "$group:$name"
		done >perfs
	is "and all of perf list" "$(comm -13 ours perfs)" ""
else
	skip "and all of perf list" "needs the command perf"
fi
like "-v shows fields" "$("$NSPROF" list -v sched:sched_switch)" '^      char\[16\] prev_comm$'

takes "a tracepoint" -e sched:sched_switch
takes "a pattern of one" -e 'sched:sched_swit??'
takes "terms and modifiers" -e sched:sched_switch/period=10/k
refuses "a misspelt tracepoint" 129 "Did you mean 'sched:sched_switch'\?" -e sched:sched_swich
refuses "a misspelt group" 129 "there is no group 'shed'\. Did you mean 'sched'\?" -e shed:sched_switch
refuses "a group that was left out" 129 "Did you mean 'sched:sched_switch'\?" -e sched_switch
refuses "a pattern without a match" 129 "no tracepoint matches 'sched:nosuch\*'" -e 'sched:nosuch*'

# Our own check refuses nothing that the kernel takes, and names what is wrong. What it does not
# know is asked of the kernel, as it is for what is right.
while read -r filter; do
	takes "--filter '$filter'" -e sched:sched_switch --filter "$filter"
done <<'LIST'
prev_state==2 && prev_comm!="x"
(prev_state==2 || prev_state==1) && common_pid!=0
!(prev_state == 0x10)
prev_comm ~ "ba*" && cpu == 1
prev_state & 3
LIST
while IFS='|' read -r filter what; do
	refuses "--filter '$filter'" 129 "$what" -e sched:sched_switch --filter "$filter"
	! have_perf || is "perf refuses it, too: '$filter'" \
		"$(perf record -q -o "$T/perf" -e sched:sched_switch --filter "$filter" -- true >/dev/null 2>&1 && echo taken)" ""
done <<'LIST'
prev_stat==2|there is no field 'prev_stat'\. Did you mean 'prev_state'\? The fields are prev_comm, prev_pid
prev_state==|a number or text in quotes is missing
prev_state=2|a comparison .* is expected before '=2'
(prev_state==2|'\)', '&&' or '\|\|' is missing
prev_comm=="x|the quote " is not closed
prev_comm==1|is text: write prev_comm=="1"
prev_state=="x"|is a number, and is compared with text
prev_state ~ 3|the kernel refuses --filter 'prev_state ~ 3' of event 'sched:sched_switch': Invalid argument
LIST
refuses "a filter that is too long" 129 "'prev_pid==1.*\.\.\.' of event 'sched:sched_switch': it has [0-9]+ bytes, and the kernel takes at most [0-9]+$" \
	-e sched:sched_switch --filter "prev_pid==1$(printf ' || prev_pid==1%.0s' {1..5000})"
takes "two filters are joined" -e sched:sched_switch --filter 'prev_state==2' --filter 'prev_pid>0'
refuses "and both are checked" 129 "there is no field 'pid'" -e sched:sched_switch --filter 'prev_state==2' --filter 'pid>0'

# The kernel filters: of three signals, two are signal 0.
if "$NSPROF" list syscalls:sys_enter_kill >/dev/null 2>&1; then
	"$NSPROF" record -q -e syscalls:sys_enter_kill --filter 'sig==0' --call-graph none -o tp -- \
		sh -c 'kill -0 $$; kill -CONT $$; kill -0 $$'
	is "only what matches is sampled" "$("$NSPROF" info --json tp | jq .samples)" 2
else
	skip "only what matches is sampled" "this kernel has no tracepoints of system calls"
fi

# Tracepoints that never came share a line.
"$NSPROF" record -e 'sched:*' --call-graph none -o tp -- true 2>err
is "the closing lines of a pattern" "$(grep -cE ' 0 samples, none lost$' err) $(grep -cE '[0-9]+ other tracepoints: 0 samples' err)" "0 1"
like "with those that came" "$(<err)" 'sched:sched_process_exec: 1 sample, none lost'

# So do those that were thinned.
if "$NSPROF" list syscalls:sys_enter_read >/dev/null 2>&1; then
	"$NSPROF" record -e 'syscalls:sys_enter_*' --event-budget 100K -o tp -- sh -c 'for i in 1 2 3 4; do cat /etc/passwd; done' >/dev/null 2>err
	is "one warning about all that were thinned" "$(grep -c 'came more often than' err) $(grep -cE 'warning: [0-9]+ events together came more often' err)" "1 1"
fi

# ---- where tracefs is not, cannot be read, or is hidden ----
if unshare -m true 2>/dev/null && [ -n "$tracing" ]; then
	is "not mounted: a mount of our own, which nobody sees" "$(unshare -m sh -c "umount -a -t tracefs,debugfs
		'$NSPROF' record -q --dry-run -e sched:sched_switch -o out -- true && echo recorded
		'$NSPROF' list sched:sched_switch | grep -c prev_comm; grep -c tracefs /proc/self/mountinfo")" "recorded
1
0"
	is "something is mounted over it: the same" \
		"$(unshare -m sh -c "mount -t tmpfs none '$tracing'; '$NSPROF' list sched:sched_switch | grep -c prev_comm")" 1
	is "read-only is enough" \
		"$(unshare -m sh -c "mount -o remount,ro,bind '$tracing'; '$NSPROF' list sched:sched_switch | grep -c prev_comm")" 1
else
	skip "tracefs elsewhere" "needs mount namespaces and tracefs"
fi
if for_nobody; then
	check_rc "without rights: status 1" 1 "${NOBODY[@]}" "$NSPROF" record --dry-run -e sched:sched_switch -o "$PUBLIC/out" -- true
	like "without rights: said" "$(<"$T/check.err")" \
		"event 'sched:sched_switch' is a tracepoint, and tracefs (at '.*' cannot be read: Permission denied|is not mounted), and mounting it privately failed: .*; run as root"
	"${NOBODY[@]}" "$NSPROF" list >list 2>err
	like "list without rights says why" "$(<list)" '^tracepoints: none: tracefs .*; run as root'
else
	skip "without rights" "$no_nobody"
fi
done_testing
