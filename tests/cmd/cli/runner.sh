#!/bin/bash
# tests/run never counts a test that fails, dies or hangs as passed.
# beside others
. "$(dirname "$0")/../../lib.sh"

run=$TOP/tests/run
mkdir -p "$T/f"

# fake NAME: a test made of the lines on stdin.
fake() {
	cat >"$T/f/$1.sh"
}

# expect WHAT RC "LAST LINE" [OPTIONS...] NAMES...: run the fakes and compare status and last line.
expect() {
	local what=$1 rc=$2 last=$3 got args=() a
	shift 3
	for a in "$@"; do
		[ -e "$T/f/$a.sh" ] && a=$T/f/$a.sh
		args+=("$a")
	done
	"$run" "${args[@]}" >"$T/out" 2>&1
	got=$?
	is "$what" "$got: $(tail -n 1 "$T/out")" "$rc: $last"
}

fake good <<'E'
echo "ok 1 - a"; echo "ok 2 - b"; echo "1..2"
E
fake skips <<'E'
echo "1..3"; echo "ok 1 - a"; echo "ok 2 - b # SKIP needs a moon"; echo "needs a sun"; echo "not ok 3 # SKIP c"
E
fake skipall <<'E'
echo "1..0 # SKIP no machine"
E
fake bad <<'E'
echo "ok 1 - a"; echo "not ok 2 - b"; echo "# because of reasons"; echo "on stderr" >&2; echo "1..2"; exit 1
E
fake badbutzero <<'E'
echo "not ok 1 - a"; echo "1..1"; exit 0
E
fake status <<'E'
echo "ok 1 - a"; echo "1..1"; exit 3
E
fake silent <<'E'
exit 0
E
fake noplan <<'E'
echo "ok 1 - a"; exit 0
E
fake short <<'E'
echo "1..3"; echo "ok 1 - a"; echo "ok 2 - b"
E
fake crash <<'E'
echo "1..2"; echo "ok 1 - a"; kill -SEGV $$
E
fake bail <<'E'
echo "1..1"; echo "ok 1 - a"; echo "Bail out! no disk"
E
fake hang <<E
# timeout: 1
sleep 300 & echo \$! >"$T/hang.pid"
echo "1..1"; echo "ok 1 - a"; wait
E
fake leave <<E
sleep 300 & echo \$! >"$T/leave.pid"
echo "ok 1 - a"; echo "1..1"
E
fake groups <<'E'
echo "1..1"; echo "ok 1 - a"; echo "1..2"; echo "ok 1 - a"; echo "ok 2 - b"
E

# gone FILE: the process with the number in FILE has ended (zombies count as ended).
gone() {
	local pid
	pid=$(<"$1")
	wait_for "! grep -Eqs '^State:[[:space:]]+[^ZX[:space:]]' /proc/$pid/status" 5
}

expect "passes are counted" 0 "2 passed, 0 failed, 0 skipped" good
expect "files are added up" 1 "3 passed, 1 failed, 0 skipped" good bad
like "a failing file is shown" "$(<"$T/out")" '\| # because of reasons'
like "and its stderr" "$(<"$T/out")" '! on stderr'
like "and named at the end" "$(<"$T/out")" '^failed: .*/bad\.sh'
is "with what was wrong, once more" "$(sed -n '/^failed: .*bad/,$p' "$T/out" | grep -c 'not ok 2 - b\|because of reasons')" 2
unlike "a passing file's output is not shown" "$(<"$T/out")" '\| ok 2 - b'
expect "skips are counted" 0 "1 passed, 0 failed, 2 skipped" skips
like "a skip's reason is shown" "$(<"$T/out")" 'skipped: b: needs a moon'
like "cmocka's skips count as skips, with the line before" "$(<"$T/out")" 'skipped: c: needs a sun'
expect "a whole file may be skipped" 0 "0 passed, 0 failed, 1 skipped" skipall
like "with its reason" "$(<"$T/out")" 'whole file: no machine'
expect "a failed test fails in spite of status 0" 1 "0 passed, 1 failed, 0 skipped" badbutzero
expect "a bad status fails in spite of passes" 1 "1 passed, 1 failed, 0 skipped" status
expect "no output is a failure" 1 "0 passed, 1 failed, 0 skipped" silent
expect "no plan is a failure" 1 "1 passed, 1 failed, 0 skipped" noplan
expect "a plan not met is a failure" 1 "2 passed, 1 failed, 0 skipped" short
expect "a crash is a failure" 1 "1 passed, 1 failed, 0 skipped" crash
expect "bailing out is a failure" 1 "1 passed, 1 failed, 0 skipped" bail
expect "a hang is a failure" 1 "1 passed, 1 failed, 0 skipped" hang
like "and called so" "$(<"$T/out")" 'timed out after 1 s'
check "what the hanging test started is gone" gone "$T/hang.pid"
expect "leaving a process behind is allowed" 0 "1 passed, 0 failed, 0 skipped" leave
check "but it is ended" gone "$T/leave.pid"
expect "several plans in one file add up" 0 "3 passed, 0 failed, 0 skipped" groups
expect "a missing file is a failure" 1 "0 passed, 1 failed, 0 skipped" "$T/f/nothere.sh"
expect "-k picks files" 0 "2 passed, 0 failed, 0 skipped" -k 'f/go+d' good bad
expect "no file is a failure" 1 "0 passed, 0 failed, 0 skipped" -k nothing-like-that good
mkdir -p "$T/v1.2/bin" "$T/v1.2/tests/unit/common/base"
printf '#!/bin/sh\necho "ok 1 - a"; echo "1..1"\n' >"$T/v1.2/tests/unit/common/base/test_x"
chmod +x "$T/v1.2/tests/unit/common/base/test_x"
cp "$T/v1.2/tests/unit/common/base/test_x" "$T/v1.2/tests/unit/common/base/test_x.d"
cp "$T/v1.2/tests/unit/common/base/test_x" "$T/v1.2/bin/nsprof"
expect "unit tests are found below a dot, and nothing but them" 0 "1 passed, 0 failed, 0 skipped" --build "$T/v1.2" -k base/test_x
expect "-v shows passing output" 0 "2 passed, 0 failed, 0 skipped" -v good
like "with -v" "$(<"$T/out")" '\| ok 2 - b'

# Each waits for the other, which only works if both run at the same time.
for i in 1:2 2:1; do
	fake "pair${i%:*}" <<E
# beside others
touch "$T/pair${i%:*}"
for ((n = 0; n < 100; n++)); do [ -e "$T/pair${i#*:}" ] && break; sleep 0.1; done
echo 1..1; ((n < 100)) && echo ok 1
E
	fake "lone${i%:*}" <<E
mkdir "$T/lone" && echo ok 1; sleep 0.3; rmdir "$T/lone"; echo 1..1
E
done
expect "two that do not mind others run at once" 0 "2 passed, 0 failed, 0 skipped" pair1 pair2
expect "and all others one by one, behind them" 0 "4 passed, 0 failed, 0 skipped" lone1 pair1 lone2 pair2
# One that other recorders disturb: runs together with a unit test, but not with tests marked
# "beside others".
mkdir -p "$T/tests/unit"
printf '#!/bin/bash\n. "%s"\n' "$T/f/pair1.sh" >"$T/tests/unit/test_pair1"
chmod +x "$T/tests/unit/test_pair1"
for i in units units2; do
	fake $i <<E
# beside unit tests
mkdir "$T/lone" && . "$T/f/pair2.sh"; sleep 0.3; rmdir "$T/lone"
E
done
fake other <<E
# beside others
[ ! -e "$T/lone" ] && echo ok 1; echo 1..1
E
rm "$T/pair1" "$T/pair2"
expect "one that goes beside unit tests has them there" 0 "2 passed, 0 failed, 0 skipped" units "$T/tests/unit/test_pair1"
expect "and nobody else" 0 "4 passed, 0 failed, 0 skipped" lone1 other units units2
# Eight that only wait run at once, but of others four: each notes how many there were.
for ((i = 1; i <= 8; i++)); do
	fake waits$i <<E
# beside others
# waits
mkdir "$T/waits.$i"; for ((n = 0; n < 200; n++)); do [ "\$(ls -d "$T"/waits.* | wc -l)" -lt 8 ] || break; sleep 0.1; done
echo 1..1; ((n < 200)) && echo ok 1
E
	fake works$i <<E
# beside others
# takes: $i
mkdir "$T/works.$i"; ls -d "$T"/works.* | wc -l >"$T/were.$i"; sleep 0.3; rmdir "$T/works.$i"; echo 1..1; echo ok 1
E
done
expect "eight that wait run at once" 0 "8 passed, 0 failed, 0 skipped" waits{1..8}
expect "of others" 0 "8 passed, 0 failed, 0 skipped" works{1..8}
is "at most four" "$(cat "$T"/were.* | awk '$1 > most { most = $1 } END { print most <= 4 }')" 1
is "and those that take longest begin" "$(sed -n 's/^ok .*works\([0-9]\).*/\1/p' "$T/out" | tr -d '\n')" 87654321
"$run" --bogus >"$T/out" 2>&1
is "an unknown option is refused" "$?" 2
"$run" --build "$T/empty" >"$T/out" 2>&1
is "a build that is not there is refused" "$?: $(<"$T/out")" "2: tests/run: '$T/empty/bin/nsprof' is not built; run make first"

# Unit tests that were not built: in a separate tree, with a compiler that finds cmocka's header or
# does not.
tree=$T/tree
mkdir -p "$tree"/tests/unit/common/base "$tree"/build/{bin,tests/unit/common/base}
cp "$TOP"/tests/{run,env.sh} "$tree/tests"
cp "$T/v1.2/tests/unit/common/base/test_x" "$tree/build/tests/unit/common/base/test_here"
cp "$T/v1.2/tests/unit/common/base/test_x" "$tree/build/bin/nsprof"
touch "$tree"/tests/unit/common/base/{test_here.c,test_lacking.c,test_other.c,some_fixture.h}
run=$tree/tests/run
CC=false expect "a unit test that was not built is skipped" 0 "1 passed, 0 failed, 2 skipped"
is "with its name and the reason" "$(grep -A 1 'test_lacking' "$T/out" | tr -s ' ')" \
	"skip tests/unit/common/base/test_lacking.c 0 passed, 0 failed, 1 skipped"$'\n'" skipped: whole file: needs libcmocka-dev"
CC=true expect "-k picks among them" 0 "0 passed, 0 failed, 1 skipped" -k base/test_other
like "where cmocka is there, the reason is another one" "$(<"$T/out")" 'whole file: not built; run make test-programs$'
CC=false expect "they are not asked for where files are given" 0 "2 passed, 0 failed, 0 skipped" good
run=$TOP/tests/run

# The helpers of tests/lib.sh.
fake lib <<E
. "$TOP/tests/lib.sh"
echo "\$T" >"$T/lib.dir"
later "echo cleaned >'$T/lib.later'"
pass one
skip two "no reason at all"
check three true
check four false
is five a b
like six "abc" '^a'
unlike seven "abc" '^a'
check_rc eight 3 bash -c 'exit 3'
wait_for true 1 && pass nine
wait_for false 1 || pass ten
done_testing
E
expect "lib.sh: results" 1 "6 passed, 3 failed, 1 skipped" lib
check "lib.sh: the private folder is removed" test ! -e "$(<"$T/lib.dir")"
check "lib.sh: cleanups ran" test -e "$T/lib.later"
fake libdies <<E
set -e
. "$TOP/tests/lib.sh"
pass one
false
done_testing
E
expect "lib.sh: a script that stops early fails" 1 "1 passed, 1 failed, 0 skipped" libdies
fake libneed <<E
. "$TOP/tests/lib.sh"
need_cmd bash no-such-command-here
done_testing
E
expect "lib.sh: need_cmd skips the file" 0 "0 passed, 0 failed, 1 skipped" libneed

# A test sees nothing of its user's environment, or of files from an earlier test.
fake env <<E
. "$TOP/tests/lib.sh"
is "umask" "\$(umask)" 0022
is "what is set" "\${CDPATH-}\${DEBUGINFOD_URLS-}\${PAGER-}\${NO_COLOR-}\${COLUMNS-}\${MAKEFLAGS-}\${NODEPS-}\${XDG_CONFIG_HOME-}\$LC_ALL" C.UTF-8
check "home" test -d "\$HOME"
is "caches" "\$XDG_CACHE_HOME \$(grep -c "\$T/" "\$PERF_CONFIG")" "\$T/.cache 1"
done_testing
E
(umask 077 && cd "$TOP" && env -u HOME CDPATH=. DEBUGINFOD_URLS=http://127.0.0.1:9 PAGER=false NO_COLOR=1 COLUMNS=9 MAKEFLAGS=-j9 NODEPS=1 \
	XDG_CONFIG_HOME=/nonexistent XDG_CACHE_HOME=/nonexistent LANG=de_DE.UTF-8 LC_ALL=de_DE.UTF-8 tests/run "$T/f/env.sh" >"$T/out" 2>&1)
is "the user's environment stays outside" "$(tail -n 1 "$T/out")" "4 passed, 0 failed, 0 skipped"

# The place of the tree makes no difference: in a home that no other user can enter, with a space in
# its name.
mkdir -p "$T/my home/build/bin"
chmod 700 "$T/my home"
cp "$BUILD"/bin/nsprof* "$T/my home/build/bin"
fake nobody <<E
. "$TOP/tests/lib.sh"
for_nobody || skip_all "\$no_nobody"
check "another user" "\${NOBODY[@]}" "\$NSPROF" record --help
is "without rights" "\$("\${NOBODY[@]}" id -u)" 65534
done_testing
E
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	expect "another user can run the programs" 0 "2 passed, 0 failed, 0 skipped" --build "$T/my home/build" nobody
else
	skip "another user can run the programs" "needs root and setpriv"
fi

# It makes no difference whether programs can be run in the temporary folder.
fake runs <<E
. "$TOP/tests/lib.sh"
cp /bin/true "\$T/true"
check "a program of its own" "\$T/true"
like "in a folder that forbids it" "\$T" '^$T/noexec/'
done_testing
E
mkdir -m 1777 "$T/noexec"
chmod 711 "$T"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && mount -t tmpfs -o noexec,mode=1777 tmpfs "$T/noexec" 2>"$T/err"; then
	later "umount -l '$T/noexec'"
	TMPDIR=$T/noexec expect "a folder in which nothing can be run" 0 "2 passed, 0 failed, 0 skipped" runs
	check "its mount is as before" sh -c "! (cp /bin/true '$T/noexec' && '$T/noexec/true')"
	cp "$TOP"/tests/{run,env.sh} "$T/noexec"
	is "others are told" "$(TMPDIR=$T/noexec setpriv --reuid 65534 --clear-groups bash "$T/noexec/run" 2>&1; echo $?)" \
		"tests/run: programs cannot be run in '$T/noexec' (mounted noexec?): mount it with exec, or run the tests as root
2"
else
	skip "a folder in which nothing can be run" "only root can mount, and setpriv is needed"
fi

# The name of the temporary folder makes no difference.
mkdir -p "$T/my tmp"
fake blanks <<E
. "$TOP/tests/lib.sh"
unlike "no blanks" "\$T" ' '
unlike "nor for what it starts" "\$(bash -c 'mktemp -u -t')" ' '
done_testing
E
TMPDIR="$T/my tmp" expect "a folder with a blank in its name" 0 "2 passed, 0 failed, 0 skipped" blanks

# A program that was not built has a reason.
mkdir -p "$T/some/tests/targets"
: >"$T/some/tests/targets/spin"
echo gospin:go >"$T/some/tests/targets/lacking"
fake target <<E
. "$TOP/tests/lib.sh"
need_target spin
pass "spin is there"
need_target spin gospin
done_testing
E
expect "need_target skips" 0 "1 passed, 0 failed, 1 skipped" --build "$T/some" target
like "need_target tells why" "$(<"$T/out")" 'gospin is not built: go is not installed'
done_testing
