#!/bin/bash
# Code without rows has the same callers when the binary is gone: a word that an earlier call left
# in its frame is not taken for a caller.
# beside others
. "$(dirname "$0")/../../lib.sh"

cp "$BUILD/tests/targets/stale" "$T/stale"
"$NSPROF" record -q -F 999 -e cpu-clock:u -o "$T/data" -- "$T/stale" 0.3
"$NSPROF" symbolize -q --no-inline "$T/data" >"$T/live"
like "its caller is found by the frame pointer" "$(sort -t' ' -k2 -rn "$T/live" | head -n 1)" ';main;stale_outer;stale_leaf '
unlike "not by a word in its frame" "$(cat "$T/live")" 'stale_other'
rm "$T/stale"
"$NSPROF" symbolize -q --no-inline "$T/data" >"$T/gone"
unlike "nor with the binary gone" "$(cat "$T/gone")" 'stale_other'
check "the same stacks" cmp "$T/live" "$T/gone"
done_testing
