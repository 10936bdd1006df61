#!/bin/bash
# Recording without being root: with the file capabilities of contrib/doc/rights.md, with the
# capabilities of its pod, and as a plain user.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd setpriv setcap jq
need_target spin
for_nobody "$BUILD/tests/targets/spin" || skip_all "$no_nobody"
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] || skip_all "kernel.perf_event_paranoid is above 2"
[[ $(uname -r) =~ ^([6-9]|5\.([1-9][0-9])) ]] || skip_all "Linux before 5.10 has other capabilities"
caps=$(sed -n 's/^    setcap \([a-z_,]*\)+ep .*/\1/p' "$TOP/contrib/doc/rights.md")
pod=$(sed -n 's/^ *add: \[\(.*\)\]$/\1/p' "$TOP/contrib/doc/rights.md" | tr -d ' ' | tr 'A-Z' 'a-z')
like "the page has both lists" "$caps $pod" 'cap_perfmon.* perfmon'
user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
mkdir -m 777 "$PUBLIC/w"
# A process of root whose binary nobody else may read: its names need all of this.
mkdir -m 700 "$PUBLIC/own"
mv "$PUBLIC/spin" "$PUBLIC/own/"
"$PUBLIC/own/spin" 100 >/dev/null &
spin=$!

# named FILE: samples of the process with the names of its functions.
named() { "$NSPROF" symbolize -q "$1" | grep -c 'spin;.*app_inner'; }

if setcap "$caps+ep" "$PUBLIC/nsprof-record" 2>"$T/err" && [ -z "$(user "$PUBLIC/nsprof-record" --build-info 2>&1 >/dev/null)" ]; then
	cd "$PUBLIC/w" || exit 1
	check "file capabilities: -a" user "$PUBLIC/nsprof-record" -q -e cpu-clock -a --duration 0.5 -F 199 -m 256K --call-graph dwarf,8192 -o a.data
	is "the recording is the user's" "$(stat -c %u a.data)" 65534
	check "it has the names of root's process" [ "$(named a.data)" -gt 0 ]
	check "file capabilities: -p" user "$PUBLIC/nsprof-record" -q -e cpu-clock -p $spin --duration 0.3 -F 199 -m 256K --call-graph dwarf,8192 -o p.data
	check "it has its names, too" [ "$(named p.data)" -gt 0 ]
	user "$PUBLIC/nsprof-record" -q -e cpu-clock:u -o c.data -- sh -c 'grep ^CapEff: /proc/self/status >eff' 2>"$T/err"
	is "a command has none of the capabilities" "$(awk '{ print $2 + 0 }' eff)" 0
	# A /proc of the user's own, in which names of threads are links to files that only root reads.
	ln -s /proc proc
	user "$PUBLIC/nsprof-record" -q -e cpu-clock -a --duration 0.1 --proc "$PWD/proc" -o proc.data 2>"$T/err"
	is "--proc of the user is refused" "$?" 1
	like "with the reason" "$(cat "$T/err")" "error: cannot use --proc '.*/proc' with file capabilities: "
	setcap -r "$PUBLIC/nsprof-record"
	user "$PUBLIC/nsprof-record" -q -a --duration 0.1 -o n.data 2>"$T/err"
	is "without them -a is refused" "$?" 1
else
	skip "file capabilities" "not possible in $PUBLIC: $(cat "$T/err")"
fi

list=$(sed 's/[a-z_]*/+&/g; s/++*/+/g; s/+,/,/g; s/+$//' <<<"$pod")
cd "$PUBLIC/w" || exit 1
check "the pod's capabilities: -a" setpriv --no-new-privs --inh-caps="-all,$list" --bounding-set="-all,$list" \
	"$PUBLIC/nsprof-record" -q -e cpu-clock -a --duration 0.5 -F 199 -o pod.data
check "names of root's process" [ "$(named pod.data)" -gt 0 ]

check "a plain user: a command" user "$PUBLIC/nsprof-record" -q -e cpu-clock:u -F 199 -o user.data -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'
check "it has samples" [ "$("$NSPROF" info --json user.data | jq .samples)" -gt 0 ]
done_testing
