#!/bin/bash
# A file system with a recorded program can be unmounted during the recording, a few seconds after
# the program's end. Its samples have their names nevertheless.
# beside unit tests
# takes: 20
. "$(dirname "$0")/../lib.sh"
need_root

cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi
rm -f probe
S=$BUILD/tests/targets
mkdir mnt
mount -t tmpfs none mnt 2>err || skip_all "cannot mount: $(cat err)"
later "umount -l '$T/mnt'"

# unmounted FOLDER: it can be unmounted within 10 s, with a normal umount, not a lazy one.
unmounted() {
	local i
	for ((i = 0; i < 100; i++)); do
		umount "$1" 2>umount.err && return
		sleep 0.1
	done
	# Who holds it? Other recorders let go of it, too.
	ls -l /proc/[0-9]*/cwd /proc/[0-9]*/root /proc/[0-9]*/fd/* 2>/dev/null | grep -F "$T/$1" >>umount.err
	return 1
}

note_umount() {
	[ ! -s umount.err ] || tap_note "$(cat umount.err)"
}

# begin OPTION...: record until end. At this rate nearly each program is sampled after its EXIT
# record as well.
begin() {
	rm -f rec rec.*
	"$NSPROF" record -v -a -F 9999 "$@" -o rec 2>record.err &
	recorder=$!
	for ((i = 0; i < 100; i++)); do
		grep -q 'sampling began' record.err && return
		sleep 0.05
	done
}

end() {
	kill -INT "$recorder"
	wait "$recorder"
}

# chain_of PROGRAM: all its samples, at least 500, have the chain it declares, except those of its
# start and end.
chain_of() {
	"$NSPROF" symbolize -q rec >folded || return 1
	awk -v p="^$1;" -v re=";$chain" '$0 ~ p { all += $NF } $0 ~ p && $0 ~ re { hit += $NF }
		END { print hit + 0, "of", all + 0; exit !(hit >= 500 && hit >= 0.97 * all) }' folded
}

cp "$S/spin-a" mnt/one
chain=$(mnt/one --chain)
begin
check "a program on a file system of its own" mnt/one --cpu 0.3
check "which can be unmounted when it has ended" unmounted mnt
note_umount
mount -t tmpfs none mnt
cp "$S/spin-a" mnt/two
check "another one mounted there, with another program" mnt/two --cpu 0.3
check "can be, too" unmounted mnt
note_umount
check_rc "the recorder ends well" 130 end
like "it told of the file" "$(<record.err)" "closing '$T/mnt/one': no process maps it"
check "names of the first" chain_of one
check "names of the second" chain_of two

mount -t tmpfs none mnt
cp "$S/spin-a" mnt/three
begin --overwrite=30s
check "with the flight recorder" mnt/three --cpu 0.3
check "it can be unmounted" unmounted mnt
note_umount
check_rc "the flight recorder ends well" 130 end
check "names of what it kept" chain_of three

# The recorder holds the root folder of a container and its /tmp; here, too.
mount -t tmpfs none mnt
mkdir -p mnt/low/tmp mnt/up mnt/work mnt/root
cp "$S/spin-static-a" mnt/low/four
if mount -t overlay overlay -o "lowerdir=mnt/low,upperdir=mnt/up,workdir=mnt/work" mnt/root 2>err; then
	later "umount -l '$T/mnt/root'"
	begin
	check "a root folder on an overlay" chroot mnt/root /four --cpu 0.3
	check "can be unmounted" unmounted mnt/root
	note_umount
	check "and what lies below it" unmounted mnt
	check_rc "the recorder ended well" 130 end
	check "names from there" chain_of four
else
	skip "a root folder on an overlay" "cannot mount it: $(cat err)"
fi
done_testing
