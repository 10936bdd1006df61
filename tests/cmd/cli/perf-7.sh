#!/bin/bash
# nsprof knows every option and command of perf 7: it works, is accepted because it makes no
# difference, or is refused with a reason. perf-options.sh checks the installed perf, and what the
# options do.
# beside others
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1

while read -r c names; do
	case $names in
	*=) arg=1 names=${names%=} ;;
	*\?) arg= names=${names%\?} ;;
	*) arg= ;;
	esac
	[[ $c != \#* ]] || continue
	if [ "$c" = sort ] || [ "$c" = fields ]; then
		for key in $names; do
			if [ "$c" = sort ]; then
				"$NSPROF" report --sort "$key" nosuch >out 2>err
			else
				"$NSPROF" script -F "+$key" nosuch >out 2>err
			fi
			check "perf 7: $c $key is accepted, or refused with a reason" grep -qE "cannot open 'nosuch'|perf has .*'$key', nsprof does not: .{5}" err
		done
		continue
	fi
	if [ "$c" = perf ]; then
		"$NSPROF" "$names" --help </dev/null >out 2>err
		check "perf 7: the command $names is known" test "$(grep -c "'$names' is not a command" err)" = 0
		continue
	fi
	for o in $names; do
		message=''
		case $c in
		# shellcheck disable=SC2086
		record) "$BUILD/bin/nsprof-record" --dry-run -o out.data $o $arg -- true >out 2>err </dev/null ;;
		diff) "$BUILD/bin/nsprof-diff" nosuch1 nosuch2 "$o" ${arg:+"$arg"} >out 2>err </dev/null ;;
		*) "$BUILD/bin/nsprof-$c" -i nosuch "$o" ${arg:+"$arg"} >out 2>err </dev/null ;;
		esac
		# With -v, the program first says what its parser gave up.
		message=$(grep -v '^nsprof [a-z]*: sandbox of the parser: ' err | head -n 1)
		# Refused with a reason; or accepted, and then the file is missing or the argument
		# makes no sense.
		case $message in
		"nsprof $c: error: perf's "*" is not an option here: "?????*) pass "perf 7: $c $o is refused, with a reason" ;;
		'' | *"cannot open 'nosuch"* | *"'1'"* | *' needs --'* | *'is not online'*) pass "perf 7: $c $o is accepted" ;;
		*) fail "perf 7: $c $o is known" "$message" ;;
		esac
	done
done <"$TOP/tests/cmd/cli/perf-7.options"
done_testing
