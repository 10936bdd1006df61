#!/bin/bash
# The checks of the source tree find the faults that they are made for.
# beside others
. "$(dirname "$0")/../../lib.sh"

tree=$T/tree

# A small tree without faults.
fresh() {
	rm -rf "$tree"
	mkdir -p "$tree"/{contrib,include,common/{low,high,pack},record/{a,b},symbolize/s,report/r,tests/unit/record/a}
	cp "$TOP"/contrib/check-* "$tree/contrib/"
	cat >"$tree/contrib/layers" <<-'E'
		# lower layers first
		common/low:
		common/high: common/low
		common/pack:
		record/a: common/low	# and nothing else
		record/b: common/low record/a
		symbolize/s: common/low
		report/r:
	E
	echo '#include "b.h"' >"$tree/include/a.h"
	echo >"$tree/include/b.h"
	printf '#include "low/x.h"\n#include "a.h"\n' >"$tree/common/low/x.c"
	echo >"$tree/common/low/x.h"
	printf '#include "low/x.h"\n' >"$tree/common/high/y.h"
	printf '#include "pack/own.h"\n#include "a.h"\n#include <zstd.h>\n' >"$tree/common/pack/z.c"
	echo >"$tree/common/pack/own.h"
	echo '#include "a.h"' >"$tree/record/a/r.c"
	echo >"$tree/record/a/rec.h"
	printf '#include "a/rec.h"\n#include "low/x.h"\n' >"$tree/record/b/b.c"
	printf '#include "a/rec.h"\n#include "high/y.h"\n#include "fixture.h"\n' >"$tree/tests/unit/record/a/test_r.c"
	echo >"$tree/tests/unit/fixture.h"
}

# caught WHAT FILE LINE [REGEX]: adding LINE to FILE of a fresh tree gives an error with its name.
caught() {
	fresh
	echo "$3" >>"$tree/$2"
	check_rc "layers: $1" 1 "$tree/contrib/check-layers"
	like "layers: $1: named" "$(<"$T/check.err")" "${4:-$2}"
}

fresh
check "layers: a sound tree passes" "$tree/contrib/check-layers"
caught "sideways" symbolize/s/s.c '#include "a/rec.h"'
caught "back" common/low/x.c '#include "high/y.h"'
caught "from common into a program" common/low/x.c '#include "a/rec.h"'
caught "not in the table" record/a/r.c '#include "pack/own.h"'
caught "by a path" record/a/r.c '#include "../../common/pack/own.h"'
caught "without the folder" record/a/r.c '#include "rec.h"'
caught "from the contracts" include/a.h '#  include "low/x.h"'
fresh
mkdir -p "$tree/tests/unit/report/r"
echo '#include "a/rec.h"' >"$tree/tests/unit/report/r/test_x.c"
check_rc "layers: from a unit test of another program" 1 "$tree/contrib/check-layers"
like "layers: it is named" "$(<"$T/check.err")" 'tests/unit/report/r/test_x.c'
caught "a library included twice" record/a/r.c '#include <zstd.h>' 'zstd is included by 2 modules.*record/a/r.c'
caught "a library in a contract" include/b.h '#include <lzma.h>' 'lzma is included by a contract'
fresh
mkdir "$tree/common/new" && echo >"$tree/common/new/n.c"
check_rc "layers: a folder without a line" 1 "$tree/contrib/check-layers"
like "layers: its file is named" "$(<"$T/check.err")" 'common/new/n.c'
caught "a circle" contrib/layers 'common/pack: common/late' 'common/pack may include common/late, which is not above it'
caught "an arrow into another program" contrib/layers 'report/r: record/a' "report/r may include record/a: that is another program's"
fresh
echo '#include <gelf.h>' | tee "$tree/common/low/elf_file_priv.h" >"$tree/common/low/elf_plt.c"
echo '#include "low/elf_file_priv.h"' >"$tree/common/low/elf_syms.c"
check "layers: several files of one module" "$tree/contrib/check-layers"
echo '#include "low/elf_file_priv.h"' >>"$tree/common/low/x.c"
check_rc "layers: a library through a module's own header" 1 "$tree/contrib/check-layers"
like "layers: is named" "$(<"$T/check.err")" 'common/low/x.c includes "low/elf_file_priv.h", which brings in libelf'

fresh
seq 801 >"$tree/record/a/long.c"
check "size: 801 lines pass" "$tree/contrib/check-size"
like "size: with a warning" "$(<"$T/check.err")" 'record/a/long.c: 801 lines'
seq 1501 >"$tree/record/a/long.c"
check_rc "size: 1,501 lines do not" 1 "$tree/contrib/check-size"

# prose WHAT MESSAGE FILE LINES: a FILE of these lines gives one error, with its name and a line
# number.
prose() {
	printf "$4" >"$tree/$3"
	check_rc "prose: $1" 1 "$tree/contrib/check-prose" "$3"
	like "prose: $1: named" "$(<"$T/check.err")" "^$3:$2"
	is "prose: $1: once" "$(wc -l <"$T/check.err")" 1
}
wide=$(printf 'word %.0s' {1..20})
prose "the subject comes first" '3: "Of": ' a.md 'A page.\n\nOf a stack, two words are kept.\n'
prose "and within a paragraph" '2: "Of": ' a.md 'It is short. A line\nmore. Of two, one is kept.\n'
prose "over the end of a line" '1: "is said' a.md 'That this is\nsaid is wrong.\n'
prose "in a table" '1: "a side": ' a.md '| three a side | yes |\n'
prose "not English" '1: "anew": ' a.md 'It is made anew.\n'
prose "who has it" '1: "knows whose": ' a.md 'It knows whose a sample is, as told apart by a row whose name fits.\n'
prose "a wide line" '1: 105 columns' a.md "$wide ends\\n"
prose "in a manual page" '3: "has not": ' a.1 '.SH NAME\nabc\n.BR "what it has" " not" ,\n'
prose "in a message" '3: "has not": ' a.c '/* It has a, b. */\nint f(void) { pr_err("which perf has "\n"and nsprof has not; use x"); }\n'
printf '/* Of a, b. */\nint f(void); /* has no\n * side, made anew: "moot" */\nconst char *s = "Of c"; // none\n' >"$tree/a.c"
check_rc "prose: comments" 1 "$tree/contrib/check-prose" a.c
is "prose: comments: named" "$(cut -d: -f1-3 "$T/check.err" | tr '\n' ' ')" 'a.c:1: "Of" a.c:3: "anew" a.c:4: "Of" '
prose "a link" " links to 'b.md', which does not exist" a.md 'See [b](b.md) and [a](a.md) and [x](https://example.org/x).\n'
yes 'A short sentence.' | head -n 600 >"$tree/a.md"
check_rc "prose: a long page" 1 "$tree/contrib/check-prose" a.md
like "prose: a long page: named" "$(<"$T/check.err")" '^a.md: 10800 bytes, at most 10,240'
cat >"$tree/a.md" <<END
The word \`besides\` is code.

    Of a stack, anew

| $wide | $wide |

\`\`\`
moot $wide
\`\`\`
It has not been read, so nothing is known.
END
check "prose: code is left out, and tables may be wide" "$tree/contrib/check-prose" a.md
printf '.SH NOTES\n.nf\nmoot %s\n.fi\nIt has not been read.\n' "$wide" >"$tree/a.1.in"
check "prose: examples of manual pages may be" "$tree/contrib/check-prose" a.1.in

# Every target in the help text exists.
targets=$(make -s -C "$TOP" help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
like "make help names check" "$targets" '^check$'

# Before a compiler is installed, make does not complain about a missing one.
for target in help all check; do
	unlike "make $target without a compiler" "$(make -C "$TOP" CC=no-such-cc NODEPS=1 -n $target 2>&1)" 'not found'
done
# SECURITY.md promises nothing without a test.
promised=$(sed -n '/^## What is promised/,/^## What is not/p' "$TOP/SECURITY.md" | grep '^|')
missing=
for t in $(grep -o '`[a-z/-]*\.sh`' <<<"$promised" | tr -d '`'); do
	[ -f "$TOP/tests/$t" ] || missing+=" $t"
done
for t in $(grep -o '`test_[a-z_]*`' <<<"$promised" | tr -d '`'); do
	compgen -G "$TOP/tests/unit/*/*/$t.c" >/dev/null || missing+=" $t"
done
is "the tests that SECURITY.md names exist" "$missing" ""
is "each promise of SECURITY.md names a test" "$(tail -n +3 <<<"$promised" | grep -vc '`test_[a-z_]*`\|\.sh`')" 0

done_testing
