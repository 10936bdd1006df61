#!/bin/bash
# A binary, debug file, source file or jitdump that is there and must not be used is not reported as
# absent: each of them with its reason.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd gcc objcopy strip readelf mkfifo
cd "$T" || exit 2
cat >work.c <<'END'
#include <time.h>
volatile unsigned sink;
__attribute__((noinline)) void work(void) { for (int i = 0; i < 100000; i++) sink += i; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 4) work(); }
END
W=$T/work
# "whole" has all, "work.debug" the debug info, $W only names. Static, so that no library has lines.
build() {
	rm -rf "$W" dir
	gcc -g -O1 -static -Wl,--build-id -o whole work.c && objcopy --only-keep-debug whole work.debug && strip -g -o "$W" whole && mkdir dir
}
build 2>err || skip_all "cannot build a static program: $(cat err)"
gcc -g -O1 -static -Wl,--build-id=0x5a5a5a5a5a5a5a5a -o other work.c
objcopy --only-keep-debug other other.debug
"$NSPROF" record -q -e cpu-clock:u -F 499 -o data -- "$W" 2>err || skip_all "no perf events here: $(cat err)"
id=$(readelf -n "$W" | sed -n 's/.*Build ID: //p')

# put KIND FILE: make something of that kind there.
put() {
	rm -rf "$2"
	mkdir -p "$(dirname "$2")"
	case $1 in
	other) cp "$3" "$2" ;;
	text) echo "int main" >"$2" ;;
	cut) head -c 100 "$3" >"$2" ;;
	fifo) mkfifo "$2" ;;
	folder) mkdir "$2" ;;
	loop) ln -s "$(basename "$2")" "$2" ;;
	large) truncate -s 17G "$2" || return ;;
	closed) cp "$3" "$2" && chmod 0 "$2" ;;
	esac
}
# told: what --stats says about the program's files.
told() { "$@" symbolize --stats --debug-dir "$T/dir" --no-cache data 2>&1 >/dev/null | sed -n "s|^  '$W': ||p"; }

is "nothing is there: nothing is said" "$(told "$NSPROF")" ""
NOBODYS=()
for_nobody && NOBODYS=("${NOBODY[@]}" "$PUBLIC/nsprof")
chmod 711 "$T"
chmod a+r data
link=dir/.build-id/${id:0:2}/${id:2}.debug
while IFS='|' read -r kind want; do
	put "$kind" "$link" other.debug 2>err || { skip "debug file: $kind" "$(cat err)"; continue; }
	who=("$NSPROF")
	if [ "$kind" = closed ]; then
		[ ${#NOBODYS[@]} != 0 ] || { skip "debug file: $kind" "$no_nobody"; continue; }
		who=("${NOBODYS[@]}")
	fi
	is "debug file: $kind" "$(told "${who[@]}")" "$want"
	rm -rf dir && mkdir dir
done <<'END'
other|build-id of the debug file differs
text|debug file is not ELF
cut|debug file has neither symbols nor debug info
fifo|debug file is not a regular file
folder|debug file is not a regular file
loop|debug file is a loop of symbolic links
large|debug file is too large
closed|debug file cannot be read: no permission
END

# Names may come from elsewhere: lines do not.
put other "$link" other.debug
"$NSPROF" symbolize --srcline --debug-dir "$T/dir" --no-cache data >out 2>err
like "--srcline: why there are no lines" "$(<err)" "warning: no address has a source line: of '$W', build-id of the debug file differs"
"$NSPROF" annotate --debug-dir "$T/dir" -i data --percent-limit 90 >out 2>err
like "annotate, too" "$(<err)" "warning: '$W' may lack source lines: build-id of the debug file differs"
rm -r dir && mkdir -p "$(dirname "$link")" && cp work.debug "$link"
"$NSPROF" annotate --debug-dir "$T/dir" -i data --percent-limit 90 >out 2>err
like "the right one gives the source" "$(<out)" 'sink \+= i'
unlike "and nothing is said" "$(<err)" 'source'
rm work.c && mkfifo work.c
"$NSPROF" annotate --debug-dir "$T/dir" -i data --percent-limit 90 >out 2>err
like "a source file that is a FIFO" "$(<err)" "'$T/work.c' is not shown: source file is not a regular file"
rm -r dir && mkdir dir

# The binary: the recording has its rows, so it gives names, and yet the file was refused.
mv "$W" aside
while IFS='|' read -r kind want; do
	put "$kind" "$W" other 2>err || { skip "binary: $kind" "$(cat err)"; continue; }
	who=("$NSPROF")
	if [ "$kind" = closed ]; then
		[ ${#NOBODYS[@]} != 0 ] || { skip "binary: $kind" "$no_nobody"; continue; }
		who=("${NOBODYS[@]}")
	fi
	is "binary: $kind" "$(told "${who[@]}")" "$want"
done <<'END'
other|file has another build-id
text|file is not a readable ELF file
fifo|file is not a regular file
folder|file is not a regular file
loop|file is a loop of symbolic links
large|file is too large
closed|file cannot be read: no permission
END
rm -rf "$W"
is "it is gone: nothing is said" "$(told "$NSPROF")" ""

# A jitdump, alive and gone. The recorder refuses it as well.
while IFS='|' read -r at bytes want; do
	"$BUILD/tests/targets/jitdump" late 20 "$T" &
	pid=$!
	wait_for "[ -s jit-$pid.dump ]" 10
	printf '%b' "$bytes" | dd of="jit-$pid.dump" bs=1 seek="$at" conv=notrunc status=none
	"$NSPROF" record -q -e cpu-clock -F 499 -o jit.data -p $pid --duration 0.2
	for state in alive gone; do
		got=$("$NSPROF" symbolize --stats jit.data 2>&1 >out | grep 'names ')
		like "jitdump: $want, $state" "$got" "\[jit\] of jitdump +its jitdump is not used: $want  see JIT CODE"
		[ $state = gone ] || { kill $pid; wait $pid; } 2>err
	done
done <<'END'
0|none|it is not a jitdump
4|\xff|it has an unsupported version or byte order
END

# One that cannot even be opened: it was removed, and whoever records has no right to look behind a mapping.
if [ ${#NOBODYS[@]} = 0 ]; then
	skip "jitdump: removed, and no right to open it" "$no_nobody"
else
	mkdir -m 777 jit
	cp "$BUILD/tests/targets/jitdump" "$PUBLIC/jitdump"
	"${NOBODY[@]}" "$PUBLIC/jitdump" late 20 "$T/jit" &
	wait_for '[ -n "$(find jit -name "jit-*.dump" -size +0)" ]' 10
	dump=$(echo jit/jit-*.dump) pid=${dump//[!0-9]/}
	rm "$dump"
	"${NOBODYS[@]}" record -q -e cpu-clock:u -F 499 -o - -p "$pid" --duration 0.2 >jit.data
	like "jitdump: removed, and no right to open it" "$("$NSPROF" symbolize --stats jit.data 2>&1 >out | grep 'names ')" \
		"\[jit\] of jitdump +its jitdump is not used: it cannot be read: no permission  see JIT CODE"
	kill "$pid"
fi

# annotate reads no more than 64 MiB of source text, its tables of lines included: eight million lines
# are in the way of what follows.
mkdir long
printf 'volatile unsigned sink;\n__attribute__((noinline)) void work(void) { for (int i = 0; i < 100000; i++) sink += i; }\n' >long/work.c
printf '#include <time.h>\nvoid work(void);\nextern volatile unsigned sink;\nint main(void) { while (clock() < CLOCKS_PER_SEC / 4) { work(); for (int i = 0; i < 50000; i++) sink -= i; } }\n' >long/main.c
gcc -g -O1 -static -Wl,--build-id -o long/prog long/work.c long/main.c
"$NSPROF" record -q -e cpu-clock:u -F 499 -o long.data -- "$T/long/prog"
"$NSPROF" annotate -i long.data --percent-limit 5 >out 2>err
like "annotate: source of both files" "$(<out)" 'sink -= i'
like "annotate: both" "$(<out)" 'sink \+= i'
head -c 8M /dev/zero | tr '\0' '\n' | tee -a long/work.c >>long/main.c
"$NSPROF" annotate -i long.data --percent-limit 5 >out 2>err
like "annotate: beyond 64 MiB it says which files are left out" "$(<err)" "source files after '$T/long/(work|main).c' are not shown: they have more than 64 MiB"
is "annotate: and shows one of the two" "$(grep -cE 'sink (\+|-)= i' out)" 1
done_testing
