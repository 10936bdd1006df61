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
unlike "symbols say it all: debug info is not asked" "$(cat all.stats)" '  (debug info alone|recording)$'
like "the recorder took them" "$(cat part.stats)" '^ +[0-9]+  recording$'
like "other functions have their symbol's name" "$(cat part.stats)" '^ +[0-9]+  symbol table$'

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

# What GHC -g writes (DWARF 3): functions between labels that become no symbols, with their ends as
# addresses, and one range for the unit in .debug_aranges. There is no ghc here.
cat >ghc.c <<'C'
#include <time.h>
__asm__(
	".text\n"
	".quad 0\n"	/* GHC's tables lie before the code */
	".Lr2_info: .cfi_startproc\n mov $200000, %ecx\n1: dec %ecx\n jnz 1b\n ret\n .cfi_endproc\n.Lr2_end:\n"
	".quad 0\n"
	".Lr1_info: .cfi_startproc\n mov $200000, %ecx\n1: dec %ecx\n jnz 1b\n jmp .Lr2_info\n .cfi_endproc\n.Lr1_end:\n"
	".section .debug_abbrev,\"\",@progbits\n.Labbrev:\n"
	".byte 1, 0x11, 1, 3, 8, 0x13, 6, 0x11, 1, 0x12, 1, 0, 0\n"
	".byte 2, 0x2e, 1, 3, 8, 0x87, 0x40, 8, 0x3f, 0xc, 0x11, 1, 0x12, 1, 0x40, 0xa, 0, 0\n"
	".byte 3, 0x0b, 1, 3, 8, 0, 0, 0\n"
	".section .debug_info,\"\",@progbits\n.Lunit: .long .Lunit_end - . - 4\n .short 3\n .long .Labbrev\n .byte 8\n"
	".byte 1\n .string \"Chain.hs\"\n .long 0x18\n .quad .Lr2_info, .Lr1_end\n"
	".byte 2\n .string \"$wgo\"\n .string \"r2_info\"\n .byte 0\n .quad .Lr2_info, .Lr2_end\n .byte 1, 0x9c\n"
	".byte 3\n .string \"c1\"\n .byte 0, 0\n"
	".byte 2\n .string \"leafWork\"\n .string \"r1_info\"\n .byte 0\n .quad .Lr1_info, .Lr1_end\n .byte 1, 0x9c, 0\n"
	".byte 0\n.Lunit_end:\n"
	".section .debug_aranges,\"\",@progbits\n .long 2f - 1f\n1: .short 2\n .long .Lunit\n .byte 8, 0\n .long 0\n"
	".quad .Lr2_info, .Lr1_end - .Lr2_info, 0, 0\n2:\n"
	".text\n");
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 3)
		__asm__ volatile("call .Lr1_info" ::: "ecx", "cc", "memory");
	return 0;
}
C
if [ "$(uname -m)" = x86_64 ]; then
	gcc -O1 -no-pie -o ghc ghc.c || fail "the assembler takes GHC's debug info"
	"$NSPROF" record -q -e cpu-clock -F 499 -o ghc.data -- ./ghc
	"$NSPROF" symbolize -q --no-inline ghc.data >ghc.folded
	like "GHC: one function" "$(cat ghc.folded)" ';main;leafWork '
	like "GHC: another" "$(cat ghc.folded)" ';main;\$wgo '
else
	skip "GHC" "its assembly is for x86-64"
fi

# ---- the binary is gone: the recorder stored symbols, also for functions that only its own debug
# info names
for p in part none ns2 hs2 ghc; do
	[ -e "$p" ] || continue
	data=${p/2/}.data
	"$NSPROF" symbolize -q --no-inline "$data" >$p.live
	rm $p
	"$NSPROF" symbolize -q --no-inline "$data" >$p.gone
	check "gone, $p: the same stacks and names" diff $p.live $p.gone
done
like "gone: a name of the source" "$(cat part.gone)" ';main;app_outer;app_middle[; ]'

# Debug info in a file of its own is not the recorder's.
mkdir -p dbg/.build-id
id=$(readelf -n all | sed -n 's/.*Build ID: //p')
[ -n "$id" ] || skip_all "this gcc makes no build-ids"
"$NSPROF" record -q -e cpu-clock -F 499 -o bare.data -- ./bare --cpu 0.4
mkdir "dbg/.build-id/${id:0:2}"
cp none.debug "dbg/.build-id/${id:0:2}/${id:2}.debug"
rm bare
"$NSPROF" symbolize --stats bare.data >gone.folded 2>gone.stats
like "gone: without a name" "$(cat gone.folded)" ';\[bare\]'
like "gone: what helps" "$(cat gone.stats)" 'names .*/bare +the recording has no symbol at these addresses +give its debug symbols with --debug-dir or --debuginfod'
"$NSPROF" symbolize --stats --debug-dir dbg bare.data >dbg.folded 2>dbg.stats
check "it helps ($(share dbg.folded "$chain") %)" test "$(share dbg.folded "$chain")" -ge 90
like "counted by source" "$(cat dbg.stats)" '^ +[0-9]+  debug info alone$'
"$NSPROF" symbolize -q --debug-dir dbg --format profile -o dbg.profile bare.data
like "the source in a saved profile" "$(grep app_leaf dbg.profile)" 'debuginfo'
done_testing
