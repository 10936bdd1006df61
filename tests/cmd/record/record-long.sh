#!/bin/bash
# timeout: 400
# beside others
# takes: 85
# Long runs: --switch-output, --switch-max-files, --max-size and the flight recorder (--overwrite).
# Each file is readable alone, after the recorded programs are gone.
. "$(dirname "$0")/../../lib.sh"
need_cmd python3 jq

cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi
rm -f probe
S=$BUILD/tests/targets

# files PREFIX: the files with time stamps, the oldest first.
files() {
	find . -maxdepth 1 -name "$1.2*" | sort
}

# ledger FILE KEY: a count of the file's ledger.
ledger() {
	"$NSPROF" info --json "$1" | sed 's/.*"ledger"://' | grep -o "\"$2\":[0-9]*" | head -n 1 | sed 's/.*://'
}

# fold FILE >FOLDED: fold it; it has to be whole and undamaged.
fold() {
	"$NSPROF" symbolize "$1" 2>sym.err && ! grep -Eq 'cut|damaged' sym.err
}

# samples <FOLDED [REGEX]: the samples of stacks that match, or of all.
samples() {
	awk -v re="${1-}" '$0 ~ re { n += $NF } END { print n + 0 }'
}

# catches_usr2 PID: does it catch SIGUSR2? Before that the signal would end it.
catches_usr2() {
	(($(sed -n 's/^SigCgt:[^0-9a-f]*/0x/p' "/proc/$1/status") >> 11 & 1))
}

# each_alone WHAT PREFIX COMM REGEX: every file alone has samples of COMM with stacks that match, at
# least 99 % over all files. Samples of its exec and of the dynamic linker, which take several ms on
# a slow host, do not count. The samples are those of its ledger, and none was lost.
STARTS=';(__x64_sys_execve|_dl_start);'
each_alone() {
	local f all hit kept lost n=0 bad='' sum=0 alls=0 hits=0
	for f in $(files "$2"); do
		fold "$f" >folded || bad+="$f: $(cat sym.err)"$'\n'
		all=$(grep "^$3;" folded | grep -vE "$STARTS" | samples)
		hit=$(grep "^$3;" folded | grep -vE "$STARTS" | samples "$4")
		kept=$(ledger "$f" kept)
		lost=$(ledger "$f" lost_kernel)
		n=$((n + 1))
		sum=$((sum + kept))
		[ "$(samples <folded)" = "$kept" ] || bad+="$f: $(samples <folded) samples, ledger $kept"$'\n'
		[ "$lost" = 0 ] || bad+="$f: $lost lost"$'\n'
		# The last one may have begun after everything was over.
		grep -q "^$3;" folded || [ "$f" = "$(files "$2" | tail -n 1)" ] || bad+="$f: no samples of $3"$'\n'
		((hit * 10 >= all * 9)) || bad+="$f: $hit of $all rooted"$'\n'
		alls=$((alls + all))
		hits=$((hits + hit))
	done
	check "$1: $hits of $alls rooted" test $((hits * 100)) -ge $((alls * 99)) -a "$alls" -gt 0
	is "$1: each of $n files alone" "$bad" ""
	check "$1: there are several" test "$n" -ge 2
	is "$1: they have all samples together" "$sum" \
		"$(sed -n 's/.* files, the last.*(\([0-9]*\) samples.*/\1/p' err)"
}

chain='^[^;]*;_start;.*main;app_outer;app_middle;app_inner;app_leaf|^[^;]*;_start;.*main;app_outer'

# ---- by time: a process that ran before, maps nothing any more, and is gone with its binary
cp "$S/spin" victim
./victim 30 &
pid=$!
"$NSPROF" record -F 999 -p $pid --switch-output=0.5s --duration 2.2 -o a 2>err
is "by time: status" $? 0
kill $pid
wait $pid 2>/dev/null
rm victim
each_alone "by time" a victim "$chain"
check "by time: nothing else is left" test ! -e a
is "by time: names as perf's" "$(files a | grep -Evc '^\./a\.[0-9]{16}$')" 0
like "by time: said for each" "$(cat err)" "^nsprof record: wrote [0-9.]+ MB to 'a\.[0-9]{16}' \([0-9]+ samples, [0-9]+ bytes each; none lost\)$"
first=$(files a | head -n 1)
"$NSPROF" info "$first" >info.out
like "by time: a file says when it began" "$(cat info.out)" '^begun +[0-9]{4}-'
rm -f a.2*

# ---- by size, a command from its start, all CPUs busy, 64 KiB copies
# It runs until there are two files: how fast they fill depends on other load.
cat >busy <<-'EOF'
	"$1/spin" 60 & spin=$!
	"$1/deep" 60 & deep=$!
	while [ "$(find . -name 'b.2*' | wc -l)" -lt 2 ]; do sleep 0.1; done
	kill $spin $deep
	wait
	exit 0
EOF
"$NSPROF" record -F 999 --switch-output=20K -o b -- sh busy "$S" 2>err
is "by size: status of the command" $? 0
each_alone "by size" b spin "$chain"
# After the limit only follow the block that passed it, and the rows.
check "by size: not much more" test -z "$(files b | while read -r f; do
	[ "$(stat -c %s "$f")" -lt 400000 ] || echo "$f"; done)"
rm -f b.2* busy

# ---- by signal; with -a, processes that ended in the first file are not in the second. Samples of
# the last millisecond before the signal may be: the drain leaves records that may still be
# incomplete.
cp "$S/spin-a" early
cp "$S/spin-b" late
"$NSPROF" record -F 999 -a --switch-output -o c -- sh -c './early 1; sleep 0.1; kill -USR2 $PPID; until grep -q wrote err; do sleep 0.02; done; ./late 1' 2>err
is "by signal: status" $? 0
rm early late
is "by signal: two files" "$(files c | wc -l)" 2
first=$(files c | head -n 1) second=$(files c | tail -n 1)
fold "$first" >1
fold "$second" >2
check "by signal: the first has the first" grep -q '^early;.*;aaa_leaf' 1
unlike "by signal: and not the second" "$(cat 1)" '^late;'
check "by signal: the second has the second" grep -q '^late;.*;bbb_leaf' 2
unlike "by signal: and nothing of the first" "$(cat 2)" '^early;'
unlike "by signal: not even its facts" "$(strings -a "$second")" 'early'
is "by signal: none lost" "$(ledger "$first" lost_kernel)$(ledger "$second" lost_kernel)" 00
rm -f c.2*

# ---- a cgroup: its path is in each file, even after it is gone
if [ "$(id -u)" = 0 ] && cg=$(findmnt -rnt cgroup2 -o TARGET | head -n 1) && [ -n "$cg" ] &&
	mkdir "$cg/nsl$$" 2>/dev/null; then
	later "rmdir $cg/nsl$$"
	sh -c "echo \$\$ >'$cg/nsl$$/cgroup.procs'; exec '$S/spin' 30" &
	pid=$!
	sleep 0.2
	"$NSPROF" record -F 999 -a -G nsl$$ --call-graph dwarf,16384 --switch-output=0.5s --duration 1.7 -o g 2>err
	kill $pid
	wait $pid 2>/dev/null
	rmdir "$cg/nsl$$"
	each_alone "-G" g spin "$chain"
	bad=''
	for f in $(files g | head -n -1); do
		"$NSPROF" info --json "$f" | grep -q "\"containers\":\[{\"cgroup\":\"/nsl$$\"" || bad+="$f "
	done
	is "-G: the cgroup's name is in each" "$bad" ""
	rm -f g.2*
else
	skip "-G" "no cgroup can be made"
fi

# ---- a JIT in both files, its map gone
"$S/jitloop" 30 jitted map &
pid=$!
wait_for "grep -qs jitted /tmp/perf-$pid.map" 5
"$NSPROF" record -F 999 -p $pid --switch-output=0.5s --duration 1.2 -o j 2>err
kill $pid
wait $pid 2>/dev/null
rm -f /tmp/perf-$pid.map
each_alone "JIT" j jitloop ';main;run_jit;jitted|;main;'
bad=''
for f in $(files j | head -n -1); do
	fold "$f" | grep -q ';main;run_jit;jitted' || bad+="$f "
done
is "JIT: named in each" "$bad" ""
rm -f j.2*

# ---- --switch-max-files
echo mine >k.1999010100000000
"$S/spin" 60 &
pid=$!
"$NSPROF" record -F 499 --switch-output=0.2s --switch-max-files=2 -p $pid -o k 2>err &
rec=$!
check "max files: more are written" wait_for '[ "$(grep -c "wrote .* to .k\." err)" -ge 4 ]' 30
kill -INT $rec
wait $rec 2>/dev/null
kill $pid
wait $pid 2>/dev/null
is "max files: two are left" "$(files k | wc -l)" 2
is "max files: the last ones" "$(files k | sed 's/^..//')" \
	"$(sed -n "s/.*wrote [0-9.]* MB to '\(k\.[0-9]*\)'.*/\1/p" err | tail -n 2)"
is "max files: nobody else's" "$(cat k.1999010100000000)" mine
for f in $(files k); do
	fold "$f" >folded || break
done
# A guest's vDSO may read the clock in a function that is missing in its symbol table: one of a few
# samples is there.
is "max files: they are whole" "$(grep -v "without a name in '\[vdso\]'" sym.err)" ""
rm -f k.2*

# ---- an older recording, a link
echo older >l
"$NSPROF" record -q --switch-output=10s -o l -- true
is "an old file is kept" "$(cat l.old)" older
mkdir elsewhere
ln -s elsewhere/m m
"$NSPROF" record -q -F 499 --switch-output=0.3s -o m -- "$S/spin" 0.8
check "behind a link" test "$(find elsewhere -name 'm.2*' | wc -l)" -ge 2

# ---- --max-size
"$NSPROF" record -F 999 --max-size=5K -o n -- "$S/spin" 30 2>err
is "max size: status" $? 0
like "max size: said" "$(cat err)" '^nsprof record: --max-size is reached: the recording ends$'
check "max size: whole" fold n
check "max size: $(stat -c %s n) bytes" test "$(stat -c %s n)" -ge 5120 -a "$(stat -c %s n)" -lt 100000
"$NSPROF" record -F 999 --max-size=5K -o - -- "$S/spin" 30 2>err >o
is "max size of a pipe: status" $? 0
check "max size of a pipe: whole" fold o

# ---- the flight recorder: only the last phases
cp "$S/spin-a" early
cp "$S/spin-b" middle
cp "$S/spin" late
"$NSPROF" record -F 999 --overwrite=1s -o q -- sh -c './early 1.5; ./middle 2; kill -USR2 $PPID; ./middle 0.5; ./late 2.5' 2>err
is "overwrite: status" $? 0
rm early middle late
is "overwrite: one dump" "$(files q | wc -l)" 1
check "overwrite: and the end" test -s q
dump=$(files q)
fold "$dump" >1
fold q >2
check "overwrite: the dump has what was before it" grep -q '^middle;.*main;bbb_outer' 1
unlike "overwrite: but not what was long before" "$(cat 1)" '^early;'
unlike "overwrite: nor what came later" "$(cat 1)" '^late;'
check "overwrite: the end has the end" grep -q '^late;_start;.*main;app_outer' 2
unlike "overwrite: and not the middle" "$(cat 2)" '^middle;'
is "overwrite: the dump's ledger" "$(ledger "$dump" kept)" "$(samples <1)"
is "overwrite: the end's ledger" "$(ledger q kept)" "$(samples <2)"
is "overwrite: none lost" "$(ledger "$dump" lost_kernel)$(ledger q lost_kernel)" 00
span=$("$NSPROF" info --json q | grep -o '"duration":[0-9.]*' | sed 's/.*://')
check "overwrite: $span s are kept, 1 to 1.3 asked for" awk "BEGIN { exit !($span >= 0.9 && $span < 1.35) }"
# late is in each segment. The shell may be there, too: it has a sample once it has used a
# millisecond in total.
is "overwrite: processes are counted once" "$("$NSPROF" info --json q | python3 -c '
import collections, json, sys
info = json.load(sys.stdin)
pids = collections.Counter((p["comm"], p["pid"]) for p in info["processes"])
print(info["counts"]["processes"] - len(pids), [n for (comm, _), n in pids.items() if comm == "late"])')" "0 [1]"
rm -f q q.2*

"$S/spin" 30 &
pid=$!
"$NSPROF" record -F 999 --overwrite --switch-output --switch-max-files=2 -p $pid -o r 2>err &
rec=$!
wait_for "catches_usr2 $rec" 20
sleep 0.8
kill -USR2 $rec
sleep 0.5
kill -USR2 $rec
wait_for '[ "$(files r | wc -l)" = 2 ] && [ "$(grep -c wrote err)" = 2 ]' 5
kill -INT $rec
wait $rec 2>/dev/null
is "two dumps: status" $? 130
kill $pid
wait $pid 2>/dev/null
is "two dumps and the end, the last two kept" "$(files r | wc -l)$(test -e r && echo r)" 2
one=$(sed -n 's/.*wrote .*(\([0-9]*\) samples.*/\1/p' err | head -n 1)
two=$(sed -n 's/.*wrote .*(\([0-9]*\) samples.*/\1/p' err | sed -n 2p)
check "two dumps: $one and then $two samples: the first ones are in both" test "$two" -gt "$one"
for f in $(files r); do
	fold "$f" >folded
	all=$(samples <folded) hit=$(samples "$chain" <folded)
	check "two dumps: $hit of $all rooted in $f" test $((hit * 100)) -ge $((all * 99)) -a "$all" -gt 0
done
rm -f r.2*

# ---- memory (many more files and segments: tests/unit/record/run/test_spool.c)
# A sanitized build keeps up to 256 MiB of freed memory, and stack frames, to detect their use.
small="${ASAN_OPTIONS-}:quarantine_size_mb=1:thread_local_quarantine_size_kb=64:detect_stack_use_after_return=0"
"$S/spin" 30 &
pid=$!
ASAN_OPTIONS=$small "$NSPROF" record -q -F 999 --overwrite=0.8s -p $pid -o s &
rec=$!
ASAN_OPTIONS=$small "$NSPROF" record -q -F 999 --switch-output=0.1s --switch-max-files=2 -p $pid -o t &
rot=$!
rss() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$1/status"; }
sleep 4
o1=$(rss $rec) r1=$(rss $rot)
sleep 3
o2=$(rss $rec) r2=$(rss $rot)
kill -INT $rec $rot
wait $rec $rot 2>/dev/null
kill $pid
wait $pid 2>/dev/null
check "overwrite: $o1 KiB after 4 s, $o2 after 7, 0.8 kept" test "$o2" -le $((o1 + 2048))
check "rotation: $r1 KiB after 4 s, $r2 after 7, ten files in each" test "$r2" -le $((r1 + 2048))
rm -f s t.2*

# ---- killed in the middle
"$S/spin" 30 &
pid=$!
"$NSPROF" record -q -F 999 --switch-output -p $pid -o u 2>err &
rec=$!
wait_for "catches_usr2 $rec" 20
sleep 0.8
kill -USR2 $rec
# It has its name while captures may still be written to it.
wait_for '[ "$("$NSPROF" info --json "$(files u)" 2>/dev/null | jq .complete)" = true ]' 20
# A block is written when it is half a second old: wait until the file has more than a header and
# settings.
wait_for '[ "$(stat -c %s u)" -gt 1000 ]' 20
kill -KILL $rec
wait $rec 2>/dev/null
kill $pid
wait $pid 2>/dev/null
check "killed: the file before is whole" eval 'fold $(files u) >folded'
"$NSPROF" symbolize u >folded 2>sym.err
like "killed: the last one is cut" "$(cat sym.err)" 'is cut'
check "killed: and readable" test "$(samples <folded)" -gt 0
rm -f u u.2*

# ---- SIGUSR2 without any of these options, and before anything was recorded
"$NSPROF" record -o v -- sh -c 'for i in 1 2 3; do sleep 0.2; kill -USR2 $PPID; done; sleep 0.2' 2>err
is "SIGUSR2 for nothing: status" $? 0
is "SIGUSR2 for nothing: said once" "$(grep -c 'SIGUSR2 is ignored' err)" 1

"$NSPROF" record -D 600 -F 999 --switch-output -o v -- sh -c 'sleep 0.2; kill -USR2 $PPID; sleep 0.2' 2>err
is "SIGUSR2 before the first sample: status" $? 0

# From the first block in the file to the end of the recorder: some signals arrive when it no longer
# handles them.
rm -f v
"$NSPROF" record -q -F 999 -o v -- sh -c 'sleep 0.5; exit 7' 2>err &
rec=$!
wait_for '[ -s v ]' 10
while kill -USR2 $rec 2>/dev/null; do :; done
wait $rec
is "SIGUSR2 in the end: status of the command" $? 7
check "SIGUSR2 in the end: whole" fold v
rm -f v v.2*

# ---- a disk that becomes full
if [ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=240k none small 2>/dev/null; then
	later "umount $T/small"
	"$NSPROF" record -F 999 --switch-output=0.5s -o small/w -- "$S/deep" 20 2>err
	is "full disk: status" $? 1
	like "full disk: said" "$(cat err)" "No space left on device"
	is "full disk: said once for a file" "$(grep 'No space left' err | sort | uniq -d)" ""
	whole=$(sed -n "s/.*wrote .* to '\([^']*\)'.*/\1/p" err)
	check "full disk: some were complete: $(wc -w <<<"$whole")" test -n "$whole"
	bad=''
	for f in $whole; do
		fold "$f" >folded || bad+="$f: $(cat sym.err) "
	done
	is "full disk: and are" "$bad" ""
	rm -f small/*
	echo older >small/w
	dd if=/dev/zero of=small/fill bs=4k 2>dd.err
	"$NSPROF" record -F 499 --overwrite -o small/w -- sh -c 'sleep 0.2; kill -USR2 $PPID; sleep 0.3' 2>err
	is "nowhere to dump: status" $? 1
	is "nowhere to dump: said for both dumps" "$(grep -c 'No space left' err)" 2
	is "nowhere to dump: the older recording is in its place" "$(cat small/w)" older
	is "nowhere to dump: nothing else is left" "$(ls small)" "fill
w"
	umount small
else
	skip "a full disk" "no tmpfs can be mounted"
fi

# ---- files that are moved or removed while they are written
mkdir was
"$NSPROF" record -e cpu-clock -F 499 --switch-output=0.3s -o was/x -- "$S/spin" 60 >out 2>err &
recorder=$!
wait_for '[ -n "$(cd was && files x)" ]' 20
mv was is
wait $recorder
is "folder moved: status" $? 1
is "folder moved: said once" "$(grep -c "error: cannot rename 'was/x' to 'was/x" err) $(grep -c error: err)" "1 1"
like "folder moved: so is the file" "$(cat err)" "^nsprof record: warning: 'was/x' was moved during the recording$"
bad=
for f in is/x*; do
	fold "$f" >folded || bad+="$f: $(cat sym.err)"
done
is "folder moved: all files are whole" "$bad" ""
"$NSPROF" record -e cpu-clock -o removed -- sh -c 'until [ -s removed ]; do sleep 0.01; done; rm removed' >out 2>err
like "file removed: said" "$(cat err)" "^nsprof record: warning: 'removed' was removed during the recording: the recording is lost$"

# ---- impossible options
refused() { # WHAT STATUS REGEX ARGUMENT...
	local what=$1 status=$2 re=$3
	shift 3
	"$NSPROF" record "$@" -- true >out 2>err
	is "$what: status" $? "$status"
	like "$what: said" "$(head -n 1 err)" "$re"
}
for v in 0.5 10 0s 0K 10X 1x 5KB -1s inf nan 1e30d; do
	refused "--switch-output=$v" 129 "invalid value '$v' for --switch-output" --switch-output=$v -o x
done
for v in 10 0M 5T lots; do
	refused "--max-size=$v" 129 "invalid size '$v'" --max-size=$v -o x
done
refused "--overwrite=10" 129 "invalid time '10'" --overwrite=10 -o x
refused "--switch-max-files=0" 129 "invalid number of files '0'" --switch-output --switch-max-files=0 -o x
refused "--switch-max-files alone" 129 "needs --switch-output" --switch-max-files=2 -o x
refused "--overwrite by size" 129 "SIGUSR2" --overwrite --switch-output=1M -o x
refused "--overwrite and --max-size" 129 "exclude each other" --overwrite --max-size=1M -o x
refused "many files into one pipe" 129 "standard output takes only one" --switch-output -o -
refused "a flight recorder into a pipe" 129 "standard output takes only one" --overwrite -o -
refused "many files into a device" 129 "'/dev/null' is not a regular file" --switch-output -o /dev/null
check "nothing was made" test ! -e x

done_testing
