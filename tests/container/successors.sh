#!/bin/bash
# timeout: 200
# Containers that follow each other, each with its own root in memory and another program at one
# path. The next one gets the same mount namespace number, its files have the same inode numbers,
# and its processes are gone before the recorder can look at them. Nothing found below the root of
# the previous one may name them.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need
for p in a b; do
	ctr_rootfs "$T/$p" "$TARGETS/spin-static-$p:/app/run"
done
ln -s run "$T/a/app/aaa"
ln -s run "$T/b/app/bbb"
mkdir "$T/root"

# one KIND a|b: one container's life. The process has the name of the executed link.
one() {
	local lower="" to=$T/root
	if [ "$1" = overlay ]; then
		lower=$T/root/lower
		to=$T/root/merged
	fi
	unshare -m --propagation private sh -c '
		mount -t tmpfs tmpfs "$1" || exit
		if [ -n "$3" ]; then
			mkdir "$1/upper" "$1/work" "$2" "$3" && cp -a "$4/." "$3" &&
				mount -t overlay overlay -o "lowerdir=$3,upperdir=$1/upper,workdir=$1/work" "$2" || exit
		else
			cp -a "$4/." "$2"
		fi
		for i in 1 2 3 4 5 6; do chroot "$2" /app/$5 0.003; done' \
		sh "$T/root" "$to" "$lower" "$T/$2" "$2$2$2"
}
lives() {
	for _ in 1 2 3 4 5 6 7 8; do
		one "$1" a && one "$1" b || return
	done
}
none_wrong() { # FOLDED
	awk '/^(aaa|bbb);/ { n = $NF; all += n; own = substr($0, 1, 3); other = own == "aaa" ? "bbb" : "aaa"
		if ($0 ~ ";" own "_") right += n
		if ($0 ~ ";" other "_") { wrong += n; if (!shown++) print "# " $0 } }
		END { print "# " all + 0 " samples, " right + 0 " with their own names, " wrong + 0 " with those of others"
			exit wrong || right < 20 }' "$1"
}
for kind in tmpfs overlay; do
	check "$kind: they run" lives $kind
	ctr_record_while "$T/data" "lives $kind" -e cpu-clock -F 4000 -a
	"$NSPROF" symbolize -q --no-inline "$T/data" >"$T/$kind"
	check "$kind: no name of a predecessor's program" none_wrong "$T/$kind"
done
done_testing
