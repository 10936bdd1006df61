#!/bin/bash
# nsprof record on kernels that lack features (tests/targets/oldkernel.c refuses them as such
# kernels do): it goes on without them, reports that once, and does not claim more than it knows.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd jq
S=$BUILD/tests/targets/spin
OLD=./oldkernel.so
cd "$T" || exit 1
[ -x "$S" ] && cp "$BUILD/tests/targets/oldkernel.so" . || skip_all "test programs are not built: make test-targets"
"$NSPROF" record -v -e cpu-clock:u -o probe -- true 2>have || skip_all "cannot record here: $(cat have)"

# without WORDS ARGUMENT...: record to a.data on a kernel without these features; the messages are
# in err.
without() {
	local words=$1
	shift
	rm -f a.data
	LD_PRELOAD=$OLD OLDKERNEL=$words "$NSPROF" record -v -e cpu-clock:u -F 499 -o a.data "$@" 2>err </dev/null
}
info() { "$NSPROF" info --json a.data | jq -r "$1"; }

while IFS=: read -r word what; do
	if grep -q "the kernel lacks $what" have; then
		skip "without $word" "this kernel has none itself"
		continue
	fi
	without "$word" -- "$S" 0.4
	is "without $what: status" $? 0
	is "without $what: said once, and of nothing else" "$(diff <(grep -o 'the kernel lacks .*' have) <(grep -o 'the kernel lacks .*' err) | grep '^[<>]')" \
		"> the kernel lacks $what"
	check "without $what: samples" test "$(info .samples)" -gt 0
	like "without $what: with names" "$("$NSPROF" symbolize -q --no-inline a.data)" 'app_outer;app_middle;app_inner;app_leaf'
done <<'END'
lost:its own count of lost samples
sample_cgroup:cgroup ids in samples
cgroup:cgroup names
ksymbol:names of BPF programs
END
without lost,sample_cgroup,cgroup,ksymbol,namespaces,bpf -- "$S" 0.4
is "without all of it: status" $? 0
is "without all of it: each said once" "$(grep -o 'the kernel lacks .*' err | sort | uniq -d)" ''
check "without all of it: all said" test "$(grep -c 'the kernel lacks' err)" -ge 5
like "without all of it: with names" "$("$NSPROF" symbolize -q --no-inline a.data)" 'app_outer;app_middle;app_inner;app_leaf'

# ---- groups of inherited events cannot be read (before 6.12)
LD_PRELOAD=$OLD OLDKERNEL=inherit_read "$NSPROF" record -o a.data --call-graph none -e '{cpu-clock/freq=999/u,page-faults:u}:S' -- "$S" 0.3 2>err
is "a group that is not inherited: status" $? 0
like "a group that is not inherited: said" "$(<err)" "cannot read the group of 'cpu-clock' in threads and processes that start later"
check "a group that is not inherited: samples of both" jq -e '.events | .[0].samples > 0 and .[1].samples > 0' <("$NSPROF" info --json a.data)

# ---- no count of lost samples (5.15 to 5.19): the ledger has the losses from records, and a
# message says that there may be more
rm -f a.data
LD_PRELOAD=$OLD OLDKERNEL=5.15 "$NSPROF" record -e cpu-clock:u -F 4999 -m 2 --call-graph none -o a.data -- sh -c ': >started; exec "$0" 3' "$S" 2>err &
recorder=$!
# The file exists before the program starts: a recorder stopped by then would not start it.
wait_for '[ -e started ]' 20
kill -STOP $recorder
sleep 1
kill -CONT $recorder
wait $recorder
is "losses without a count: status" $? 0
is "losses without a count: it has none" "$(info .ledger.have_format_lost)" false
check "losses without a count: lost, $(info .ledger.lost_kernel)" test "$(info .ledger.lost_kernel)" -gt 0
is "losses without a count: by second and CPU the same" \
	"$(info '(.tally.columns | index("lost")) as $c | [.tally.rows[][$c]] | add')" "$(info .ledger.lost_kernel)"
is "losses without a count: said once that there may be more" "$(grep -Ec 'lost,( [^;]*,)? perhaps more at the end' err)" 1
like "losses without a count: info says it, too" "$("$NSPROF" info a.data)" 'in all, as far as the kernel reported losses \(it has no count of them\)'

if [ "$(id -u)" = 0 ] && can_sample_kernel; then
	LD_PRELOAD=$OLD OLDKERNEL=bpf "$NSPROF" record -q -e cpu-clock -F 999 -o a.data -- "$S" --kernel 0.5 2>err
	like "without BPF programs to ask: kernel names by /proc/kallsyms" "$("$NSPROF" symbolize -q --no-inline --annotate a.data)" ';[a-z_0-9]+_\[k\] '
else
	skip "without BPF programs to ask" "needs root and kernel samples"
fi
done_testing
