#!/bin/bash
# Containers with hostile names (tools/names.py): as cgroups, as lxc's ids, and in the state of
# docker. A reader of nsprof ps and of a recording's outputs sees all of each, and completion offers
# none that a shell would take apart.
# beside others
# waits
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd python3
ctr_need
cd "$T" || exit 1
touch pids
# They are no children of this shell, and may take a moment to end.
names_end() {
	read -rd '' -a PIDS <pids
	kill -KILL "${PIDS[@]}"
	wait_for '[ -z "$(find "$CTR_V2/$CTR_CGROOT" -name cgroup.procs -exec cat {} +)" ]' 30
	ctr_end
}
later names_end

# A cgroup for each name that can be one, with a process that does nothing, and some that compute.
python3 - "$TOP/tests/tools" "$CTR_V2/$CTR_CGROOT" "$T" "$TARGETS/spin" <<'PY' || { fail "containers are made"; done_testing; }
import json, os, subprocess, sys
sys.path.insert(0, sys.argv[1])
import names
root, out, spin = os.fsencode(sys.argv[2]), sys.argv[3], sys.argv[4]
made = {}

def start(cgroup, *command):
    path = os.path.join(root, cgroup)
    os.makedirs(path, exist_ok=True)
    p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(p.pid, file=open(os.path.join(out, 'pids'), 'a'))
    open(os.path.join(path, b'cgroup.procs'), 'w').write(str(p.pid))
    return p.pid

for i, name in enumerate(names.SHORT):
    # The kernel accepts no line feed.
    if b'\n' in name or b'/' in name or name.startswith(b'.'):
        continue
    start(b'lxc.payload.' + name, *([spin, '100'] if i % 16 == 0 else ['sleep', '100']))
    made[names.escape(name)] = True
for i, name in enumerate(names.SHORT[::8]):
    cid = 'abc%09x' % i + '0' * 52
    pid = start(b'docker-' + cid.encode() + b'.scope', spin, '100')
    folder = os.path.join(out, 'docker/containers', cid)
    os.makedirs(folder)
    # JSON has no other bytes than UTF-8.
    if b'\xff' not in name and name.decode('utf-8', 'replace').encode() == name:
        json.dump({'ID': cid, 'Name': '/' + name.decode(), 'Config': {'Image': name.decode()}, 'State': {'Running': True, 'Pid': pid}},
                  open(os.path.join(folder, 'config.v2.json'), 'w'))
json.dump(list(made), open(os.path.join(out, 'made'), 'w'))
PY
"$NSPROF" ps --interval 0.05 --runtime-root "$T/docker" >text 2>text.err
"$NSPROF" ps --json --interval 0.05 --runtime-root "$T/docker" >json 2>json.err
for kind in containers pods cgroups; do
	"$NSPROF" ps --list-names=$kind --runtime-root "$T/docker" >>offered 2>>offered.err
done
"$NSPROF" record -v -e cpu-clock -F 999 -G "$CTR_CGROOT" --runtime-root "$T/docker" -o data >record 2>record.err &
r=$!
wait_for '[ -s data ]' 30
ctr_computes "$CTR_CGROOT" 200
kill -INT $r
wait $r
ctr_rest
"$NSPROF" record -v -e cpu-clock -F 199 --container zz --duration 0.1 -o no.data >none 2>none.err
"$NSPROF" info data >info 2>info.err
"$NSPROF" symbolize --by container,none -o folded data 2>folded.err
"$NSPROF" report --limit 0 --percent-limit 0 --sort container,cgroup --csv data >csv 2>csv.err
"$NSPROF" report --limit 0 --percent-limit 0 --sort container --no-children data >report 2>report.err
"$NSPROF" doctor >doctor 2>doctor.err
check "each character of each name can be seen" python3 - "$TOP/tests/tools" <<'PY'
import csv, glob, json, re, sys
sys.path.insert(0, sys.argv[1])
import names
text = {p: names.seen(open(p, 'rb').read(), p) for p in glob.glob('*') if p not in ('data', 'no.data', 'docker')}
made = set(json.load(open('made')))
rows = json.loads(text['json'])['containers']
ids = {r['id'] for r in rows if r['runtime'] == 'lxc'}
assert made <= ids, made - ids
# In the table blanks are escapes, too, and every line has the same columns.
lines = text['text'].split('\n')[:-1]
head = lines[0]
# Other tests have containers, too.
ours = [l for l in lines[1:] if ' lxc ' in l or ' docker ' in l]
assert len(ours) >= len(made)
for what in ('NAME', 'ID'):
    at = head.index(what)
    for line in lines[1:]:
        n = next(n for n in range(len(line)) if names.columns(line[:n]) == at)
        assert line[n - 1] == ' ' and line[n] != ' ', line
assert len({l.split()[-6] + l.split()[-7] for l in ours}) == len(ours), 'two containers look the same'
# What no shell takes for anything but itself, and nsprof for no list or option.
assert re.fullmatch(r'(?:[A-Za-z0-9_.+@:/%][A-Za-z0-9_.+@:/%-]*\n)+', text['offered']), [l for l in text['offered'].split('\n') if not re.fullmatch('[A-Za-z0-9_.+@:/%-]*', l)]
rows = list(csv.DictReader(open('csv')))
assert rows, text['record.err']
assert not [r for r in rows if re.match('[=+@-]', r['container'])]
print('# %d containers, %d with samples' % (len(ids), len(rows)))
PY
done_testing
