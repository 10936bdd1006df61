#!/bin/bash
# Names of D and Rust programs match the names from their own compilers and runtime libraries.
# names.sh compares C++ with addr2line, and test_demangle.c with the ABI's examples.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd nm python3 readelf
demangle=$BUILD/tests/tools/demangle
[ -x "$demangle" ] || skip_all "needs $demangle: make test-programs"
cd "$T" || exit 1

# ---- D: the compiler gives the name of a function, druntime has its own demangler ----
if command -v gdc >/dev/null; then
	cat >t.d <<'END_D'
module t;
import std.algorithm, std.array, std.conv, std.range, std.stdio, std.traits;
import core.demangle : druntime = demangle;
struct Point { int x, y; int opBinary(string op)(Point o) const { return x + o.y; } ref Point scaled(int n) return { x *= n; return this; } }
class Shape { abstract double area() const; static int count(ubyte[][string] m, real r) { return 1; } @property int n() nothrow @nogc { return 3; } }
class Circle : Shape { double r; this(double r) { this.r = r; } ~this() {} override double area() const { return 3 * r * r; } }
T pick(T, string s = "a b", double d = 1.5)(T[] a, scope const(T)* p, T[string] m, immutable(char)[] z...) { return a[0]; }
inout(dchar)[] front(return scope inout(dchar)[] a, return ref int b) { return a; }
int vararg(int a, ...) { return a; }
wchar wide(dchar a, byte[4] c, lazy string e, out ushort u, const shared int* f) { return 'a'; }
void calls(void delegate(int, ref string) @safe pure nothrow d, int function(const Object) f) { }
void said(alias f)() { writeln("name ", f.mangleof, " ", fullyQualifiedName!f); }
void main(string[] args)
{
	if (args.length > 1) {
		foreach (l; stdin.byLine)
			writeln(druntime(l));
		return;
	}
	said!(Point.scaled)(); said!(Shape.count)(); said!(Shape.n)(); said!(Circle.area)();
	said!front(); said!vararg(); said!wide(); said!calls();
	auto c = new Circle(2);
	auto l = iota(10).map!(a => a * 2).filter!(a => a > 3).array.sort!((a, b) => a > b).map!(a => to!string(a)).joiner(" ");
	writeln("# ", c.area, c.n, l, Point(1, 2) + Point(2, 3), pick!int([1, 2], null, null, "x"));
}
END_D
	check "gdc" gdc -g -o t t.d
	./t | sed -n 's/^name //p' >said
	cut -d' ' -f1 said | "$demangle" | sed 's/(.*//' >ours
	is "D: functions are called what the compiler calls them" "$(cat ours)" "$(cut -d' ' -f2 said)"
	nm t | awk '$2 ~ /^[tTwW]$/ && $3 ~ /^_D/ { print $3 }' | sort -u >raw
	"$demangle" <raw >ours
	# nsprof demangles clone suffixes itself; druntime accepts only the name.
	sed 's/\..*//' raw | ./t demangle >theirs
	# Remove arguments of templates and functions, and types before the name; libiberty writes
	# "this" for __ctor.
	cat >same.py <<'END_PY'
import re, sys
def bare(name):
    name = re.sub(r'( \[clone [^]]*\])+$', '', name)
    out, depth = '', 0
    for c in name:
        depth += c == '('
        if not depth:
            out += c
        depth -= c == ')'
    out = re.sub(r'( (const|inout|shared|immutable|scope|return|ref))+$', '', out)
    out = re.sub(r'![^.()]*', '', out).split(' ')[-1]
    for theirs, ours in (('__ctor', 'this'), ('__dtor', '~this'), ('__postblit', 'this')):
        out = re.sub(r'\b%s\b' % theirs, ours, out)
    return out
raw, ours, theirs = (open(f, errors='replace').read().splitlines() for f in sys.argv[1:])
wrong = kept = mended = 0
for r, o, t in zip(raw, ours, theirs):
    if t == re.sub(r'\..*', '', r):
        continue        # unknown to druntime
    kept += o == r
    mended += 'return scope' in t and 'return scope' in o
    if o != r and bare(o) != bare(t):
        wrong += 1
        print('#', r, o, t, sep='\n# ')
print('# %d functions: %d as druntime names them, %d left as they are, %d others; %d with "return scope"' %
      (len(raw), len(raw) - kept - wrong, kept, wrong, mended))
# What libiberty cannot read it leaves alone: nested functions that refer back to their parent's type.
sys.exit(wrong != 0 or not mended or kept * 100 > len(raw))
END_PY
	check "D: every function of a program as druntime names it" python3 same.py raw ours theirs
else
	skip "D" "needs gdc"
fi

# ---- Rust: a program that prints its own stack, demangled by the standard library ----
cat >t.rs <<'END_RS'
use std::backtrace::Backtrace;
mod shapes {
	pub trait Area { fn area(&self, f: &mut dyn FnMut(f64)); }
	pub struct Square<T>(pub T);
	pub struct Many<'a, T: ?Sized, const N: usize>(pub &'a T, pub [u8; N]);
	impl Area for Square<u8> { #[inline(never)] fn area(&self, f: &mut dyn FnMut(f64)) { f(self.0 as f64); } }
	impl<'a, T: ?Sized, const N: usize> Area for Many<'a, T, N> {
		#[inline(never)] fn area(&self, f: &mut dyn FnMut(f64)) { f(N as f64) }
	}
	impl<T: Copy> Square<T> { #[inline(never)] pub fn each<F: Fn(T) -> R, R>(&self, f: F) -> R { f(self.0) } }
}
use shapes::*;
#[inline(never)] fn gëneric<T, F: FnOnce(T)>(a: T, f: F) { f(a) }
#[inline(never)] fn show() { println!("{}", Backtrace::force_capture()); }
#[inline(never)] fn pointers(a: *const u8, b: fn(i32, &str) -> bool, c: (u8, [i16; 3], &[char])) {
	show();
	std::hint::black_box((a, b, c));
}
fn called(_: i32, _: &str) -> bool { true }
fn main() {
	Square(3u8).area(&mut |_| show());
	Many::<dyn Fn(i32), 7>(&|_| (), [0; 7]).area(&mut |x| { let g = |y: f64| { show(); y }; std::hint::black_box(g(x)); });
	Square('x').each(|c| { show(); c as u32 });
	gëneric((1u8, "a"), |_| show());
	gëneric::<fn(i32, &str) -> bool, _>(called, |_| show());
	pointers(std::ptr::null(), called, (1, [1; 3], &[]));
	let v = vec![Box::new(3)];
	std::thread::spawn(move || v.iter().for_each(|_| show())).join().unwrap();
}
END_RS
# rustc wants the unstable option for the old mangling since it is no longer the default.
build_rust() {
	rustc -O -g -C symbol-mangling-version="$1" -o "rs$1" t.rs 2>err ||
		RUSTC_BOOTSTRAP=1 rustc -O -g -Z unstable-options -C symbol-mangling-version="$1" -o "rs$1" t.rs 2>err
}
for m in v0 legacy; do
	if ! command -v rustc >/dev/null; then
		skip "Rust, $m" "needs rustc"
	elif ! build_rust $m; then
		skip "Rust, $m" "rustc cannot build it: $(head -1 err)"
	else
		"./rs$m" | sed -nE 's/^ +[0-9]+: (.*)/\1/p' | sort -u >theirs
		# Inlined functions are only in debug info.
		{ nm "rs$m" | awk '{ print $NF }'; readelf -wi "rs$m" | sed -n 's/.*DW_AT_linkage_name.*: //p'; } | sort -u >raw
		"$demangle" <raw | sort -u >ours
		check "Rust, $m: the program shows its own functions" grep -q 'shapes::' theirs
		# C functions come from the C library, and are not in the program.
		is "Rust, $m: all have the names that the program gives them" "$(grep '::' theirs | comm -23 - ours)" ""
		unlike "Rust, $m: no hash, no .llvm.N" "$(grep '::' ours)" '::h[0-9a-f]{16}|\.llvm\.[0-9]'
		check "Rust, $m: none is left as it was" test "$(grep -cE '^(_R[NMXYI]|_ZN.*17h[0-9a-f]{16}E)' ours)" = 0
		if command -v llvm-cxxfilt >/dev/null && [ $m = v0 ]; then
			grep '^_R' raw | llvm-cxxfilt | sed -E 's/ \((\.llvm\.[0-9]+)?(\.[^()]+)?\)$/ [clone \2]/; s/ \[clone \]$//' >theirs
			is "Rust, $m: as llvm-cxxfilt has them" "$(grep '^_R' raw | "$demangle" | diff - theirs)" ""
		fi
	fi
done

# ---- suffixes that compilers append to parts and clones of functions are kept, unless --normalize
# ----
cat >parts.c <<'END_C'
#include <time.h>
#define NAMED(f, as) __attribute__((noinline)) unsigned long f(unsigned long n) __asm__(as)
NAMED(leaf, "leaf.constprop.0.isra.0");
NAMED(middle, "middle.part.0");
NAMED(outer, "outer.cold");
unsigned long leaf(unsigned long n) { for (int i = 0; i < 100000; i++) __asm__ volatile("" : "+r"(n)); return n; }
unsigned long middle(unsigned long n) { n = leaf(n); __asm__ volatile("" : "+r"(n)); return n; }
unsigned long outer(unsigned long n) { n = middle(n); __asm__ volatile("" : "+r"(n)); return n; }
int main(void) { while (clock() < CLOCKS_PER_SEC / 5) outer(1); }
END_C
if command -v gcc >/dev/null && gcc -O1 -o parts parts.c && "$NSPROF" record -q -e cpu-clock:u -F 499 -o parts.data -- ./parts 2>err; then
	like "suffixes are kept" "$("$NSPROF" symbolize -q --by none parts.data)" ';main;outer\.cold;middle\.part\.0;leaf\.constprop\.0\.isra\.0 [0-9]+$'
	like "--normalize takes them off" "$("$NSPROF" symbolize -q --by none --normalize parts.data)" ';main;outer;middle;leaf [0-9]+$'
else
	skip "--normalize" "cannot record here, or no gcc: $(cat err)"
fi

# ---- C++: --no-demangle gives raw names, and c++filt turns them into the default ones ----
if [ -x "$BUILD/tests/targets/deep" ] && command -v c++filt >/dev/null &&
	"$NSPROF" record -q -e cpu-clock:u -F 499 -o deep.data -- "$BUILD/tests/targets/deep" 1 >/dev/null 2>err; then
	symbolize() { "$NSPROF" symbolize -q --no-inline --by none "$@" deep.data; }
	symbolize --no-demangle >raw
	like "--no-demangle: names as in the symbol table" "$(cat raw)" ';_Z[A-Za-z0-9_]+[; ]'
	is "they are those of the default, mangled" "$(sed -E 's/ [0-9]+$//' raw | tr ';' '\n' | c++filt | sort -u)" \
		"$(symbolize | sed -E 's/ [0-9]+$//' | tr ';' '\n' | sort -u)"
else
	skip "--no-demangle" "cannot record here, or no g++ or c++filt: $(cat err)"
fi
done_testing
