#!/bin/bash
# A file system that stops answering stops nobody: a recording ends on time, names the file, and has
# the names of everybody else; so do the other programs that look at processes.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need
need_cmd jq
need_target spin
need_target spin-a
need_target hungfs
need_target locked
need_target mapslate
[ -e /dev/fuse ] || skip_all "no /dev/fuse here"
mkdir "$T/probe"
"$TARGETS/hungfs" "$T/probe" /bin/true now /bin/true 2>"$T/err"
rc=$?
umount -l "$T/probe" 2>/dev/null
[ $rc != 77 ] || skip_all "no FUSE here: $(<"$T/err")"

# Their cgroups, once all that is killed below is gone.
removed() { find "$CTR_V2/$CTR_CGROOT" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null; }
later 'wait_for removed 10'

# hung NAME WHEN WHERE COMMAND...: COMMAND in a mount namespace of its own and cgroup HUNG_CG, with a FUSE
# file system at WHERE. HUNG is its pid, and SERVER that of the file system. HUNG_APP, HUNG_SIZE: another program
# than spin, and how large its file is made.
hung() {
	local name=$1 when=$2 where=$3 i
	shift 3
	mkdir -p "$T/$name"
	[ -z "$HUNG_CG" ] || mkdir -p "$CTR_V2/$CTR_CGROOT/$HUNG_CG"
	unshare -m --propagation private bash -c '
		[ -z "$6" ] || echo $$ >"$6/cgroup.procs"
		mount -t tmpfs none "$1" && cp "$2" "$1/spin" && truncate -s "${HUNG_SIZE:-+0}" "$1/spin" && mkdir "$1"/{f,f2,f3,f4,upper,work,merged} && mkdir -p "$4" &&
		exec "$5" "$4" "$1/spin" "$3" "${@:7}"' \
		- "$T/$name" "$TARGETS/${HUNG_APP:-spin}" "$when" "$where" "$TARGETS/hungfs" "${HUNG_CG:+$CTR_V2/$CTR_CGROOT/$HUNG_CG}" "$@" 2>>"$T/err" &
	HUNG=$!
	# The server is its child, so the kernel ends it when its parent ends.
	later "kill -KILL \$(cat /proc/$HUNG/task/$HUNG/children) $HUNG 2>/dev/null"
	for ((i = 0; i < 100; i++)); do
		SERVER=$(cat "/proc/$HUNG/task/$HUNG/children" 2>/dev/null)
		SERVER=${SERVER%% *}
		# comm needs no memory of the process; cmdline might never be read.
		case $(cat "/proc/$HUNG/comm" 2>/dev/null) in '' | unshare | bash | hungfs | mount | cp | mkdir) ;; *) [ -z "$SERVER" ] || return ;; esac
		sleep 0.05
	done
}

# servers PID: the file systems of a process.
servers() {
	local c
	for c in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		[ "$(cat "/proc/$c/comm" 2>/dev/null)" != hungfs ] || echo "$c"
	done
}

# within SECONDS COMMAND...: it ends in time, and with status 0.
within() {
	timeout -s KILL "$1" "${@:2}" >"$T/out" 2>"$T/err"
}

# usual [LEAST]: sets usual to the ms that a recording takes beside its duration: the first one of everything, and
# twice that of one program now, so that a busy machine is no failure.
usual() {
	local begun now
	begun=$(date +%s%N)
	"$NSPROF" record -q -p "$CTR_PID" --duration 0.1 -o "$T/usual" 2>/dev/null
	now=$((2 * (($(date +%s%N) - begun) / 1000000 - 100)))
	usual=$((now > first ? now : first))
	[ "$usual" -ge "${1:-0}" ] || usual=$1
}

# starts NAME COMMAND...: in the background, in the mount namespace of $there. They wait, so they can do
# it at the same time.
there=()
STARTED=()
starts() {
	(timeout -s KILL 60 "${there[@]}" "$NSPROF" "${@:2}" >"$T/out.$1" 2>"$T/err.$1"; echo $? >"$T/rc.$1") &
	STARTED+=("$!")
}
# ended WHAT NAME STATUS
ended() { is "$1" "$(<"$T/rc.$2")" "$3"; }

ctr_rootfs "$T/root" "$TARGETS/spin:/app/server"
ctr_start other "$T/root" /app/server 120 || { fail "a container starts"; done_testing; }
ctr_computes

# ---- programs run from a file system whose server answers, and then stops
hung served usr1 "$T/served/f" "$T/served/f/app" --rest 120
served=$SERVER
# Larger than what is copied. It has no debug info, so that what is left out is the gap behind it.
HUNG_APP=spin-a HUNG_SIZE=700M hung large usr1 "$T/large/f" "$T/large/f/app" --rest 120
large=$SERVER
begun=$(date +%s%N)
check "served: it records" within 60 "$NSPROF" record -v -a -F 199 --duration 1 -o "$T/data"
first=$((($(date +%s%N) - begun) / 1000000 - 1000))
like "served: a program on FUSE has its names while the server answers" \
	"$("$NSPROF" symbolize -q "$T/data")" '^app;.*app_inner;app_leaf'
like "large: so has one of 700 MiB" "$("$NSPROF" symbolize -q "$T/data")" '^app;.*aaa_inner;aaa_leaf'
kill -USR1 "$served" "$large"
hung tmp now /tmp "$T/tmp/spin" --rest 120
hung stat getattr /tmp "$T/stat/spin" --rest 120
hung flush flush "$T/flush/f" "$T/flush/f/app" --rest 120
hung read usr1 "$T/read/f" "$T/read/f/app" --rest 120
kill -USR1 "$SERVER"
# An overlay that lies on it, and a process in a folder of it.
hung overlay usr1 "$T/overlay/f" "$(command -v sh)" -c '
	cd "$0" && mount -t overlay -o lowerdir=f,upperdir=upper,workdir=work overlay merged && cd f && exec "$0/merged/app" --rest 120' "$T/overlay"
for ((i = 0; i < 100; i++)); do [ "$(cat "/proc/$HUNG/comm")" != app ] || break; sleep 0.05; done
is "overlay: it runs" "$(cat "/proc/$HUNG/comm")" app
kill -USR1 $(servers "$HUNG")
# Nobody can look at its memory.
hung locked write "$T/locked/f" "$TARGETS/locked" "$T/locked/f/app" 120
# Five tenants with four file systems each.
mkdir -p "$T/state/containers/$(ctr_id 7)"
jq -n --arg id "$(ctr_id 7)" '{ ID: $id, Name: "/hungry", Config: { Image: "shop:1" } }' >"$T/state/containers/$(ctr_id 7)/config.v2.json"
TENANTS=()
for cg in a b c d "docker-$(ctr_id 7).scope"; do
	D=$T/tenant-${cg:0:6}
	HUNG_CG=$cg hung "tenant-${cg:0:6}" usr1 "$D/f" "$TARGETS/hungfs" "$D/f2" "$D/spin" usr1 "$TARGETS/hungfs" "$D/f3" "$D/spin" usr1 \
		"$TARGETS/hungfs" "$D/f4" "$D/spin" usr1 "$(command -v sh)" -c 'for f in f f2 f3 f4; do nice -n 19 "$0/$f/app" --rest 120 & done; wait' "$D"
	TENANTS+=("$HUNG")
done
apps() {
	local n
	n=$(cat $(for t in "${TENANTS[@]}"; do for c in $(cat "/proc/$t/task/$t/children"); do echo "/proc/$c/comm"; done; done) 2>/dev/null | grep -cx app)
	[ "$n" = 20 ]
}
wait_for apps 20 || fail "20 programs on 20 file systems run"
for t in "${TENANTS[@]}"; do kill -USR1 $(servers "$t"); done

usual
begun=$(date +%s%N)
check "several: a recording of everything ends" within 60 "$NSPROF" record -a -F 199 --duration 2 --runtime-root "$T/state" -o "$T/data"
took=$((($(date +%s%N) - begun) / 1000000))
tap_note "it took $took ms for 2 s: $(<"$T/err")"
usual "$usual"
check "several: within a second of its time" test "$took" -lt $((2000 + usual + 1000))
like "several: it says what did not answer" "$(<"$T/err")" "of container hungry could not be read: the file system, fuse.hungfs at '$T/tenant-docker/f[234]?', does not answer"
is "several: each file system once" "$(grep -o "fuse.hungfs at '[^']*'" "$T/err" | grep -v "'/tmp'" | sort | uniq -d)" ''
is "several: nsprof info counts them" "$("$NSPROF" info --json "$T/data" | jq '.ledger.unread >= 5')" true
starts symbolize symbolize -q "$T/data"
starts report report "$T/data"
starts annotate annotate -s app_leaf "$T/data"
starts script script "$T/data"
starts export export -o "$T/perf.data" "$T/data"
starts ps ps
starts doctor doctor
wait "${STARTED[@]}"
for p in symbolize report annotate script export ps; do ended "$p ends" $p 0; done
check "doctor ends" test "$(<"$T/rc.doctor")" -lt 100
cp "$T/out.symbolize" "$T/out"
like "several: a process whose memory is locked has its names" "$(<"$T/out")" '^locked;.*;locked_spin '
others=$(awk '/^server;/ { all += $NF } /^server;.*app_inner;app_leaf/ { hit += $NF } END { print (all && hit >= 0.9 * all) + 0 }' "$T/out")
is "several: the other container is complete" "$others" 1
tap_note "$(grep -c . "$T/out") stacks"

for sig in INT TERM; do
	"$NSPROF" record -q -a -F 199 -o "$T/data.$sig" 2>/dev/null &
	recorder=$!
	wait_for "[ -s '$T/data.$sig' ]" 20
	usual
	sleep 0.2
	begun=$(date +%s%N)
	kill -$sig $recorder
	wait $recorder
	took=$((($(date +%s%N) - begun) / 1000000))
	usual "$usual"
	check "SIG$sig: it ends within a second ($took ms)" test "$took" -lt $((usual + 1000))
	check "SIG$sig: the file can be read" "$NSPROF" info "$T/data.$sig"
done

# ---- a file system that always answers, but late: each new process maps a new file of it
HUNG_CG=late hung late late-8 "$T/late/f" "$TARGETS/mapslate" "$T/late/f" 60
begun=$(date +%s%N)
check "late: it records" within 60 "$NSPROF" record -v -a -F 199 --duration 2 -o "$T/data.late"
took=$((($(date +%s%N) - begun) / 1000000))
waited=$(sed -n 's/.* late or not at all, \([0-9]*\).* ms for one tenant$/\1/p' "$T/err")
check "late: the drain waits $waited ms: twice what a tenant may lose at once, 5 % of the time, and one answer" \
	test "$waited" -le $((2 * 80 + took / 20 + 80))
kill -KILL "$HUNG"

# ---- a file system that answers late at first: what nobody waited for is read again in the same recording
HUNG_CG=better hung better late-400 "$T/better/f" "$T/better/f/app" --rest 120 >"$T/lates"
"$NSPROF" record -a -F 199 --duration 5 -o "$T/data.better" 2>"$T/err.better" &
recorder=$!
asked() { [ -s "$T/lates" ]; }
wait_for asked 4 || fail "better: its file is asked for"
kill -USR1 "$SERVER"
wait "$recorder"
is "better: it records" $? 0
like "better: it has its names" "$("$NSPROF" symbolize -q --filter pid="$HUNG" "$T/data.better")" ';app_inner;app_leaf'
unlike "better: nothing is said to be missing" "$(<"$T/err.better")" "$T/better"
kill -KILL "$HUNG"

# ---- folders that a user of nsprof names, or that runtimes use
hung named now "$T/named/f" "$T/named/spin" --rest 120
there=(nsenter -m -t "$HUNG")
for opt in --symfs --debug-dir; do
	starts $opt symbolize -q $opt "$T/named/f/x" "$T/data"
done
starts record record -q -a --duration 0.1 -o "$T/there.data" --runtime-root "$T/named/f/x"
{ cat /etc/passwd; echo "hung:x:4242:4242::$T/named/f:/bin/sh"; } >"$T/passwd"
there+=(unshare -m --propagation private bash -c 'mount --bind "$0" /etc/passwd && exec "$@"' "$T/passwd")
starts ps ps --runtime-root "$T/named/f/x"
wait "${STARTED[@]}"
for opt in --symfs --debug-dir; do
	ended "$opt there: it ends" $opt 129
	like "$opt there: and says so" "$(<"$T/err.$opt")" "$opt '$T/named/f/x': Connection timed out"
done
ended "--runtime-root there: record ends" record 0
ended "--runtime-root and a user's home there: ps ends" ps 0
is "both: and says so, once for each tenant" "$(grep -c "could not be read: the file system, fuse.hungfs at '$T/named/f', does not answer" "$T/err.ps")" 1
ctr_stop other
done_testing
