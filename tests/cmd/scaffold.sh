#!/bin/bash
# The checks of the source tree find what they are for.
# beside others
. "$(dirname "$0")/../lib.sh"

tree=$T/tree

# A small tree in which everything is as it should be.
fresh() {
	rm -rf "$tree"
	mkdir -p "$tree"/{contrib,include,common,record,symbolize,report,tests/unit}
	cp "$TOP"/contrib/check-* "$tree/contrib/"
	echo '#include "b.h"' >"$tree/include/a.h"
	echo >"$tree/include/b.h"
	echo '#include "a.h"' >"$tree/common/x.c"
	printf '#include "own.h"\n#include "a.h"\n#include <zstd.h>\n' >"$tree/common/z.c"
	echo >"$tree/common/own.h"
	echo '#include "a.h"' >"$tree/record/r.c"
	echo >"$tree/record/rec.h"
	echo '#include "rec.h"' >"$tree/tests/unit/test_record_r.c"
}

# caught WHAT FILE LINE: adding LINE to FILE of a fresh tree is complained about by name.
caught() {
	fresh
	echo "$3" >>"$tree/$2"
	check_rc "layers: $1" 1 "$tree/contrib/check-layers"
	like "layers: $1: named" "$(<"$T/check.err")" "${4:-$2}"
}

fresh
check "layers: a sound tree passes" "$tree/contrib/check-layers"
caught "sideways" symbolize/s.c '#include "rec.h"'
caught "back" common/x.c '#include "rec.h"'
caught "another room's own header" record/r.c '#include "own.h"'
caught "by a path" record/r.c '#include "../common/own.h"'
caught "from the contracts" include/a.h '#  include "own.h"'
caught "from a unit test of another room" tests/unit/test_report_x.c '#include "rec.h"'
caught "report/ knows no ELF" report/r.c '#include "elf_file.h"'
caught "a library included twice" record/r.c '#include <zstd.h>' 'zstd is included by 2 modules.*record/r.c'
caught "a library in a contract" include/b.h '#include <lzma.h>' 'lzma is included by a contract'
fresh
echo '#include <gelf.h>' | tee "$tree/common/elf_file_priv.h" >"$tree/common/elf_plt.c"
echo '#include "elf_file_priv.h"' >"$tree/common/elf_syms.c"
check "layers: several files of one module" "$tree/contrib/check-layers"
echo '#include "elf_file_priv.h"' >>"$tree/common/x.c"
check_rc "layers: a library through a module's own header" 1 "$tree/contrib/check-layers"
like "layers: is named" "$(<"$T/check.err")" 'common/x.c includes "elf_file_priv.h", which brings in libelf'

fresh
seq 801 >"$tree/record/long.c"
check "size: 801 lines pass" "$tree/contrib/check-size"
like "size: with a warning" "$(<"$T/check.err")" 'record/long.c: 801 lines'
seq 1501 >"$tree/record/long.c"
check_rc "size: 1,501 lines do not" 1 "$tree/contrib/check-size"

# Every target that help names exists.
targets=$(make -s -C "$TOP" help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
like "make help names check" "$targets" '^check$'

# Before a compiler is installed, make does not complain that there is none.
for target in help all check; do
	unlike "make $target without a compiler" "$(make -C "$TOP" CC=no-such-cc NODEPS=1 -n $target 2>&1)" 'not found'
done
done_testing
