#!/bin/bash
# contrib/check-cycles finds cycles between files and between folders, from their objects.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd gcc nm

tree="$T/a tree"
check_cycles=$tree/contrib/check-cycles

# fresh: a tree of three files without a cycle, flat and in folders.
fresh() {
	rm -rf "$tree"
	mkdir -p "$tree/contrib"
	cp "$TOP/contrib/check-cycles" "$tree/contrib/"
	object common/low 'int low(void) { return 1; }'
	object common/base/text/deep 'int low(void), deep; int twice(void) { return deep = 2 * low(); }'
	object record/cmd 'int twice(void); static int low(void) { return 7; } int main(void) { return twice() + low(); }'
}

# object FILE CODE: write the source and compile it.
object() {
	mkdir -p "$tree/${1%/*}" "$tree/build/${1%/*}"
	echo "$2" >"$tree/$1.c"
	gcc -c -o "$tree/build/$1.o" "$tree/$1.c"
}

fresh
check "no cycle" "$check_cycles"
is "no cycle: nothing is said" "$(cat "$T/check.out" "$T/check.err")" ""

object common/base/low2 'extern int deep; int other(void); int low2(void) { return deep + other(); }'
object common/base/text/other 'int low3(void); int other(void) { return low3(); }'
object common/base/low3 'int low2(void); int low3(void) { return low2(); }'
check_rc "files: a cycle of three" 1 "$check_cycles" "$tree/build"
is "files: the cycle and its symbols" "$(grep -A 3 files "$T/check.err")" \
"check-cycles: files in a cycle: common/base/low2 -> common/base/text/other -> common/base/low3 -> common/base/low2
	common/base/low2 -> common/base/text/other: other
	common/base/text/other -> common/base/low3: low3
	common/base/low3 -> common/base/low2: low2"
is "files: once" "$(grep -c 'files in a cycle' "$T/check.err")" 1
check_rc "files: a build folder by a relative path" 1 env -C "$tree" contrib/check-cycles build

rm "$tree"/common/base/{low3.c,text/other.c}
check "an object without a source is of the past" "$check_cycles"

fresh
object common/one/a 'int b(void); int a(void) { return b(); }'
object common/two/b 'int b(void) { return 1; }'
object common/two/c 'int d(void); int c(void) { return d(); }'
object common/one/d 'int d(void) { return 1; }'
check_rc "folders: a cycle without one of files" 1 "$check_cycles"
is "folders: the cycle, its files and symbols" "$(cat "$T/check.err")" \
"check-cycles: folders in a cycle: common/one -> common/two -> common/one
	common/one -> common/two: a:b
	common/two -> common/one: c:d"

fresh
object common/hook 'int hooked(void); int hook(void) { return hooked(); }'
object record/hooked 'int hook(void); int hooked(void) { return hook(); }'
check_rc "common/ leaves a function to a program" 1 "$check_cycles"
like "common/ leaves a function to a program: the cycle" "$(<"$T/check.err")" 'files in a cycle: common/hook -> record/hooked -> common/hook'

fresh
object record/usage 'int deep; int usage(void) { return deep; }'
object report/usage 'int deep; int usage(void) { return deep; }'
object record/use 'int usage(void); int use(void) { return usage(); }'
check "programs may use the same names" "$check_cycles"

rm -r "$tree/build"
mkdir "$tree/build"
check_rc "nothing is built" 2 "$check_cycles"
like "nothing is built: what to do" "$(<"$T/check.err")" "no objects in .*a tree/build: run 'make' first"
check_rc "no such folder" 2 "$check_cycles" "$tree/nowhere"
done_testing
