#!/bin/bash
# The front command finds its programs, and prints an error if it cannot.
# beside others
PROGRAMS=(record symbolize script annotate report diff ps list import export info doctor)
. "$(dirname "$0")/../../lib.sh"

check "help" "$NSPROF" help
like "help names the commands" "$(<"$T/check.out")" '^  symbolize +'
check "--help" "$NSPROF" --help
check "help of help" "$NSPROF" help --help
like "is the same" "$(<"$T/check.out")" '^  symbolize +'
check_rc "no command: help on stderr, status 1" 1 "$NSPROF"
like "help is on stderr" "$(<"$T/check.err")" '^usage: nsprof'
is "and not on stdout" "$(<"$T/check.out")" ""
check_rc "unknown command" 1 "$NSPROF" foo
is "in perf's words" "$(<"$T/check.err")" "nsprof: 'foo' is not a command. See 'nsprof help'."
check_rc "help on an unknown command" 1 "$NSPROF" help foo
# meant TYPED MEANT: a mistyped command or option gets this suggestion.
meant() {
	# shellcheck disable=SC2086
	"$NSPROF" $1 >"$T/meant.out" 2>&1
	like "nsprof $1: meant is $2" "$(<"$T/meant.out")" "Did you mean '$2'\\? See 'nsprof"
}
meant rec record
meant reprot report
meant doctro doctor
meant --hlep --help
meant --verison --version
meant "record --contaner web true" --container
meant "symbolize --filtre x" --filter
meant "report --no-chidlren" --no-children
unlike "an option far from all gets none" "$("$NSPROF" report --zzzzzz 2>&1)" 'mean'

# Each program answers to the common options, under the name that people type.
for c in "${PROGRAMS[@]}"; do
	check "nsprof help $c" "$NSPROF" help $c
	like "usage of $c" "$(<"$T/check.out")" "^usage: nsprof $c"
	is "$c --help is the same" "$("$NSPROF" $c --help)" "$(<"$T/check.out")"
	is "help of $c fits 100 columns" "$(awk 'length > 100' "$T/check.out")" ""
	# Paragraphs of options have a heading, and one line per option with its text in one column.
	is "help of $c: one line per option, under headings" \
		"$(awk -v RS= '/\n  (    )?-/' "$T/check.out" | grep -vE '^[A-Z][A-Za-z ]*:$|^(  -.{28}|      --.{23}) [^ ]')" ""
	like "help of $c: options have headings" "$(<"$T/check.out")" $'\n[A-Z][A-Za-z ]*:\n  +-'
	is "help of $c: its first paragraph wraps late" "$(awk '!NF { p++ } p == 1 && NF && prev != "" && length(prev) + 1 + length($1) <= 90 { print prev } p == 1 { prev = $0 }' "$T/check.out")" ""
	check_rc "$c refuses an unknown option" 129 "$NSPROF" $c --no-such-option
	like "names it and the way to --help" "$(<"$T/check.err")" "no-such-option.*nsprof $c --help"
	like "$c --build-info" "$("$NSPROF" $c --build-info)" "^$c: [a-z]"
done

version=$("$NSPROF" version)
like "version" "$version" '^nsprof [0-9]+\.[0-9]+\.[0-9]+(-dev)?$'
is "version is the newest in NEWS, with -dev while in development" "$(head -n 1 <<<"$version")" \
	"$(sed -n '1{s/ (in development)$/-dev/;p}' "$TOP/NEWS")"
for c in "${PROGRAMS[@]}"; do
	like "version lists nsprof-$c" "$version" "^  nsprof-$c "
done
is "all programs are found" "$(grep '^  nsprof-' <<<"$version" | grep -vc 'not found')" "${#PROGRAMS[@]}"
is "--version" "$("$NSPROF" --version)" "$version"
if command -v jq >/dev/null; then
	is "version -j" "$("$NSPROF" version -j | jq -r '.programs | map(select(.found)) | length')" "${#PROGRAMS[@]}"
else
	skip "version -j" "needs the command jq"
fi
if [ -c /dev/full ]; then
	check_rc "a full disk is noticed" 1 sh -c "'$NSPROF' version >/dev/full"
else
	skip "a full disk is noticed" "no /dev/full"
fi

# Alone in a folder, and with a program beside it.
mkdir "$T/bin"
cp "$NSPROF" "$T/bin/nsprof"
check_rc "a missing program" 1 env PATH="$T/nonexistent" "$T/bin/nsprof" record
like "is named" "$(<"$T/check.err")" "cannot run 'nsprof-record': No such file"
printf '#!/bin/sh\necho "$0 $*"; exit 7\n' >"$T/bin/nsprof-record"
chmod +x "$T/bin/nsprof-record"
check_rc "its status is passed on" 7 "$T/bin/nsprof" record -a 'b c'
is "arguments too, and it is the one beside" "$(<"$T/check.out")" "$T/bin/nsprof-record -a b c"
ln -s bin/nsprof "$T/link"
check_rc "through a symbolic link" 7 "$T/link" record
chmod -x "$T/bin/nsprof-record"
check_rc "one that cannot be run is an error" 1 "$T/bin/nsprof" record
like "with its reason" "$(<"$T/check.err")" "cannot run 'nsprof-record': Permission denied"
done_testing
