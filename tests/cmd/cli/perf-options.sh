#!/bin/bash
# perf's command lines: each option of perf record, script, report and diff works, is accepted
# because it makes no difference, or is refused by one line with the reason. Lines from guides work
# with "perf" replaced by "nsprof".
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
TARGETS=$BUILD/tests/targets
cd "$T" || exit 1

# ---- record: the list ----
# Nothing is recorded: --dry-run checks the command line and that its targets exist. Options with
# several files name the file.
dry() {
	# shellcheck disable=SC2086
	"$BUILD/bin/nsprof-record" --dry-run -o out.data $1 -- true >out 2>err </dev/null
}

# says NAME FILE REGEX: like like(), but without a process, because there are many.
says() {
	local text
	text=$(<"$2")
	if [[ $text =~ $3 ]]; then pass "$1: says"; else fail "$1: says" "nothing matches $3 in: $text"; fi
}

# These work, or make no difference here: no message.
while read -r line; do
	dry "$line"
	rc=$?
	mapfile -t message <err
	is "record $line" "$rc ${message[*]}" "0 "
done <<'LIST'
-e cpu-clock
-e task-clock:u
-e cycles:k
-e cycles:ppp
-e cpu-cycles:P
-e instructions
-e cs
-e page-faults -c 1
-e L1-dcache-load-misses -c 10000
-F99
-F 99
--freq=99
--freq 99
-F max -q
-c 1000
--count=1000
-a
--all-cpus
-p 1
--pid=1
-t 1
-C 0
--cpu=0
-a -G /
-G / -e cpu-clock -a
-i
--no-inherit
--per-thread
--exclude-perf
--all-user
--all-kernel
--user-callchains
--kernel-callchains
-g
--call-graph fp
--call-graph=fp
--call-graph dwarf
--call-graph=dwarf,16384
--call-graph dwarf,1001 -g
-g --call-graph dwarf,65528
--no-call-graph
-agF99
-m 128
-m 128,64
-m 8M
-r 1
-z
-z3
--compression-level=22
-o -
--output=x
--max-size 100M
--switch-output
--switch-output=signal
--switch-output=30s --switch-max-files 3
--overwrite --switch-output
--timestamp-filename
--tail-synthesize
--synth no
--synth=task
--proc-map-timeout 500
--num-thread-synthesize 4
--namespaces
--all-cgroups
-D 100
--delay=100
-D 10-20,30-40
-D -1 --control fd:0
--control=fd:0,1
-B -N
-BN
--no-buildid --no-buildid-cache
--buildid-all
--buildid-mmap
--no-buildid-mmap
--no-bpf-event
--no-buffering
-k mono
-k 1
--clockid=CLOCK_MONOTONIC
-s -T -P -R
--sample-cpu --sample-identifier --running-time
--timestamp-boundary
--group
--aio
--aio=2
--affinity node
--mmap-flush 1K
--threads
--threads=cpu
--vmlinux vmlinux
--clang-path x --clang-opt y
--debuginfod
--strict-freq -F 10
-q
-v
LIST

# These are accepted with a message.
while IFS='|' read -r line says; do
	dry "$line"
	is "record $line: status" $? 0
	says "record $line" err "$says"
done <<'LIST'
-m 3|rounding the ring size up to 16 KiB
-k raw|clock 'raw' is not used
-p 1 -t 1|-p overrides -t
-p 1 -a|-p overrides -a
LIST

page=$(tr "\n" " " <"$BUILD/man/nsprof-record.1")
# These are refused: status 129, or 1 if the command line is right but a target does not exist. One
# line names the option or its argument; at most one more points to --help.
while IFS='|' read -r line says; do
	dry "$line"
	rc=$?
	mapfile -t message <err
	if [[ $rc =~ ^(129|1)$ && ${message[0]} =~ $says && ${message[1]:-nsprof record: see } == "nsprof record: see "* && ${#message[@]} -le 2 ]]; then
		pass "record $line: refused"
	else
		fail "record $line: refused" "status $rc, and not a line that matches $says: ${message[*]}"
	fi
	# Options that only perf has are in the manual page.
	option=${line%%[ =]*}
	[[ $option == --* ]] || option=${option:0:2}
	if [[ ${message[0]} == *"perf's "*" is not an option here: "* && $option != --call-graph ]]; then
		[[ $page == *"${option//-/\\-}"[\ \;,]* ]] || fail "record $line: in the manual page"
	fi
done <<'LIST'
-b|perf's -b is not an option here: branch records
-j any,u|perf's -j is not an option here: branch records
--call-graph lbr|perf has --call-graph lbr, nsprof does not: branch records
--call-graph fp,defer|perf has --call-graph fp,defer, nsprof does not
--call-graph bogus|unknown call graph 'bogus'
--call-graph dwarf,65536|invalid stack copy size '65536'
-d|perf's -d is not an option here: addresses of data
-W|addresses of data
--phys-data|addresses of data
--data-page-size|addresses of data
--code-page-size|addresses of data
--transaction|addresses of data
-I|perf's -I is not an option here: registers
-Iax,bx|registers
--user-regs=ax|registers
-S|CPU's own
--aux-sample=1|CPU's own
--kcore|code of the kernel
-u root|perf's -u is not an option here: name the processes
-n|perf's -n is not an option here: .* samples
--off-cpu-thresh 1|needs --off-cpu or --wall
--off-cpu=0|takes a number of switches
--off-cpu --off-cpu-thresh 1x|takes a time
--switch-events|--off-cpu
--switch-output-event x|takes a signal, a size or a time
--filter x|no event is given before it
-e cpu-clock --filter x|names no tracepoint
-e nosuchpmu/x/|there is no PMU 'nosuchpmu'
-e nosuchevent|unknown event 'nosuchevent'
-F 0|invalid frequency '0'
-F 999999999 --strict-freq|999999999 Hz is above
-F 99 -c 1000|-F and -c exclude each other
-c 0|invalid period '0'
--event-budget 5|invalid size '5'
-k bogus|unknown clock 'bogus'
-r 100|invalid realtime priority '100'
-D 10-20,15-40|invalid delay '10-20,15-40'
-D 10-|invalid delay '10-'
-D -1|add --control
--control x|invalid value 'x' for --control
--control fd:77|descriptor 77
--control fifo:/nosuch/fifo|cannot open '/nosuch/fifo'
-p abc|invalid list of process IDs 'abc'
-p 99999999|no process 99999999
-t 99999999|no thread 99999999
-C 9999|CPU 9999 is not online
-a -G nosuch|no cgroup 'nosuch'
-o /nosuch/x|/nosuch
--bogus|unknown option '--bogus'
LIST

# An option that makes no difference takes its argument and no more: the command stays the command.
check_rc "moot options and their arguments" 7 "$NSPROF" record -q -o out.data -z3 -B -N --synth no --affinity node --mmap-flush 1 --vmlinux x \
	--proc-map-timeout 5 --num-thread-synthesize 2 --aio --threads -sTPR -z sh -c 'exit 7'

# ---- every option of the perf that is installed is known ----
# options COMMAND: the options in its help, one per line, with a placeholder if they take an
# argument.
options() {
	perf "$1" -h 2>&1 | sed -nE 's/^ {4}(-[^ ,]), (--[a-z-]+)( <|\[=?)?.*/\1\3 \2\3/p; s/^ {4}(-[^ ,])( <.*)? +[a-z].*/\1\2/p; s/^ {8}(--[a-zA-Z-]+)( <|\[=?)?.*/\1\2/p' |
		sed -E 's/ <[^-]*/=1 /g; s/\[=?//g' | tr ' ' '\n' | grep -e '^-' | sed -E 's/^(-[^-])=/\1/' | sort -u
}
if have_perf; then
	: >empty
	for c in record script report diff; do
		unknown='' n=0
		while read -r o; do
			n=$((n + 1))
			case $c in
			record) dry "$o" ;;
			script) "$BUILD/bin/nsprof-script" "$o" empty >out 2>err </dev/null ;;
			*) "$BUILD/bin/nsprof-$c" "$o" empty >out 2>err </dev/null ;;
			esac
			read -r message <err
			[[ $message == *'unknown option'* ]] && unknown+="$o "
		done < <(options $c)
		check "perf $c has options ($n)" test $n -ge 25
		is "perf $c: there is none that is unknown" "$unknown" ""
	done
else
	skip "the options of perf" "perf is not installed"
fi

# ---- lines from guides ----
# Unchanged, except for "perf", process ids and files. "sleep" waits for some CPU time of the
# profiled program instead of seconds, and only that program runs meanwhile. "node", "java",
# "python", "dotnet" and "./program" are short programs.
mkdir bin
cat >bin/sleep <<'SH'
#!/bin/bash
# SIGSTOP behind it even when the recorder ends it early.
used() { read -r ns _ <"/proc/$PID/schedstat"; }
trap 'kill -STOP "$PID"; exit 0' EXIT TERM
kill -CONT "$PID"
used
until=$((ns + 60000000))
exec 3<> <(:)
while used; [ "$ns" -lt $until ]; do read -r -t 0.01 -u 3; done
SH
chmod +x bin/sleep
for c in node java python dotnet program; do
	printf '#!/bin/sh\nexec "%s" --cpu 0.06\n' "$TARGETS/spin" >bin/$c
	chmod +x bin/$c
done
cp bin/program program
# Busy in the kernel for the lines that look there, and in functions of its own.
"$TARGETS/spin" --kernel 1000 &
PID=$!
kill -STOP $PID
later "kill -KILL $PID"
export PID
perf() { "$NSPROF" "$@"; }

# number FILE: its number of samples
number() {
	local info
	info=$("$BUILD/bin/nsprof-info" --json "$1" 2>/dev/null)
	[[ $info =~ \"samples\":\"?([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}
while read -r line; do
	rm -f nsprof.data perf.data
	(PATH=$T/bin:$PATH && eval "$line") >out 2>err </dev/null
	rc=$?
	data=nsprof.data
	[ -e perf.data ] && data=perf.data
	is "$line: status" "$rc $([ $rc = 0 ] || cat err)" "0 "
	n=$(number $data)
	check "$line: has samples" test "${n:-0}" -ge 1
done <<'GUIDES'
perf record -F 99 -a -g -- sleep 60
perf record -F 99 -p $PID -g -- sleep 60
perf record -a -g -F 997 sleep 60
perf record -F 99 ./program
perf record -F 99 -p $PID sleep 10
perf record -F 99 -p $PID --call-graph dwarf sleep 10
perf record -F 99 -e cpu-clock -ag -- sleep 10
perf record -F 99 -e cpu-clock --cgroup=/ -a -- sleep 10
perf record -e cycles:k -a -- sleep 5
perf record -e context-switches -c 1 -a sleep 5
perf record -e cycles:u -g -- node --perf-basic-prof app.js
perf record -F99 -p $PID -- sleep 3
perf record -F 99 -g -o perf.data -p $PID -- sleep 15
perf record -g java -XX:+PreserveFramePointer Main
perf record -F 9999 -g -o perf.data python -X perf my_script.py
perf record -F 9999 -g -k 1 --call-graph dwarf -o perf.data python -Xperf_jit my_script.py
perf record -p $PID -g sleep 10
perf record -g dotnet run
perf record -k 1 -g --pid=$PID -F 999 -e cpu-clock sleep 10
GUIDES

# "until Ctrl-C"
"$NSPROF" record -F 99 -p $PID -o int.data 2>err &
recorder=$!
wait_for '[ -s int.data ]' 20
bin/sleep
kill -INT $recorder
wait $recorder
is "perf record -F 99 -p PID, then Ctrl-C: status" $? 130
check "perf record -F 99 -p PID, then Ctrl-C: has samples" test "$(number int.data)" -ge 1

# fp means the kernel's own walk, and no stack copy.
perf record -q -F 999 --call-graph fp -o fp.data ./program
like "--call-graph fp" "$("$NSPROF" info fp.data)" '^call_graph +fp$'
like "--call-graph fp: by frame pointers" "$(perf script -q -i fp.data)" 'app_leaf'

# The other half of the lines, each with its expected output. "program" becomes "spin" by exec, and
# may be sampled before.
perf record -q -F 999 -e cpu-clock:u -o nsprof.data ./program
cp nsprof.data perf.data
n=$(number nsprof.data)
while IFS='|' read -r line says; do
	eval "$line" >out 2>err </dev/null
	is "$line: status" $? 0
	like "$line: says" "$(<out)" "$says"
done <<'GUIDES'
perf script|^spin +[0-9]+/[0-9]+ .* cpu-clock:
perf script --header|^# cmdline : .*record -q -F 999
perf script --header-only|^# cmdline : .*record -q -F 999
perf script -I|^# cmdline : .*record -q -F 999
perf script -q --time 100%|app_leaf \(.*/spin\)$
perf script -i perf.data|app_leaf \(.*/spin\)$
perf script -f|app_leaf \(.*/spin\)$
perf script -F comm,pid,tid,cpu,time,event,ip,sym,dso,trace|^spin +[0-9]+/[0-9]+ +\[[0-9]+\] +[0-9.]+: cpu-clock:
perf script -F comm,pid,tid,cpu,time,period,event,ip,sym,dso,trace -i perf.data|app_leaf \(.*/spin\)$
perf script -F sw:comm,time,ip,sym|^spin +[0-9.]+:
perf script -F+srcline|app_leaf \(.*/spin\)$
perf script --no-inline --comms spin|app_leaf \(.*/spin\)$
perf script --reltime --ns|^(spin|program) .* 0\.000000000: 
perf script --kallsyms /proc/kallsyms --symfs /|app_leaf \(.*/spin\)$
perf report --stdio|^ +[0-9.]+% .*\[\.\] app_outer$
perf report -n --stdio|^# Children +Self +Samples +Command +Shared Object +Symbol$
perf report -n --stdio --no-call-graph|\[\.\] app_leaf$
perf report --stdio -n -g|app_leaf$
perf report -g -i perf.data|app_leaf$
perf report --stdio -g none|\[\.\] app_leaf$
perf report --stdio -g graph,0.5,caller|app_leaf$
perf report --sort=dso --no-children|^ +[0-9.]+% +[0-9]+  spin$
perf report -n --stdio --sort dso,symbol|spin +\[\.\] app_leaf$
perf report --stdio -F overhead,sym|^# Overhead +Samples +Symbol$
perf report --percent-limit 5 -s comm,dso,sym,pid,cgroup|\[\.\] app_leaf
perf report -t, --no-children|^[0-9.]+%,[0-9]+,spin,spin,\[\.\] app_leaf$
perf report --header-only|^# event cpu-clock
perf report --comms spin --stdio|\[\.\] app_leaf$
perf report -G -f|app_leaf$
perf diff perf.data nsprof.data|^no significant change
GUIDES
# --symfs and --kallsyms change the names: lines of a binary that only exists below a folder, names
# that exist nowhere else.
cp "$TARGETS/spin" gone
perf record -q -F 999 -e cpu-clock -o gone.data ./gone --cpu --kernel 0.06
mkdir -p "root$T"
mv gone "root$T/gone"
unlike "perf script -F +srcline: the binary is gone" "$(perf script -q -F +srcline -i gone.data)" '^  spin.c:[0-9]'
like "perf script --symfs: its lines are found" "$(perf script -q -F +srcline --symfs root -i gone.data)" '^  spin.c:[0-9]'
awk '$2 ~ /[tT]/ { $3 = "own_" $3 } { print $1, $2, $3 }' /proc/kallsyms >own.kallsyms
like "perf script --kallsyms: its names" "$(perf script -q --kallsyms own.kallsyms -i gone.data)" ' own_do_syscall_64 \(\[kernel'
like "symbolize --kallsyms: a file without any is said" "$("$NSPROF" symbolize --kallsyms /dev/null gone.data 2>&1 >/dev/null)" "'/dev/null' has no kernel symbols"
perf script >out.perf
if command -v python3 >/dev/null; then
	python3 "$TOP/tests/tools/readers.py" out.perf >readers
	read -r _ read _ <readers
	is "perf script > out.perf: stackcollapse-perf.pl reads each sample" "$read" "$n"
else
	skip "perf script > out.perf: stackcollapse-perf.pl reads each sample" "python3 is not installed"
fi
if command -v stackcollapse-perf.pl flamegraph.pl >/dev/null; then
	perf script | stackcollapse-perf.pl 2>err | flamegraph.pl >out.svg
	like "perf script | stackcollapse-perf.pl | flamegraph.pl" "$(cat out.svg)" 'app_leaf'
else
	skip "perf script | stackcollapse-perf.pl | flamegraph.pl" "they are not installed"
fi
perf report --stats >out
like "perf report --stats" "$(cat out)" "^ +SAMPLE events: +$n$"
# FlameGraph's way without perf script: fold the text between the programs.
perf report --stdio --no-children -n -g folded,0,caller,count -s comm | awk '/^ / { comm = $3 } /^[0-9]/ { print comm ";" $2, $1 }' >folded
is "perf report -g folded: each sample is in a stack" "$(awk '{ n += $NF } END { print n }' folded)" "$n"
like "perf report -g folded: a stack" "$(cat folded)" "^spin;.*$("$TARGETS/spin" --chain) [0-9]+$"
is "perf report -g folded: the stacks of symbolize" "$(sort folded)" "$("$NSPROF" symbolize -q nsprof.data | sort)"
like "perf report -g folded,callee: the leaf first" "$(perf report -g folded,0,callee,percent -s comm)" '^[0-9.]+% app_leaf;app_inner;'
cp perf.data nsprof.data.old
like "perf diff: the last two" "$(perf diff)" '^no significant change'
at=$(perf script -F comm,time --ns | awk '/^spin/ { print $2 + 0 }' | sed -n "$((n / 2)){p;q}")
is "perf script --time: before and behind together are all" \
	"$(($(perf script -q --time ",$at" -F comm,time | grep -Ec '^(spin|program) ') + $(perf script -q --time "$at," -F comm,time | grep -Ec '^(spin|program) ')))" "$n"
is "perf script --time: so are its parts" \
	"$(($(perf script -q --time 50% -F comm,time | grep -Ec '^(spin|program) ') + $(perf script -q --time 50%-70%,70%-100% -F comm,time | grep -Ec '^(spin|program) ')))" "$n"
check_rc "perf script --time 10%/11 is refused" 129 "$NSPROF" script --time 10%/11
for line in "report -g callee|shows the callers of one function" "report --tui|--format html" "script -D|nsprof info" "diff -c ratio|the size of their change"; do
	# shellcheck disable=SC2086
	check_rc "${line%|*} is refused" 129 "$NSPROF" ${line%|*}
	like "${line%|*}: says why" "$(cat check.err)" "${line#*|}"
done
for c in top stat inject archive; do
	check_rc "$c is refused" 1 "$NSPROF" $c
	like "$c: says what there is instead" "$(cat check.err)" "perf has '$c', nsprof does not: "
done

# ---- --control, and when sampling is on ----
mkfifo ctl ack
"$NSPROF" record -q -e cpu-clock -F 999 -p $PID -D -1 --control fifo:ctl,ack -o control.data &
recorder=$!
exec 7<>ack 8<>ctl
# ask COMMAND: it gets an answer.
ask() {
	local answer=
	echo "$1" >&8
	read -r -t 20 -u 7 answer
	is "--control: $1" "$answer" ack
}
ask ping
bin/sleep
read -r before _ </proc/$PID/schedstat
ask enable
bin/sleep
ask disable
read -r after _ </proc/$PID/schedstat
bin/sleep
ask stop
wait $recorder
is "--control: the end" $? 0
# The program ran three times for at least 60 ms, and was sampled in one of these.
ms=$("$NSPROF" symbolize -q --weight period control.data | awk '{ n += $NF } END { print int(n / 1000000) }')
ran=$(((after - before) / 1000000))
check "--control: sampled while it was enabled ($ms of $ran ms)" test "${ms:-0}" -ge $((ran / 2))
check "--control: and then alone" test "${ms:-999}" -le $((ran + 2))
# Windows: recording ends when the last one is over, however long that takes.
perf record -e cpu-clock -F 999 -D 20-40,60-80 -o window.data -- timeout 20 \
	sh -c 'until [ "$(grep -c "events disabled" err)" = 3 ]; do sleep 0.02; done' 2>err
is "-D FROM-TO,FROM-TO: status" $? 0
is "-D FROM-TO,FROM-TO: off, on, off, on, off" "$(grep -oE 'events (en|dis)abled' err | cut -c 8 | tr -d '\n')" deded
done_testing
