#!/bin/bash
# timeout: 300
# Names, inlined frames and lines at random addresses of large binaries, against addr2line,
# llvm-addr2line and eu-addr2line. Each accepted difference is listed with its reason; an unlisted
# one fails (tests/tools/oracle.py). 700 addresses per binary; ORACLE_N=10000 (make check-names)
# sets another number; ORACLE_BINARIES names more binaries.
# beside others
# takes: 20
. "$(dirname "$0")/../../lib.sh"
need_cmd python3 readelf nm
lookup=$BUILD/tests/tools/lookup
[ -x "$lookup" ] || skip_all "needs $lookup: make test-programs"

tools=
for t in addr2line llvm-addr2line eu-addr2line; do
	command -v $t >/dev/null && tools+=,$t
done
[[ $tools == ,*,* ]] || skip_all "needs two of addr2line, llvm-addr2line (llvm) and eu-addr2line (elfutils)"

oracle() {
	check "names and lines of $1" python3 "$TOP/tests/tools/oracle.py" -v -n "${ORACLE_N:-700}" -o "${tools#,}" \
		"$lookup" "$2"
	tap_note "$(cat "$T/check.out")"
}

# With its debug info in a separate file, which has to be found.
has_debug() {
	local id
	id=$(readelf -n "$1" 2>/dev/null | sed -n 's/.*Build ID: //p')
	[ -e "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ]
}

oracle "nsprof-symbolize" "$BUILD/bin/nsprof-symbolize"
libc=$(ldd "$BUILD/bin/nsprof-symbolize" | awk '/libc\.so/ { print $3 }')
if has_debug "$libc"; then
	oracle "libc" "$libc"
else
	skip "names and lines of libc" "its debug file is not installed (Debian: libc6-dbg)"
fi
python=
for p in $(type -ap python3); do
	has_debug "$(readlink -f "$p")" && python=$(readlink -f "$p")
done
if [ -n "$python" ]; then
	oracle "python3" "$python"
else
	skip "names and lines of python3" "its debug file is not installed (Debian: python3-dbg)"
fi

# A library of units compiled from headers with different settings: several of them describe the
# same functions.
stdcxx=$(ls /usr/lib/*/debug/libstdc++.so.6 2>/dev/null | head -n 1)
if [ -n "$stdcxx" ]; then
	oracle "libstdc++" "$stdcxx"
else
	skip "names and lines of libstdc++" "its debug build is not installed (Debian: libstdc++6-12-dbg)"
fi

# Templates, lambdas, exceptions, and units that were optimized together.
if command -v g++ >/dev/null; then
	cat >"$T/big.cc" <<-'END'
		#include <algorithm>
		#include <functional>
		#include <iostream>
		#include <map>
		#include <sstream>
		#include <thread>
		#include <unordered_map>
		int main(int argc, char **argv)
		{
			std::map<std::string, std::vector<double>> m;
			std::unordered_map<int, std::function<int(int)>> f;
			for (int i = 0; i < argc; i++) {
				std::string s = argv[i];
				if (auto at = s.find('='); at != s.npos)
					m[s.substr(0, at)].push_back(std::stod(s.substr(at + 1)));
				f[i] = [i, &m](int x) { return x + i + (int)m.size(); };
			}
			std::stable_sort(argv, argv + argc, [](const char *a, const char *b) { return *a < *b; });
			std::thread t([&] { std::cout << f[0](3) << std::endl; });
			t.join();
		}
	END
	g++ -O2 -flto -g -w -pthread -o "$T/big" "$T/big.cc" 2>/dev/null && oracle "C++" "$T/big"
else
	skip "names and lines of C++" "needs g++"
fi
if command -v rustc >/dev/null; then
	cat >"$T/big.rs" <<-'END'
		use std::collections::{BTreeMap, HashMap};
		fn main() {
			let mut m = BTreeMap::new();
			let mut h = HashMap::new();
			for a in std::env::args() {
				m.insert(a.clone(), a.len());
				h.insert(a.to_uppercase(), a.chars().rev().collect::<String>());
			}
			let mut v: Vec<_> = h.into_iter().collect();
			v.sort();
			println!("{:?} {:?}", m, v);
		}
	END
	if (cd "$T" && rustc -O -g big.rs -o big) 2>/dev/null; then
		oracle "Rust" "$T/big"
	else
		skip "names and lines of Rust" "rustc is not set up"
	fi
else
	skip "names and lines of Rust" "needs rustc"
fi
for b in ${ORACLE_BINARIES-}; do
	oracle "$b" "$b"
done
done_testing
