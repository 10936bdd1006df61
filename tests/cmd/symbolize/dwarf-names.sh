#!/bin/bash
# Functions with a name in debug info but no symbol: GHC -g writes such functions, and files without
# .symtab have no others.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd gcc g++ objcopy objdump

cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi
gcc -O2 -g -DP=app -o all "$TOP/tests/targets/spin.c" -pthread || skip_all "gcc cannot build"
chain=$(./all --chain)
# part: two functions without a symbol; none: no symbols at all. The code is the same.
objcopy --strip-symbol app_middle --strip-symbol app_leaf all part
objcopy -w --strip-symbol '*' all none
objcopy --only-keep-debug none none.debug
objcopy --strip-debug none bare

# share FILE CHAIN: per cent of the samples in the program's own code that contain CHAIN.
share() { awk -v want=";$2" '/;[^;]*app_|;main;/ { all += $NF; if (index($0, want)) n += $NF } END { print all ? int(100 * n / all) : 0 }' "$1"; }
for p in all part none; do
	"$NSPROF" record -q -e cpu-clock -F 499 -o $p.data -- ./$p --cpu 0.4
	"$NSPROF" symbolize --stats $p.data >$p.folded 2>$p.stats
	check "$p: the chain ($(share $p.folded "$chain") %)" test "$(share $p.folded "$chain")" -ge 90
	"$NSPROF" symbolize -q --no-inline $p.data >$p.plain
	check "$p: without inlined functions, too" test "$(share $p.plain "$chain")" -ge 90
	# _start() is assembly without debug info.
	unlike "$p: no frame from main() on without a name" "$(cat $p.folded)" ";main;.*\[$p\]"
done
unlike "symbols say it all: debug info is not asked" "$(cat all.stats)" 'debug info alone'
like "counted by source" "$(cat part.stats)" '^ +[0-9]+  debug info alone$'
like "other functions have their symbol's name" "$(cat part.stats)" '^ +[0-9]+  symbol table$'
"$NSPROF" symbolize -q --format profile -o none.profile none.data
like "the source in a saved profile" "$(grep app_leaf none.profile)" 'debuginfo'

like "annotate: such a function has code" "$("$NSPROF" annotate -i part.data app_leaf 2>&1)" '^ Percent  Samples \| app_leaf: [0-9]+ samples'
like "script: and offsets" "$("$NSPROF" script -F comm,ip,sym,symoff -i part.data 2>&1)" ' app_middle\+0x[0-9a-f]+$'

# A symbol has priority over debug info.
objcopy --redefine-sym app_inner=renamed part other
"$NSPROF" record -q -e cpu-clock -F 499 -o other.data -- ./other --cpu 0.3
"$NSPROF" symbolize -q other.data >other.folded
check "a symbol is not overruled" test "$(share other.folded "${chain/app_inner/renamed}")" -ge 90

# C++: linkage names are demangled like symbols.
cat >ns.cc <<'CC'
#include <ctime>
namespace shop {
struct cart { __attribute__((noinline)) unsigned long sum(unsigned long n) const; };
unsigned long cart::sum(unsigned long n) const
{
	for (int i = 0; i < 400000; i++) {
		n = n * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(n));
	}
	return n;
}
}
int main()
{
	unsigned long n = 1;
	while (clock() < CLOCKS_PER_SEC / 3)
		n += shop::cart().sum(n);
	return n == 42;
}
CC
g++ -O2 -g -o ns ns.cc && objcopy --strip-symbol _ZNK4shop4cart3sumEm ns ns2
"$NSPROF" record -q -e cpu-clock -F 499 -o ns.data -- ./ns2
"$NSPROF" symbolize -q ns.data >ns.folded
like "C++" "$(cat ns.folded)" ';main;shop::cart::sum\(unsigned long\) const( |;)'

# GHC's linkage names are labels that change with each compilation: Haskell units get the names of
# the source.
cat >hs.cc <<'CC'
#include <ctime>
__attribute__((noinline)) unsigned long total(unsigned long n)
{
	for (int i = 0; i < 400000; i++) {
		n = n * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(n));
	}
	return n;
}
int main()
{
	unsigned long n = 1;
	while (clock() < CLOCKS_PER_SEC / 3)
		n += total(n);
	return n == 42;
}
CC
g++ -O2 -g -S -dA -o hs.s hs.cc
sed -i -E '/[.]byte.*# DW_AT_language/s/0x[0-9a-f]+/0x18/' hs.s
g++ -o hs hs.s && objcopy --strip-symbol _Z5totalm hs hs2
if [ "$(objdump --dwarf=info hs2 2>/dev/null | grep -c 'DW_AT_language.*Haskell')" -gt 0 ]; then
	"$NSPROF" record -q -e cpu-clock -F 499 -o hs.data -- ./hs2
	like "Haskell" "$("$NSPROF" symbolize -q hs.data)" ';main;total( |;)'
else
	skip "Haskell" "this gcc writes no language that can be replaced"
fi

# ---- the binary is gone: the recorder stores symbols, and reads no debug info
mkdir -p dbg/.build-id
id=$(readelf -n all | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || skip_all "this gcc makes no build-ids"
"$NSPROF" record -q -e cpu-clock -F 499 -o bare.data -- ./bare --cpu 0.4
mkdir "dbg/.build-id/${id:0:2}"
cp none.debug "dbg/.build-id/${id:0:2}/${id:2}.debug"
rm bare none part
"$NSPROF" symbolize --stats bare.data >gone.folded 2>gone.stats
like "gone: without a name" "$(cat gone.folded)" ';\[bare\]'
like "gone: what helps" "$(cat gone.stats)" 'names .*/bare +the recording has no symbol at these addresses +give its debug symbols with --debug-dir or --debuginfod'
"$NSPROF" symbolize -q --debug-dir dbg bare.data >dbg.folded
check "it helps ($(share dbg.folded "$chain") %)" test "$(share dbg.folded "$chain")" -ge 90
done_testing
