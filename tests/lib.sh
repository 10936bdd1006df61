# shellcheck shell=bash
# Helpers for tests written in bash; source this first. They print TAP on stdout (tests/run counts
# it) and end with done_testing, which writes the plan. A script that dies on the way has no plan
# and so has failed.
#
#	. "$(dirname "$0")/../lib.sh"
#	need_root
#	check "help is printed" "$NSPROF" help
#	is "one sample" "$(grep -c sample out)" 1
#	done_testing
#
# $NSPROF is the front command under test, $TOP the source tree, $BUILD the build tree. $T is a
# private folder that is removed at the end; background jobs of the script are ended then, too.

TOP=${TOP:-$(realpath "$(dirname "${BASH_SOURCE[0]}")/..")}
BUILD=${BUILD:-$TOP/build}
NSPROF=${NSPROF:-$BUILD/bin/nsprof}
export TOP BUILD NSPROF

# Neither make nor LD_PRELOAD accepts a path with blanks.
[[ ${TMPDIR-} != *[[:space:]]* ]] || export TMPDIR=/tmp
T=$(mktemp -d "${TMPDIR:-/tmp}/nsprof-test.XXXXXX") || exit 2
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
tests_env "$T"
tap_n=0
tap_failed=0

# PERF=FILE: the perf to compare with, instead of the installed one (contrib/perf-of-root).
if [ -n "${PERF-}" ]; then
	tap_perf=$(command -v -- "$PERF") || { echo "PERF='$PERF' is not a program" >&2; exit 2; }
	mkdir "$T/.perf" && ln -s "$(realpath "$tap_perf")" "$T/.perf/perf" || exit 2
	PATH=$T/.perf:$PATH
fi
tap_cleanups=()

# later COMMAND: run COMMAND at the end, last registered first, also when the script is killed.
later() {
	tap_cleanups+=("$1")
}

tap_exit() {
	local rc=$? i pid
	for ((i = ${#tap_cleanups[@]} - 1; i >= 0; i--)); do
		eval "${tap_cleanups[i]}" >/dev/null 2>&1
	done
	for pid in $(jobs -p); do
		kill "$pid" 2>/dev/null
	done
	rm -rf "$T"
	exit $rc
}
trap tap_exit EXIT
trap 'exit 143' TERM
trap 'exit 130' INT

# Text as TAP comments, shortened: a failing test must not bury the others.
tap_note() {
	printf '%s\n' "$1" | head -n "${TAP_NOTE_LINES:-60}" | sed 's/^/# /'
}

pass() {
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1"
}

# fail NAME [DETAIL]
fail() {
	tap_n=$((tap_n + 1))
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_n - $1"
	[ -z "${2-}" ] || tap_note "$2"
	return 1
}

# skip NAME REASON: one test that cannot run here.
skip() {
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

# skip_all REASON: no test of this file can run; ends the script.
skip_all() {
	if [ "$tap_n" = 0 ]; then
		echo "1..0 # SKIP $1"
	else
		skip "rest of the file" "$1"
		done_testing
	fi
	exit 0
}

# check NAME COMMAND...: passes when COMMAND succeeds; otherwise shows its output.
check() {
	check_rc "$1" 0 "${@:2}"
}

# check_rc NAME STATUS COMMAND...: passes when COMMAND ends with STATUS. Its output stays in
# $T/check.out and $T/check.err.
check_rc() {
	local name=$1 want=$2 rc
	shift 2
	"$@" >"$T/check.out" 2>"$T/check.err"
	rc=$?
	if [ $rc = "$want" ]; then
		pass "$name"
		# Comments that a check prints are shown with -v.
		grep '^#' "$T/check.out" || :
	else
		fail "$name" "exit status $rc, not $want: $*
$(head -c 8192 "$T/check.out" "$T/check.err" | tr -d '\0')"
	fi
}

# is NAME GOT WANT: the same text.
is() {
	if [ "$2" = "$3" ]; then
		pass "$1"
	else
		fail "$1" "got:  $2
want: $3"
	fi
}

# like NAME TEXT REGEX: the extended regular expression matches a line of TEXT; unlike: it matches
# none.
like() {
	if grep -Eq -e "$3" <<<"$2"; then
		pass "$1"
	else
		fail "$1" "nothing matches $3 in:
$2"
	fi
}

unlike() {
	if ! grep -Eq -e "$3" <<<"$2"; then
		pass "$1"
	else
		fail "$1" "something matches $3:
$(grep -E -e "$3" <<<"$2")"
	fi
}

# find_speedscope: are speedscope and its browser installed? Sets SPEEDSCOPE, its page.
find_speedscope() {
	command -v chromium >/dev/null && command -v node >/dev/null && command -v npm >/dev/null || return
	SPEEDSCOPE=$(npm root -g)/speedscope/dist/release/index.html
	[ -e "$SPEEDSCOPE" ]
}

# through_speedscope PROFILE OUT: load PROFILE in speedscope, and write it in speedscope's own
# format.
through_speedscope() {
	HOME=$T PROFILE=$1 EXPORTED=$2 timeout 100 node "$TOP/tests/tools/page.js" "$SPEEDSCOPE" "$TOP/tests/tools/speedscope_page.js"
}

# Print the plan and set the exit status. The last line of each script.
done_testing() {
	echo "1..$tap_n"
	[ "$tap_failed" = 0 ] || exit 1
	exit 0
}

need_root() {
	[ "$(id -u)" = 0 ] || skip_all "needs root"
}

# need_cmd COMMAND...: each command has to be installed.
need_cmd() {
	local c
	for c in "$@"; do
		command -v "$c" >/dev/null || skip_all "needs the command $c"
		[ "$c" != perf ] || have_perf || skip_all "needs a perf that runs: $(perf --version 2>&1 | head -n 1)"
	done
}

# why_not PROGRAM: the reason why a program of tests/targets was not built.
why_not() {
	local tool
	tool=$(sed -n "s/^$1://p" "$BUILD/tests/targets/lacking" 2>/dev/null)
	[ -z "$tool" ] || { echo "$1 is not built: $tool is not installed"; return; }
	echo "$1 is not built: run make test-targets"
}

# need_target PROGRAM...: each program has to be built.
need_target() {
	local p
	for p in "$@"; do
		[ -e "$BUILD/tests/targets/$p" ] || skip_all "$(why_not "$p")"
	done
}

# have_perf: does perf run? Ubuntu's command is a script, and fails without the package of the
# running kernel.
have_perf() { perf --version >/dev/null 2>&1; }

# node_no_inlining NODE: node's options against inlining of JavaScript functions. Maglev, on since
# node 22, inlines separately.
node_no_inlining() {
	local o
	for o in --no-turbo-inlining --no-maglev-inlining; do
		"$1" $o -e 0 >/dev/null 2>&1 && echo $o
	done
}

# for_nobody [PROGRAM...]: copy the programs under test, and PROGRAMs, to $PUBLIC, a folder that any
# user can read, and use them from there from now on. The folder of this tree may be readable for
# root only. "${NOBODY[@]}" COMMAND runs as a user without rights. If that is impossible, fails with
# the reason in $no_nobody.
NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all)
for_nobody() {
	if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
		no_nobody="needs root and setpriv"
		return 1
	fi
	if [ -z "${PUBLIC-}" ]; then
		PUBLIC=$(mktemp -d "${TMPDIR:-/tmp}/nsprof-public.XXXXXX")
		later "rm -rf '$PUBLIC'"
		cp "$BUILD"/bin/nsprof* "$@" "$PUBLIC"
		chmod -R a+rX "$PUBLIC"
	fi
	# shellcheck disable=SC2034 # for the caller
	no_nobody=$("${NOBODY[@]}" "$PUBLIC/nsprof" help 2>&1 >/dev/null) || return
	NSPROF=$PUBLIC/nsprof
}

# can_sample_kernel: false if perf_event_paranoid or missing rights exclude the kernel from
# sampling.
can_sample_kernel() {
	"$NSPROF" record -q -e cpu-clock:k -o "$T/can_sample_kernel" -- true 2>/dev/null
}

# wait_for CONDITION SECONDS: evaluate CONDITION until it holds; fails when time is up.
wait_for() {
	local start=$EPOCHREALTIME now
	until eval "$1"; do
		now=$EPOCHREALTIME
		((${now/./} - ${start/./} < $2 * 1000000)) || return 1
		sleep 0.05
	done
}

# computes PID MS: wait until that process has used MS more of CPU time, however busy the machine
# is.
computes() {
	local from
	read -r from _ <"/proc/$1/schedstat"
	wait_for "read -r ns _ </proc/$1/schedstat && ((ns >= $from + $2 * 1000000))" 30
}
export -f computes wait_for
