#!/bin/bash
# Where debug info comes from. One recording of a program with its debug info in itself says what is right; then
# the program is stripped and its debug info lies elsewhere, in every form there is: the result has to be the same.
. "$(dirname "$0")/../lib.sh"
need_cmd g++ objcopy strip readelf
cd "$T" || exit 1
mkdir src
cat >src/work.cc <<'END'
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>
static volatile unsigned sink;
static inline unsigned mix(unsigned x) { for (int i = 0; i < 100; i++) x = x * 1664525 + 1013904223; return x; }
struct Bag {
	std::vector<unsigned> v;
	void fill(unsigned n) { for (unsigned i = 0; i < n; i++) v.push_back(mix(i)); }
	unsigned best() const { return *std::max_element(v.begin(), v.end(), [](unsigned a, unsigned b) { return mix(a) < mix(b); }); }
};
__attribute__((noinline)) unsigned round_of_work(unsigned n)
{
	Bag b;
	b.fill(n);
	return b.best();
}
int main()
{
	auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(700);
	while (std::chrono::steady_clock::now() < end)
		sink += round_of_work(500);
}
END
W=$T/work
# build FLAGS...: $W with its debug info, and what is right of it in "right".
build() {
	rm -rf "$W" dir ./*.dwo ./*.dwp
	g++ -O2 -g -w "$@" -o "$W" src/work.cc 2>err || return 1
	"$NSPROF" record -q -e cpu-clock:u -F 499 -o nsprof.data -- "$W" || return 1
	"$NSPROF" symbolize -q --srcline --annotate --by none --unwind cached >right
	id=$(readelf -n "$W" | sed -n 's/.*Build ID: //p')
	cp "$W" whole
}
# What is seen of the program's own functions; the libraries are the same either way.
seen() { "$NSPROF" symbolize -q --srcline --annotate --by none "$@" nsprof.data; }
same() { is "$1" "$(seen "${@:2}")" "$(cat right)"; }
differ() { unlike "$1" "$(seen "${@:2}")" 'work\.cc:|_\[i\]'; }
# put_by_id DIR FILE
put_by_id() {
	mkdir -p "$1/.build-id/${id:0:2}"
	cp "$2" "$1/.build-id/${id:0:2}/${id:2}.debug"
}

build || skip_all "cannot build or record here: $(cat err)"
like "inlined functions and lines are seen" "$(cat right)" \
	'main \(work.cc:[0-9]+\);round_of_work\(unsigned int\) \(work.cc:[0-9]+\);.*mix \(work.cc:[0-9]+\)_\[i\] [0-9]+$'
objcopy --only-keep-debug whole work.debug
strip -o "$W" whole
differ "stripped, there are none"
put_by_id dir work.debug
same "--debug-dir with .build-id" --debug-dir dir
mkdir none
same "the second --debug-dir" --debug-dir none --debug-dir dir
rm -r dir
strip -o "$W" whole && objcopy --add-gnu-debuglink=work.debug "$W"
mkdir -p dir && cp work.debug dir
same "--debug-dir with the name of the debuglink" --debug-dir dir
mkdir -p "tree$T" && cp work.debug "tree$T"
same "--debug-dir with the binary's folder below it" --debug-dir tree
mv work.debug .debug-aside
same "a relative path through a symbolic link" --debug-dir "$(ln -s "$T/dir" link && echo link)"
mkdir -p .debug && cp .debug-aside .debug/work.debug
same "the folder .debug beside the binary"
rm -r .debug
# Another program's debug file under the right name.
echo 'int main() { return 1; }' | g++ -O2 -g -x c++ -o other -
objcopy --only-keep-debug other dir/work.debug
differ "a debug file with another build-id is refused" --debug-dir dir
check_rc "--debug-dir that is not there" 129 "$NSPROF" symbolize --debug-dir "$T/nowhere" nsprof.data

# Without a build-id the CRC in the link is the proof.
if build -Wl,--build-id=none; then
	objcopy --only-keep-debug whole work.debug
	mkdir -p dir && mv work.debug dir
	# The recorded identity is that of the file as it was.
	objcopy --strip-all --add-gnu-debuglink=dir/work.debug whole "$W.new"
	"$NSPROF" symbolize -q --by none --srcline --annotate nsprof.data >again
	is "without a build-id: the binary itself" "$(cat again)" "$(cat right)"
	cp "$W.new" "$W"
	"$NSPROF" record -q -e cpu-clock:u -F 499 -o nsprof.data -- "$W"
	like "CRC of the debuglink: proven" "$(seen --debug-dir dir)" 'work.cc:[0-9]+\)_\[i\]'
	printf x >>dir/work.debug
	differ "CRC of the debuglink: refused" --debug-dir dir
fi

# Compressed sections.
for z in zlib zlib-gnu zstd; do
	if build -gz=$z; then
		same "compressed debug info: $z"
	elif build && objcopy --compress-debug-sections=$z whole packed 2>err; then
		cp packed "$W"
		same "compressed debug info by objcopy: $z"
	else
		skip "compressed debug info: $z" "neither g++ nor objcopy can write it: $(head -1 err)"
	fi
done

# dwz -m: what two files have in common in a third.
if command -v dwz >/dev/null && build -gdwarf-4 -Wl,--build-id; then
	objcopy --only-keep-debug whole a.debug && cp a.debug b.debug
	if dwz -m common.debug -M /elsewhere/common.debug a.debug b.debug 2>err; then
		strip -o "$W" whole
		put_by_id dir a.debug
		altid=$(readelf -n common.debug | sed -n 's/.*Build ID: //p')
		unlike "dwz: without the third file inlined names are missing" "$(seen --debug-dir dir)" "$(grep -o 'mix ([^;]*_\[i\]' right | head -1 | sed 's/[][().]/\\&/g')"
		mkdir -p dir/.dwz && cp common.debug dir/.dwz/
		same "dwz: in .dwz" --debug-dir dir
		rm -r dir/.dwz
		mkdir -p "dir/.build-id/${altid:0:2}" && cp common.debug "dir/.build-id/${altid:0:2}/${altid:2}.debug"
		same "dwz: by build-id" --debug-dir dir
	else
		skip "dwz" "$(head -1 err)"
	fi
else
	skip "dwz" "needs the command dwz"
fi
done_testing
