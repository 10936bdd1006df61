# shellcheck shell=bash
# tests_env DIR: keep the user's settings and earlier state out of the tests. Sourced by
# tests/lib.sh and tests/run. Per-user files of programs go below DIR. HOME stays, because rustup
# and npm keep their own files there. PATH and the paths of compilers and the dynamic linker stay,
# because programs may need them.
tests_env() {
	umask 022
	# Tests compare messages of tools: no translations.
	export LC_ALL=C.UTF-8
	unset LANGUAGE TZ
	# Variables of shells and make.
	unset CDPATH BASH_ENV ENV POSIXLY_CORRECT GREP_OPTIONS MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES NODEPS V
	# Variables of terminals.
	unset NO_COLOR CLICOLOR CLICOLOR_FORCE COLUMNS LINES PAGER NSPROF_PAGER LESS MANPAGER MANWIDTH
	# Variables that change the output of compilers and interpreters, or what they load.
	unset GCC_COLORS SOURCE_DATE_EPOCH GOFLAGS RUSTFLAGS NODE_OPTIONS PYTHONSTARTUP PYTHONOPTIMIZE PERL5OPT \
		JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS LD_PRELOAD LD_BIND_NOW
	# Tests choose where debug info comes from.
	unset DEBUGINFOD_URLS DEBUGINFOD_TIMEOUT DEBUGINFOD_CACHE_PATH
	unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
	# Without HOME, ~ is the folder from passwd(5).
	export XDG_CACHE_HOME=$1/.cache HOME=${HOME:-~}
	# perf's cache of binaries would give names from an earlier recording.
	printf '[buildid]\n\tdir = %s/.debug\n' "$1" >"$1/.perfconfig"
	export PERF_CONFIG=$1/.perfconfig
}
