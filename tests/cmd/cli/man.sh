#!/bin/bash
# Manual pages: they format without a warning, and each names exactly the options that --help shows.
# beside others
. "$(dirname "$0")/../../lib.sh"
pages=$BUILD/man

is "pages name the version" "$(sed -n '1s/.*"\(nsprof [^"]*\)".*/\1/p' "$pages"/*.1 | sort -u)" "$("$NSPROF" version | head -n 1)"
if command -v man >/dev/null; then
	for page in "$pages"/*.1 "$TOP"/contrib/man/*.5; do
		MANWIDTH=100 man --warnings -l "$page" >"$T/text" 2>"$T/err"
		is "$(basename "$page") formats" "$(cat "$T/err")" ""
		check "$(basename "$page") is not empty" grep -q NAME "$T/text"
		# A request that is not at the start of its line would show as text.
		unlike "$(basename "$page"): no markup is shown" "$(cat "$T/text")" '(^| )\.(PP|TP|IP|BR?|IR?|RB|SH|SS|nf|fi)( |$)'
	done
else
	skip "pages format" "needs the command man"
fi

# options: the option names in the lines of stdin, "-q" and "--quiet" one per line. "--no-x" undoes
# "--x" without being listed: either may be shown.
options() {
	grep -oE -e '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | sed 's/^--no-/--/' | grep -vx -e --help -e -h | sort -u
}

# tags PAGE: the lines that .TP prints on the left, without markup.
tags() {
	awk '/^\.TP/ { getline; sub(/^\.(B|BR|BI|I|IR|RB) /, ""); gsub(/\\-/, "-"); gsub(/"/, ""); print }' "$1"
}

for c in record symbolize script annotate report diff ps list import export info doctor; do
	shown=$("$NSPROF" $c --help | grep -E '^ {2}( {4})?-' | sed -E 's/^ +//; s/  .*//' | options)
	check "$c: --help shows options" [ -n "$shown" ]
	is "$c: the page has the options of --help" "$(tags "$pages/nsprof-$c.1" | grep -e '^ *-' | options)" "$shown"
done
done_testing
