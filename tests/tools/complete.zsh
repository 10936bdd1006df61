# complete.zsh SCRIPT LINE...: what zsh offers behind each LINE. A zsh on a terminal of its own completes; what its functions
# add is written down.
zmodload zsh/zpty || exit 77
script=$1 out=$(mktemp)
shift
trap 'rm -rf $out' EXIT

# until_last TEXT: wait for a last line like that, 20 s at most.
until_last() {
	for ((i = 0; i < 1000; i++)); do
		[[ $(<$out) == (*$'\n'|)$1 ]] && return
		sleep 0.02
	done
	print -r -- "no answer from zsh"
	exit 1
}

zpty z zsh -f -i
zpty -w z "out=$out script=$script"
zpty -w z '
PS1= PS2= RPS1=
autoload -Uz compinit
compinit -u -D
_nsprof() { source $script "$@" }
compdef _nsprof nsprof
zstyle ":completion:*" completer _complete
# Only what is added for real counts: -O, -A and -D ask which would fit.
compadd() {
	local -a got
	if (( ${@[(I)-[a-zA-Z]#[OAD]]} && ${@[(I)-[OAD]]} )); then
		builtin compadd "$@"
		return
	fi
	builtin compadd -A got "$@"
	print -rl -- $IPREFIX${^got} >>$out
	builtin compadd "$@"
}
written() {
	_main_complete
	compstate[insert]= compstate[list]=
	print -r -- END >>$out
}
zle -C written complete-word written
bindkey "^I" written
bindkey "^U" kill-whole-line
print -r READY >$out
'
until_last READY
for line; do
	: >$out
	zpty -w -n z $'\x15'$line$'\t'
	until_last END
	print -r -- "== $line"
	grep -vx END $out | grep . | sort -u
done
zpty -d z
