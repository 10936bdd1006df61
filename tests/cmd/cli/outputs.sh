#!/bin/bash
# Results of root in directories of others. What another user puts in the place of an output (a
# FIFO, a link, a file that is open already) is neither written to nor replaced, by no command. What
# root makes there can only be read by root. What users ask for goes on: redirections, own FIFOs, own
# links.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd setpriv
need_target spin
SPIN=$BUILD/tests/targets/spin
cd "$T" || exit 2
umask 022
EVE=65534
mkdir -m 1777 shared
mkdir mine
record() { "$NSPROF" record -q -e cpu-clock:u -F 999 -N "$@" -- "$SPIN" --cpu 0.05; }
record -o mine/data 2>err || skip_all "cannot record here: $(cat err)"
is "a recording can be read by root only" "$(stat -c %a mine/data)" 600
"$NSPROF" export -q -i mine/data -o mine/perf.data 2>err || skip_all "export fails: $(cat err)"

# The commands that write a file, each with its own arguments.
declare -A WRITES=(
	[record]="record -q -e cpu-clock -o OUT -- true" [import]="import -q -i mine/perf.data -o OUT"
	[symbolize]="symbolize -q -i mine/data -o OUT" [pprof]="symbolize -q --format pprof -i mine/data -o OUT"
	[script]="script -q -i mine/data -o OUT" [report]="report -q -i mine/data -o OUT"
	[html]="report -q --format html -i mine/data -o OUT" [annotate]="annotate -q -i mine/data -o OUT app_leaf"
	[diff]="diff -q mine/data mine/data -o OUT" [export]="export -q -i mine/data -o OUT"
)
# writes WHAT OUT: run it with that output.
writes() {
	local words
	read -ra words <<<"${WRITES[$1]}"
	timeout 60 "$NSPROF" "${words[@]/#OUT/$2}" >"$T/out" 2>"$T/err"
}
mapfile -t ALL < <(printf '%s\n' "${!WRITES[@]}" | sort)
# planted: put what eve would put in the place of shared/x.
planted() {
	rm -rf shared/*
	case $1 in
	FIFO) mkfifo -m 666 shared/x ;;
	link) ln -s ../mine/precious shared/x ;;
	file) echo eve >shared/x && chmod 666 shared/x ;;
	dangling) ln -s ../mine/new shared/x ;;
	"hard link") ln mine/precious shared/x ;;
	"directory link") ln -s ../mine/inner shared/x ;;
	esac
	[ "$1" = "hard link" ] || chown -h $EVE shared/x
}
mkdir mine/inner
echo precious >mine/precious
for what in FIFO link file dangling "hard link" "directory link"; do
	out=shared/x
	[ "$what" != "directory link" ] || out=shared/x/y
	wrong=
	for cmd in "${ALL[@]}"; do
		planted "$what"
		: >got
		if [ "$what" = FIFO ]; then
			bash -c 'exec timeout 20 cat <>shared/x >got' &
			reader=$!
			wait_for '[ "$(cat /proc/$reader/comm)" = timeout ]' 10
		fi
		writes "$cmd" $out
		rc=$?
		[ "$what" != FIFO ] || { kill $reader; wait $reader; } 2>/dev/null
		[ $rc = 1 ] || [ $rc = 3 ] || wrong+=" $cmd: status $rc"
		[ ! -s got ] || wrong+=" $cmd: eve read $(stat -c %s got) bytes"
		[ "$(cat mine/precious)" = precious ] || wrong+=" $cmd: wrote through it"
		[ ! -e mine/new ] && [ -z "$(ls mine/inner)" ] || wrong+=" $cmd: made a file elsewhere"
		[ "$what" != file ] || [ "$(cat shared/x)" = eve ] || wrong+=" $cmd: replaced it"
		[ "$(ls shared)" = x ] || wrong+=" $cmd: left $(ls shared)"
		grep -Eq "cannot (write|create) '$out': '.*shared/x'|cannot write '$out': 'x' is a .* of user [0-9]+ in a directory that others can write to" err ||
			wrong+=" $cmd: says $(cat err)"
		echo precious >mine/precious
		rm -f mine/new mine/inner/*
	done
	is "a $what of another user" "$wrong" ""
done

# A new file in such a directory, and one that is replaced.
wrong=
for cmd in "${ALL[@]}"; do
	rm -rf shared/*
	for _ in new again; do
		writes "$cmd" shared/x || wrong+=" $cmd: $(cat err)"
		[ "$(stat -c '%a %u' shared/x)" = "600 0" ] || wrong+=" $cmd: $(stat -c '%a %u' shared/x)"
	done
done
is "new files of root, and replaced ones" "$wrong" ""
is "the previous recording" "$(rm -f shared/*; record -o shared/x; record -o shared/x; stat -c '%n %a %u' shared/* | paste -sd,)" "shared/x 600 0,shared/x.old 600 0"

# ---- FILE.old ----
for what in file link "hard link"; do
	rm -f shared/*
	record -o shared/x
	was=$(sha256sum <shared/x)
	planted "$what" && mv shared/x shared/x.old
	record -o shared/x
	mv shared/x.old "shared/eve"
	record -o shared/x
	mv shared/eve shared/x.old
	was=$(sha256sum <shared/x)
	check_rc "FILE.old is a $what of another user" 1 record -o shared/x
	is "FILE.old is a $what: nothing changed" "$(sha256sum <shared/x) $(cat mine/precious)" "$was precious"
	like "FILE.old is a $what: says so" "$(cat check.err)" "cannot write 'shared/x': 'x.old' is a .* of user"
done

# ---- many files ----
rm -f shared/*
check "--switch-output there" "$NSPROF" record -q -e cpu-clock --switch-output=0.2s -o shared/s -- "$SPIN" --cpu 0.5
is "--switch-output: all of them are root's" "$(stat -c '%a %u' shared/s.* | sort -u)" "600 0"
ln -s ../mine/inner shared/split
chown -h $EVE shared/split
check_rc "--split-by, a directory that is a link" 1 "$NSPROF" symbolize -q --split-by comm -i mine/data -o shared/split
is "--split-by: nothing went there" "$(ls mine/inner)" ""
check "--split-by, a new one" "$NSPROF" symbolize -q --split-by comm -i mine/data -o shared/parts
is "--split-by: modes" "$(stat -c %a shared/parts shared/parts/* | sort -u | paste -sd' ')" "600 700"
mkdir -p shared/ids
chown $EVE shared/ids
check_rc "--buildid-dir, a directory that is a link" 1 "$NSPROF" export -q -i mine/data -o mine/perf.data --buildid-dir shared/split
is "--buildid-dir: nothing went there" "$(ls mine/inner)" ""

# ---- --control ----
rm -rf shared/*
mkfifo shared/ctl
chown $EVE shared/ctl
check_rc "--control, another user's FIFO" 1 record -o mine/none --control fifo:shared/ctl
like "--control: says so" "$(cat check.err)" "--control: cannot open 'shared/ctl': 'ctl' is a FIFO of user $EVE"
check_rc "--control, an ACK that is a link" 1 record -o mine/none --control "fifo:$(mkfifo mine/ctl; echo mine/ctl),$(ln -s ../mine/precious shared/ack; chown -h $EVE shared/ack; echo shared/ack)"
check_rc "--control, a file" 1 record -o mine/none --control fifo:mine/precious
like "--control, a file: says so" "$(cat check.err)" "--control: 'mine/precious' is not a FIFO"
is "--control: nothing was written" "$(cat mine/precious)" precious

# ---- what users ask for ----
mkfifo mine/fifo
"$NSPROF" symbolize -q -i mine/fifo >got 2>err &
reader=$!
check "-o FIFO, the own one" record -o mine/fifo
wait $reader
like "-o FIFO: the reader has it" "$(cat got)" 'app_leaf '
mkfifo -m 600 shared/fifo
cat shared/fifo >got &
check "-o FIFO in a shared directory, the own one" "$NSPROF" symbolize -q -i mine/data -o shared/fifo
wait $!
like "-o FIFO in a shared directory: the reader has it" "$(cat got)" 'app_leaf '
chmod 644 shared/fifo
check_rc "unless others can read it" 1 "$NSPROF" symbolize -q -i mine/data -o shared/fifo
like "unless others can read it: says so" "$(cat check.err)" "others can read from it \(chmod 600\)"
ln -s ../mine/through shared/own
check "an own link is followed" "$NSPROF" symbolize -q -i mine/data -o shared/own
is "an own link stays one" "$(readlink shared/own) $(stat -c %a mine/through)" "../mine/through 600"
"$NSPROF" symbolize -q -i mine/data -o mine/folded
ln -s inner mine/here
check "a link to a directory" "$NSPROF" symbolize -q -i mine/data -o mine/here/folded
check "the same bytes" cmp mine/folded mine/inner/folded
"$NSPROF" symbolize -q -i mine/data >shared/redirected
is "a redirection has the shell's mode" "$(stat -c %a shared/redirected)" 644
check "and all of it" cmp mine/folded shared/redirected
"$NSPROF" symbolize -q -i mine/data -o /dev/stdout >>shared/redirected
check "-o /dev/stdout goes on behind it" cmp <(cat mine/folded mine/folded) shared/redirected
"$NSPROF" symbolize -q -i mine/data -o /dev/fd/5 5>got
check "-o /dev/fd/5" cmp mine/folded got
"$NSPROF" symbolize -q -i mine/data -o >(cat >got; echo >ended)
wait_for '[ -s ended ]' 10
check "a process substitution" cmp mine/folded got
"$NSPROF" symbolize -q -i mine/data -o /proc/self/fd/1 >got
check "-o /proc/self/fd/1" cmp mine/folded got
check "-o /dev/null" "$NSPROF" symbolize -q -i mine/data -o /dev/null
check "-o /dev/null: it is still a device" [ -c /dev/null ]

# ---- sudo: the directory belongs to who called it ----
mkdir callers
mkdir callers/results
cp mine/data callers/nsprof.data
chown -R $EVE callers
cd callers || exit 2
as_sudo() { SUDO_UID=$EVE SUDO_GID=$EVE "$@"; }
check "sudo: the caller's recording is put aside" as_sudo record
is "sudo: it is the caller's, the new one is root's" "$(stat -c '%n %a %u' nsprof.data nsprof.data.old | paste -sd,)" "nsprof.data 600 0,nsprof.data.old 600 $EVE"
ln -s results to
chown -h $EVE to
check "sudo: the caller's link to a directory" as_sudo "$NSPROF" symbolize -q -i ../mine/data -o to/folded
check "sudo: it went there" cmp ../mine/folded results/folded
ln -s ../mine/precious end
chown -h $EVE end
check_rc "sudo: the caller's link to a file" 1 as_sudo "$NSPROF" symbolize -q -i ../mine/data -o end
is "sudo: nothing went there" "$(cat ../mine/precious)" precious
check_rc "without sudo: another user's link to a directory" 1 "$NSPROF" symbolize -q -i ../mine/data -o to/folded
cd ..

# ---- a start that fails ----
cd mine || exit 2
rm -f nsprof.data*
record
record
was=$(sha256sum nsprof.data nsprof.data.old)
(ulimit -f 0; record) >"$T/out" 2>"$T/err"
is "a failed start: status" $? 1
is "a failed start: both recordings stay" "$(sha256sum nsprof.data*)" "$was"
check_rc "another one" 1 record -p 999999999
is "another one: both recordings stay" "$(sha256sum nsprof.data*)" "$was"
done_testing
