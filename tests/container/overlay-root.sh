#!/bin/bash
# The demo and the tests' containers work where / is an overlay, as in a docker container. An
# overlay cannot be the upper layer of another one, and an overlay on an overlay cannot even be the
# lower layer of a third.
# timeout: 300
# beside others
# waits
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need
# The kernel does not stack more than two.
[ "$(stat -f -c %T /)" != overlayfs ] || skip_all "/ is an overlay already, as this would make it"
[ -x "$TARGETS/shop" ] || skip_all "$(why_not shop)"

# inside DEPTH SCRIPT ARGS...: bash runs SCRIPT in a root of DEPTH stacked overlays, in its own
# mount namespace.
inside() {
	rm -rf "$CTR_BASE/in"
	mkdir "$CTR_BASE/in"
	# shellcheck disable=SC2016
	unshare -m --propagation private bash -c "$(declare -f ctr_overlay)"'
		set -e
		base=$1 depth=$2 top=$3 build=$4 root=/
		shift 4
		for ((i = 0; i < depth; i++)); do
			mkdir "$base/$i"
			# Upper layers lie beside each other, not in the previous overlay.
			ctr_overlay "$root" "$base/$i"
			root=$base/$i/merged
		done
		for dir in /proc /sys /dev "$top" "$build"; do
			mkdir -p "$root$dir"
			mount --rbind "$dir" "$root$dir"
		done
		mkdir -p "$root/tmp"
		export TMPDIR=/tmp TOP=$top BUILD=$build NSPROF=$build/bin/nsprof
		exec chroot "$root" bash -c "$@"' bash "$CTR_BASE/in" "$1" "$TOP" "$(realpath "$BUILD")" "${@:2}" </dev/null
}

# Check the precondition of this test there: no upper layer of an overlay can be in /tmp.
# shellcheck disable=SC2016
upper='cd "$(mktemp -d)" && mkdir l u w m && unshare -m mount -t overlay o -o lowerdir=l,upperdir=u,workdir=w m'
is "/ is an overlay there" "$(inside 1 'stat -f -c %T /tmp')" overlayfs
check_rc "an upper layer cannot be on it" 32 inside 1 "$upper"

# Only the tests need these packages, and the demo installs none of them. Removing them there only
# changes an upper layer.
# shellcheck disable=SC2016
for_tests='
for c in $(sed -n "/^check_deps=/,/^lint_deps=/s/.* \(cmd\|run\):\([^$]*\)$/\2/p" "$TOP/contrib/install-deps"); do
	for f in $(type -ap "$c"); do
		[ ! -e "$f" ] || { [ "$(stat -f -c %T "$f")" = overlayfs ] && rm "$f"; } || exit
	done
done
! command -v perf jq runc python3 || exit
'
check "the demo" inside 1 "$for_tests"'cd /tmp && "$TOP/contrib/demo" && grep -q "^server;.*Shop::" demo.folded && [ -s demo.html ] && [ -s demo.svg ]'
like "the demo: names of the program that was gone" "$(<"$T/check.out")" 'Shop::'

# A container started with the tests' library, its own /app/spin, and a second life with the same
# name.
# shellcheck disable=SC2016
ctr='
. "$TOP/tests/lib.sh"
. "$TOP/tests/container/lib.sh"
ctr_need
ctr_rootfs "$T/root" "$TARGETS/spin"
for life in first second; do
	ctr_start web "$T/root" /app/spin 30 || exit
	ctr_computes
	ctr_record "$T/data" -e cpu-clock -F 499 -G "$CTR_CG" --duration 0.5
	ctr_stop web
	"$NSPROF" symbolize -q "$T/data" >"$T/folded"
	check "$life life: whole chain" has_chain "$T/folded" "$("$TARGETS/spin" --chain)"
done
base=$CTR_BASE
done_testing'
for depth in 1 2; do
	check "a container, depth $depth" inside $depth "$ctr"
	is "a container, depth $depth: both lives" "$(grep -c '^ok .*whole chain$' "$T/check.out")" 2
done
is "no mount is left" "$(grep -c "$CTR_BASE/in" /proc/self/mountinfo)" 0
done_testing
