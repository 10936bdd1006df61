#!/bin/bash
# timeout: 200
# Selecting samples: --by with a list, --split-by, --filter, --merge-threads, in symbolize and in
# report. The output with a filter equals the matching lines of the output without one.
# beside others
# takes: 20
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd jq python3
TARGETS=$BUILD/tests/targets
RECODE=$BUILD/tests/tools/recode
cd "$T" || exit 1

folded() { "$NSPROF" symbolize -q "$@"; }
sum() { awk '{ n += $NF } END { print n + 0 }' "$@"; }
# Merge several folded texts.
merge() { awk '{ c = $NF; sub(/ [0-9]+$/, ""); n[$0] += c } END { for (s in n) print s, n[s] }' "$@" | LC_ALL=C sort; }
frames() { cut -d';' -f"$1" "$2" | sort -u | paste -sd' '; }

# ---- two containers, by the names of their cgroups, and a host ----
V2=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
[ -n "$V2" ] || skip_all "no cgroup2 mount"
CG=nsprof-views-$$
A=aaaaaaaaaaaa$(printf "%052d" $$)
B=bbbbbbbbbbbb$(printf "%052d" $$)
mkdir "$V2/$CG" 2>/dev/null || skip_all "cannot make a cgroup in $V2"
later "rmdir '$V2/$CG'"
for id in "$A" "$B"; do
	mkdir "$V2/$CG/$id"
	later "rmdir '$V2/$CG/$id'"
done
cat >threads.py <<'PY'
import threading, time
def work(name):
    # Of its own, Python 3.14 names a thread after its function; samples before this are left out below.
    open('/proc/thread-self/comm', 'w').write(name or open('/proc/self/comm').read().strip())
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        pass
names = ['worker-1', 'worker-12', 'pool-3-thread-4', None]
all = [threading.Thread(target=work, args=(n,)) for n in names]
for t in all: t.start()
for t in all: t.join()
PY
cat >job.sh <<JOB
(echo \$BASHPID >"$V2/$CG/$A/cgroup.procs" && exec "$TARGETS/spin" --threads 2 0.5) &
(echo \$BASHPID >"$V2/$CG/$A/cgroup.procs" && exec "$TARGETS/spin-a" 0.5) &
(echo \$BASHPID >"$V2/$CG/$B/cgroup.procs" && exec "$TARGETS/spin-b" 0.5) &
$(python3 -c 'import sys; print(sys.executable)') threads.py &
wait
JOB
"$NSPROF" record -q -e cpu-clock -F 999 -o nsprof.data -- bash job.sh 2>err || skip_all "cannot record here: $(cat err)"
folded --by container,process,thread >all
n=$(sum all)
is "nothing is lost by leading frames" "$n" "$("$NSPROF" info --json | jq .samples)"

# ---- --by ----
# shape: "container comm-pid comm-pid/tid" of some lines, without the numbers. The threads have the
# pid of their process.
shape() { cut -d';' -f1-3 "$1" | sort -u | awk -F'[;]' '{
	p = $2; t = $3; sub(/.*-/, "", p); sub(/.*-/, "", t); sub(/\/.*/, "", t)
	if (p != t) print "differ"
	gsub(/-[0-9]+(\/[0-9]+)?$/, "", $2); gsub(/-[0-9]+(\/[0-9]+)?$/, "", $3); print $1, $2, $3 }' | sort -u; }
like "container, process, thread: in that order" "$(shape all; cat err)" '^aaaaaaaaaaaa spin-a spin-a$'
like "the other container" "$(shape all)" '^bbbbbbbbbbbb spin-b spin-b$'
unlike "of one process" "$(shape all)" differ
folded --by thread,container >by
like "another order" "$(cut -d';' -f1,2 by)" '^spin-b-[0-9]+/[0-9]+;bbbbbbbbbbbb$'
is "another order: the same stacks" "$(folded --by none)" "$(cut -d';' -f3- by >x; merge x)"
is "container alone has the comm behind it" "$(folded --by container)" "$(folded --by container,comm)"
is "container,none has not" "$(folded --by container,none)" "$(folded --by container | cut -d';' -f1,3- >x; merge x)"
is "none in a list adds nothing" "$(folded --by none,comm)" "$(folded)"
for by in '' 'comm,' comm,comm colour,comm 'comm process'; do
	check_rc "--by '$by' is a usage error" 129 "$NSPROF" symbolize --by "$by"
done
# A function that is both inlined and not is shown as whichever comes first.
table() { "$NSPROF" report -q --sort symbol --limit 0 --percent-limit 0 "$@" | grep -v '^#' | LC_ALL=C sort; }
table >want
unlike "report: no leading frame is a function" "$(table --by container,process,thread)" ' (aaaaaaaaaaaa|bbbbbbbbbbbb|host|spin[-a-z0-9/]*)$'
for by in container container,process,thread container,none none,comm thread,none,process; do
	is "report --by $by: the same functions" "$(table --by $by)" "$(cat want)"
done

# ---- --filter ----
# only NAME REGEX CONDITION...: the filter leaves the lines of "all" that match REGEX.
only() {
	local name=$1 regex=$2 args=() c
	shift 2
	for c; do args+=(--filter "$c"); done
	"$NSPROF" symbolize --by container,process,thread "${args[@]}" >got 2>err
	grep -E "$regex" all >want
	check "--filter $name" cmp got want
	check "--filter $name: there is something" test -s got
	like "--filter $name: says how many" "$(cat err)" "--filter keeps $(sum want) of $n samples and leaves out $((n - $(sum want)))"
}
PIDA=$(sed -n 's/^aaaaaaaaaaaa;spin-a-\([0-9]*\);.*/\1/p' all | head -n 1)
PIDB=$(sed -n 's/^bbbbbbbbbbbb;spin-b-\([0-9]*\);.*/\1/p' all | head -n 1)
TID=$(sed -n 's/^aaaaaaaaaaaa;spin-[0-9]*;spin-[0-9]*\/\([0-9]*\);.*app_thread.*/\1/p' all | head -n 1)
only container '^aaaaaaaaaaaa;' container=aaaaaaaaaaaa
only "a glob" '^[ab]{12};' 'container=[ab]*'
only "several of one key: any" '^[ab]{12};' container=aaaaaaaaaaaa container=bbbbbbbbbbbb
only "in one argument" '^[ab]{12};' container=aaaaaaaaaaaa,container=bbbbbbbbbbbb
only cgroup '^bbbbbbbbbbbb;' "cgroup=*/$CG/bbb*"
only comm '^[^;]*;[^;]*;spin-a-[0-9/]*;' comm=spin-a
only "comm, a glob" '^[^;]*;[^;]*;spin(-a|-b)?-[0-9/]*;' 'comm=spin*'
only pid "^[^;]*;[^;]*-$PIDA;" "pid=$PIDA"
only nspid "^[^;]*;[^;]*-$PIDB;" "nspid=$PIDB"
only tid "^[^;]*;[^;]*;[^;]*/$TID;" "tid=$TID"
only "several keys: all" "^aaaaaaaaaaaa;spin-[0-9]*;" 'container=a*' comm=spin
only "several keys in one argument" "^aaaaaaaaaaaa;spin-[0-9]*;" 'container=a* comm=spin'
only everything . 'comm=*'

# By time: the parts add up to the whole.
"$NSPROF" symbolize --filter time=1000- 2>err
like "--filter time: beyond the end" "$(cat err)" "error: no sample matches --filter time=1000-; there are samples from [0-9.]+ to [0-9.]+ s"
read -r from to < <(sed -E 's/.* from ([0-9.]*) to ([0-9.]*) s.*/\1 \2/' err)
# perf's --time uses the times that script shows.
first=$("$NSPROF" script -q --ns -F time | awk 'NF { printf "%.3f", $1; exit }')
"$NSPROF" symbolize --time 0.001,0.002 >out 2>err
like "--time: in script's seconds" "$(cat err)" \
	"error: no sample matches --time 0\.001,0\.002; there are samples from ${first/./\\.} to [0-9.]+ s; --filter time=FROM-TO counts from the start"
# The first samples may be older than the recording, because the events already existed: they count
# at its begin.
check "--filter time: for no longer than there are samples" awk -v a="$from" -v b="$to" \
	-v ns="$("$NSPROF" info --json | jq '.last_sample_ns - .first_sample_ns')" 'BEGIN { exit !(b > a && b - a < ns / 1e9 + 0.001) }'
read -r t1 t2 < <(awk -v a="$from" -v b="$to" 'BEGIN { print a + (b - a) / 3, a + (b - a) * 2 / 3 }')
folded --by container,process,thread --filter "time=0-$t1" >part1
folded --by container,process,thread --filter "time=$t1-$t2" >part2
folded --by container,process,thread --filter "time=$t2-" >part3
is "--filter time: parts make the whole" "$(merge part?)" "$(merge all)"
check "--filter time: each has something" test -s part1 -a -s part2 -a -s part3
is "--filter time: two ranges" "$(folded --by container,process,thread --filter "time=-$t1" --filter "time=$t2-")" "$(merge part1 part3)"

# No match: an error that lists the available names.
none() {
	check_rc "$1: status" 1 "$NSPROF" symbolize -o none.folded "${@:3}"
	like "$1: says what there is" "$(cat check.err)" "$2"
	check "$1: writes nothing" test ! -e none.folded
}
none "no such comm" "no sample matches --filter comm=spin-c; .*: 'spin-[ab]' \([0-9]+\), 'spin-[ab]' \([0-9]+\)" --filter comm=spin-c
none "part of a name" "no sample matches --filter container=bbb; .*: 'bbbbbbbbbbbb' \([0-9]+\)" --filter container=bbb
none "no such pid" "no sample matches --filter pid=1 or pid=2; .*'$PIDA'" --filter pid=1,pid=2
none "each is there, not both" "no sample matches all --filter conditions: container=a\* matches [0-9]+, comm=spin-b matches [0-9]+" \
	--filter 'container=a*' --filter comm=spin-b
for f in comm= pid=x time=2-1 colour=red nginx; do
	check_rc "--filter $f is a usage error" 129 "$NSPROF" symbolize --filter "$f"
done
# Names of processes can contain anything.
cp "$TARGETS/spin" "$(printf '\033[2Jbad')"
"$NSPROF" record -q -e cpu-clock -F 499 -o bad.data -- "$(printf './\033[2Jbad')" 0.2
"$NSPROF" symbolize --filter comm=x bad.data 2>err >out
check "names in an error are made safe" sh -c "grep -qF \"'\\\\u{1b}[2Jbad'\" err && ! grep -q \"\$(printf '\\033')\" err"

"$NSPROF" report --filter container=bbbbbbbbbbbb >table 2>err
like "report --filter: in the head" "$(cat table)" '^# only container=bbbbbbbbbbbb$'
is "report --filter: so many samples" "$(sed -n 's/^# \([0-9]*\) samples in .*/\1/p' table)" "$(grep '^bbb' all | sum)"
like "report --filter: how many are left out" "$(cat err)" "leaves out $(grep -v '^bbb' all | sum): .* by container"
like "report --filter: what it leaves" "$(cat table)" ' bbb_leaf$'
unlike "report --filter: and nothing else" "$(cat table)" ' (aaa|app)_leaf$'
check_rc "report --filter of nothing" 1 "$NSPROF" report --filter comm=nobody
like "names what there is" "$(cat check.err)" "'spin-a'"
check_rc "report --filter of folded text" 1 "$NSPROF" report --filter comm=spin all
like "is for recordings" "$(cat check.err)" "'all' is folded text"
"$NSPROF" report -q --format svg --filter 'comm=[!<]*' -o x.svg
check "a filter in the flame graph is text" python3 -c 'import xml.dom.minidom as m; m.parse("x.svg")'
like "and says what it is of" "$(cat x.svg)" 'only comm=\[!&lt;\]\*'

# Stacks deeper than their copies are joined to frames of other samples, including samples that the
# filter leaves out.
cat >dives.sh <<'JOB'
"$1/dive" one 0.3 & "$1/dive" two 0.3 & "$1/deep" 0.6 60 & bash -c ':; exec "$0" one 0.3' "$1/dive" & wait
JOB
"$NSPROF" record -q -F 1999 --call-graph dwarf,8192 -o dives.data -- bash dives.sh "$TARGETS" 2>err || fail "dives: recorded" "$(cat err)"
"$RECODE" dives.data long.data 40 >out 2>err || fail "dives: made long" "$(cat err)"
for f in dives long; do
	folded --annotate --by process,thread $f.data >all.$f
	check "$f: there are joined stacks" grep -q '_\[joined\]' all.$f
	folded --annotate --by process,thread --filter time=-0.4 $f.data >f1
	folded --annotate --by process,thread --filter time=0.4- $f.data >f2
	is "$f: by time, parts make the whole" "$(merge f1 f2)" "$(merge all.$f)"
	for pid in $(cut -d';' -f1 all.$f | sed 's/.*-//' | sort -u); do
		is "$f: by pid" "$(folded --annotate --by process,thread --filter pid="$pid" $f.data)" "$(grep -E "^[^;]*-$pid;" all.$f)"
	done
	# Samples of dive's process before its exec are left out.
	is "$f: by comm" "$(folded --annotate --by process,thread --filter comm=dive $f.data)" "$(grep '^dive-' all.$f)"
	if [ "$(nproc)" -gt 1 ]; then
		taskset -c 0 "$NSPROF" symbolize --stats --filter time=0.3- --filter comm=d* --by thread $f.data >one 2>one.err
		"$NSPROF" symbolize --stats --filter time=0.3- --filter comm=d* --by thread $f.data >all.out 2>all.err
		check "$f: one CPU or all, the same" cmp one all.out
		check "$f: and the same said" cmp one.err all.err
	else
		skip "$f: one CPU or all, the same" "one CPU: there is but one thread"
	fi
done

# ---- --split-by ----
# split WHAT: the files are the lines of --by WHAT,process,thread, grouped by their first frame, and
# without it.
split() {
	local f bad=
	rm -rf dir
	"$NSPROF" symbolize --split-by "$1" --by process,thread -o dir 2>err
	is "--split-by $1: status" $? 0
	folded --by "$1,process,thread" >by 2>/dev/null || folded --by "$1" >by
	is "--split-by $1: one for each" "$(ls dir | wc -l)" "$(cut -d';' -f1 by | sort -u | wc -l)"
	like "--split-by $1: says so" "$(cat err)" "'dir' has $n samples in $(ls dir | wc -l) files, by $1"
	is "--split-by $1: all that there is" "$(merge dir/*)" "$(folded --by process,thread)"
	for f in dir/*; do
		LC_ALL=C sort -c "$f" || bad="$bad $f"
	done
	is "--split-by $1: each is sorted" "$bad" ""
}
split process
split thread
split comm
split container
is "a container's file" "$(cat dir/aaaaaaaaaaaa.folded)" "$(grep '^aaaaaaaaaaaa;' all | cut -d';' -f2-)"
is "another's" "$(cat dir/bbbbbbbbbbbb.folded)" "$(grep '^bbbbbbbbbbbb;' all | cut -d';' -f2-)"
echo precious >dir/other.folded
echo old >dir/aaaaaaaaaaaa.folded
check "into a folder that is there" "$NSPROF" symbolize -q --split-by container --filter 'container=a*' -o dir
is "what is not ours stays" "$(cat dir/other.folded)" precious
is "a file of the same name is replaced" "$(cat dir/aaaaaaaaaaaa.folded)" "$(folded --filter 'container=a*')"
is "no temporary file stays" "$(find dir -name '*.tmp')" ""
check_rc "--split-by without a folder" 129 "$NSPROF" symbolize --split-by comm
check_rc "--split-by onto standard output" 129 "$NSPROF" symbolize --split-by comm -o -
check_rc "--split-by of something else" 129 "$NSPROF" symbolize --split-by none -o dir
check_rc "a file for a folder" 1 "$NSPROF" symbolize --split-by comm -o all
like "is said" "$(cat check.err)" "cannot write to directory 'all': Not a directory"
check_rc "a filter of nothing: status" 1 "$NSPROF" symbolize --split-by comm -o empty --filter comm=nobody
is "and no file" "$(ls empty)" ""
# Names that lead out of the folder, and one that equals another name once it is made safe.
mkdir names
for name in ..x -rf 'a b' 'a;b' a_b; do
	cp "$TARGETS/spin" "names/$name"
	printf './names/%q 0.1\n' "$name"
done >names.sh
"$NSPROF" record -q -e cpu-clock -F 499 -o names.data -- bash names.sh
"$NSPROF" symbolize -q --split-by comm -o safe names.data
# The shell ends after a few milliseconds, and may have no sample.
is "names of files are safe" "$(ls safe | grep -vx bash.folded | paste -sd' ')" "$(printf '%s\n' a_b-2.folded a_b-3.folded a_b.folded rf.folded x.folded | sort | paste -sd' ')"
is "and hold all of it" "$(merge safe/*)" "$(folded names.data --by comm,none >x; merge x)"

# ---- --merge-threads ----
folded --filter 'comm=[wp]*' >one
like "threads have their names" "$(frames 1 one)" 'pool-3-thread-4 .*worker-1 worker-12'
folded --merge-threads >one
like "--merge-threads: one name" "$(frames 1 one)" 'pool-N-thread-N.*worker-N'
like "--merge-threads: a program's own name stays" "$(frames 1 one)" 'python3'
is "--merge-threads: the stacks of all" "$(sed 's/^[^;]*;//' one >x; merge x)" "$(folded --by none)"
is "--merge-threads: all samples" "$(sum one)" "$n"
PY=$(sed -n 's/^[^;]*;[^;]*;worker-1-\([0-9]*\)\/.*/\1/p' all | head -n 1)
folded --merge-threads --by thread --filter "pid=$PY" >one
is "--merge-threads --by thread: threads that merge are one" "$(cut -d';' -f1 one | grep -Ev '^(python3|bash|Thread-N )' | sort -u | paste -sd' ')" "pool-N-thread-N-$PY/N worker-N-$PY/N"
like "--merge-threads --by thread: others are not" "$(frames 1 one)" "python3-$PY/$PY python3-$PY/[0-9]+"
"$NSPROF" report -q --merge-threads --sort symbol >table
"$NSPROF" symbolize -q --format profile -o saved
threads() { "$NSPROF" report -q --csv --sort comm,tid,pid,symbol --limit 0 --percent-limit 0 --merge-threads "$@"; }
is "report --merge-threads of a saved profile" "$(threads saved)" "$(threads)"
check_rc "report --merge-threads of folded text" 1 "$NSPROF" report --merge-threads all
is "report --merge-threads: the same functions" "$(grep -v '^#' table)" "$("$NSPROF" report -q --sort symbol | grep -v '^#')"
done_testing
