#!/bin/bash
# Where debug info is found. A recording of a program that contains its debug info gives the
# expected result. Then the program is stripped, its debug info lies elsewhere, in every supported
# form, and the result has to be the same.
# beside others
# takes: 45
# timeout: 240
. "$(dirname "$0")/../../lib.sh"
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
#ifdef MISSED
static volatile unsigned missed = 1;
#endif
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
# build FLAGS...: $W with its debug info, and the expected output in "right".
build() {
	rm -rf "$W" dir ./*.dwo ./*.dwp
	g++ -O2 -g -w "$@" -o "$W" src/work.cc 2>err || return 1
	"$NSPROF" record -q -e cpu-clock:u -F 499 -o nsprof.data -- "$W" || return 1
	"$NSPROF" symbolize -q --srcline --annotate --by none --unwind cached >right
	id=$(readelf -n "$W" | sed -n 's/.*Build ID: //p')
	cp "$W" whole
}
# seen: the frames that are compared. Libraries are the same either way, and may have inlined
# functions of their own.
seen() { "$NSPROF" symbolize -q --srcline --annotate --by none "$@" nsprof.data; }
same() { is "$1" "$(seen "${@:2}")" "$(cat right)"; }
differ() { unlike "$1" "$(seen "${@:2}")" 'work\.cc:|(mix|Bag::)[^;]*_\[i\]'; }
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
# Another build's debug file under the right name: everything fits except the build-id.
g++ -O2 -g -w -Wl,--build-id=0x$(printf '5a%.0s' {1..20}) -o other src/work.cc
objcopy --only-keep-debug other dir/work.debug
differ "a debug file with another build-id is refused" --debug-dir dir
check_rc "--debug-dir that is not there" 129 "$NSPROF" symbolize --debug-dir "$T/nowhere" nsprof.data
check_rc "--debug-dir that is a file" 129 "$NSPROF" symbolize --debug-dir dir/work.debug nsprof.data
check_rc "--symfs that is a file" 129 "$NSPROF" symbolize --symfs "$T/whole" nsprof.data

# Lines are requested, but there are none: no library adds any.
if g++ -O2 -g -w -static -o lone src/work.cc 2>err; then
	"$NSPROF" record -q -e cpu-clock:u -F 499 -o lone.data -- ./lone
	"$NSPROF" symbolize --srcline lone.data >out 2>err
	like "static: lines" "$(cat out)" 'main \(work.cc:[0-9]+\)'
	unlike "static: no word about it" "$(cat err)" 'source line'
	strip lone
	"$NSPROF" symbolize --srcline lone.data >out 2>err
	like "no line at all: told" "$(cat err)" '^nsprof symbolize: warning: no address has a source line: .*--debug-dir'
	"$NSPROF" symbolize --srcline --debug-dir none lone.data >out 2>err
	like "no line at all: told of another folder, too" "$(cat err)" 'no address has a source line'
	"$NSPROF" symbolize lone.data >out 2>err
	unlike "no line asked for: no word about it" "$(cat err)" 'source line'
else
	skip "no line at all" "no static C++ library"
fi

# Without a build-id the CRC in the debuglink proves the file.
if build -Wl,--build-id=none; then
	objcopy --only-keep-debug whole work.debug
	mkdir -p dir && mv work.debug dir
	# The recorded identity is that of the original file.
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
		like "compressed debug info: $z: lines" "$(cat right)" 'work.cc:[0-9]+\)_\[i\]'
	elif build && objcopy --compress-debug-sections=$z whole packed 2>err; then
		cp packed "$W"
		same "compressed debug info by objcopy: $z"
	else
		skip "compressed debug info: $z" "neither g++ nor objcopy can write it: $(head -1 err)"
	fi
done

# Split DWARF: .dwo files where the compiler wrote them, elsewhere, and packed.
if build -gdwarf-4 -gsplit-dwarf && ls ./*.dwo >/dev/null 2>&1; then
	like "split: .dwo files" "$(cat right)" \
		'round_of_work\(unsigned int\) \(work.cc:[0-9]+\);.*mix \(work.cc:[0-9]+\)_\[i\] [0-9]+$'
	mkdir -p dir && mv ./*.dwo dir
	unlike "split: without them no inlined functions of ours" "$(seen)" 'mix|work\.cc:[0-9]+\)_'
	same "split: --debug-dir" --debug-dir dir
	if command -v dwp >/dev/null && dwp -o "$W.dwp" dir/*.dwo 2>err; then
		same "split: BINARY.dwp"
		mkdir -p dwps && mv "$W.dwp" dwps
		same "split: BINARY.dwp in --debug-dir" --debug-dir dwps
	else
		skip "split: BINARY.dwp" "needs dwp (Debian: binutils)"
	fi
	rm -f ./*.dwp
else
	skip "split DWARF" "g++ -gsplit-dwarf does not work here"
fi

# gcc puts each DWARF 5 type into a section of its own, before the unit's section and with the same
# name.
if build -gdwarf-5 -gsplit-dwarf -fdebug-types-section && ls ./*.dwo >/dev/null 2>&1; then
	like "split, types apart: .dwo files" "$(cat right)" \
		'round_of_work\(unsigned int\) \(work.cc:[0-9]+\);.*mix \(work.cc:[0-9]+\)_\[i\] [0-9]+$'
	mkdir -p dir
	for f in ./*.dwo; do
		objcopy --compress-debug-sections=zlib "$f" "dir/$f"
		rm "$f"
	done
	same "split, types apart: compressed" --debug-dir dir
else
	skip "split DWARF, types apart" "g++ -gdwarf-5 -gsplit-dwarf -fdebug-types-section does not work here"
fi

# dwz -m: common parts of two files are in a third file.
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
		# Debian's .dwz has a folder for each architecture, and so do packages unpacked
		# elsewhere.
		rm -r dir common.debug
		objcopy --only-keep-debug whole a.debug && cp a.debug b.debug
		dwz -m common.debug -M /usr/lib/debug/.dwz/some-arch/common.debug a.debug b.debug
		put_by_id dir a.debug
		mkdir -p dir/.dwz/some-arch && cp common.debug dir/.dwz/some-arch/
		same "dwz: in a folder of .dwz" --debug-dir dir
		rm -rf dir common.debug
		cp whole "$W" && cp whole other && dwz -m common.debug "$W" other
		"$NSPROF" record -q -e cpu-clock:u -F 499 -o nsprof.data -- "$W"
		like "dwz: beside the binary that says so" "$(seen)" 'Bag::best\(\) const \(work.cc:[0-9]+\)_\[i\]'
	else
		skip "dwz" "$(head -1 err)"
	fi
else
	skip "dwz" "needs the command dwz"
fi
# ---- debuginfod: a real server on loopback, with dir's files ----
start_debuginfod() {
	local port
	for port in $(shuf -i 20000-60000 -n 10); do
		debuginfod -v -p "$port" -d :memory: -F "$T/dir" >debuginfod.log 2>&1 &
		server=$!
		# The server grooms its database after it has scanned all files.
		if wait_for "grep -q 'groomed database' debuginfod.log || ! kill -0 $server 2>/dev/null" 60 &&
			kill -0 $server 2>/dev/null; then
			url=http://127.0.0.1:$port
			return 0
		fi
	done
	return 1
}
asked() { grep -c 'GET /buildid/' debuginfod.log; }

export DEBUGINFOD_CACHE_PATH=$T/cache
unset DEBUGINFOD_URLS
check_rc "--debuginfod without a server is an error" 1 "$NSPROF" symbolize --debuginfod nsprof.data
like "and says what to do" "$(cat "$T/check.err")" 'give --debuginfod=URL, or set DEBUGINFOD_URLS'
if ! command -v debuginfod >/dev/null; then
	skip "debuginfod" "needs the server (Debian: debuginfod)"
elif build && mkdir -p dir && objcopy --only-keep-debug whole dir/work.debug && start_debuginfod; then
	strip -o "$W" whole
	differ "nobody is asked without --debuginfod"
	DEBUGINFOD_URLS=$url differ "even if servers are known"
	is "the server was not asked" "$(asked)" 0
	same "--debuginfod=URL" --debuginfod="$url"
	n=$(asked)
	check "the server was asked" [ "$n" -ge 1 ]
	same "from the cache" --debuginfod="$url"
	is "what it has and what it has not is known now" "$(asked)" "$n"
	rm -rf cache
	DEBUGINFOD_URLS=$url same "--debuginfod with DEBUGINFOD_URLS" --debuginfod
	# A server that sends another file's debug info.
	objcopy --only-keep-debug other dir/other.debug
	otherid=$(readelf -n other | sed -n 's/.*Build ID: //p')
	mkdir -p "cache/$id" && cp dir/other.debug "cache/$id/debuginfo"
	differ "another file's debug info is refused ($otherid)" --debuginfod="$url"
	"$NSPROF" symbolize --debuginfod="$url" -o /dev/null nsprof.data 2>err
	like "and that is said" "$(cat err)" "'$W': ignoring the debug file from debuginfod: it is from another build"
	echo noise >"cache/$id/debuginfo"
	"$NSPROF" symbolize --debuginfod="$url" -o /dev/null nsprof.data 2>err
	like "as of noise" "$(cat err)" "'$W': ignoring the debug file from debuginfod: it is not a readable ELF file"
	# A missing file is requested once, and again when the miss is ten minutes old.
	g++ -O2 -DMISSED -g -w -o miss src/work.cc && strip miss &&
		missid=$(readelf -n miss | sed -n 's/.*Build ID: //p') &&
		"$NSPROF" record -q -e cpu-clock:u -F 499 -o miss.data -- ./miss
	ask() { "$NSPROF" symbolize -q --debuginfod="$url" miss.data >out; grep -c "GET /buildid/$missid/debuginfo" debuginfod.log; }
	is "a miss" "$(ask)" 1
	is "is kept" "$(ask)" 1
	touch -d '9 minutes ago' "cache/$missid/debuginfo"
	is "for ten minutes" "$(ask)" 1
	touch -d '11 minutes ago' "cache/$missid/debuginfo"
	is "and no longer" "$(ask)" 2
	kill $server && wait $server
	rm -rf cache
	"$NSPROF" symbolize --srcline --by none --debuginfod="$url" nsprof.data >out 2>err
	is "no server there: it works without" "$?" 0
	like "and says so" "$(cat err)" "debuginfod '$url': .*giving up"
	unlike "nothing is made up" "$(cat out)" 'work\.cc:'
else
	fail "debuginfod" "the server did not come up: $(tail -3 debuginfod.log)"
fi
# Servers that accept and never answer, that send only headers, or a byte at a time.
if command -v python3 >/dev/null && "$NSPROF" symbolize --debuginfod=http://127.0.0.1:9 -o /dev/null nsprof.data 2>/dev/null; then
	cat >slow.py <<-'END'
		import socket, sys, threading, time
		def answer(c):
		    if sys.argv[1] == 'silent':
		        time.sleep(600)
		    c.recv(4096)
		    try:
		        c.sendall(b'HTTP/1.0 200 OK\r\nContent-Length: 50000000\r\n\r\n')
		        if sys.argv[1] == 'headers':
		            time.sleep(600)
		        while True:
		            c.sendall(b'x')
		            time.sleep(0.3)
		    except OSError:
		        pass
		s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(50); print(s.getsockname()[1], flush=True)
		while True:
		    c = s.accept()[0]
		    print('asked', flush=True)
		    threading.Thread(target=answer, args=(c,), daemon=True).start()
	END
	# The limits are five seconds of silence, and ten of less than 100 KB. Without them, each
	# build-id would take minutes.
	for how in silent headers slow; do
		python3 slow.py $how >$how &
		wait_for "[ -s $how ]" 10
		rm -rf cache
		mkdir cache
		url=http://127.0.0.1:$(head -1 $how)
		began=${EPOCHREALTIME/./}
		check "a $how server" env DEBUGINFOD_CACHE_PATH="$T/cache" "$NSPROF" symbolize --debuginfod="$url" -o out nsprof.data
		took=$(((${EPOCHREALTIME/./} - began) / 1000))
		like "$how: it is given up" "$(cat "$T/check.err")" "debuginfod '$url': (no answer|too slow): giving up"
		check "$how: in $took ms" test $took -lt 25000
		is "$how: after one question" "$(grep -c asked $how)" 1
	done
	for how in silent headers slow; do
		for sig in TERM INT; do
			rm -rf cache
			had=$(grep -c asked $how)
			# The shell makes its background jobs ignore SIGINT, and a signal that is
			# ignored from the start stays ignored.
			DEBUGINFOD_CACHE_PATH=$T/cache env --default-signal=INT \
				"$NSPROF" symbolize --debuginfod="http://127.0.0.1:$(head -1 $how)" -o out nsprof.data 2>err &
			pid=$!
			wait_for "[ \$(grep -c asked $how) -gt $had ]" 20
			helper=$(pgrep -P $pid)
			began=${EPOCHREALTIME/./}
			kill -$sig $pid
			wait $pid
			took=$(((${EPOCHREALTIME/./} - began) / 1000))
			check "SIG$sig while a $how server is asked: it ends in $took ms" test $took -lt 2500
			check "and nothing of it goes on" eval '[ -n "$helper" ] && ! ps -o pid= -p "${helper//[[:space:]]/,}"'
		done
	done
fi
done_testing
