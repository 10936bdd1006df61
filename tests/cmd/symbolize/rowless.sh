#!/bin/bash
# timeout: 120
# beside others
# Real programs without unwind rows and symbols: stacks unwound from their code match stacks unwound
# with their original rows. The recorded program is a copy without rows and symbols. The truth is
# the same recording, unwound with the original program, which has the same code.
. "$(dirname "$0")/../../lib.sh"
need_cmd objcopy python3
cd "$T" || exit 1

cat >loop.pl <<'END'
my $end = time + 3;
while (time < $end) {
	my %h;
	for my $i (1 .. 2000) { my $s = "key $i value"; $s =~ s/(\w+) (\d+)/$2-$1/; $h{$s} = [sort map { $_ * 3 } 1 .. 5]; }
	my $x = join ",", sort keys %h;
}
END
cat >loop.sh <<'END'
while ((SECONDS < 3)); do
	for ((i = 0; i < 1000; i++)); do x=${i//1/2}; case $x in *5) y=1 ;; *) y=$((x * 2)) ;; esac; done
done
END
cat >loop.awk <<'END'
BEGIN { while (i < 4e6) { s = sprintf("%d %s", i, substr("abcdef", i % 5)); a[i++ % 1000] = s; gsub(/a/, "b", s) } }
END
cat >loop.py <<'END'
import json, re, time
end = time.time() + 3
while time.time() < end:
	d = {}
	for i in range(2000):
		d[re.sub(r'(\w+) (\d+)', r'\2-\1', 'key %d value' % i)] = sorted([x * 3 for x in range(6)], key=lambda q: -q)
	json.loads(json.dumps(d))
END

# alike NAME SCRIPT MIN: at least MIN per cent of its stacks equal the true ones, frame for frame.
alike() {
	local all
	read -ra all < <(python3 "$TOP/tests/tools/same_stacks.py" truth "$2" 2>err)
	echo "# ${all[*]}"
	check "$1: samples" test $((all[0] + all[1] + all[2])) -ge 100
	check "$1: at least $3 % as its rows say" awk -v same="${all[0]}" -v other=$((all[1] + all[2] + all[3])) -v min="$3" \
		'BEGIN { exit 100 * same < min * (same + other) }'
}

# A caller found by searching counts like any other.
shown() { "$NSPROF" script -q --no-inline program.data | grep -v ' \[scanned\] '; }
# program FILE MIN ARGUMENT...
program() {
	local name=${1##*/} min=$2
	if [ ! -x "$1" ] || ! readelf -SW "$1" | grep -q ' \.eh_frame '; then
		skip "$name" "no $1 with unwind rows is installed"
		return
	fi
	cp "$1" whole
	objcopy -R .eh_frame -R .eh_frame_hdr --strip-all whole program
	"$NSPROF" record -q -e cpu-clock:u -F 999 -o program.data -- ./program "${@:3}" >/dev/null 2>err || { fail "$name: records" "$(cat err)"; return; }
	shown >code
	mv program aside
	shown >gone
	mv whole program
	shown >truth
	alike "$name" code "$min"
	alike "$name, the binary gone" gone "$min"
}

program /usr/bin/perl 99.8 loop.pl
program /bin/bash 99.8 loop.sh
program /usr/bin/mawk 99.8 -f loop.awk
program /usr/bin/python3 99.8 loop.py

# Static, and built without rows: there is no truth to compare with. But the result must be the same
# with its code and with only the recorder's data about that code.
if [ -x /bin/busybox ]; then
	cat >loop.ash <<'END'
i=0
while [ $i -lt 100000 ]; do
	x=$((i * 3 % 7))
	case $x in 5) y=a ;; *) y=b$x ;; esac
	z="${y#b}$i"
	i=$((i + 1))
done
END
	cp /bin/busybox busybox
	"$NSPROF" record -q -e cpu-clock:u -F 999 -o program.data -- ./busybox sh loop.ash >/dev/null 2>err
	shown >truth
	rm busybox
	shown >gone
	alike "busybox, the binary gone" gone 100
else
	skip "busybox" "/bin/busybox is not installed"
fi
done_testing
