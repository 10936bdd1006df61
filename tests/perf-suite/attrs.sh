#!/bin/bash
# Each option sets the right perf_event_open(2) attributes.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
# The linker takes a space in LD_PRELOAD for the end of a name.
LOG=$T/attrs.so
need_target attrs.so
cp "$TARGETS/attrs.so" "$LOG"
[ "$(id -u)" = 0 ] || skip_all "needs root: without rights more is left out than the options say"

# asked OPTION...: write the event that takes samples to "event", the one for mappings and processes
# to "tracking".
asked() {
	rm -f log
	ATTRS=$T/log LD_PRELOAD=$LOG tool record -q -o data "$@" >out 2>&1 || fail "record $*" "$(<out)"
	# Attempts come first; the last ones count.
	grep -E ' (freq|period)=[1-9]' log | grep -v '^software:9 ' | tail -n 1 >event
	grep '^software:9 ' log | tail -n 1 >tracking
}

# has WHAT WORDS [WORDS-THAT-ARE-NOT]
has() {
	local w missing=
	for w in $2; do
		grep -qw -e "$w" event || missing+=" $w"
	done
	for w in ${3-}; do
		! grep -qw -e "$w" event || missing+=" not:$w"
	done
	is "$1${2:+: }$2${3:+; not }${3-}" "$missing" "" || tap_note "$(<event)"
}

asked -e cpu-clock -F 99 -- true
has "-e cpu-clock -F 99" "software:0 freq=99 inherit disabled enable_on_exec sample_id_all ip tid time" "exclude_user exclude_kernel pid=-1"
like "mappings and processes are another event's" "$(<tracking)" ' mmap .*comm .*task'
like "which says when a name is an exec's, and of which file" "$(<tracking)" ' comm_exec .*mmap2'
has "and not this one's" "" "mmap mmap2 comm task"
asked -e task-clock -c 1000000 -- true
has "-e task-clock -c 1000000" "software:1 period=1000000" "freq"
asked -e cpu-clock -i -- true
has "-i" "" "inherit"
asked -e cpu-clock --all-user -- true
has "--all-user" "exclude_kernel" "exclude_user"
asked -e cpu-clock --all-kernel -- true
has "--all-kernel" "exclude_user" "exclude_kernel"
asked -e cpu-clock:u -- true
has "-e cpu-clock:u" "exclude_kernel" "exclude_user"
asked -e cpu-clock:k -- true
has "-e cpu-clock:k" "exclude_user" "exclude_kernel"
asked -e page-faults -c 1 -- true
has "-e page-faults -c 1" "software:2 period=1"
asked -e cpu-clock --call-graph dwarf,4096 -- true
has "--call-graph dwarf,4096" "callchain regs_user stack_user stack=4096 exclude_callchain_user"
# Nine of the first ones (ax to ip) and r8 to r15; perf also has flags and segments.
regs=$(grep -o 'regs=0x[0-9a-f]*' event)
is "all that a frame may be found by" $((${regs#regs=} & 0xff01ff)) $((0xff01ff))
asked -e cpu-clock --call-graph fp -- true
has "--call-graph fp" "callchain" "stack_user regs_user exclude_callchain_user"
asked -e cpu-clock --call-graph dwarf,1001 -- true
has "--call-graph dwarf,1001: rounded up" "stack=1008"
asked -e cpu-clock --call-graph fp --user-callchains -- true
has "--user-callchains" "callchain exclude_callchain_kernel" "exclude_callchain_user"
asked -e cpu-clock --call-graph fp --kernel-callchains -- true
has "--kernel-callchains" "callchain exclude_callchain_user" "exclude_callchain_kernel"
asked -e cpu-clock -g -- true
has "-g" "callchain"
asked -e cpu-clock -D 20 -- true
has "-D 20" "disabled" "enable_on_exec"
asked -e cpu-clock -k mono -- true
has "-k mono" "clock=1"
"$TARGETS/spin" 100 &
pid=$!
asked -e cpu-clock -p $pid -- true
has "-p" "inherit pid=$pid" "enable_on_exec"
kill $pid
asked -e cpu-clock -a -- true
has "-a" "pid=-1 cpu" "enable_on_exec"
asked -e cpu-clock -C 0 -- true
has "-C 0" "pid=-1 cpu=0"
is "-C 0: on no other CPU" "$(grep -E '^software:0 .* (freq|period)=[1-9]' log | grep -Eo ' cpu=[1-9][0-9]*' | sort -u)" ""
done_testing
