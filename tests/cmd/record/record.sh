#!/bin/bash
# Recording for real: exit status, signals, files, targets, losses. All CPUs: record-all.sh.
# Recordings that cannot start: record-errors.sh.
# beside others
# takes: 20
. "$(dirname "$0")/../../lib.sh"
need_cmd jq

cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi

# burn TENTHS: a busy shell. At the end it adds its CPU time in ns to "used": on a busy machine that
# is less.
cat >burn <<'E'
#!/bin/bash
end=$((${EPOCHREALTIME/./} + $1 * 100000))
while ((${EPOCHREALTIME/./} < end)); do :; done
read -r ns _ </proc/$$/schedstat && echo "$ns" >>used
E
chmod +x burn

# samples [FILE]: the number in the closing line.
samples() {
	sed -n 's/.*(\([0-9]*\) samples\{0,1\}, .*/\1/p' "${1:-err}"
}

# half: half of the samples for the CPU time in "used" at 999 Hz, at least one; then reset it.
half() {
	awk '{ n += $1 } END { n = int(n / 1e9 * 999 / 2); print n ? n : 1 }' used
	rm -f used
}

# comms FILE: the commands in a recording, in one line.
comms() {
	"$NSPROF" symbolize "$1" 2>sym.err >sym.out || cat err sym.err >&2
	sed 's/;.*//' sym.out | sort -u | tr '\n' ' '
}

# whole FILE: complete, without warnings except about missing names.
whole() {
	"$NSPROF" symbolize "$1" >sym.out 2>sym.err && ! grep -Eq 'cut|damaged' sym.err
}

# ---- the command's exit status
"$NSPROF" record -q -o a.data -- sh -c 'exit 7'
is "status of the command" $? 7
"$NSPROF" record -q -o a.data -- sh -c 'kill -KILL $$'
is "command ended by a signal" $? 137
"$NSPROF" record -q -o a.data -p $$ -- sh -c 'exit 5'
is "status of a timer" $? 5
"$NSPROF" record -q -o a.data -- sh -c 'kill -SEGV $$'
is "command ended by SIGSEGV" $? 139

# ---- closing lines, options that make no difference, quiet
rm -f used
"$NSPROF" record -v -F 999 -o a.data -- ./burn 3 2>err >out
is "status 0" $? 0
like "closing line, with -v: woken" "$(cat err)" '^nsprof record: woken [0-9]+ times?, [0-9.]+ s, [0-9]+ CPUs?$'
like "closing line: wrote" "$(cat err)" "^nsprof record: wrote [0-9.]+ MB to 'a.data' \([0-9]+ samples, [0-9]+ bytes each; none lost(; all together [0-9.]+ % of the CPU time that the kernel counted)?\)$"
is "nothing on stdout" "$(cat out)" ""
check "samples came" [ "$(samples)" -ge "$(half)" ]
check "the recording is whole" whole a.data
is "mode of the file" "$(stat -c %a a.data)" 600
"$NSPROF" record -q -z3 -B -N -T -P -s -R --buildid-all --buildid-mmap --namespaces --all-cgroups \
	--sample-cpu --synth all --aio --affinity sys --mmap-flush 1 --proc-map-timeout 500 -k mono \
	--running-time --sample-identifier --tail-synthesize --num-thread-synthesize 2 --threads --timestamp-boundary \
	--no-bpf-event --no-buffering --no-buildid-mmap -g -e cpu-clock -o b.data -- true >out 2>&1
is "perf's moot options: status" $? 0
is "perf's moot options say nothing" "$(cat out)" ""
is "build info" "$("$NSPROF" record --build-info)" "record: masked-stacks dwarf zstd libelf"

# ---- the existing file
echo first >c.data
"$NSPROF" record -q -o c.data -- true
is "an old file is kept" "$(cat c.data.old)" first
: >d.data
"$NSPROF" record -q -o d.data -- true
check "an empty one is not" [ ! -e d.data.old ]
mkdir elsewhere
echo second >elsewhere/e.data
ln -s elsewhere/e.data e.data
"$NSPROF" record -q -o e.data -- true
is "behind a link, it is kept too" "$(cat elsewhere/e.data.old)" second
check "and the link leads to the new one" whole elsewhere/e.data
"$NSPROF" record -q -- ./burn 1 >plain.out
check "default name" [ -s nsprof.data ]

# ---- standard output
"$NSPROF" record -F 999 -o - -- sh -c 'echo hello; ./burn 2' 2>err >p.data
is "-o -: the command speaks on stderr" "$(grep -c '^hello$' err)" 1
check "-o -: the recording is whole" whole p.data
rm -f nsprof.data
"$NSPROF" record -F 999 -- sh -c 'echo hello; ./burn 2' 2>err | cat >q.data
check "a pipe for stdout gets it" whole q.data
check "and no file is made" [ ! -e nsprof.data ]
"$NSPROF" record -F 4000 --stacks=full -o - -- ./burn 20 2>err | head -c 10 >/dev/null
is "reader of the pipe ends: status" "${PIPESTATUS[0]}" 1
like "reader of the pipe ends: said" "$(cat err)" "cannot write 'standard output': Broken pipe"

# ---- signals
for sig in INT:130 TERM:143 HUP:129 QUIT:131; do
	./burn 100 &
	victim=$!
	# Undo ignoring of signals by "&", or by nohup before this test.
	rm -f s.data
	env --default-signal="${sig%:*}" "$NSPROF" record -F 499 -o s.data -p $victim 2>err &
	pid=$!
	wait_for '[ -s s.data ]' 20
	sleep 0.3
	kill -"${sig%:*}" $pid
	wait $pid 2>/dev/null
	is "SIG${sig%:*} with -p: status" $? "${sig#*:}"
	check "SIG${sig%:*} with -p: whole" whole s.data
	check "SIG${sig%:*} with -p: has samples" [ -s sym.out ]
	kill $victim
	wait $victim 2>/dev/null
done
rm -f s.data
"$NSPROF" record -F 499 -o s.data -- sh -c 'echo $$ >child; exec ./burn 100' 2>err &
pid=$!
wait_for '[ -s s.data ] && [ -s child ]' 20
sleep 0.3
kill -INT $pid
wait $pid 2>/dev/null
is "SIGINT with a command: status" $? 130
check "SIGINT with a command: whole" whole s.data
check "SIGINT with a command: it is ended too" eval '! kill -0 $(cat child)'

# ---- time
"$NSPROF" record -F 999 --duration 0.3 -o t.data -- ./burn 100 2>err
is "duration: status" $? 0
n=$(samples)
check "duration: $n samples at 999 Hz in 0.3 s" [ "$n" -ge 1 -a "$n" -le 340 ]
"$NSPROF" record -F 999 -D 400 -o t.data -- ./burn 10 2>err
n=$(samples)
check "delay: $n samples at 999 Hz in 1 s less 0.4" [ "$n" -ge 1 -a "$n" -le 640 ]

# ---- processes and threads
# start ARGUMENT...: record process $victim to t.data, and return when sampling is on.
start() {
	rm -f t.data
	"$NSPROF" record -o t.data -p $victim "$@" 2>err &
	pid=$!
	wait_for '[ -s t.data ]' 20
}
./burn 100 &
victim=$!
start -F 499
computes $victim 50
kill $victim
wait $pid
is "the target ends: status" $? 0
check "the target ends: samples" [ "$(samples)" -ge 1 ]
"$NSPROF" record -F 999 -o t.data -- sh -c './burn 2 & ./burn 2; wait' 2>err
like "children are in" "$(comms t.data)" '(^| )burn '
rm -f go
sh -c 'until [ -e go ]; do sleep 0.05; done; ./burn 4; sleep 0.1' &
victim=$!
start -F 999
: >go
wait $pid
like "children that start later are in" "$(comms t.data)" '(^| )burn '
rm go
sh -c 'until [ -e go ]; do sleep 0.05; done; ./burn 4; sleep 0.1' &
victim=$!
start -i -F 999
: >go
wait $pid
unlike "not so with -i" "$(comms t.data)" '(^| )burn '
./burn 100 &
victim=$!
"$NSPROF" record -q -C 0 -F 999 -p $victim -o t.data --duration 0.3
is "one process on one CPU" $? 0
kill $victim

# ---- losses are counted
rm -f used
"$NSPROF" record -F 999 -m 1 -o t.data -- ./burn 5 2>err
like "a ring that is too small: said before" "$(cat err)" 'ring of 4 KiB does not hold one sample'
like "a ring that is too small: counted" "$(cat err)" 'warning: ([0-9]+) of \1 samples w(as|ere) lost .*-m larger than 4K'
lost=$(sed -n 's/.*: \([0-9]*\) of .* samples w[aser]* lost.*/\1/p' err)
check "all $lost samples of 0.5 s at 999 Hz are counted" [ "${lost:-0}" -ge "$(half)" -a "${lost:-0}" -le 600 ]
"$NSPROF" record -F 999 -m 1 -o t.data -- sh -c './burn 5 & ./burn 5; wait' 2>err
lost=$(sed -n 's/.*: \([0-9]*\) of .* samples w[aser]* lost.*/\1/p' err)
check "those of children too: $lost" [ "${lost:-0}" -ge "$(half)" ]
# A copy is full if readable memory follows the stack: main()'s stack is followed by the
# environment. Between the two the kernel leaves up to 8 KiB at random, possibly with a page that
# was never touched. -R turns that off.
if setarch -R true 2>err; then
	FILLER=$(printf %020000d 0) "$NSPROF" record -F 999 --call-graph dwarf,16384 -o t.data -- setarch -R ./burn 3 2>err
	check "copies are full" test "$("$NSPROF" info --json t.data | jq .truncated)" -gt 0
	check "and whole" [ "$("$NSPROF" symbolize t.data 2>>err | grep -c truncated_stack)" = 0 ]
	unlike "so nothing is said of copies" "$(cat err)" 'cop(y|ies)'
else
	skip "copies are full" "$(cat err)"
fi
"$NSPROF" record -F 999 --call-graph dwarf,64 -o t.data -- ./burn 3 2>err
unlike "a full copy alone says nothing while recording" "$(cat err)" 'copies'
like "but where it ends a stack" "$("$NSPROF" symbolize t.data 2>&1 >/dev/null)" 'incomplete, mostly: stack copy too small .*dwarf,65528'
"$NSPROF" record -o t.data -p $$ --duration 0.2 2>err
like "nothing ran: said" "$(cat err)" 'warning: no samples(: nothing ran|, though [0-9.]+ ms)'

# ---- a disk that is full
"$NSPROF" record -o /dev/full -- true 2>err
is "full from the start: status" $? 1
like "full from the start: said" "$(cat err)" "cannot write '/dev/full': No space left on device"
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=256k none small 2>/dev/null; then
	later "umount '$T/small'"
	"$NSPROF" record -F 4000 --stacks=full -o small/x.data -- sh -c 'while :; do ls -lR /usr/bin; done >/dev/null' 2>err
	is "full on the way: status" $? 1
	like "full on the way: said" "$(cat err)" "cannot write 'small/x.data': No space left on device; make room"
	like "full on the way: what is left" "$(cat err)" "MB, is in 'small/x.data' and can be read"
	"$NSPROF" symbolize small/x.data >sym.out 2>sym.err
	check "full on the way: what is left has samples" [ -s sym.out ]
else
	skip "full on the way" "no tmpfs can be mounted"
fi

# ---- cgroups
if [ "$(id -u)" != 0 ]; then
	skip "cgroups" "needs root"
	done_testing
fi
cg=$(awk '{ for (i = 7; $i != "-"; i++); if ($(i+1) == "cgroup" && $NF ~ /perf_event/) v1 = $5; else if ($(i+1) == "cgroup2") v2 = $5 }
	END { print v1 ? v1 : v2 }' /proc/self/mountinfo)
name=nsprof-test-$$
if [ -z "$cg" ] || ! mkdir -p "$cg/$name/inner" "$cg/$name-b" 2>/dev/null; then
	skip "cgroups" "no cgroup can be made here"
	done_testing
fi
later "rmdir '$cg/$name/inner' '$cg/$name' '$cg/$name-b'"
later "kill \$(cat '$cg/$name/inner/cgroup.procs' '$cg/$name-b/cgroup.procs'); sleep 0.2"
cp burn burn-in
cp burn burn-b
sh -c "echo \$\$ >'$cg/$name/inner/cgroup.procs'; exec ./burn-in 600" &
sh -c "echo \$\$ >'$cg/$name-b/cgroup.procs'; exec ./burn-b 600" &
./burn 600 &
later "kill $!"
sleep 0.3
"$NSPROF" record -F 499 -a -G $name -o t.data --duration 0.5 2>err
is "a cgroup with what is below it, and nothing else" "$(comms t.data)" "burn-in "
# Compared with the CPU time that the process itself used meanwhile, which is at least the sampled
# time.
ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$(cat "$cg/$name/inner/cgroup.procs")/stat"; }
from=$(ticks)
"$NSPROF" record -F 499 -G "/$name/inner,$name" -o t.data -- sleep 1 2>err
n=$(samples) used=$(($(ticks) - from))
check "nested names do not count twice: $n samples in $used ticks" \
	[ "$n" -le $(((used + 2) * 499 * 5 / (4 * $(getconf CLK_TCK)))) ]
"$NSPROF" record -G "$cg/$name" -G $name-b -e cpu-clock -o t.data --duration 0.5 2>err
is "two cgroups" "$(comms t.data)" "burn-b burn-in "

done_testing
