#!/bin/bash
# The captured code of sampled functions is that of the binary: whole functions, from a program that
# is removed while it runs, for each way to write the recording.
# beside others
. "$(dirname "$0")/../../lib.sh"
TARGETS=$BUILD/tests/targets
CODE=$BUILD/tests/tools/code
ORACLE=$(dirname "$0")/../../tools/code_oracle.py
need_cmd python3
need_cmd nm
need_cmd jq
cd "$T" || exit 1
[ -x "$TARGETS/spin" ] || skip_all "test programs are not built: make test-targets"

# Runs ./prog, and removes its file as soon as it runs.
cat >removed <<'END'
"$@" & until [ "$(readlink /proc/$!/exe)" = "$PWD/prog" ]; do :; done
rm prog
wait
END

# take OPTIONS... -- ARGUMENTS OF prog: record it, to standard output or the file in OPTIONS
take() {
	local opts=()
	while [ "$1" != -- ]; do opts+=("$1"); shift; done
	shift
	cp "$SPIN" prog
	"$NSPROF" record -q -e cpu-clock -F 999 "${opts[@]}" -- sh removed ./prog "$@"
}

# leaf_of LISTING: svma and size of the range that begins at app_leaf
leaf_of() {
	awk -v at="$(nm "$SPIN" | awk '$3 == "app_leaf" { sub(/^0+/, "", $1); print $1 }')" '
		$1 ~ /\/prog$/ && $2 == at && NF == 3 { print $2, length($3) / 2 }' "$1"
}

# same NAME FILE: its code equals that of the program
same() {
	check "$1: read" sh -c '"$1" "$2" >listing' - "$CODE" "$2"
	like "$1: the bytes are the program's" "$(python3 "$ORACLE" listing "$SPIN" prog 2>&1)" '^[1-9][0-9]* [1-9][0-9]*$'
	is "$1: of the whole function" "$(leaf_of listing)" \
		"$(nm -S "$SPIN" | awk '$4 == "app_leaf" { sub(/^0+/, "", $1); print $1, $2 }' |
			while read -r at size; do echo "$at $((16#$size))"; done)"
}

SPIN=$TARGETS/spin
take -o a.data -- --cpu 0.4 2>err || skip_all "cannot record here: $(cat err)"
check "the program is gone" test ! -e prog
same "a file" a.data

is "nothing of a small program is left out" "$(awk '$1 ~ /\/prog$/ && NF == 4 { print $3, $4 }' listing)" "0 0"
is "its samples are those that the report finds in it" "$(awk '$1 ~ /\/prog$/ && NF == 4 { print $2 }' listing)" \
	"$("$NSPROF" report --sort dso --csv a.data | awk -F, '$4 ~ /\/prog$/ { print $3 }')"
like "info tells of it" "$("$NSPROF" info a.data)" "^ +[1-9][0-9]* binar(y's|ies') code, [1-9][0-9]* bytes?\$"
is "info --json, too" "$("$NSPROF" info --json a.data | jq .counts.code_samples)" \
	"$(awk 'NF == 4 { n += $2 } END { print n }' listing)"

take --call-graph fp -o b.data -- --cpu 0.3
same "frame pointers" b.data
take -o - -- --cpu 0.3 >c.data
same "a pipe" c.data
take --switch-output=0.3s -o d.data -- --cpu 0.7
check "a row of files: more than one" test "$(ls d.data.* | wc -l)" -gt 1
n=0
for f in d.data.*; do
	# The first and the last file may have next to nothing of it, and not necessarily the leaf.
	[ -n "$("$NSPROF" report --sort dso --csv "$f" | awk -F, '$4 ~ /\/prog$/ && $3 >= 10')" ] || continue
	same "a row of files, $((++n))" "$f"
	[ $n -lt 2 ] || break
done
check "a row of files: there was one" test $n -gt 0
take --overwrite=1s -o e.data -- --cpu 0.4
same "the flight recorder" e.data
SPIN=$TARGETS/spin-nobid
take -o f.data -- --cpu 0.3
same "no build-id" f.data

# If symbols are missing, call frame information gives the bounds of a function.
SPIN=$TARGETS/spin
strip -o stripped "$SPIN"
cp stripped prog
"$NSPROF" record -q -e cpu-clock -F 999 -o g.data -- sh removed ./prog --cpu 0.3
same "stripped" g.data
done_testing
