#!/bin/bash
# A recording holds none of the secrets that programs have on their stacks, in their registers and
# where the kernel looks for frames: whatever else is lost, beside a flood of mappings, and without
# the right to see other processes.
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd jq
need_target secrets mapflood
cd "$T" || exit 2
# Other users may write the recordings, and start nothing here.
chmod 711 "$T"
TARGETS=$BUILD/tests/targets
LEAKS=$BUILD/tests/tools/leaks
KINDS=(stack thread bp tilted pivot chain narrow exec fork)
jobs=() lasting=() all=0

# victims KIND...: begin, and write their secrets to the file "secrets". They end with the recorder.
victims() {
	local k
	: >secrets
	lasting=()
	for k; do
		"$TARGETS/secrets" "$T/secrets" 60000 "$k" &
		jobs+=($!)
		case $k in exec | fork) ;; *) lasting+=($!) ;; esac
	done
}

# begin NAME SECONDS COMMAND...: COMMAND records to the file NAME.
begin() {
	"${@:3}" -a -e cpu-clock -F 499 --duration "$2" -o - >"$1" 2>"$1.err" &
	recorder=$!
}

# end NAME: and look for the secrets.
end() {
	wait "$recorder"
	is "$1: status" $? 0
	kill "${jobs[@]}"
	wait "${jobs[@]}" 2>"$T/ended"
	jobs=()
	read -r _ planted _ found _ samples _ stacks _ withheld _ of_lasting _ withheld_lasting < <("$LEAKS" secrets "$1" "${lasting[@]}" | tail -n 1)
	all=$((all + planted))
	echo "# $1: $planted secrets, $found found; $samples samples with a user part, $stacks stacks, $withheld withheld;" \
		"of those that live all the time, $withheld_lasting of $of_lasting"
}

# of_victims NAME: their samples, folded, and the number of those in the file "of", without the 32-bit
# ones and those that move their stack pointer without saying so.
of_victims() {
	"$NSPROF" symbolize -q --no-inline --by process "$1" 2>/dev/null | grep -E '^(secrets|exe)-[0-9]+;' | grep -vE '\[jit\]|tilted|pivot' >of
	nof=$(awk '{ n += $NF } END { print n + 0 }' of)
}

# ---- wherever they are ----
victims "${KINDS[@]}"
begin quiet 0.8 "$NSPROF" record
end quiet
is "none in stacks and registers" "$found" 0
check "there are stacks" test "$stacks" -ge 20
of_victims quiet
like "whole ones" "$(<of)" '^secrets-[0-9]+;.*;main(;frame){50};(with_bp|with_chain|work) '

victims chain bp thread
begin chains 0.8 "$NSPROF" record --call-graph fp
end chains
is "none in chains of frame pointers" "$found" 0
of_victims chains
like "where one was is an address without a mapping" "$(<of)" ';\[no mapping\];with_chain'

victims "${KINDS[@]}"
begin full 0.5 "$NSPROF" record --stacks=full
end full
check "the search finds them in whole stacks" test "$found" -ge 1000
like "of which the recorder warns" "$(head -n 1 full.err)" 'warning: --stacks=full: .*guard it like a core dump'
all=0

# ---- while records are lost ----
# The flood is another user's, so that it uses up no budget of the victims.
may_nobody=0 FLOOD=("$TARGETS/mapflood")
if for_nobody "$TARGETS/mapflood"; then
	may_nobody=1 FLOOD=("${NOBODY[@]}" "$PUBLIC/mapflood")
fi
# flood NAME COMMAND...: beside a flood, and the recorder stands still for a moment.
flood() {
	local i floods=()
	mkdir -p -m 777 "$T/deep"
	victims "${KINDS[@]}" fork fork
	begin "$1" 1.8 "${@:2}"
	for i in 1 2; do
		"${FLOOD[@]}" "$T/deep" 2 >"flooded.$i" &
		floods+=($!)
	done
	wait_for "[ -s '$1' ]" 5
	kill -STOP "$recorder"
	sleep 0.3
	kill -CONT "$recorder"
	end "$1"
	wait "${floods[@]}"
	"$NSPROF" info --json "$1" | jq .ledger >ledger
	lost=$(jq .lost_sideband ledger)
	if [ "$lost" != 0 ]; then
		pass "$1: records about mappings are lost ($lost)"
	else
		skip "$1: records about mappings are lost" "the recorder kept up with $(cat flooded.* | paste -sd+ | bc) mappings"
	fi
	is "$1: no secret" "$found" 0
	is "$1: the ledger has the number of stacks that were not kept" "$(jq .withheld ledger)" "$withheld"
}

flood root "$NSPROF" record -m 8M
# Withheld are the stacks of programs of 20 ms that are gone when the loss is met, however many that
# are. Of a process that lives, the mappings are read again: 0 of 1,320 samples in five runs on a
# machine with a load of 50, while 38 of the others were withheld.
check "root: stacks of programs that live are kept ($withheld_lasting of $of_lasting are not)" test $((20 * withheld_lasting)) -le "$of_lasting"
of_victims root
echo "# root: $nof samples of the victims, $(grep -F '[broken_stack]' of | awk '{ n += $NF } END { print n + 0 }') of them not whole"

# An old kernel has one hidepid for all of a pid namespace's mounts.
may=perfmon
hide() {
	unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' - \
		setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all,+$may --inh-caps=-all,+$may --ambient-caps=-all,+$may "$@"
}
if [ $may_nobody = 0 ]; then
	skip "CAP_PERFMON only" "$no_nobody"
elif [ "$(printf '%s\n' 5.8 "$(uname -r)" | sort -V | head -n 1)" != 5.8 ] || ! hide true 2>"$T/err"; then
	skip "CAP_PERFMON only" "this kernel or setpriv does not know it, or /proc cannot be mounted: $(head -n 1 "$T/err")"
else
	is "the victims are hidden" "$(hide ls -d /proc/$$ 2>/dev/null)" ""
	flood hidden hide "$NSPROF" record
	check "hidden: processes that run already have no stacks" test "$withheld" -ge 1
	like "hidden: it says so, and what helps" "$(<hidden.err)" \
		"warning: $withheld of [0-9]+ samples ha(s|ve) no user stack, .*: record as root or with CAP_SYS_PTRACE\$"
	like "info, too" "$("$NSPROF" info hidden)" "^ +$withheld  samples without their user stack: "
	like "and --stats" "$("$NSPROF" symbolize --stats hidden 2>&1 >/dev/null)" "^ +$withheld +[0-9.]+ %  mappings of the process unknown, "
fi
check "of more than 100,000 secrets ($all)" test "$all" -ge 100000
done_testing
