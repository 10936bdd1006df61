#!/bin/bash
# Recordings without samples: one line says why, and no other contradicts it. What was not seen has no figures either.
# beside others
. "$(dirname "$0")/../lib.sh"

need_cmd python3
cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -e cpu-clock:u -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi

# none NAME STATUS REGEX ARGUMENT...: of all lines that give a reason there is one, and it matches.
none() {
	local name=$1 want=$2 regex=$3 rc why
	shift 3
	"$NSPROF" record -o none.data "$@" </dev/null >out 2>err
	rc=$?
	why=$(grep -E 'no samples|nothing ran|in no sample|were lost|could not keep up' err)
	if [ $rc != "$want" ] || ! grep -q '(0 samples, ' err; then
		fail "$name" "status $rc, not $want, or there are samples: $(cat err)"
	elif [ "$(wc -l <<<"$why")" != 1 ] || ! grep -Eq -e "$regex" <<<"$why"; then
		fail "$name" "not one line that matches $regex: $(cat err)"
	else
		pass "$name"
	fi
}

none "all were lost" 0 "([0-9]+) of \1 samples were lost because the rings were full" -e page-faults:u -c 2 -m 4K -- true
unlike "nothing is said of what they stood for" "$(<err)" "all together"
"$NSPROF" info none.data >info
like "info says how many" "$(<info)" "samples lost by the kernel"
unlike "and no share" "$(<info)" "in these samples' periods"
check "info --json neither" python3 -c '
import json, subprocess, sys
d = json.loads(subprocess.check_output([sys.argv[1], "info", "--json", "none.data"]))
assert d["ledger"]["lost_kernel"] > 0 and d["ledger"]["count"] > 0, d
assert "coverage" not in d["ledger"], d
assert d["counts_by_cpu"] and not any("coverage" in c for c in d["counts_by_cpu"]), d' "$NSPROF"

done_testing
