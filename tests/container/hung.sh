#!/bin/bash
# A file system that stops answering stops nobody: a recording ends on time, names the file, and has
# the names of everybody else; so do the other programs that look at processes.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need
need_cmd jq
need_target spin
need_target hungfs
[ -e /dev/fuse ] || skip_all "no /dev/fuse here"
mkdir "$T/probe"
"$TARGETS/hungfs" "$T/probe" /bin/true now /bin/true 2>"$T/err"
rc=$?
umount -l "$T/probe" 2>/dev/null
[ $rc != 77 ] || skip_all "no FUSE here: $(<"$T/err")"

# hung NAME WHEN WHERE COMMAND...: COMMAND in a mount namespace of its own, with a FUSE file system at
# /HERE, below WHERE. HUNG is its pid, and SERVER that of the file system.
hung() {
	local name=$1 when=$2 where=$3 i
	shift 3
	mkdir -p "$T/$name"
	unshare -m --propagation private bash -c '
		mount -t tmpfs none "$1" && cp "$2" "$1/spin" && mkdir "$1/f" && mkdir -p "$4" && exec "$5" "$4" "$1/spin" "$3" "${@:6}"' \
		- "$T/$name" "$TARGETS/spin" "$when" "$where" "$TARGETS/hungfs" "$@" 2>>"$T/err" &
	HUNG=$!
	# The server is its child, so the kernel ends it when its parent ends.
	later "kill -KILL $HUNG 2>/dev/null"
	for ((i = 0; i < 100; i++)); do
		SERVER=$(cat "/proc/$HUNG/task/$HUNG/children" 2>/dev/null)
		SERVER=${SERVER%% *}
		# comm needs no memory of the process; cmdline might never be read.
		case $(cat "/proc/$HUNG/comm" 2>/dev/null) in '' | unshare | bash | hungfs | mount | cp | mkdir) ;; *) [ -z "$SERVER" ] || return ;; esac
		sleep 0.05
	done
}

# within SECONDS COMMAND...: it ends in time, and with status 0.
within() {
	timeout -s KILL "$1" "${@:2}" >"$T/out" 2>"$T/err"
}

ctr_rootfs "$T/root" "$TARGETS/spin:/app/server"
ctr_start other "$T/root" /app/server 120 || { fail "a container starts"; done_testing; }
ctr_computes

# ---- programs run from a file system whose server answers, and then stops
hung served usr1 "$T/served/f" "$T/served/f/app" --cpu 120
check "served: it records" within 60 "$NSPROF" record -v -a -F 199 --duration 1 -o "$T/data"
like "served: a program on FUSE has its names while the server answers" \
	"$("$NSPROF" symbolize -q "$T/data")" '^app;.*app_inner;app_leaf'
# ms that a recording takes, so that a busy machine is no failure
begun=$(date +%s%N)
within 60 "$NSPROF" record -a -F 199 --duration 1 -o "$T/data"
usual=$((($(date +%s%N) - begun) / 1000000 - 1000))
kill -USR1 "$SERVER"
hung tmp now /tmp "$T/tmp/spin" --cpu 120
hung stat getattr /tmp "$T/stat/spin" --cpu 120
hung flush flush "$T/flush/f" "$T/flush/f/app" --cpu 120
hung read usr1 "$T/read/f" "$T/read/f/app" --cpu 120
kill -USR1 "$SERVER"

begun=$(date +%s%N)
check "several: a recording of everything ends" within 60 "$NSPROF" record -a -F 199 --duration 2 -o "$T/data"
took=$((($(date +%s%N) - begun) / 1000000))
tap_note "it took $took ms for 2 s: $(<"$T/err")"
check "several: within a second of its time" test "$took" -lt $((2000 + usual + 1000))
like "several: it says what did not answer" "$(<"$T/err")" "could not be read: the file system, fuse.hungfs at .* does not answer"
is "several: nsprof info counts them" "$("$NSPROF" info --json "$T/data" | jq '.ledger.unread >= 3')" true
begun=$(date +%s%N)
check "several: symbolize ends" within 60 "$NSPROF" symbolize -q "$T/data"
like "several: names of others" "$(<"$T/out")" ';app_inner;app_leaf '
others=$(awk '/^server;/ { all += $NF } /^server;.*app_inner;app_leaf/ { hit += $NF } END { print (all && hit >= 0.9 * all) + 0 }' "$T/out")
is "several: the other container is complete" "$others" 1
tap_note "$(grep -c . "$T/out") stacks"

for sig in INT TERM; do
	"$NSPROF" record -q -a -F 199 -o "$T/data.$sig" 2>/dev/null &
	recorder=$!
	wait_for "[ -s '$T/data.$sig' ]" 20
	sleep 0.5
	begun=$(date +%s%N)
	kill -$sig $recorder
	wait $recorder
	took=$((($(date +%s%N) - begun) / 1000000))
	check "SIG$sig: it ends within a second ($took ms)" test "$took" -lt $((usual + 1000))
	check "SIG$sig: the file can be read" "$NSPROF" info "$T/data.$sig"
done

check "report ends" within 60 "$NSPROF" report "$T/data"
check "annotate ends" within 60 "$NSPROF" annotate -s app_leaf "$T/data"
check "ps ends" within 60 "$NSPROF" ps
within 60 "$NSPROF" doctor
check "doctor ends" test $? -lt 100
ctr_stop other
done_testing
