# Containers for the tests: own pid, mount, uts, ipc and net namespaces, an overlay root entered
# with pivot_root, and an own cgroup. Needs only unshare and busybox. Sourced after tests/lib.sh.
#
#	ctr_need			skip the whole file when this host cannot do it
#	ctr_rootfs DIR FILE[:PATH]...	a root folder with busybox, the given files and their libraries
#	ctr_start NAME ROOTFS CMD...	start; sets CTR_PID (host pid of its process 1), CTR_CG (name for -G)
#	ctr_computes			wait until it runs its own code
#	ctr_rest			all of this file's rest, and leave the CPUs to others; ctr_go: they go on
#	ctr_wait NAME			wait until it has ended by itself
#	ctr_stop NAME			kill, unmount, remove the cgroup and every file of it
#
#	ctr_pids CGROUP [REGEX]		its processes as a list for -p, or those with matching names
#	perf_record OUT ARGS...		record with perf at the same time, to show its result; then
#	perf_wait OUT			its stacks as folded text in OUT.perf
#	perf_not WHAT COMMAND...	perf's result fails COMMAND, which holds for our own output
#
# CTR_OPTS: extra arguments for unshare, e.g. "-U -r". CTR_TMPFS=1: a tmpfs on /tmp; CTR_TMP=DIR:
# that folder on /tmp.

TARGETS=$BUILD/tests/targets
declare -A CTR_UNSHARE CTR_DIR CTR_CGDIR
CTR_BASE=
CTR_HANDED=
CTR_V2=$(awk '$(NF-2) == "cgroup2" || / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)

ctr_need() {
	[ "$(id -u)" = 0 ] || { skip_all "needs root to make namespaces and mounts"; }
	[ -n "$CTR_V2" ] || { skip_all "no cgroup2 mount"; }
	local c why
	for c in busybox unshare pgrep readelf; do
		command -v $c >/dev/null || { skip_all "$c is not installed"; }
	done
	# Some root folders contain nothing else.
	! readelf -lW "$(command -v busybox)" | grep -q INTERP || { skip_all "busybox is not linked statically: busybox-static is not installed"; }
	CTR_CGROOT=nsprof-test-$$
	mkdir "$CTR_V2/$CTR_CGROOT" 2>/dev/null || { skip_all "cannot make a cgroup in $CTR_V2"; }
	later ctr_cleanup
	CTR_BASE=$(mktemp -d "${TMPDIR:-/tmp}/nsprof-ctr.XXXXXX")
	why=$(unshare -m -p -u -i -n --fork true 2>&1) || { ctr_cannot "make namespaces here: $why"; }
	ctr_place
	# In cgroup v2 perf_event only reaches cgroups once a controller is enabled in the root
	# (record/events/cgroup_perf.h).
	[ -n "$(cat "$CTR_V2/cgroup.subtree_control")" ] || ctr_cpu_root || :
}

# ctr_cpu: enable the cpu controller of cgroup v2 for the cgroups of containers; fails if v2 does
# not have it.
ctr_cpu() {
	ctr_cpu_root && echo +cpu >"$CTR_V2/$CTR_CGROOT/cgroup.subtree_control"
} 2>/dev/null

# Controllers enabled here in the root are disabled again by ctr_cleanup.
ctr_cpu_root() {
	! grep -qw cpu "$CTR_V2/cgroup.subtree_control" || return 0
	echo +cpu >"$CTR_V2/cgroup.subtree_control" && CTR_HANDED=1
} 2>/dev/null

# ctr_cannot WHAT: skip the whole file, and leave nothing behind.
ctr_cannot() {
	ctr_cleanup
	skip_all "cannot $1"
}

# ctr_place: make $CTR_BASE usable for the upper layer of an overlay. A folder on an overlay, as in
# a docker container, or on NFS is not usable, and becomes a tmpfs. An overlay on an overlay cannot
# be the lower layer of a third one either: then root folders are copied to the tmpfs.
ctr_place() {
	local lower why
	CTR_COPY=
	lower=$(mktemp -d "$CTR_BASE.XXXXXX")
	if ! why=$(ctr_overlay_try "$lower"); then
		mount -t tmpfs -o mode=700 nsprof-test "$CTR_BASE" ||
			{ rmdir "$lower"; ctr_cannot "mount a tmpfs on $CTR_BASE, and an overlay there: $why"; }
		ctr_overlay_try "$lower" >/dev/null || CTR_COPY=1
	fi
	rmdir "$lower"
	if [ -n "$CTR_COPY" ]; then
		mkdir "$CTR_BASE/lower"
		why=$(ctr_overlay_try "$CTR_BASE/lower") || { ctr_cannot "mount an overlay: $why"; }
		rmdir "$CTR_BASE/lower"
	fi
}

# ctr_overlay LOWER DIR: mount an overlay of LOWER on DIR/merged, with its upper layer in DIR.
ctr_overlay() {
	mkdir -p "$2"/{upper,work,merged} &&
		mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/merged"
}

# ctr_overlay_try LOWER: does that work in $CTR_BASE?
ctr_overlay_try() {
	local rc=0
	unshare -m --propagation private bash -c "$(declare -f ctr_overlay); ctr_overlay \"\$@\" 2>&1" bash "$1" "$CTR_BASE/try" || rc=$?
	rm -rf "$CTR_BASE/try"
	return $rc
}

# ctr_rootfs: "SRC" keeps its base name in /app, "SRC:DST" goes to DST. The loader, and the shared
# objects that a dynamic program needs, are copied to the paths where the loader looks.
ctr_rootfs() {
	local dir=$1 spec src dst lib
	shift
	mkdir -p "$dir"/{bin,app,proc,dev,tmp,etc,lib,lib64,usr/lib,.old}
	cp "$(command -v busybox)" "$dir/bin/busybox"
	ln -sf busybox "$dir/bin/sh"
	for spec in "$@"; do
		src=${spec%%:*}
		dst=/app/${src##*/}
		[ "$spec" = "$src" ] || dst=${spec#*:}
		mkdir -p "$dir$(dirname "$dst")"
		cp -L "$src" "$dir$dst"
		ctr_libs "$dir" "$src"
	done
}

ctr_libs() {
	local dir=$1 file=$2 lib interp
	interp=$(readelf -lW "$file" 2>/dev/null | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
	[ -n "$interp" ] || return 0
	mkdir -p "$dir$(dirname "$interp")"
	cp -L "$interp" "$dir$interp"
	LD_LIBRARY_PATH=$(dirname "$file") "$interp" --list "$file" 2>/dev/null | sed -n 's/.*=> \(\/.*\) (0x.*/\1/p' | while read -r lib; do
		case $lib in
		"$(dirname "$file")"/*) mkdir -p "$dir/app"; cp -L "$lib" "$dir/app/" ;;
		*) mkdir -p "$dir$(dirname "$lib")"; cp -L "$lib" "$dir$lib" ;;
		esac
	done
}

ctr_start() {
	local name=$1 rootfs=$2 d cg i
	shift 2
	d=$CTR_BASE/$name
	cg=$CTR_V2/$CTR_CGROOT/$name
	mkdir -p "$d" "$cg"
	if [ -n "$CTR_COPY" ]; then
		cp -a "$rootfs" "$d/lower"
		rootfs=$d/lower
	fi
	cat >"$d/init" <<-INIT
		set -e
		$(declare -f ctr_overlay)
		ctr_overlay "$rootfs" "$d"
		cd "$d/merged"
		mount -t proc proc proc
		mount --bind /dev dev
		[ -z "${CTR_TMPFS:-}" ] || mount -t tmpfs tmpfs tmp
		[ -z "${CTR_TMP:-}" ] || mount --bind "${CTR_TMP:-}" tmp
		mkdir -p .old
		./bin/busybox pivot_root . .old
		exec /bin/busybox sh -c '/bin/busybox umount -l /.old && export LD_LIBRARY_PATH=/app PATH=/bin:/app HOME=/ && cd / && : >/.ready && exec "\$@"' sh "\$@"
	INIT
	# shellcheck disable=SC2086
	(
		echo $BASHPID >"$cg/cgroup.procs"
		exec unshare -m -p -u -i -n --fork --kill-child --propagation private ${CTR_OPTS:-} \
			bash "$d/init" "$@" </dev/null >"$d/log" 2>&1
	) &
	CTR_UNSHARE[$name]=$!
	# Nothing waits for it by its number (ctr_empty).
	disown $!
	CTR_DIR[$name]=$d
	CTR_CGDIR[$name]=$cg
	CTR_CG=$CTR_CGROOT/$name
	CTR_PID=
	# It is up when it is in its own root and has become the command: the shell before it has
	# other stacks.
	for i in $(seq 200); do
		if [ -e "$d/upper/.ready" ]; then
			CTR_PID=$(pgrep -P "${CTR_UNSHARE[$name]}" | head -n 1)
			[ -n "$CTR_PID" ] && ! grep -aqs 'umount -l /.old' "/proc/$CTR_PID/cmdline" && return 0
		fi
		kill -0 "${CTR_UNSHARE[$name]}" 2>/dev/null || break
		sleep 0.02
	done
	echo "# container $name did not start:"
	sed 's/^/# /' "$d/log"
	return 1
}

# ctr_computes [CGROUP [MS]]: wait until the processes in that cgroup, or in the container started
# last, have used MS (100) of CPU time. By then the program is past the loader and its start, in its
# own code.
ctr_computes() {
	local cg=${1-$CTR_CG} ms=${2-100} from
	from=$(cg_used "$cg")
	wait_for "((\$(cg_used '$cg') >= $from + $ms * 1000))" 30
}

# ctr_rest, ctr_go: for what only needs processes that live. Without a freezer they go on.
ctr_rest() { echo 1 >"$CTR_V2/$CTR_CGROOT/cgroup.freeze"; } 2>/dev/null
ctr_go() { echo 0 >"$CTR_V2/$CTR_CGROOT/cgroup.freeze"; } 2>/dev/null

# ctr_empty DIR SECONDS: wait until no process is in that cgroup. Bash can be wrong about its
# children: it loses the end of a process substitution that ends while it is being noted (5.2:
# between restore_pipeline() and procsub_add() in process_substitute()). Once the number is given
# again, it takes the end of another child for that one's, and "wait" never returns.
ctr_empty() {
	local _
	for _ in $(seq $(($2 * 20))); do
		grep -qs '^populated 1' "$1/cgroup.events" || return 0
		sleep 0.05
	done
	return 1
}

ctr_wait() { ctr_empty "${CTR_CGDIR[$1]}" 60; }

ctr_stop() {
	local name=$1 pid
	[ -n "${CTR_UNSHARE[$name]:-}" ] || return 0
	# Only processes in the cgroup that this file made.
	for pid in $(cat "${CTR_CGDIR[$name]}/cgroup.procs" 2>/dev/null); do
		kill -KILL "$pid" 2>/dev/null || :
	done
	ctr_wait "$name" || :
	rmdir "${CTR_CGDIR[$name]}" 2>/dev/null || :
	rm -rf "${CTR_DIR[$name]}"
	unset "CTR_UNSHARE[$name]"
}

ctr_pids() {
	local p list=
	for p in $(cat "$CTR_V2/$1"/cgroup.procs "$CTR_V2/$1"/*/cgroup.procs 2>/dev/null); do
		! grep -qsE "${2:-.}" "/proc/$p/comm" || list+=,$p
	done
	echo "${list#,}"
}

ctr_cleanup() {
	local name
	for name in "${!CTR_UNSHARE[@]}"; do
		ctr_stop "$name"
	done
	if [ -n "$CTR_BASE" ]; then
		! mountpoint -q "$CTR_BASE" || umount -l "$CTR_BASE"
		rm -rf "$CTR_BASE"
	fi
	if [ -n "${CTR_CGROOT-}" ]; then
		# A killed shell leaves its children behind, and a file that stops early its cgroups.
		find "$CTR_V2/$CTR_CGROOT" -name cgroup.procs -exec cat {} + 2>/dev/null | xargs -r kill -KILL 2>/dev/null
		ctr_empty "$CTR_V2/$CTR_CGROOT" 5 || :
		find "$CTR_V2/$CTR_CGROOT" -depth -type d -exec rmdir {} + 2>/dev/null || :
	fi
	[ -z "$CTR_HANDED" ] || echo -cpu >"$CTR_V2/cgroup.subtree_control" || :
}

# ctr_id PREFIX: a container ID that no other container of this machine has.
ctr_id() { printf '%s%064d' "$1" 0 | cut -c -48 | tr -d '\n'; printf '%016x' $$; }

# ctr_end: for tests that put processes ($PIDS) into cgroups of their own: end them, and remove all
# cgroups of this file.
PIDS=()
ctr_end() {
	kill -KILL "${PIDS[@]}"
	wait "${PIDS[@]}"
	find "$CTR_V2/$CTR_CGROOT" -mindepth 1 -depth -type d -exec rmdir {} +
} 2>/dev/null

# ctr_record OUT ARGS...: quiet nsprof record; reports a failure.
ctr_record() {
	local out=$1
	shift
	"$NSPROF" record -q -o "$out" "$@" || echo "# record $* failed with $?"
}

# ctr_record_while OUT SCRIPT ARGS...: the same, while SCRIPT runs, which is recorded from its first
# action.
ctr_record_while() {
	local out=$1 script=$2 recorder rc
	shift 2
	rm -f "$out"
	"$NSPROF" record -q -o "$out" "$@" &
	recorder=$!
	wait_for "[ -s '$out' ]" 20
	eval "$script"
	kill -INT $recorder
	wait $recorder
	rc=$?
	[ $rc = 130 ] || echo "# record $* failed with $rc"
}

# has_chain FOLDED CHAIN [MIN]: some stacks hold the frames of CHAIN without gaps. Their samples are
# at least MIN per cent (default 60) of all samples with the chain's last name in them.
has_chain() {
	awk -v want="$2" -v min="${3:-60}" '
	{
		n = $NF; line = $0; sub(/ [0-9]+$/, "", line); total += n
		if (index(";" line ";", ";" want ";")) hit += n
	}
	END {
		printf "# %d of %d samples hold %s\n", hit, total, want
		exit !(total > 0 && 100 * hit >= min * total)
	}' "$1"
}

# rooted FOLDED ROOT [MIN]: at least MIN per cent (default 99) of the user stacks begin with ROOT
# (an extended regular expression) right after the leading comm frame.
rooted() {
	awk -v root="^[^;]*;(""$2"")(;| )" -v min="${3:-99}" '
	{ n = $NF; total += n; if ($0 ~ root) hit += n; else if (miss == "") miss = $0 }
	END {
		printf "# %d of %d samples begin at %s\n", hit, total, root
		if (miss != "") print "# not: " miss
		exit !(total > 0 && 100 * hit >= min * total)
	}' "$1"
}

# ---- cgroups that are removed and created again

# run_in CGROUP COMMAND...: run it in that existing cgroup. The file used.PROGRAM gets the CPU time
# that the cgroup used meanwhile, us.
cg_used() { awk '$1 == "usage_usec" { print $2 }' "$CTR_V2/$1/cpu.stat"; }
run_in() {
	local before
	before=$(cg_used "$1")
	sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$CTR_V2/$1" "${@:2}"
	echo $(($(cg_used "$1") - before)) >"used.${2##*/}"
}
# live CGROUP COMMAND...: create the cgroup, run COMMAND in it, remove it.
live() {
	mkdir "$CTR_V2/$1"
	run_in "$@"
	rmdir "$CTR_V2/$1"
}
# record_start ARGS...: record to a.data, and return when sampling is on.
record_start() {
	rm -f a.data
	"$NSPROF" record -e cpu-clock -F 499 -o a.data "$@" 2>err &
	RECORDER=$!
	wait_for '[ -s a.data ] || ! kill -0 $RECORDER' 20
}
record_end() {
	kill -INT $RECORDER
	wait $RECORDER
}
# life FOLDED PROGRAM CHAIN [LATE]: there are samples for 90 % of the CPU time that its cgroup used,
# not counting the first LATE s. Of those after its loading, 95 % are whole from main on, into the
# chain, or where that reads the clock (1 to 6 %).
life() {
	local first second
	grep "^$2;" "$1" >"$T/life"
	awk -v used="$(cat "used.$2")" -v late="${4:-0}" '{ n += $NF } END { print "# " n + 0 " samples of it in " used / 1e6 " s of CPU time"
		exit n < 0.9 * (used / 1e6 - late) * 499 || n < 20 }' "$T/life" || return
	IFS=';' read -r first second _ <<<"$3"
	grep -v ';_start;_dl_start;' "$T/life" >"$T/life.main"
	has_chain "$T/life.main" "$first;$second" 95 && has_chain "$T/life.main" "$3" 85
}

# Claims about perf in the tests are about 6.1. PERF_CLAIMS=1 PERF=FILE tests them with another
# perf. perf's cache of binaries in ~/.debug would hide its limits, so each recording gets an empty
# one, which is removed before the report, as on another machine. No build-ids (PERF_OPTS=-B) unless
# a test needs them: perf dies looking for them when a recorded process has ended ("assertion failed
# at util/build-id.c:1010").
PERF_OPTS=-B
PERF_VERSION=$(perf --version 2>/dev/null) || :	# the demo runs with set -e
PERF_VERSION=${PERF_VERSION/ version/}
if [[ $PERF_VERSION == "perf 6.1."* || ${PERF_CLAIMS:+$PERF_VERSION} == perf* ]]; then
	PERF=perf
else
	PERF=
fi

# perf_record OUT ARGS...: run "perf record ARGS" in the background, until perf_wait or its own
# --duration by "sleep". perf's default rings of 512 KiB hold 60 of its samples, a tenth of a second
# at 499 Hz: on a busy machine perf got no samples at all.
perf_record() {
	local out=$1
	shift
	[ -n "$PERF" ] || return 0
	perf --buildid-dir "$out.cache" record -q $PERF_OPTS -m 8M -e cpu-clock -o "$out.data" "$@" >"$out.log" 2>&1 &
	PERF_PID=$!
	# perf has its events when it has started its command. Until then the child has perf's own
	# name.
	wait_for "pgrep -x -P $PERF_PID sleep >/dev/null || ! kill -0 $PERF_PID" 20
}

# perf_fold OUT: write perf script's current result to OUT.perf, as "comm;frames COUNT".
perf_fold() {
	[ -n "$PERF" ] || return 0
	PERF_OUT=$1
	rm -rf "$1.cache"
	perf --buildid-dir "$1.cache" script ${PERF_SCRIPT---no-inline} -F comm,ip,sym -i "$1.data" 2>"$1.err" | awk '
		function out(i, s) { if (comm == "") return; s = comm; for (i = n; i > 0; i--) s = s ";" f[i]; all[s]++; comm = "" }
		/^[^ \t]/ { out(); comm = $1; n = 0; next }
		NF { sub(/^[ \t]*[0-9a-f]+ /, ""); f[++n] = $0 }
		END { out(); for (s in all) print s, all[s] }' | sort >"$1.perf"
}

perf_wait() {
	[ -n "$PERF" ] || return 0
	wait "$PERF_PID"
	perf_fold "$1"
}

# perf_not WHAT COMMAND...: perf 6.1 fails here: COMMAND, which holds for our own output, does not
# hold for perf's output of the last folded OUT. Having no samples at all only counts if perf died.
perf_not() {
	local what="${PERF:+$PERF_VERSION}" died='assertion failed|smashing|could not read first record'
	what="${what:-perf 6.1} fails: $1"
	shift
	if [ -z "$PERF" ]; then
		skip "$what" "there is no perf 6.1"
	elif [ ! -s "$PERF_OUT.perf" ] && ! grep -Eq "$died" "$PERF_OUT.log" "$PERF_OUT.err"; then
		fail "$what" "it has no samples: $(cat "$PERF_OUT.log" "$PERF_OUT.err")"
	elif "$@" >"$T/perf_not.out" 2>&1; then
		fail "$what" "it does not: $*
$(cat "$T/perf_not.out")"
	elif [ -s "$PERF_OUT.perf" ]; then
		pass "$what"
	else
		pass "$what (it dies)"
	fi
}
