# shellcheck shell=bash
# The rights of a parser, the process that reads what others wrote (contrib/doc/parser.md), as /proc
# shows them. For tests: . lib.sh first.

parser_field() { awk -v n="$1:" '$1 == n { print $2 }' "/proc/$2/status" 2>/dev/null; }

# parser_of PID: the parser of that program, or of one that it runs.
parser_of() {
	local p
	for p in $(pgrep -P "$1"); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" != nsprof-opener ] || continue
		[ "$(parser_field NoNewPrivs "$p")" != 1 ] || { echo "$p"; return 0; }
	done
	return 1
}

# parser_rights PID WHAT: tests what the parser of program PID may do; waits until it runs.
parser_rights() {
	local p
	if ! wait_for "p=\$(parser_of $1)" 60; then
		fail "$2: a parser"
		return
	fi
	is "$2: no capabilities" "$((0x$(parser_field CapPrm "$p") | 0x$(parser_field CapEff "$p")))" 0
	[ "$(id -u)" != 0 ] || is "$2: they cannot come back" "$((0x$(parser_field CapBnd "$p")))" 0
	[ -z "$(parser_field Seccomp self)" ] || is "$2: system calls are filtered" "$(parser_field Seccomp "$p")" 2
	if [ "$(id -u)" = 0 ]; then
		check "$2: a user of its own" awk '$1 == "Uid:" || $1 == "Gid:" { n += $2 >= 2130706432 && $2 == $3 && $3 == $4 && $4 == $5 } END { exit n != 2 }' "/proc/$p/status"
		is "$2: and no other group" "$(sed -n 's/^Groups:[[:space:]]*//p' "/proc/$p/status" | tr -d ' ')" ''
	fi
}

# parser_same WHAT COMMAND...: its results without a sandbox are those with it, on standard output.
parser_same() {
	local what=$1
	shift
	"$@" >with 2>with.err
	is "$what: status" $? 0
	"$@" --no-sandbox >without 2>without.err
	is "$what: status without a sandbox" $? 0
	check "$what: the same without a sandbox" cmp with without
	unlike "$what: nothing was refused" "$(cat with.err)" refused
	like "$what: --no-sandbox says so" "$(cat without.err)" '^nsprof [a-z]*: warning: --no-sandbox: .* with all rights$'
}
