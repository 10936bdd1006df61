#!/bin/bash
# The checks of the source tree find what they are for, and install-deps does nothing when nothing is missing.
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

# install-deps, with a PATH that has next to nothing, so that all packages are missing.
deps=$TOP/contrib/install-deps
mkdir "$T/bin"
for c in bash id grep ldd sed; do
	ln -s "$(command -v $c)" "$T/bin/$c"
done
# Commands in sbin are found in spite of PATH, headers through the compiler: none of these is.
missing=$(PATH=$T/bin CC=nothing "$deps" build --print)
like "deps: what is missing is named" "$missing" '^libelf-dev$'
like "deps: and commands" "$missing" '^gcc$'
like "deps: so are runtimes" "$(PATH=$T/bin CC=nothing "$deps" runtimes --print)" '^podman$'
like "deps: so is debug info to compare names with" "$(PATH=$T/bin CC=nothing "$deps" names --print)" '^python3-dbg$'
unlike "deps: which checking does without" "$(PATH=$T/bin CC=nothing "$deps" check --print)" '^podman$'
is "deps: nothing else is printed" "$(grep -Evc '^[a-z0-9+-]+$' <<<"$missing")" 0
check_rc "deps: without apt-get and with things missing it fails" 1 env PATH="$T/bin" CC=nothing "$deps" build
like "deps: and names the packages" "$(<"$T/check.err")" 'libelf-dev'
check "deps: NODEPS=1 goes on" env PATH="$T/bin" CC=nothing NODEPS=1 "$deps" check
if [ "$(id -u)" = 0 ]; then
	# An apt-get that only writes down what it is asked for.
	printf '#!/bin/bash\necho "$@" >>"%s/apt"\n' "$T" >"$T/bin/apt-get"
	chmod +x "$T/bin/apt-get"
	check_rc "deps: fails when installing did not help" 1 env PATH="$T/bin" CC=nothing "$deps" build
	is "deps: it updates first" "$(head -n 1 "$T/apt")" "-q update"
	like "deps: installs what is missing and nothing more" "$(tail -n 1 "$T/apt")" \
		'^-q install -y --no-install-recommends gcc make .*libcmocka-dev$'
else
	skip "deps: installs" "needs root"
fi
if [ -z "$("$deps" build --print)" ]; then
	check "deps: nothing to do" "$deps" build
	is "deps: without a word" "$(cat "$T/check.out" "$T/check.err")" ""
else
	skip "deps: nothing to do" "build packages are missing here"
fi
check_rc "deps: usage" 2 "$deps" nonsense
check "deps: --help" "$deps" --help

# Every target that help names exists.
targets=$(make -s -C "$TOP" help | sed -n 's/^  \([a-z-]*\) .*/\1/p')
like "make help names check" "$targets" '^check$'
done_testing
