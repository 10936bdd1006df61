#!/bin/bash
# All CPUs: nothing is lost while they are busy, the recorder is left out, and idle ones belong to no
# program.
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd jq
need_target spin
cd "$T" || exit 1
"$NSPROF" record -q -a -o probe -- true 2>err || skip_all "cannot record all CPUs here: $(cat err)"

"$BUILD/tests/targets/spin" --threads "$(nproc)" 60 &
spin=$!
# Under another name: others may be recording on this machine.
cp "$BUILD/bin/nsprof-record" myself
./myself -F 999 -a --duration 1 -o t.data 2>err
# The recorder's own samples count: on a slow machine it uses much of a CPU.
n=$("$NSPROF" info --json t.data | jq .ledger.taken)
like "all CPUs busy, 999 Hz, 64 KiB: none lost" "$(cat err)" 'none lost'
check "all CPUs busy: $n samples in 1 s" [ "$n" -ge $(($(nproc) * 800)) ]
unlike "the recorder itself is left out" "$("$NSPROF" symbolize -q t.data)" '^myself'
kill $spin
wait $spin 2>/dev/null

# Idle CPUs have pid 0, which belongs to no program. They are sampled while they are idle, as
# counted in clock ticks of all CPUs.
cat >idle <<'E'
#!/bin/sh
awk '$1 == "cpu" { print $5 }' /proc/stat
sleep 1
awk '$1 == "cpu" { print $5 }' /proc/stat
E
{ read -r before; read -r after; } < <(./myself -q --include-self -e cpu-clock -F 999 -a -o t.data -- sh idle)
if [ $((after - before)) -ge 10 ]; then
	like "idle CPUs are not the recorder" "$("$NSPROF" symbolize -q --no-inline --by process t.data)" "^swapper-0;"
else
	skip "idle CPUs are not the recorder" "no CPU is idle here"
fi
done_testing
