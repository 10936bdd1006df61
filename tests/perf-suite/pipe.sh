#!/bin/bash
# A recording through a pipe, direct or by way of a file, has the contents of one in a file.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"

spin=("$TARGETS/spin" --cpu 0.2)
like "record | report" "$(record - -F 499 -g -- "${spin[@]}" | report -)" 'app_leaf'
like "record | script" "$(record - -F 499 -g -- "${spin[@]}" | script -)" ' app_leaf'
# As in perf: without a file name, output goes to a pipe if stdout is one, and input comes from a
# pipe if stdin is one.
like "record | script, nothing said of the pipe" "$(tool record -q -e cpu-clock -F 499 -g -- "${spin[@]}" | tool script)" ' app_leaf'
like "record | report, nothing said of the pipe" "$(tool record -q -e cpu-clock -F 499 -g -- "${spin[@]}" | tool report --stdio)" 'app_leaf'
check "and no file is left" test ! -e nsprof.data -a ! -e perf.data
record - -F 499 -g -- "${spin[@]}" >saved
like "saved from a pipe, by name" "$(report saved)" 'app_leaf'
like "saved from a pipe, from standard input" "$(report - <saved)" 'app_leaf'
# shellcheck disable=SC2002
like "saved from a pipe, through one" "$(cat saved | report -)" 'app_leaf'
record file -F 499 -g -- "${spin[@]}"
# shellcheck disable=SC2002
like "a file through a pipe" "$(cat file | report - 2>&1)" 'app_leaf'
script file >by-name
script - <file >by-stdin 2>/dev/null
check "a file from standard input" cmp by-name by-stdin
done_testing
