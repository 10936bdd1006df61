#!/bin/bash
# beside others
# takes: 25
# A container of a real runtime: runc with a bundle and its own cgroup, profiled by cgroup (relative
# and absolute name) and by pid, alive and after "runc delete". By then perf 6.1 only has the names
# of its copies in ~/.debug.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd runc jq
ctr_need
NAME=nsprof-runc-$$
BUNDLE=$T/bundle
STATE=$T/runc

ctr_rootfs "$BUNDLE/rootfs" "$TARGETS/spin"
(cd "$BUNDLE" && runc spec && jq --arg cg "/$CTR_CGROOT/$NAME" 'del(.process.rlimits) | .process.terminal = false
	| .process.args = ["/app/spin", "60"] | .root.readonly = false | .linux.cgroupsPath = $cg' config.json >c && mv c config.json)
runc --root "$STATE" run -d --bundle "$BUNDLE" "$NAME" </dev/null >"$T/log" 2>&1 || skip_all "runc cannot run here: $(tail -n 1 "$T/log")"
later "runc --root '$STATE' delete -f '$NAME'; for d in /sys/fs/cgroup/*/$CTR_CGROOT; do rmdir \"\$d\"; done"
PID=$(jq .init_process_pid "$STATE/$NAME/state.json")
CHAIN=$("$TARGETS/spin" --chain)

ctr_record "$T/rel" -a -G "$CTR_CGROOT/$NAME" -F 499 --duration 1
ctr_record "$T/abs" -G "$CTR_V2/$CTR_CGROOT/$NAME" -F 499 --duration 1
ctr_record "$T/parent" -F 499 -G "/$CTR_CGROOT" --duration 1
perf_record "$T/perf" -F 499 --call-graph dwarf -p "$PID" -- sleep 1.2
ctr_record "$T/pid" -p "$PID" -F 499 --duration 1
perf_wait "$T/perf"
symbolize_all() {
	for f in rel abs parent pid; do
		"$NSPROF" symbolize -q --by container "$T/$f" >"$T/$f.$1"
		check "$1, by $f: the whole chain" has_chain "$T/$f.$1" "$CHAIN" 95
		check "$1, by $f: the container is named" grep -q "^[^;]*$NAME;spin;_start;" "$T/$f.$1"
	done
}
symbolize_all alive
cp "$STATE/$NAME/state.json" "$T/state.json"
check "runc delete" runc --root "$STATE" delete -f "$NAME"
rm -rf "$BUNDLE"
symbolize_all gone
perf_fold "$T/perf"
perf_not "gone, by pid: the whole chain" has_chain "$T/perf.perf" "$CHAIN" 95

# One that begins while the whole host is recorded: its cgroup has an arbitrary name, and runc
# writes its state after the cgroup exists. The recorder also looks at dead ones, again and again,
# which takes time.
state=$(jq -c '.id = "dead" | .init_process_pid = 4194304' "$T/state.json")
(cd "$STATE" && mkdir dead-{1..500} && for dir in dead-*; do echo "${state/\"dead\"/\"$dir\"}" >"$dir/state.json"; done)
BUNDLE=$T/bundle3
NAME=nsprof-late-$$
ctr_rootfs "$BUNDLE/rootfs" "$TARGETS/spin-a"
(cd "$BUNDLE" && runc spec && jq --arg cg "/$CTR_CGROOT/anything" 'del(.process.rlimits) | .process.terminal = false
	| .process.args = ["/app/spin-a", "--cpu", "0.5"] | .root.readonly = false | .linux.cgroupsPath = $cg' config.json >c && mv c config.json)
# Not before the recorder has looked at the existing ones, which takes a second on a slow machine.
ctr_record "$T/late" -a -F 999 --runtime-root "$STATE" -- \
	sh -c 'sleep 1.5; exec "$@"' - runc --root "$STATE" run --bundle "$BUNDLE" "$NAME" </dev/null
runc --root "$STATE" delete -f "$NAME" 2>/dev/null
"$NSPROF" symbolize -q --by container,comm "$T/late" >"$T/late.folded"
is "begun later: its program has the container's name" "$(grep ';aaa_leaf' "$T/late.folded" | grep -e "$CTR_CGROOT" -e "$NAME" |
	cut -d';' -f1,2 | sort -u)" "$NAME;spin-a"
like "begun later: and info" "$("$NSPROF" info "$T/late")" "$NAME"

# One with a state that appears long after it began: all of its samples have the name, in every
# output.
mkdir "$T/hidden"
cat >"$T/hidden.sh" <<HIDDEN
sleep 1
runc --root '$T/hidden' run -d --bundle '$BUNDLE' $NAME-2 </dev/null >/dev/null 2>&1
sleep 0.3
cp -r '$T/hidden/$NAME-2' '$STATE/'
sleep 1
HIDDEN
(cd "$BUNDLE" && jq '.process.args = ["/app/spin-a", "60"]' config.json >c && mv c config.json)
ctr_record "$T/named" -a -F 999 --runtime-root "$STATE" -- bash "$T/hidden.sh"
runc --root "$T/hidden" delete -f "$NAME-2" 2>/dev/null
rm -rf "${STATE:?}/$NAME-2"
ours() { grep ';aaa_leaf' "$1" | grep -e "$CTR_CGROOT" -e "$NAME-2"; }
"$NSPROF" symbolize -q --by container "$T/named" >"$T/named.folded"
is "named later: one container" "$(ours "$T/named.folded" | cut -d';' -f1 | sort -u)" "$NAME-2"
"$NSPROF" symbolize -q --by container --filter "container=$NAME-2" "$T/named" >"$T/named.only"
is "named later: a filter takes all of it" "$(ours "$T/named.only")" "$(ours "$T/named.folded")"
cat "$T/named" | "$NSPROF" symbolize -q --by container - >"$T/named.piped"
is "named later: and through a pipe" "$(ours "$T/named.piped")" "$(ours "$T/named.folded")"
is "named later: and info has one row" "$("$NSPROF" info --json "$T/named" |
	jq -c "[.containers[] | select(.cgroup | contains(\"$CTR_CGROOT\")) | .name]")" "[\"$NAME-2\"]"

# runc itself does not belong to the container while it starts and enters it. The cgroup has the
# name form of engines.
ID=$(printf '%064x' $$)
BUNDLE=$T/bundle2
ctr_rootfs "$BUNDLE/rootfs" "$TARGETS/spin"
# A name that only looks like runc's: a program's comm is arbitrary.
cp "$TARGETS/spin" "$BUNDLE/rootfs/app/runc:[2:INIT]"
(cd "$BUNDLE" && runc spec && jq --arg cg "/$CTR_CGROOT/$ID" 'del(.process.rlimits) | .process.terminal = false
	| .process.args = ["/app/spin", "60"] | .root.readonly = false | .linux.cgroupsPath = $cg' config.json >c && mv c config.json)
cat >"$T/start.sh" <<START
for i in 1 2 3 4 5; do
	runc --root '$STATE' run -d --bundle '$BUNDLE' $NAME-2 </dev/null >/dev/null 2>&1
	runc --root '$STATE' exec $NAME-2 /app/spin 0.05 </dev/null
	runc --root '$STATE' exec $NAME-2 '/app/runc:[2:INIT]' 0.05 </dev/null
	runc --root '$STATE' delete -f $NAME-2
done
START
ctr_record "$T/start" -G "$CTR_CGROOT" -F 4999 -- bash "$T/start.sh"
for how in "" --no-inline; do
	"$NSPROF" symbolize -q $how --by container,comm "$T/start" >"$T/start.folded"
	# Linux 6.1 gives exiting tasks no cgroup id, and a process without any other sample has none.
	is "helpers: one container" "$(grep -v '^\[no cgroup\];.*;do_exit' "$T/start.folded" | cut -d';' -f1 | sort -u)" "${ID:0:12}"
	like "helpers: runc init is one" "$(cut -d';' -f2,3 "$T/start.folded")" '^\[runtime_helper\];runc:\[2:INIT\]$'
	is "helpers: all that is runc's, and nothing else" \
		"$(grep -c ';\(nsexec\|runtime\.[a-z]*\|runc\.[^;]*\)[; ]' <(grep -v '^[^;]*;\[runtime_helper\];' "$T/start.folded"))" 0
	is "helpers: the workload is none" "$(grep -c '^[^;]*;\[runtime_helper\];.*app_leaf' "$T/start.folded")" 0
	like "helpers: whatever it is called" "$(cat "$T/start.folded")" '^[^;]*;runc:\[2:INIT\];.*app_leaf'
done
"$NSPROF" report -q --by container "$T/start" >"$T/table"
unlike "helpers: the label is no function" "$(cat "$T/table")" 'runtime_helper'
"$NSPROF" report -q --by container,none --limit 0 --percent-limit 0 "$T/start" >"$T/table"
unlike "helpers: nor without the comm" "$(cat "$T/table")" 'runtime_helper'
# Two containers in one cgroup, which runc allows: samples belong to either, and their name shows
# that.
for i in a b; do
	mkdir -p "$T/same-$i"
	ctr_rootfs "$T/same-$i/rootfs" "$TARGETS/spin-$i:/app/prog"
	(cd "$T/same-$i" && runc spec && jq --arg cg "/$CTR_CGROOT/same" 'del(.process.rlimits) | .process.terminal = false
		| .process.args = ["/app/prog", "60"] | .linux.cgroupsPath = $cg' config.json >c && mv c config.json)
	runc --root "$STATE" run -d --bundle "$T/same-$i" "$NAME-same-$i" </dev/null >"$T/log" 2>&1 || break
	later "runc --root '$STATE' delete -f '$NAME-same-$i'; rmdir /sys/fs/cgroup/*/$CTR_CGROOT/same /sys/fs/cgroup/*/$CTR_CGROOT"
done
if [ "$(runc --root "$STATE" list -q | grep -c same-)" = 2 ]; then
	check "two in one cgroup" "$NSPROF" record -F 499 --runtime-root "$STATE" --container "$NAME-same-b" -o "$T/same" -- \
		bash -c "computes $(jq .init_process_pid "$STATE/$NAME-same-a/state.json") 200; computes $(jq .init_process_pid "$STATE/$NAME-same-b/state.json") 200"
	like "it is said" "$(cat "$T/check.err")" "the containers $NAME-same-a\+$NAME-same-b share the cgroup '/$CTR_CGROOT/same'"
	"$NSPROF" symbolize -q --by container -o "$T/same.folded" "$T/same"
	is "samples have both names" "$(cut -d';' -f1 "$T/same.folded" | sort -u)" "$NAME-same-a+$NAME-same-b"
	check "of either program" grep -q 'aaa_leaf ' "$T/same.folded"
	check "and of the other" grep -q 'bbb_leaf ' "$T/same.folded"
else
	skip "two in one cgroup" "this runc does not do that: $(tail -n 1 "$T/log")"
fi
done_testing
