#!/bin/bash
# Examples in README.md, the manual pages and tests/README.md work: each command runs, on a
# container of this test, and the output shown in README.md has the words and columns of the real
# output. Numbers may differ.
#
#	SESSION=FILE tests/container/examples.sh	runs README's commands unchanged, for their whole
#						duration, and writes their output to FILE for use
#						in README
# beside others
# takes: 30
# timeout: 300
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
ctr_need
[ -x "$TARGETS/shop" ] || skip_all "$(why_not shop)"
mkdir "$T/bin" "$T/readme" "$T/pages" "$T/elsewhere"

# The container that the pages call "web", with a program without debug info, like most programs.
WEB=web$$
[ -z "${SESSION-}" ] || WEB=web
cp "$TARGETS/shop" "$T/server"
strip -g "$T/server"
ctr_rootfs "$T/root" "$T/server:/app/server"

# web_start ARGS...: start it. The process that made it stays outside, like lxc's monitor.
web_start() {
	ctr_start "lxc.payload.$WEB" "$T/root" /app/server 300 "$@" || return
	echo "${CTR_UNSHARE[lxc.payload.$WEB]}" >"$CTR_V2/$CTR_CGROOT/cgroup.procs"
	here["-p 4711"]="-p $CTR_PID"
	ctr_computes
}

# A second program in it, which waits for its children, and they for the disk. It ends with the
# container.
printf '#!/bin/sh\nwhile sleep 0.05; do dd if=/dev/zero of=%s/log bs=4k count=1 conv=fsync 2>/dev/null; done\n' "$T" >"$T/journal"
chmod +x "$T/journal"
journal_pid=
journal_start() {
	[ -z "$journal_pid" ] || ! kill -0 "$journal_pid" 2>/dev/null || return 0
	"$T/journal" &
	journal_pid=$!
	echo "$journal_pid" >"${CTR_CGDIR[lxc.payload.$WEB]}/cgroup.procs"
}

# Here sudo and ssh run their arguments.
# shellcheck disable=SC2016
printf '#!/bin/sh\nexec "$@"\n' >"$T/bin/sudo"
# shellcheck disable=SC2016
printf '#!/bin/sh\nshift\nexec "$@"\n' >"$T/bin/ssh"
chmod +x "$T/bin"/*
export PATH=$T/bin:$BUILD/bin:$PATH USER GITHUB_STEP_SUMMARY=$T/summary PAGER=cat
USER=$(id -un)

# Placeholders in examples, and what replaces them here. Each has to occur in an example.
declare -A here=(
	["--container web"]="--container $WEB"
	["container=web"]="container=$WEB"
	["docker/3f2a..."]="$CTR_CGROOT/lxc.payload.$WEB"
	["-- make"]="-- sh -c 'i=0; while [ \$i -lt 50000 ]; do i=\$((i + 1)); done'"
	["'parse_*'"]="'*parse_order*'"
	["parse_request"]="Shop::reserve_stock"
	["ns::Parser::next"]="Shop::checksum"
	["/var/tmp/"]="$T/elsewhere/"
	["time=20-30"]="time=0-30"
	["time=2-5"]="time=0-5"
	["-- sleep 10"]="-- sleep 0.5"
)
# Examples that begin like this cannot run here.
declare -A cannot=(
	["docker run "]="needs docker and an image with nsprof in it"
)
# Exit statuses other than 0 that are results.
declare -A answers=(
	["--fail-on "]="1 2"	# a regression, or too few samples
	["nsprof doctor"]="1"	# not the whole host can be recorded from here
)
"$NSPROF" record -q -a -e sched:sched_switch --fields=all --duration 0.2 -o "$T/switches.data" 2>"$T/tried.err" || {
	cannot["sudo nsprof record --container web -e s"]="tracepoints: $(tail -n 1 "$T/tried.err")"
	cannot["sudo nsprof record -a -e 's"]=${cannot["sudo nsprof record --container web -e s"]}
	cannot["nsprof report --format html --with-fields"]=${cannot["sudo nsprof record --container web -e s"]}
}
used=" "
web_start || { fail "the container starts"; done_testing; }

# use WORD: note that it occurred in an example.
use() { [[ $used == *" <$1> "* ]] || used+="<$1> "; }

# lacking COMMANDS: print the first missing program of those named first in the line and after | and
# &&.
lacking() {
	local word
	for word in $(sed -z 's/\\\n/ /g' <<<"$1" | sed -E "s/'[^']*'//g; s/ *(\||&&) */\n/g" | awk '{ print $1 == "sudo" ? $2 : $1 }'); do
		command -v "$word" >/dev/null || { echo "$word"; return; }
		[ "$word" != perf ] || have_perf || { echo "a perf that runs"; return; }
	done
}

# catches PID: does it accept SIGUSR2, by a handler or blocked for a descriptor? Before that the
# signal would kill it.
catches() {
	local mask
	for mask in $(sed -n 's/^Sig\(Cgt\|Blk\):[[:space:]]*/0x/p' "/proc/$1/status"); do
		((!(mask & 1 << 11))) || return 0
	done
	return 1
}

# adapted TEXT: replace placeholders, and shorten recordings.
adapted() {
	local text=$1 word
	for word in "${!here[@]}"; do
		text=${text//"$word"/"${here[$word]}"}
	done
	text=$(sed 's/ \+# .*//' <<<"$text")
	# Keep the number of samples of the longer time.
	[ -n "${SESSION-}" ] || text=$(sed -E "s/--duration [0-9.]+/--duration $SHORT/; s/-F 499 /-F 1999 /" <<<"$text")
	# A recording that goes on until a signal.
	if [[ $text == *"nsprof record "* && $text != *--duration* && $text != *" -- "* ]]; then
		text=$(sed -E "1s/( &)?\$/ --duration $SHORT\\1/" <<<"$text")
	fi
	sed -E '1s/ &$/ \&\npid=$!; wait_for "catches $pid" 10/' <<<"$text"
	[[ $text != *" &"$'\n'* ]] || echo "wait \$pid"
}

# example WHERE TEXT: run it, with its output in $T/shown.
example() {
	local name="$1: ${2//$'\n'/ }" key rc allowed=" 0 " missing
	for key in "${!cannot[@]}"; do
		[[ $2 != "$key"* ]] || { use "$key"; skip "$name" "${cannot[$key]}"; return; }
	done
	for key in "${!here[@]}"; do [[ $2 != *"$key"* ]] || use "$key"; done
	for key in "${!answers[@]}"; do
		[[ $2 != *"$key"* ]] || { use "$key"; allowed+="${answers[$key]} "; }
	done
	missing=$(lacking "$(sed 's/ # .*//' <<<"$2")")
	[ -z "$missing" ] || { skip "$name" "needs $missing"; return; }
	adapted "$2" >"$T/example"
	# Most examples only read files.
	grep -q -e record -e ' ps' "$T/example" || ctr_rest
	(
		set -o pipefail
		. "$T/example"
	) >"$T/shown" 2>&1 </dev/null
	rc=$?
	ctr_go
	if [[ $allowed == *" $rc "* ]]; then
		pass "$name"
	else
		fail "$name" "status $rc of:
$(<"$T/example")
$(head -c 4000 "$T/shown")"
	fi
}

# shape: remove what differs from run to run: numbers, IDs, widths of columns, the name of the
# container.
shape() {
	sed -E "s/$WEB/web/g; s/\b[0-9a-f]{12}\b/ID/g; s/[-+]?[0-9][0-9,]*(\.[0-9]+)?/N/g; s/[[:space:]]+/ /g; s/^ //; s/ \$//"
}

# has_lines FILE: does FILE contain the lines of stdin? A line "..." stands for any lines; at the
# end of a line, "..." stands for the rest of it.
has_lines() {
	local line bad=0
	shape <"$1" >"$T/shape"
	while read -r line; do
		[ "$line" != "..." ] || continue
		awk -v want="$line" 'BEGIN { cut = sub(/[.][.][.]$/, "", want) } (cut ? substr($0, 1, length(want)) : $0) == want { found = 1 }
			END { exit !found }' "$T/shape" || { echo "# not in the output: $line"; bad=1; }
	done < <(shape)
	[ $bad = 0 ] || sed 's/^/# | /' "$1"
	return $bad
}
printf 'CPU%%  NAME\n12.3  %s\nwrote 5 MB\n' "$WEB" >"$T/shown"
check "a shape: other numbers" has_lines "$T/shown" <<<$'CPU%   NAME\n...\n9.75   web'
check "a shape: a line that is cut" has_lines "$T/shown" <<<$'CPU%   N...\nwrote...'
check_rc "a shape: another column" 1 has_lines "$T/shown" <<<$'CPU%   LIMIT  NAME'
check_rc "a shape: another word" 1 has_lines "$T/shown" <<<$'read 5 MB'

# ---- README.md, from top to bottom: later commands use the files of earlier ones ----
cd "$T/readme" || exit 2
mkdir "$T/blocks"
awk -v dir="$T/blocks" '
/^    \$ / { file = sprintf("%s/%03d", dir, ++n); sub(/^    \$ /, ""); print >file; more = /(\\| \|)$/; shown = 1; next }
more { sub(/^    /, ""); print >file; more = /(\\| \|)$/; next }
/^    / && shown { sub(/^    /, ""); print >(file ".shown"); next }
/^[^ ]/ { shown = 0 }' "$TOP/README.md"
for block in "$T/blocks"/???; do
	text=$(<"$block")
	SHORT=0.5
	[[ $text != *"-F 499"* ]] || SHORT=2
	case $text in
	*" --wall "* | *" -e s"*)
		journal_start || fail "a second program starts in the container" ;;
	*old1.data*)
		for i in 1 2 3; do cp nsprof.data old$i.data; cp after.data new$i.data; done ;;
	*" perf.data"*)
		[ -e perf.data ] || nsprof export -q -o perf.data nsprof.data ;;
	*-o\ after.data*)
		# The changed version is deployed.
		ctr_stop "lxc.payload.$WEB"
		web_start table || fail "the container starts again" ;;
	esac
	example README.md "$text"
	[ -z "${SESSION-}" ] || { echo "\$ $text"; cat "$T/shown"; } >>"$SESSION"
	[ ! -e "$block.shown" ] || check "README.md: ${text%%$'\n'*}: as shown" has_lines "$T/shown" <"$block.shown"
done
is "README.md: commands were found" "$(($(find "$T/blocks" -name '???' | wc -l) >= 20))" 1
goals=$(make -s -C "$TOP" help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
for goal in $(sed -nE 's/^    make( ([a-z-]+))?( .*)?$/\2/p' "$TOP/README.md"); do
	like "README.md: make $goal is a target" "$goals" "^$goal\$"
done

# ---- its picture ----
ctr_rest
if command -v chromium >/dev/null && command -v node >/dev/null; then
	check "contrib/picture makes a picture of a recording" "$TOP/contrib/picture" nsprof.data page.png
	is "which is a PNG of 960 x 610" "$(od -A n -t x1 -j 1 -N 3 page.png)$(od -A n -t u1 -j 16 -N 8 page.png | tr -s ' ')" " 50 4e 47 0 0 3 192 0 0 2 98"
	check "of at most 200 KB, as that in README.md" [ "$(($(stat -c %s page.png) < 200000))$(($(stat -c %s "$TOP/contrib/doc/page.png") < 200000))" = 11 ]
else
	skip "contrib/picture" "chromium or node is not installed"
fi

ctr_go

# ---- manual pages ----
# inputs DIR: make the files that the examples read.
inputs() {
	local f
	mkdir "$1" && cd "$1" || exit 2
	for f in nsprof.data nsprof.data.old before.data a1.data a2.data a3.data old.data; do cp "$T/readme/nsprof.data" $f; done
	for f in after.data b1.data b2.data b3.data new.data; do cp "$T/readme/after.data" $f; done
	cp "$T/readme/host.data" "$T/readme/perf.data" .
	[ ! -e "$T/switches.data" ] || cp "$T/switches.data" .
}
SHORT=0.5
for page in "$TOP"/contrib/man/*.1.in; do
	name=$(basename "$page" .in)
	inputs "$T/pages/$name"
	n=0
	text=
	while IFS= read -r line; do
		text+=$line
		# A line with this end continues on the next one.
		if [[ $line == *\\ || $line == *" &" ]]; then
			text+=$'\n'
			continue
		fi
		example "$name" "$text"
		text=
		n=$((n + 1))
	done < <(awk '/^\.SH/ { on = /EXAMPLES/ } /^\.fi/ { on2 = 0 } on && on2 { print } /^\.nf/ { on2 = 1 }' "$page" |
		sed 's/\\-/-/g; s/\\e/\\/g; s/\\\\/\\/g; s/\\(aq/'"'"'/g; s/\\&//g')
	check "$name has examples" [ $n -gt 0 ]
done

# ---- tests/README.md: whole scripts ----
mkdir -p "$T/tests/cmd/record" "$T/tests/container"
ln -s "$TOP/tests/lib.sh" "$TOP/tests/env.sh" "$T/tests"
ln -s "$TOP/tests/container/lib.sh" "$T/tests/container"
awk -v dir="$T/tests" '/^```sh/ { getline; if (/^#!/) { file = dir (n++ ? "/container/" : "/cmd/record/") n ".sh" } }
	/^```c$/ { getline; file = dir "/unit.c" }
	/^```/ { file = "" } file { print >file }' "$TOP/tests/README.md"
for script in "$T/tests/cmd/record/1.sh" "$T/tests/container/2.sh"; do
	check "tests/README.md: ${script#"$T"/tests/}" env TMPDIR="$T" bash "$script"
	unlike "tests/README.md: ${script#"$T"/tests/}: nothing fails" "$(<"$T/check.out")" '^not ok'
done

if "${CC:-gcc}" -E -include cmocka.h -x c /dev/null >/dev/null 2>&1; then
	check "tests/README.md: the unit test compiles" "${CC:-gcc}" -fsyntax-only -D_GNU_SOURCE -I"$TOP/include" -I"$TOP/record" -I"$TOP/common" "$T/tests/unit.c"
else
	skip "tests/README.md: the unit test compiles" "needs a compiler and libcmocka-dev"
fi

for key in "${!here[@]}" "${!cannot[@]}" "${!answers[@]}"; do
	check "'$key' is in an example" grep -Fq -e "<$key>" <<<"$used"
done
ctr_stop "lxc.payload.$WEB"
done_testing
