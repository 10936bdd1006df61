#!/bin/bash
# Manual pages: they format without a warning, name the version and exactly the options that --help
# shows, and say rightly which options of perf are accepted and rejected.
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

# OPTIONS OF PERF: what a page calls rejected is, with a reason, and what it calls accepted is not.
cd "$T" || exit 1
for c in record report script annotate; do
	wrong='' n=0
	while read -r verdict o; do
		case $c in
		record) "$BUILD/bin/nsprof-record" --dry-run -o out.data "$o" -- true ;;
		*) "$BUILD/bin/nsprof-$c" -i nosuch "$o" || { grep -q 'needs an argument' err && "$BUILD/bin/nsprof-$c" -i nosuch "$o" x; } ;;
		esac >out 2>err </dev/null
		grep -qE "perf's .* is not an option here: .{5}|perf has .*, nsprof does not: .{5}" err && is=rejected || is=accepted
		! grep -q 'unknown option' err || is=unknown
		[ $is = "$verdict" ] || wrong+=" $o:$is"
		n=$((n + 1))
	done < <(awk '/^\.SH/ { on = /OPTIONS OF PERF/ } !on || /^\./ { next } $1 ~ /^(accepted|rejected)/ { verdict = $1; sub(/,$/, "", verdict); next }
		verdict { gsub(/\\-/, "-"); for (i = 1; i <= NF; i++) { sub(/[:,]$/, "", $i); if ($i ~ /^-/ && $i !~ /\.\.\./) print verdict, $i } }' "$TOP/contrib/man/nsprof-$c.1.in")
	check "$c: the page lists options of perf" [ $n -gt 15 ]
	is "$c: they are accepted or rejected as the page says" "$wrong" ""
done
done_testing
