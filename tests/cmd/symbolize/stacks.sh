#!/bin/bash
# timeout: 300
# Programs that are hard to unwind: at least 99.5 % of their stacks are whole, with every function
# of the callchain they declare. The same holds with libunwind and libdw, and with the recording's
# own rows when the binaries are gone. test_sweep.c checks every instruction of such code.
# beside others
# takes: 80
. "$(dirname "$0")/../../lib.sh"
need_root
TARGETS=$BUILD/tests/targets

# whole FILE [MIN [GONE]]: at least MIN per cent of the samples have a complete user stack, by
# --stats' text in FILE. Only samples with a copy of the interrupted stack count: Go's signal
# handlers (preemption) always interrupt another stack. If the stack pointer has just moved to a
# page that does not exist yet, there is nothing to copy, as in the first millisecond of a program.
# On a loaded machine that is a large part of a short program. At most GONE per cent (default 1) may
# be without a copy for that. The kernel also takes a page away for a moment to move it; one sample
# may have met that.
whole() {
	awk -v min="${2:-99.5}" -v most="${3:-1}" '/^samples:/ { all = $2 + 0 } /%  complete$/ { ok = $1 } /%  no user stack$/ { none += $1 }
		/%  interrupted code is on another stack/ { none += $1 } /%  stack gone \(an exec\) or not in memory$/ { gone += $1 }
		/%  a page of the stack was not in memory/ { gone += most > 1 ? $1 : $1 > 0 }
		/^ *[0-9]+ +[0-9.]+ %  / { print "# " $0 }
		END {
			printf "# %d of %d whole, %d without a copy\n", ok, all - none - gone, gone
			exit !(ok >= 10 && gone <= 3 + most * all / 100 && 100 * ok >= min * (all - none - gone))
		}' "$1"
}

# holds FILE CHAIN [MIN]: at least MIN per cent of the samples with CHAIN's last frame hold all its
# frames in a row.
holds() {
	awk -v want="$2" -v min="${3:-90}" 'BEGIN { n = split(want, w, ";"); leaf = w[n] }
	{
		c = $NF; line = ";" $0; sub(/ [0-9]+$/, ";", line)
		if (index(line, ";" leaf ";")) total += c
		if (index(line, ";" want ";")) hit += c
	}
	END { printf "# %d of %d hold %s\n", hit, total, want; exit !(total > 0 && 100 * hit >= min * total) }' "$1"
}

# without_files NAME: its stacks without the program and musl's library. Names of C come from
# .symtab in both cases, or are missing.
without_files() {
	unshare -m sh -c "mount -t tmpfs none '$TARGETS' && { [ ! -d /usr/lib/x86_64-linux-musl ] ||
		mount -t tmpfs none /usr/lib/x86_64-linux-musl; } && exec '$NSPROF' symbolize -q --no-inline '$T/$1'" \
		>"$T/$1.gone" 2>"$T/$1.err"
}

# case_of NAME CHAIN MIN_WHOLE COMMAND...|-p PID...: record, and compare the result with the
# declared chain.
case_of() {
	local name=$1 chain=$2 min=$3 u
	shift 3
	[ "$1" = -p ] || set -- -- "$@"
	if ! "$NSPROF" record -q -F 1999 -o "$T/$name" "$@" >/dev/null 2>"$T/$name.err"; then
		fail "$name: records" "$(cat "$T/$name.err")"
		return
	fi
	"$NSPROF" symbolize -q --no-inline --stats "$T/$name" >"$T/$name.folded" 2>"$T/$name.stats"
	[ -z "$min" ] || check "$name: stacks are whole" whole "$T/$name.stats" "$min"
	[ -z "$chain" ] || check "$name: every function of its chain" holds "$T/$name.folded" "$chain"
	for u in libunwind libdw; do
		"$NSPROF" symbolize -q --no-inline --unwind $u "$T/$name" >"$T/$name.$u"
		check "$name: $u gives the same" diff "$T/$name.folded" "$T/$name.$u"
	done
	if without_files "$name"; then
		check "$name: the recording's own rows give the same" diff "$T/$name.folded" "$T/$name.gone"
	else
		skip "$name: the recording's own rows" "cannot make a mount namespace"
	fi
}

for mode in signal coroutine planted vfork asm search guess table framed redzone; do
	case_of $mode "$("$TARGETS/odd" $mode --chain)" 99.5 "$TARGETS/odd" $mode 0.3
done
# In assembly without frame pointers between code with them, %rbp is the caller's.
for mode in asm search table framed; do
	case_of $mode-fp "$("$TARGETS/odd-fp" $mode --chain)" 99.5 "$TARGETS/odd-fp" $mode 0.3
done
# The copy of the handler's stack does not contain the interrupted stack: reported, and marked.
case_of altstack "$("$TARGETS/odd" altstack --chain)" "" "$TARGETS/odd" altstack 0.3
like "altstack: the reason" "$(cat "$T/altstack.stats")" 'interrupted code is on another stack'
check "altstack: marked" grep -q '^odd;\[truncated_stack\];.*;odd_handler;odd_burn ' "$T/altstack.folded"
# The kernel finds no pages between this frame and its callers.
case_of hole "" "" "$TARGETS/odd" hole 0.3
like "hole: the reason" "$(cat "$T/hole.stats")" 'a page of the stack was not in memory'
check "hole: marked" grep -q "^odd;\\[truncated_stack\\];$("$TARGETS/odd" hole --chain) " "$T/hole.folded"
check "hole: nothing else is missing" awk '/^odd;\[(broken|truncated)_stack\];/ && !/;odd_hole/ { bad = 1; print "# " $0 } END { exit bad }' "$T/hole.folded"
check "hole: whole where it is not in the way" grep -q '^odd;_start;.*;main;odd_shallow;odd_burn ' "$T/hole.folded"
# 1,000 frames of at least 112 bytes: deeper than the copy. Recording starts when it is down there,
# because stacks of the way down would have the outer frames: each program begins with 132 KiB of
# stack, and these frames take 164.
"$TARGETS/odd" deep 60 &
deep=$!
wait_for "[ \$(awk '/^VmStk/ { print \$2 }' /proc/$deep/status) -gt 140 ]" 20
case_of deep "$("$TARGETS/odd" deep --chain)" "" -p $deep --duration 0.3
kill $deep
wait $deep 2>/dev/null
like "deep: the reason" "$(cat "$T/deep.stats")" 'stack copy too small'
check "deep: marked" grep -q '^odd;\[truncated_stack\];odd_deep;.*;odd_burn ' "$T/deep.folded"

# Both compilers at each level, LTO, with and without frame pointers, linked in all ways. They run
# one after the other in one recording.
compiled=("$TARGETS"/compiled/* "$TARGETS"/spin{-static,-staticpie,-nopie})
"$NSPROF" record -q -F 1999 -o "$T/compiled" -- sh -c 'for p; do "$p" 0.15 || exit; done' sh "${compiled[@]}" >/dev/null
"$NSPROF" symbolize -q --no-inline --stats "$T/compiled" >"$T/compiled.folded" 2>"$T/compiled.stats"
check "compiled: stacks are whole" whole "$T/compiled.stats"
for p in "${compiled[@]}"; do
	n=${p##*/}
	grep "^$n;" "$T/compiled.folded" >"$T/compiled.one"
	"$NSPROF" symbolize -q --no-inline --stats -c "$n" "$T/compiled" >/dev/null 2>"$T/compiled.one.stats"
	check "$n: stacks are whole" whole "$T/compiled.one.stats"
	check "$n: every function of its chain" holds "$T/compiled.one" "$("$p" --chain)" 99.5
done
[ -e "$TARGETS/compiled/clang-O2" ] || skip "compiled by clang" "clang is not installed"
for u in libunwind libdw; do
	"$NSPROF" symbolize -q --no-inline --unwind $u "$T/compiled" >"$T/compiled.$u"
	check "compiled: $u gives the same" diff "$T/compiled.folded" "$T/compiled.$u"
done

# Threads at their first instruction, after the system call that created them: the function there
# has no caller. Tested with the binaries and, for glibc, without them: musl's rows in the recording
# cannot distinguish the thread's function from a caller.
for p in births births-musl; do
	if [ ! -x "$TARGETS/$p" ]; then
		skip $p "musl-gcc is not installed"
		continue
	fi
	"$NSPROF" record -q -F 9999 -o "$T/$p" -- "$TARGETS/$p" 2
	"$NSPROF" symbolize -q --no-inline --stats "$T/$p" >"$T/$p.folded" 2>"$T/$p.stats"
	check "$p: threads that have just begun are whole" awk '/%  (complete|no unwind rows|address outside|end of the stack)/ { all += $1; print "# " $0 }
		/%  complete$/ { ok = $1 } END { exit !(ok && ok >= 0.995 * all) }' "$T/$p.stats"
	check "$p: there are such" awk '/^births(-musl)?;[^;]*(;(ret_from_fork|\[kernel\]).*)? [0-9]+$/ { n += $NF } END { print "# " n + 0; exit !n }' "$T/$p.folded"
	# musl's clone is hidden, and follows a memset with size 0, which nothing calls here.
	check "$p: what has no name gets no other function's" awk '/(^[^;]*|;pthread_create);memset[; ]/ { print "# " $0; bad = 1 } END { exit bad }' "$T/$p.folded"
	for u in libunwind libdw; do
		"$NSPROF" symbolize -q --no-inline --unwind $u "$T/$p" >"$T/$p.$u"
		check "$p: $u gives the same" diff "$T/$p.folded" "$T/$p.$u"
	done
done
check "births: the recording's own rows give the same" diff "$T/births.folded" \
	<(unshare -m sh -c "mount -t tmpfs none '$TARGETS' && exec '$NSPROF' symbolize -q --no-inline '$T/births'")

for p in spin-musl spin-musl-static; do
	if [ -x "$TARGETS/$p" ]; then
		chain=$("$TARGETS/$p" --chain)
		case_of $p "$chain" 99.5 "$TARGETS/$p" 0.5
		prefix=${chain#main;}
		case_of $p-threads "${chain/main;/${prefix%%_outer*}_thread;}" 99.5 "$TARGETS/$p" --threads 3 0.5
	else
		skip $p "musl-gcc is not installed"
	fi
done

# These end before the recorder first looks at them, within 20 ms of CPU time: its own command, and
# the command's children. The recorder knows where they ran, so it captures their binaries, with or
# without a build-id.
for p in spin spin-musl spin-musl-static; do
	if [ ! -x "$TARGETS/$p" ]; then
		skip "$p, short" "musl-gcc is not installed"
		continue
	fi
	chain=$("$TARGETS/$p" --chain)
	for how in own forked; do
		name=$p-$how
		if [ $how = own ]; then
			set -- "$TARGETS/$p" --cpu 0.02
		else
			set -- sh -c '"$0" --cpu 0.02; "$0" --cpu 0.02' "$TARGETS/$p"
		fi
		if ! "$NSPROF" record -q -F 1999 -o "$T/$name" -- "$@" >/dev/null 2>"$T/$name.err"; then
			fail "$name, short: records" "$(cat "$T/$name.err")"
			continue
		fi
		"$NSPROF" symbolize -q --no-inline "$T/$name" >"$T/$name.folded"
		check "$name, short: every function of its chain" holds "$T/$name.folded" "$chain" 100
		if without_files "$name"; then
			check "$name, short: and from the recording alone" holds "$T/$name.gone" "$chain" 100
		else
			skip "$name, short: from the recording alone" "cannot make a mount namespace"
		fi
	done
done

# Trampolines on the stack, which is executable for them: an address in it is not a return address.
for p in nested nested-musl; do
	if [ -x "$TARGETS/$p" ]; then
		case_of $p "$("$TARGETS/$p" --chain)" 99.5 "$TARGETS/$p" 0.5
		check "$p: nothing had to be searched for" awk '/;nested_burn / && /;\[scanned\];/ { print "# " $0; bad = 1 } END { exit bad }' "$T/$p.folded"
	else
		skip $p "musl-gcc is not installed"
	fi
done

# C++: exceptions thrown and caught, with std::function and templates in between; Rust: generics,
# closures, panics.
if [ -x "$TARGETS/throws" ]; then
	# 0.1 to 0.6 % of the samples are in the last part of _Unwind_RaiseException(). There it
	# puts the registers of the handler's function where those of its own caller were saved, and
	# the handler's address over its own return address (__builtin_eh_return). No row describes
	# that (walk_resumed()). These samples are recognized by their place; 99.5 % of all others
	# are whole.
	case_of throws "$("$TARGETS/throws" --chain)" "" "$TARGETS/throws" 1.5
	check "throws: stacks are whole" awk '{ n += $NF }
		/^throws;\[[a-z_]+_stack\];/ { if (/;_Unwind_RaiseException(;\[libgcc_s[^;]*\]|;uw_install_context[^;]*)?( [0-9]+$|;(asm|entry)_)/) leaving += $NF; else bad += $NF }
		END { printf "# %d of %d not whole, %d more where a throw ends\n", bad, n, leaving; exit !(n > 100 && bad <= 0.005 * (n - leaving) && leaving <= 0.015 * n) }' "$T/throws.folded"
	check "throws: whole below the unwinder of exceptions, too" awk '/_Unwind_RaiseException/ && !/^throws;\[[a-z_]+_stack\];.*;_Unwind_RaiseException(;\[libgcc_s[^;]*\]|;uw_install_context[^;]*)?( [0-9]+$|;(asm|entry)_)/ {
		n += $NF; if (/^throws;_start;.*;main;Thrower::run\(double\);Thrower::outer/) ok += $NF }
		END { printf "# %d of %d\n", ok, n; exit !(n > 0 && ok >= 0.99 * n) }' "$T/throws.folded"
else
	skip throws "g++ is not installed"
fi
if [ -x "$TARGETS/rsspin" ]; then
	case_of rsspin "$("$TARGETS/rsspin" --chain)" 99.5 "$TARGETS/rsspin" 0.5
else
	skip rsspin "rustc is not installed"
fi

if [ -x "$TARGETS/gospin" ]; then
	chain=$("$TARGETS/gospin" --chain)
	for p in gospin gospin-stripped gospin-pie; do
		case_of $p "main.inner;main.leaf" 99.5 "$TARGETS/$p" 0.5
		check "$p: from the goroutine's entry" grep -Eq "^$p;runtime.goexit(.abi0)?;main.main.(func|gowrap)1;$chain " "$T/$p.folded"
		check "$p: and main's" grep -Eq "^[^;]*;runtime.goexit(.abi0)?;runtime.main;main.main;main.outer;main.inner;main.leaf " "$T/$p.folded"
		# The collector runs on the threads' own stacks.
		case_of $p-gc "main.inner;main.leaf" 99.5 "$TARGETS/$p" --gc 1
		check "$p: roots are Go's" awk -v p="$p" '{ split($0, f, ";"); if (f[2] !~ /^(runtime\.(goexit|systemstack|mcall|mstart|morestack|rt0_go|sigtramp|clone|nanotime1|sigreturn|gogo|futex)|_start|_dl_|\[|entry_|asm_|ret_from)/) { print "# " $0; bad += $NF } all += $NF }
			END { exit !(200 * bad <= all) }' "$T/$p-gc.folded"
		# So does the vdso. The goroutine's stack is close above, but is a different one.
		case_of $p-clock "time.now;__vdso_clock_gettime" 99.5 "$TARGETS/$p" --clock 0.5
	done
	like "gospin-stripped: named by .gopclntab" "$(cat "$T/gospin-stripped.stats")" '[1-9][0-9]*  Go.s .gopclntab'
	for p in cgospin cgospin-stripped cgospin-pie; do
		# Newer Go exports no C functions, so a stripped program has no names for them.
		chain="c_outer;c_leaf" names="(_cgo_[^;]*;)?c_outer;c_leaf"
		readelf -sW "$TARGETS/$p" | grep -q ' c_leaf$' || chain="" names="(\[$p\];){1,2}\[$p\]"
		case_of $p "$chain" 99.5 "$TARGETS/$p"
		check "$p: from where Go calls C" grep -Eq "^[^;]*;runtime.asmcgocall(.abi0)?;$names " "$T/$p.folded"
		case_of $p-back "main.goLeaf" 99.5 "$TARGETS/$p" back
		check "$p: C calls Go, on top of its goroutine" grep -Eq "^[^;]*;runtime.goexit(.abi0)?;runtime.main;main.main;(main.main.func[^;]*;)*main._Cfunc_c_back(.abi0)?;runtime.cgocall;runtime.systemstack_switch(.abi0)?;runtime.cgocallback(.abi0)?;.*goBack;main.goLeaf " "$T/$p-back.folded"
	done
	# The header says another machine: there is Go's table, but no readable code.
	cp "$TARGETS/cgospin-pie" "$T/gomachine"
	"$NSPROF" record -q -F 999 -o "$T/gomachine.data" -- "$T/gomachine" >/dev/null
	printf '\267' | dd of="$T/gomachine" bs=1 seek=18 conv=notrunc status=none
	for u in cached libunwind libdw; do
		check "Go's table in a file of another machine: $u" sh -c \
			"'$NSPROF' symbolize -q --unwind $u '$T/gomachine.data' >'$T/gomachine.$u' && test -s '$T/gomachine.$u'"
	done
else
	skip go "go is not installed"
fi

# Programs that do little more than load: stacks begin at the loader's own entry, before the
# program's. With musl, because of printf's frame of 8 KiB, 1 to 3 % have just moved to pages that
# do not exist yet, depending on the time of a fault. A copy ends there, or earlier.
for p in spin:_dl_start spin-musl:; do
	n=${p%%:*} below=${p#*:} entry=_start
	[ $n = spin ] || entry=_dlstart
	[ -x "$TARGETS/$n" ] || { skip "$n: loading" "$n is not built"; continue; }
	"$NSPROF" record -q -F 4999 -o "$T/load" -- bash -c 'for i in {1..200}; do "$0" 0; done' "$TARGETS/$n" >/dev/null
	"$NSPROF" symbolize --stats --filter comm=$n "$T/load" >"$T/load.folded" 2>"$T/load.stats"
	check "$n: stacks of its loading are whole" whole "$T/load.stats" 99 5
	if [ $n = spin ] && grep -q 'names .*/ld-linux.* stripped of its symbols' "$T/load.stats"; then
		skip "$n: from the loader's entry" "the loader's names need libc6-dbg"
		continue
	fi
	like "$n: from the loader's entry" "$(cat "$T/load.folded")" "^$n;$entry;${below:-\\[?[^;]*libc}[^ ]* "
done

# A program without any rows, like Free Pascal's: the rows in its recording are not the binary's.
# Its start-up code is as long as Free Pascal's, or shorter than elsewhere, and functions follow
# right after it.
cat >"$T/bare.c" <<'END'
#define NI __attribute__((noinline, noclone))
static volatile unsigned int sink;
NI unsigned int leaf(unsigned int n)
{
	for (int i = 0; i < 20000; i++)
		n = n * 1664525u + 1013904223u + sink;
	return n;
}
NI void inner(unsigned int k) { sink += leaf(k); sink++; }
NI void middle(unsigned int k) { for (unsigned int i = 0; i < 100; i++) inner(k + i); sink++; }
NI void outer(void) { for (unsigned int i = 0; i < 300; i++) middle(i); }
END
for nops in 50 0; do
	cat >"$T/entry.S" <<-END
		.globl _start
		_start:	xor %ebp, %ebp
		and \$-16, %rsp
		.rept $nops
		cld
		.endr
		call outer
		mov \$60, %eax
		xor %edi, %edi
		syscall
		hlt
		.section .note.GNU-stack, ""
	END
	if ! gcc -O1 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fcf-protection=none -nostdlib -static -no-pie -fno-pic \
		-Wl,--build-id=none -o "$T/bare" "$T/entry.S" "$T/bare.c" 2>"$T/bare.err"; then
		skip "no rows at all" "gcc cannot link that: $(head -1 "$T/bare.err")"
		break
	fi
	"$NSPROF" record -q -F 1999 -o "$T/bare.data" -- "$T/bare"
	for u in cached libunwind libdw; do
		"$NSPROF" symbolize -q --no-inline --unwind $u "$T/bare.data" >"$T/bare.$u"
		check "no rows at all, $nops, $u: every function of its chain" holds "$T/bare.$u" '_start;outer;middle;inner;leaf' 99.5
		check "no rows at all, $nops, $u: whole, nothing searched for" awk '/_stack\]|\[scanned\]/ { print "# " $0; n += $NF } { all += $NF }
			END { exit !(all > 100 && 200 * n <= all) }' "$T/bare.$u"
	done
	rm "$T/bare"
	check "no rows at all, $nops: the recording's own give the same" diff "$T/bare.cached" <("$NSPROF" symbolize -q --no-inline "$T/bare.data")
done

# In exit(2) the pc is after the system call: on the hlt that guards the end.
printf 'void outer(void) { for (volatile int i = 0; i < 1000; i++); }\n' >"$T/short.c"
if gcc -O1 -fomit-frame-pointer -fno-asynchronous-unwind-tables -fcf-protection=none -nostdlib -static -no-pie -fno-pic \
	-Wl,--build-id=none -o "$T/short" "$T/entry.S" "$T/short.c" 2>"$T/short.err"; then
	# A process has a timer of its own. With a longer period hardly any lives until it is over.
	"$NSPROF" record -q -e cpu-clock -c 50000 -o "$T/short.data" -- sh -c 'i=0; while [ $i -lt 400 ]; do "$0"; i=$((i + 1)); done' "$T/short"
	"$NSPROF" symbolize -q --no-inline "$T/short.data" >"$T/short.folded"
	grep '^short;.*;do_exit' "$T/short.folded" >"$T/short.exit"
	like "start-up code in exit(2): there are samples" "$(<"$T/short.folded")" '^short;.*;do_exit'
	unlike "start-up code in exit(2): whole" "$(cat "$T/short.exit")" '_stack\]'
else
	skip "start-up code in exit(2)" "gcc cannot link that: $(head -1 "$T/short.err")"
fi

# Two code segments of less than a page, adjacent in the file: the mapping of each also contains the
# other's bytes.
cat >"$T/apart.c" <<'END'
#define NI(name) __attribute__((noinline, noclone, section(name)))
static volatile unsigned int sink;
NI(".far_a") unsigned int far_leaf(unsigned int n)
{
	for (int i = 0; i < 20000; i++)
		n = n * 1664525u + 1013904223u + sink;
	return n;
}
NI(".far_b") unsigned int far_caller(unsigned int n) { return far_leaf(n) + 1; }
int main(void) { for (unsigned int i = 0; i < 30000; i++) sink += far_caller(i); return 0; }
END
for how in -no-pie -pie; do
	if ! gcc -O1 $how -Wl,--section-start=.far_a=0x10000000 -Wl,--section-start=.far_b=0x20000100 -o "$T/apart" "$T/apart.c" 2>"$T/apart.err"; then
		skip "segments that share a page $how" "gcc cannot link that: $(head -1 "$T/apart.err")"
		continue
	fi
	"$NSPROF" record -q -F 1999 -o "$T/apart.data" -- "$T/apart"
	for u in cached libunwind libdw; do
		"$NSPROF" symbolize -q --no-inline --unwind $u "$T/apart.data" >"$T/apart.$u"
		check "segments that share a page $how: $u" holds "$T/apart.$u" 'main;far_caller;far_leaf' 99.5
	done
done

# A file made to keep its readers busy: 4000 segments of one page, mapped 200 times.
cat >"$T/many.c" <<'END'
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#define SEGMENTS 4000
#define MAPS 200
int main(int argc, char **argv)
{
	static const unsigned char code[] = { 0xff, 0xcf, 0x75, 0xfc, 0xc3 };	/* 1: dec %edi; jnz 1b; ret */
	Elf64_Ehdr eh = { .e_ident = "\177ELF\2\1\1", .e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = 1,
		.e_phoff = sizeof(eh), .e_ehsize = sizeof(eh), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = SEGMENTS };
	static Elf64_Phdr ph[SEGMENTS];
	static void (*f[MAPS])(int);
	const long at = 1 << 20;
	int fd = open(argv[argc - 1], O_RDWR | O_CREAT | O_TRUNC, 0755);

	for (int i = 0; i < SEGMENTS; i++)
		ph[i] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = at, .p_vaddr = at + 65536l * i,
			.p_filesz = 4096, .p_memsz = 4096, .p_align = 4096 };
	if (fd < 0 || ftruncate(fd, at + 4096) || pwrite(fd, &eh, sizeof(eh), 0) < 0 ||
	    pwrite(fd, ph, sizeof(ph), sizeof(eh)) < 0 || pwrite(fd, code, sizeof(code), at) < 0)
		return 1;
	for (int i = 0; i < MAPS; i++) {
		f[i] = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, at);
		mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	}
	for (int i = 0; i < 400; i++)
		f[(i * 31) % MAPS](3000000);
	return 0;
}
END
if [ "$(uname -m)" = x86_64 ] && gcc -O1 -o "$T/many" "$T/many.c"; then
	"$NSPROF" record -q -F 999 -o "$T/many.data" -- "$T/many" "$T/many.so"
	check "4000 segments in one page, mapped 200 times: read in a moment" sh -c \
		"timeout 20 '$NSPROF' symbolize -q '$T/many.data' >'$T/many.folded'"
	check "4000 segments in one page: every sample" holds "$T/many.folded" 'main;[many.so]' 99
fi

# 32-bit: the unsupported part is reported, in user mode and in system calls.
cat >"$T/narrow.c" <<'END'
#define NI __attribute__((noinline, noclone))
static volatile unsigned int sink;
static int call(int nr)
{
	int ret;

	__asm__ volatile("int $0x80" : "=a"(ret) : "a"(nr), "b"(0) : "memory");
	return ret;
}
NI unsigned int leaf(unsigned int n)
{
	for (int i = 0; i < 20000; i++)
		n = n * 1664525u + 1013904223u + sink;
	for (int i = 0; i < 200; i++)
		sink += (unsigned int)call(20);
	return n;
}
NI void outer(void) { for (int i = 0; i < 400; i++) sink += leaf(sink); }
void _start(void) { outer(); call(1); }
END
if gcc -m32 -O1 -fno-omit-frame-pointer -nostdlib -static -no-pie -fno-pic -o "$T/narrow" "$T/narrow.c" 2>"$T/narrow.err" &&
	"$T/narrow"; then
	"$NSPROF" record -q -F 1999 -o "$T/narrow.data" -- "$T/narrow"
	"$NSPROF" symbolize -q --stats "$T/narrow.data" >"$T/narrow.folded" 2>"$T/narrow.stats"
	check "32-bit: no stack is called whole" awk '/%  complete$/ { bad += $1 } /32-bit code/ { said += $1 } END { exit !(said > 100 && bad < said / 50) }' "$T/narrow.stats"
	like "32-bit: the remedy" "$(cat "$T/narrow.stats")" 'record with --call-graph fp'
	like "32-bit: the innermost frame" "$(cat "$T/narrow.folded")" '^narrow;\[broken_stack\];leaf [0-9]+$'
	like "32-bit: in a system call too" "$(cat "$T/narrow.folded")" '^narrow;\[broken_stack\];leaf;[a-z]'
	"$NSPROF" record -q -F 1999 --call-graph fp -o "$T/narrow.data" -- "$T/narrow"
	like "32-bit: by frame pointers" "$("$NSPROF" symbolize -q "$T/narrow.data")" '^narrow;(\[no mapping\];)?(_start;)?outer;leaf [0-9]+$'
else
	skip "32-bit programs" "no 32-bit code can be made or run here: $(head -1 "$T/narrow.err")"
fi
done_testing
