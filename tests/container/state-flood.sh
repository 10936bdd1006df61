#!/bin/bash
# Users whose state folders hold more than anybody can read: links to one large file by the hundred,
# JSON that grows when it is parsed, folders by the thousand. ps and doctor end in time and say whose
# state it is, and the containers of others keep their names.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq python3
ctr_need
LINKS=7001 FOLDERS=7002 GROWS=7003 VICTIM=7004
ID=$(ctr_id f1)
CG=$CTR_CGROOT/user.slice/user-$VICTIM.slice/user@$VICTIM.service/user.slice/libpod-$ID.scope

mkdir -p "$CTR_V2/$CG"
bash -c 'echo $$ >"$1/cgroup.procs"; exec sleep 600' - "$CTR_V2/$CG" &
RUNS=$!
over() {
	kill "$RUNS"
	wait "$RUNS"
	find "$CTR_V2/$CTR_CGROOT/user.slice" -depth -type d -exec rmdir {} +
} 2>/dev/null
later over
wait_for "grep -qx sleep /proc/$RUNS/comm" 5
mkdir -p "$T/home/.local/share/containers/storage/overlay-containers"
jq -n --arg id "$ID" '[{ id: $id, names: ["victim"], metadata: "{}" }]' >"$T/home/.local/share/containers/storage/overlay-containers/containers.json"

cat >"$T/flood.py" <<'FLOOD'
import os, sys
links, folders, grows = ('/run/user/' + uid for uid in sys.argv[1:4])
for d in links + '/runc', folders + '/crun', grows + '/runc':
    os.makedirs(d)
with open(links + '/big', 'w') as f:		# valid, 8 MiB less a few bytes
    f.write('{"cgroup_paths":{%s"":"/"}}' % ''.join('"%07d":"%050d",' % (i, i) for i in range(8300000 // 63)))
for i in range(300):
    os.mkdir('%s/runc/c%d' % (links, i))
    os.link(links + '/big', '%s/runc/c%d/state.json' % (links, i))
for i in range(20000):
    os.mkdir('%s/crun/c%d' % (folders, i))
with open(grows + '/arrays', 'w') as f:
    f.write('[' + '[],' * 2700000 + '[]]')
for i in range(300):
    os.mkdir('%s/runc/c%d' % (grows, i))
    os.link(grows + '/arrays', '%s/runc/c%d/state.json' % (grows, i))
FLOOD
cat >"$T/inside" <<INSIDE
set -e
mkdir "$T/over"
mount -t tmpfs tmpfs "$T/over"
mkdir "$T/over/upper" "$T/over/work"
mount -t overlay overlay -o lowerdir=/etc,upperdir="$T/over/upper",workdir="$T/over/work" /etc
mkdir -p /run/user
mount -t tmpfs -o mode=755 tmpfs /run/user
for u in $LINKS $FOLDERS $GROWS; do echo "u\$u:x:\$u:\$u::/nonexistent:/bin/sh"; done >>/etc/passwd
echo "victim:x:$VICTIM:$VICTIM::$T/home:/bin/sh" >>/etc/passwd
python3 "$T/flood.py" $LINKS $FOLDERS $GROWS
: >"$T/ready"
TIMEFORMAT='%U %S'
time "$NSPROF" ps --json --interval 0.01 >"$T/ps" 2>"$T/ps.err"
time "$NSPROF" doctor >"$T/doctor" 2>&1 || true
for sig in TERM INT; do
	"$NSPROF" ps --watch --interval 0.01 >"$T/watch" 2>&1 &
	p=\$!
	sleep 0.3
	kill -\$sig \$p
	wait \$p || echo "status \$?"
done >"$T/ended"
INSIDE
unshare -m --propagation private bash "$T/inside" 2>"$T/err"
[ -e "$T/ready" ] || skip_all "no mount namespace with an /etc of its own here: $(tail -n 1 "$T/err")"
mapfile -t took < <(grep -E '^[0-9.]+ [0-9.]+$' "$T/err")
is "ps: whose container" "$(jq -r --arg id "$ID" '.containers[] | select(.id == $id) | .name' "$T/ps")" victim
for i in 0 1; do
	# CPU time, not time that other programs took: minutes without limits.
	is "$(cut -d ' ' -f $((i + 1)) <<<"ps doctor"): CPU time (${took[i]-none} s)" "$(awk '{ print ($1 + $2 < 2) }' <<<"${took[i]-9 9}")" 1
done
like "ps: whose state is not read to the end" "$(<"$T/ps.err")" "^nsprof ps: warning: container state of uid $LINKS, $FOLDERS, $GROWS is only read in part, [0-9]+ files are left out: "
unlike "ps: not the victim's" "$(<"$T/ps.err")" "$VICTIM"
like "doctor: the same" "$(<"$T/doctor")" "container names.* container state of uid $LINKS, $FOLDERS, $GROWS is only read in part"
is "SIGTERM and SIGINT end ps --watch" "$(<"$T/ended")" ""
done_testing
