#!/bin/bash
# Bash, zsh and fish complete commands, options, values, recordings, containers and pods. --help,
# the manual page, the three completions and the parser have the same options.
# beside others
. "$(dirname "$0")/../../lib.sh"
export HOME=$T/home
mkdir "$HOME" "$T/at"
cd "$T/at" || exit 1
PATH=$(dirname "$NSPROF"):$PATH

shells=()
for s in bash zsh fish; do
	if command -v $s >/dev/null; then
		shells+=("$s")
	else
		skip "completion in $s" "needs the command $s"
	fi
done

# ask LINE...: write what each shell offers after the LINEs to files named after the shells.
ask() {
	local s
	for s in "${shells[@]}"; do
		case $s in
		bash) bash --norc "$TOP/tests/tools/complete.bash" "$BUILD/completion/nsprof.bash" "$@" ;;
		zsh) zsh -f "$TOP/tests/tools/complete.zsh" "$BUILD/completion/nsprof.zsh" "$@" ;;
		fish) fish --no-config "$TOP/tests/tools/complete.fish" "$BUILD/completion/nsprof.fish" "$@" ;;
		esac >"$T/$s" 2>"$T/$s.err"
	done
}

# offered SHELL LINE: the offers in one line; only the last part of file names, since zsh shows no
# more.
offered() {
	awk -v line="== $2" '/^== / { on = $0 == line; next } on' "$T/$1" | sed 's,/$,,; s,.*/,,' | sort | paste -sd ' '
}

# ---- what is offered after a line: LINE|WORD... ----
touch web.data web.data.old nginx.profile stacks.folded notes.txt only.txt
mkdir folder
cat >"$T/cases" <<'CASES'
nsprof re|record report
nsprof a|annotate
nsprof help d|diff doctor
nsprof record --contai|--container
nsprof record --no-i|--no-inherit
nsprof report --no-c|--no-children
nsprof version --j|--json
nsprof report --format |csv html json svg text
nsprof report --format=h|--format=html
nsprof report --sort dso,c|dso,cgroup dso,comm dso,container
nsprof report --sort=c|--sort=cgroup --sort=comm --sort=container
nsprof report -s sr|srcline
nsprof report --call-graph=cal|--call-graph=callee --call-graph=caller
nsprof diff --format fo|folded
nsprof symbolize --unwind lib|libdw libunwind
nsprof symbolize --filter c|cgroup= comm= container=
nsprof script -F comm,sym|comm,sym comm,symoff
nsprof record -e page-f|page-faults
nsprof record -e cpu-clock,minor|cpu-clock,minor-faults
nsprof record --event=task-|--event=task-clock
nsprof record -agF 99 --call-graph d|dwarf dwarf,
nsprof record --switch-output=|--switch-output=signal
nsprof record --control=f|--control=fd: --control=fifo:
nsprof report |folder nginx.profile stacks.folded web.data web.data.old
nsprof report -i w|web.data web.data.old
nsprof report --input=w|--input=web.data --input=web.data.old
nsprof annotate only|only.txt
nsprof diff web.data -- n|nginx.profile
nsprof export -o no|notes.txt
nsprof symbolize --symfs |folder
nsprof record --proc fo|folder
nsprof record -F 99 -- cat only|only.txt
nsprof record -o web.data cat only|only.txt
nsprof record bas --no|
nsprof record --stri|--strict-freq
CASES
mapfile -t cases < <(cut -d '|' -f 1 "$T/cases")
ask "${cases[@]}"
for s in "${shells[@]}"; do
	while IFS='|' read -r line words; do
		is "$s: $line" "$(offered $s "$line")" "$words"
	done <"$T/cases"
	is "$s: nothing on standard error" "$(cat "$T/$s.err")" ""
done

# ---- in each shell's default folder ----
o=$(realpath --relative-to="$TOP" "$BUILD")
if MAKEFLAGS="" make -s -o all -C "$TOP" O="$o" SAN= DESTDIR="$T/dest" PREFIX=/usr install >"$T/out" 2>&1; then
	check "installed for bash" cmp "$BUILD/completion/nsprof.bash" "$T/dest/usr/share/bash-completion/completions/nsprof"
	check "installed for zsh" cmp "$BUILD/completion/nsprof.zsh" "$T/dest/usr/share/zsh/site-functions/_nsprof"
	check "installed for fish" cmp "$BUILD/completion/nsprof.fish" "$T/dest/usr/share/fish/vendor_completions.d/nsprof.fish"
	check "installed: the manual pages" cmp "$BUILD/man/nsprof-record.1" "$T/dest/usr/share/man/man1/nsprof-record.1"
	if [[ " ${shells[*]} " == *' zsh '* ]]; then
		like "zsh finds it there" "$(zsh -fc 'fpath=($1 $fpath); autoload -Uz compinit; compinit -u -D; print $_comps[nsprof]' - \
			"$T/dest/usr/share/zsh/site-functions")" '^_nsprof$'
	fi
	check "uninstalled" env MAKEFLAGS="" make -s -C "$TOP" O="$o" SAN= DESTDIR="$T/dest" PREFIX=/usr uninstall
	is "uninstalled: nothing is left" "$(find "$T/dest" -type f)" ""
else
	fail "make install" "$(cat "$T/out")"
fi

# ---- the same options everywhere ----
# names: the option names in stdin, one per line.
names() { grep -oE -e '(^|[ ,])--?[a-zA-Z][a-z-]*' | tr -d ' ,' | LC_ALL=C sort -u; }
commands=(record symbolize script annotate report diff ps list import export info doctor)
lines=()
for c in "${commands[@]}"; do lines+=("nsprof $c -"); done
ask "${lines[@]}" 'nsprof record -- bas'
for s in "${shells[@]}"; do
	like "$s: record offers programs" " $(offered $s 'nsprof record -- bas') " ' bash '
done
for c in "${commands[@]}"; do
	"$NSPROF" $c --help | grep -E '^ {2}( {4})?-' >"$T/help"
	want=$(sed -E 's/^ +//; s/  .*//' "$T/help" | names)
	check "$c: --help has options" [ -n "$want" ]
	# In roff, names are bold and their dashes escaped.
	is "$c: the manual page has the same" "$(awk '/^\.TP/ { getline; if (/^\.BR \\-/) print }' "$BUILD/man/nsprof-$c.1" |
		sed -E 's/^\.BR //; s/\\-/-/g; s/"//g; s/\[?=.*//' | names)" "$want"
	for s in "${shells[@]}"; do
		is "$s: $c completes the same" "$(awk -v line="== nsprof $c -" '/^== / { on = $0 == line; next } on' "$T/$s" | sed 's/=$//' | LC_ALL=C sort -u)" "$want"
	done
	# The parser accepts each under the same name, and agrees on whether it takes an argument.
	unknown='' alone=()
	while read -r shown; do
		mapfile -t both < <(names <<<"$shown")
		if [[ $shown =~ \ ([^\ -][^\ ]*)$ ]]; then
			for o in "${both[@]}"; do
				"$BUILD/bin/nsprof-$c" "$o" >"$T/out" 2>"$T/err" </dev/null
				grep -qF "option '$o' needs an argument (${BASH_REMATCH[1]})" "$T/err" || unknown+="$o: $(head -n 1 "$T/err") "
			done
		else
			alone+=("${both[@]}")
		fi
	done < <(sed -E 's/^ +//; s/  .*//' "$T/help")
	# --help ends the parsing, however it is written.
	for o in "${!alone[@]}"; do [[ ${alone[o]} != -h && ${alone[o]} != --help ]] || unset "alone[$o]"; done
	"$BUILD/bin/nsprof-$c" "${alone[@]}" --help >"$T/out" 2>"$T/err" </dev/null || unknown+=$(head -n 1 "$T/err")
	is "$c: the parser takes them as --help shows them" "$unknown" ""
	is "$c: --list-options has them, too" "$("$NSPROF" $c --list-options | awk -F '\t' '$1 == "option" { print $2; print $3 }' | grep . | LC_ALL=C sort -u)" "$want"
done
done_testing
