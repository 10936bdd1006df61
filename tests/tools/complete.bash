# complete.bash SCRIPT LINE...: what bash offers behind each LINE, whole words, as readline would call the function of SCRIPT.
# shellcheck disable=SC1090
source "$1"
shift

# Splits LINE where readline does: at blanks, = and :.
offer() {
	local line=$1 w word reply
	COMP_WORDS=() COMP_LINE=$1 COMP_POINT=${#1}
	read -ra words <<<"$line"
	[[ $line != *' ' ]] || words+=("")
	for word in "${words[@]}"; do
		w=$word
		[[ $w ]] || COMP_WORDS+=("")
		while [[ $w =~ ^([=:]+|[^=:]+) ]]; do
			COMP_WORDS+=("${BASH_REMATCH[1]}")
			w=${w:${#BASH_REMATCH[1]}}
		done
	done
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	# What stands in front of the piece that readline replaces.
	w=${COMP_WORDS[COMP_CWORD]}
	if [[ $w && ! ${w//[=:]/} ]]; then w=; fi
	COMPREPLY=()
	"$(complete -p nsprof | sed 's/.*-F \([^ ]*\).*/\1/')" nsprof
	for reply in "${COMPREPLY[@]}"; do
		printf '%s%s\n' "${word%"$w"}" "$reply"
	done
}

for line; do
	echo "== $line"
	offer "$line" | sort -u
done
