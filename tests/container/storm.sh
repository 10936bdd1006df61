#!/bin/bash
# timeout: 400
# Many at once: an exec storm, a thousand cgroups, thousands of threads. Nothing is lost or mixed
# up, and the recorder stays small. (perf 6.1 resolves ended processes with the host's file of the
# same path, or not at all: outlive.sh.) tests/bench measures the cost.
. "$(dirname "$0")/../lib.sh"
need_root
need_cmd jq
TARGETS=$BUILD/tests/targets
[ -x "$TARGETS/crowd" ] || skip_all "test programs are not built: make test-targets"
cd "$T" || exit 1
"$NSPROF" record -q -e cpu-clock -a -o probe -- true 2>err || skip_all "cannot record all CPUs here: $(cat err)"
ANON_MAX=$((64 * 1024))	# KiB without the rings, which are not anonymous memory

info() { "$NSPROF" info --json "${2:-a.data}" | jq -r "$1"; }

# crowd ARGUMENT...: start it, and return when all of it is there.
crowd() {
	rm -f ready
	"$TARGETS/crowd" "$@" >ready 2>crowd.err &
	crowd=$!
	wait_for '[ -s ready ] || ! kill -0 $crowd 2>/dev/null' 60
	grep -q ready ready
}
uncrowd() {
	kill $crowd
	wait $crowd 2>/dev/null
}

# CPU time in seconds: of the crowd's threads, and of everything below its cgroup (v2).
threads_used() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$crowd/stat"; }
below_used() { awk '$1 == "usage_usec" { print $2 / 1e6 }' "$mount/$cg/cpu.stat" 2>/dev/null; }

# record_watched SECONDS USED ARGUMENT...: record to a.data for SECONDS after its first bytes, and
# until the function USED reports as much more CPU time: with other load on the CPUs, not all of
# this many get their turn in that time. Sets kib to the recorder's RssAnon at the end, and nices to
# the nice values of its threads. The crowd is not needed after that: the analysis gets the CPUs.
record_watched() {
	local secs=$1 used=$2 from
	shift 2
	rm -f a.data
	"$NSPROF" record -e cpu-clock -F 1999 --call-graph dwarf,8192 -o a.data "$@" 2>err &
	recorder=$!
	wait_for '[ -s a.data ]' 60
	from=$($used)
	sleep "$secs"
	[ -z "$from" ] || wait_for "awk \"BEGIN { exit !(\$($used) - $from >= $secs) }\"" 60
	kib=$(awk '/^RssAnon:/ { print $2 }' "/proc/$recorder/status")
	nices=$(awk '{ print $19 }' /proc/$recorder/task/*/stat | sort -u | tr '\n' ' ')
	kill -INT $recorder
	wait $recorder 2>/dev/null
}

# ---- an exec storm
# Record until its programs have used two seconds of CPU time, however long that takes.
"$TARGETS/storm" 60 "$TARGETS/brief-bare" >rate &
storm=$!
sleep 0.3
"$NSPROF" record -e cpu-clock -F 999 -a -o a.data 2>err &
recorder=$!
wait_for '[ -s a.data ]' 20
storm_used() { cat /proc/$storm/task/$storm/children | tr ' ' '\n' | sed 's|.*|/proc/&/stat|' | xargs awk '{ sub(/.*\) /, ""); n += $14 + $15 } END { print n }'; }
from=$(storm_used)
wait_for '[ $(($(storm_used) - from)) -ge $((2 * $(getconf CLK_TCK))) ]' 40
kill -INT $recorder
wait $recorder
is "exec storm: status" $? 130
kill $storm
wait $storm
is "exec storm: every program ran" $? 0
echo "# $(cat rate) execs a second"
is "exec storm: no side-band record is lost" "$(info .ledger.lost_sideband)" 0
is "exec storm: no sample is lost" "$(info .lost)" 0
n=$(info '[.processes[] | select(.comm == "brief-bare")] | length')
check "exec storm: its processes are known by name: $n" test "$n" -ge 200
# The kernel gives -1 for the pid of a process that was already reaped. A process that ran before
# the recording and is gone when its first sample is read cannot be known either.
nameless=$(info '[.processes[] | select(.comm == "" and .pid != 4294967295)] | map(.samples) | add // 0')
all=$(info .samples)
check "exec storm: at least 99 % of the samples are of a process with a name: $nameless of $all are not" \
	test $((100 * nameless)) -le "$all"
# Most are gone before /proc can be read. The program is the first file that the exec mapped, and
# the cgroup comes from the samples. A process may lack its program if all its samples were taken in
# the exec before that mapping, or if it ran before the recording.
here=$(info '[.processes[] | select(.comm == "storm")] | .[0].cgroup')
read -r exes groups < <(info '[.processes[] | select(.comm == "brief-bare")] | map(select(.exe == "'"$(realpath "$TARGETS/brief-bare")"'").samples) as $e
	| map(select(.cgroup == "'"$here"'").samples) as $g | "\($e | add) \($g | add)"')
n=$(info '[.processes[] | select(.comm == "brief-bare")] | map(.samples) | add')
check "exec storm: at least 99 % of its samples are of a process with its program: $exes of $n" test $((100 * exes)) -ge $((99 * n))
check "exec storm: at least 99 % of a process with its cgroup, $here: $groups of $n" test $((100 * groups)) -ge $((99 * n)) -a -n "$here"
# Static and not stripped: every address of it in user space has a name.
"$NSPROF" symbolize -q --no-inline --annotate a.data >folded
read -r user bad < <(awk '/^brief-bare;/ { n = $NF; sub(/ [0-9]+$/, ""); if (/_\[k\]$/) next; all += n
	if (/;\[[^;]*\]$/) bad += n } END { print all + 0, bad + 0 }' folded)
check "exec storm: there are samples of it in user space: $user" test "$user" -ge 200
check "exec storm: at least 99 % of them have a name: $bad of $user have not" test $((100 * bad)) -le "$user"

# ---- a thousand cgroups, by all their names and by their parent's
mount=$(awk '{ for (i = 7; $i != "-"; i++); if ($(i+1) == "cgroup" && $NF ~ /perf_event/) v1 = $5; else if ($(i+1) == "cgroup2") v2 = $5 }
	END { print v1 ? v1 : v2 }' /proc/self/mountinfo)
cg=nsprof-storm-$$
if [ -n "$mount" ] && mkdir "$mount/$cg" 2>/dev/null; then
	later "kill \$crowd; wait \$crowd; for d in '$mount/$cg'/c[0-9]*/ '$mount/$cg'; do rmdir \"\$d\"; done"
	mkdir "$mount/$cg"/c{0000..0999}
	busy=(0007 0500 0993)
	for i in "${busy[@]}"; do
		sh -c "echo \$\$ >'$mount/$cg/c$i/cgroup.procs'; exec '$TARGETS/spin' 60" &
		pids+=($!)
	done
	# Not before its exec: what the shell does in the cgroup would count as another process.
	for i in "${pids[@]}"; do
		wait_for "[ \"\$(cat /proc/$i/comm)\" = spin ]" 20
	done
	# One more process, which must not be in the recording.
	"$TARGETS/spin-a" 60 &
	pids+=($!)
	names=$(printf ",$cg/c%04d" {0..999})
	(ulimit -Sn 256; exec "$NSPROF" record -e cpu-clock -F 999 -G "${names:1}" -o a.data --duration 1.5) 2>err
	is "1,000 cgroups: status, with 256 descriptors by the soft limit" $? 0
	is "1,000 cgroups: samples of those that work, and of no other" \
		"$(info '[.containers[].cgroup] | sort | join(" ")')" "$(printf "/$cg/c%s " "${busy[@]}" | sed 's/ $//')"
	is "1,000 cgroups: their counts are the count" "$(info '([.containers[].samples] | add) == .samples')" true
	is "1,000 cgroups: one process each" "$(info '[.containers[].processes] | unique | join(" ")')" 1
	unlike "1,000 cgroups: nothing from outside" "$("$NSPROF" symbolize -q --no-inline a.data)" 'aaa_leaf'
	kill "${pids[@]}"
	wait "${pids[@]}" 2>/dev/null
	rmdir "$mount/$cg"/c[0-9]*

	# Each has its own mount and pid namespace, and all of them compute.
	check "1,000 containers: they start" crowd containers 1000 "$mount/$cg"
	record_watched 3 below_used -G $cg
	uncrowd
	n=$(info .counts.containers)
	check "1,000 containers: samples of $n" test "${n:-0}" -ge 500
	is "1,000 containers: each process under its own cgroup" "$(info '[.containers[].processes] | unique | join(" ")')" 1
	is "1,000 containers: pid 1 inside" "$(info '[.processes[].nspid] | unique | join(" ")')" 1
	check "1,000 containers: $kib KiB besides the rings" test "${kib:-$((ANON_MAX + 1))}" -le $ANON_MAX
else
	skip "1,000 cgroups" "no cgroup can be made here"
fi

# ---- 4,000 threads, each with its own callchain
if crowd threads 4000; then
	record_watched 3 threads_used -a
	uncrowd
	n=$(info "[.processes[] | select(.pid == $crowd)] | length")
	is "4,000 threads: they are sampled, as one process" "$n" 1
	n=$(info .counts.threads)
	check "4,000 threads: samples of $n" test "${n:-0}" -ge 2000
	check "4,000 threads: $kib KiB besides the rings" test "${kib:-$((ANON_MAX + 1))}" -le $ANON_MAX
	# Otherwise, any thread without priority over thousands of others falls behind, and the rest
	# wait for it.
	is "4,000 threads: all of the recorder goes before them" "$nices" "-10 "
	# left and right spell the bits of the thread's number, and each of them must be in the
	# stack.
	read -r whole all < <("$NSPROF" symbolize -q --no-inline a.data | awk '/^crowd;.*;burn( |;)/ {
		n = $NF; sub(/ [0-9]+$/, ""); all += n; if (gsub(/;(left|right)/, "") == 13) whole += n } END { print whole + 0, all + 0 }')
	check "4,000 threads: whole chains, $whole of $all" test $((100 * whole)) -ge $((99 * all)) -a "$all" -gt 1000
else
	skip "4,000 threads" "they cannot be started here: $(cat crowd.err)"
fi
done_testing
