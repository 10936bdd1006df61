#!/bin/bash
# timeout: 300
# All attacks at once, for ATTACK_SECS seconds (make attack: 60), against "record -a" in a directory
# that others can write to: two tenants that flood it with paths, files, mappings, names, threads,
# processes, programs and cgroups; a FUSE file system that hangs; a cgroup that shows the ID of
# somebody else's container; a program that states tables of 960 MiB; another user who plants
# outputs; secrets on stacks. Three victims in cgroups of their own are complete: each has the samples
# that its CPU time asks for, with names.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
need_cmd jq setpriv mkfifo python3 pgrep chrt
need_target flood spin secrets hungfs
LEAKS=$BUILD/tests/tools/leaks
SECS=${ATTACK_SECS:-8}
HZ=99
ANON_MAX=$((64 * 1024)) GROWTH_MAX=1000000	# KiB without the rings; bytes per second
ctr_need
cd "$T" || exit 1
chmod 711 "$T"
base=nsprof-attack-$$
CG=$CTR_V2/$base
mkdir "$CG" 2>/dev/null || skip_all "cannot make a cgroup in $CTR_V2"
PIDS=()
cleanup() {
	local p
	kill -KILL "${PIDS[@]}"
	for p in $(find "$CG" -name cgroup.procs -exec cat {} +); do kill -KILL "$p"; done
	wait_for '[ -z "$(find "$CG" -name cgroup.procs -exec cat {} +)" ]' 10
	find "$CG" -depth -type d -exec rmdir {} \;
} 2>/dev/null
later cleanup
"$NSPROF" record -q -r 1 -e cpu-clock -a -o probe -- true 2>err || skip_all "cannot record all CPUs here: $(cat err)"
note() { echo "# $*"; }

# in_cgroup NAME COMMAND...: in the background; its pid is PID.
in_cgroup() {
	mkdir -p "$CG/$1"
	(echo $BASHPID >"$CG/$1/cgroup.procs" && exec "${@:2}") &
	PID=$!
	PIDS+=("$PID")
}

# ---- the victims
WEB=$(printf 'a1%.0s' {1..32})
mkdir -p "state/docker/containers/$WEB" secret shared vault
chmod 1777 shared
victims=(alpha beta gamma)
declare -A pid_of cgroup_of=([alpha]=one [beta]=docker-$WEB.scope [gamma]=three)
for v in "${victims[@]}"; do
	cp "$TARGETS/spin" "$v"
	in_cgroup "${cgroup_of[$v]}" "./$v" --cpu 36000
	pid_of[$v]=$PID
done >/dev/null
jq -n --arg id "$WEB" --argjson pid "${pid_of[beta]}" '{ ID: $id, Name: "/web", Config: { Image: "shop:1" }, State: { Running: true, Pid: $pid } }' \
	>"state/docker/containers/$WEB/config.v2.json"
: >vault/log
for kind in stack bp exec fork; do
	in_cgroup vault "$TARGETS/secrets" "$T/vault/log" 36000000 $kind
done >/dev/null 2>&1

# ---- the attackers
mkdir paths spam hung
for kind in paths files; do in_cgroup evil1 "$TARGETS/flood" 36000 $kind "$T/paths" >"flood.1$kind" 2>&1; done
for kind in again maps names threads forks execs files; do in_cgroup evil2 "$TARGETS/flood" 36000 $kind "$T/spam" >"flood.2$kind" 2>&1; done
in_cgroup evil2 "$TARGETS/flood" 36000 cgroups "$CG/evil2" >flood.2cgroups 2>&1
cp "$TARGETS/spin" evil
in_cgroup "evil3/docker-$WEB.scope" ./evil --cpu 36000 >/dev/null
# A program whose headers state tables of 960 MiB, all of them in a sparse end.
cp "$TARGETS/spin" bomb
python3 - bomb <<'END'
import os, struct, sys
with open(sys.argv[1], "r+b") as f:
    d = f.read()
    shoff, n, strndx = struct.unpack_from("<Q", d, 40)[0], *struct.unpack_from("<HH", d, 60)
    names = struct.unpack_from("<Q", d, shoff + 64 * strndx + 24)[0]
    end = len(d)
    for i in range(n):
        name = d[names + struct.unpack_from("<I", d, shoff + 64 * i)[0]:].split(b"\0")[0]
        if name in (b".symtab", b".strtab"):
            f.seek(shoff + 64 * i + 24)
            f.write(struct.pack("<QQ", end, 480 << 20))
            end += 480 << 20
    f.truncate(end)
END
in_cgroup evil3/bomb ./bomb --cpu 36000 >/dev/null
# Two programs that run from FUSE. The first one's server stops before the recording, the other's soon.
fuse=1 SERVERS=()
for name in early late; do
	mkdir "hung/$name"
	[ -e /dev/fuse ] || { fuse=0; break; }
	in_cgroup evil3/fuse unshare -m --propagation private "$TARGETS/hungfs" "$T/hung/$name" "$TARGETS/spin" usr1 "$T/hung/$name/app" --cpu 36000 \
		>/dev/null 2>fuse.err
	wait_for 'grep -qsx app "/proc/$PID/comm"' 10 || fuse=0
	SERVERS+=("$(cat "/proc/$PID/task/$PID/children" 2>/dev/null)")
done
[ $fuse = 0 ] || kill -USR1 ${SERVERS[0]}
echo precious >secret/precious
# Another user tries to have the recording written, or read, elsewhere.
plant() {
	cd "$T/shared" || exit
	while :; do
		rm -f data data.old ./*.tmp
		for name in data data.old data.$1-1.tmp data.$1-2.tmp; do
			mkfifo -m 666 "$name"
			ln -s ../secret/precious "$name"
			mv -f "$name" data
		done
		sleep 0.1
	done 2>/dev/null
}
export T
export -f plant
wait_for '[ "$(cat flood.* | grep -c ready)" = 10 ]' 30 || fail "all floods run: $(cat flood.*)"

# ---- the recording, with a priority that other programs on the machine cannot take away
mkfifo -m 666 shared/fifo
chown 65534 shared/fifo
check_rc "an output that another user has planted is refused" 1 "$NSPROF" record -a -o shared/fifo --duration 1
cpu_ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }
now_ms() { echo $(($(date +%s%N) / 1000000)); }
declare -A before after
# Who notes when it ends must not be late either.
chrt -f 2 bash -c '"$@" 2>err & echo $! >recorder; wait $!; echo "$? $(date +%s%N)" >ended' - \
	"$NSPROF" record -r 1 -e cpu-clock -F $HZ --call-graph dwarf,8192 -a --runtime-root "$T/state/docker" --duration "$SECS" -o shared/data &
wait_for '[ -s recorder ]' 10
recorder=$(<recorder)
setpriv --reuid=65534 --regid=65534 --clear-groups bash -c "plant $recorder" &
PIDS+=($!)
wait_for '[ -s shared/data ]' 30 || fail "it begins: $(cat err)"
begun=$(now_ms)
for v in "${victims[@]}"; do before[$v]=$(cpu_ticks "${pid_of[$v]}"); done
first=$(stat -c %s shared/data)
most=0 openers=0
ms=0
for ((i = 1; ; i++)); do
	sleep 0.2
	[ $i != 10 ] || [ $fuse = 0 ] || kill -USR1 ${SERVERS[1]}
	if [ $ms = 0 ] && [ $(($(now_ms) - begun)) -ge $((SECS * 1000 - 700)) ]; then
		for v in "${victims[@]}"; do after[$v]=$(cpu_ticks "${pid_of[$v]}"); done
		ms=$(($(now_ms) - begun))
		bytes=$(($(stat -c %s shared/data) - first))
	fi
	# To its end, which has the captures.
	[ ! -s ended ] || break
	anon=$(awk '/^RssAnon:/ { print $2 }' /proc/$recorder/status 2>/dev/null)
	[ "${anon:-0}" -le $most ] || most=$anon
	[ $((i % 5)) = 0 ] || continue
	anon=$(for p in $(pgrep -P $recorder); do awk '/^RssAnon:/ { print $2 }' /proc/$p/status; for q in $(pgrep -P "$p"); do awk '/^RssAnon:/ { print $2 }' /proc/$q/status; done; done 2>/dev/null | awk '{ n += $1 } END { print n + 0 }')
	[ "$anon" -le $openers ] || openers=$anon
done
read -r rc ended <ended
took=$((ended / 1000000 - begun))
[ $ms != 0 ] || skip_all "this machine is too busy: the test itself did not run for a second"
cleanup
is "it ends by itself" $rc 0
note "$SECS s took $took ms from its first byte to its end"
check "in time, with one second more" [ $took -le $((SECS * 1000 + 1000)) ]
note "memory besides rings: $most KiB; of its openers: $openers KiB; growth: $((bytes * 1000 / ms)) bytes per second"
check "memory stays below 64 MiB" [ $most -le $ANON_MAX ]
check "the file grows by less than 1 MB per second" [ $((bytes * 1000 / ms)) -le $GROWTH_MAX ]
is "the recording is root's alone, and what others planted is as it was" "$(stat -c '%U %a %F' shared/data) $(cat secret/precious)" "root 600 regular file precious"

"$NSPROF" info --json shared/data >info.json
note "samples: $(jq -c '.ledger | { kept, cut, lost_kernel, dropped, withheld, lost_sideband }' info.json)"
is "no sample is lost" "$(jq '.ledger | .lost_kernel + .dropped + .cut' info.json)" 0
note "left out: $(jq -c '[.budgets[] | { c: (.cgroup | sub(".*/nsprof-attack-[0-9]+"; "")), k: .what, n: .count }]' info.json 2>/dev/null)"
check "the attackers are named with what was left out" jq -e --arg b "/$base/evil1" '[.budgets[] | select(.cgroup == $b)] | length > 0' info.json
is "nothing of others was left out" "$(jq -r --arg b "/$base/evil" '.budgets[] | select(.cgroup | startswith($b) | not) | .cgroup' info.json)" ""
[ $fuse = 0 ] && skip "the file system that hangs is named" "no FUSE here: $(cat fuse.err)" ||
	like "the file system that hangs is named" "$(cat err)" '/hung/early/app. of cgroup .* could not be read: .*does not answer'

check "symbolize ends" timeout -s KILL 300 "$NSPROF" symbolize -q --by container,comm shared/data -o folded
clock=$(getconf CLK_TCK)
for v in "${victims[@]}"; do
	read -r all whole bad < <(awk -F ';' -v v="$v" '$2 == v { n = $0; sub(/.* /, "", n); all += n
		if (/over_budget|no mapping/) bad += n
		if (!/;app_/) whole += n; else if (/;_start;.*main;app_outer[; ]/) whole += n; else print "# " $0 >v ".bad" }
		END { print all + 0, whole + 0, bad + 0 }' folded)
	want=$(awk "BEGIN { print int((${after[$v]} - ${before[$v]}) / $clock * $HZ) }")
	[ ! -s "$v.bad" ] || head -n 3 "$v.bad"
	note "$v: $all samples, $want by its CPU time, $whole complete, $bad without mappings"
	# The recording begins before and ends after; 4 standard errors of sampling.
	check "$v: as many samples as its CPU time asks for" awk "BEGIN { d = $all - $want; exit !($all && d * d < (4 * sqrt($want) + 0.03 * $want + $HZ / 5) ^ 2) }"
	is "$v: all of them are complete, with names" "$whole $bad" "$all 0"
done
is "only the container itself has its name" "$(awk -F ';' '$1 == "web" { print $2 }' folded | sort -u | paste -sd' ')" "beta"
check "the other cgroup of that name is there" grep -q ';evil;' folded
read -r _ planted _ found _ samples _ stacks _ withheld _ < <("$LEAKS" vault/log shared/data | tail -n 1)
note "$planted secrets, $found found; $samples samples with a user part, $stacks stacks, $withheld withheld"
is "no secret is in it" "$found" 0
check "of many" test "$planted" -ge 10000
done_testing
