# shellcheck shell=bash
# Names with inlined functions for 500 random addresses of a program with 314 MB of debug info, each
# tool in a process of its own. The files are in memory, or read from the disk. Raw names, without
# nsprof's cache.

LOOKUP=$BUILD/tests/tools/lookupbench

lookup_tool() { # TOOL BINARY <ADDRESSES
	case $1 in
	addr2line) addr2line -if -e "$2" ;;
	eu-addr2line) eu-addr2line -if -e "$2" ;;
	llvm-symbolizer) llvm-symbolizer --obj="$2" --inlines --functions=linkage --no-demangle ;;
	nsprof) "$LOOKUP" "$2" ;;
	nsprof-symbols) "$LOOKUP" --no-inline "$2" ;;
	esac
}

# Random addresses in .text of BINARY, the same in each run.
text_addresses() { # BINARY N
	readelf -SW "$1" | sed 's/\[ */[/' | awk '$2 == ".text" { print $4, $6 }' | {
		read -r start size
		awk -v a=$((16#$start)) -v n=$((16#$size)) -v count="$2" 'BEGIN {
			srand(1)
			for (i = 0; i < count; i++) printf "0x%x\n", a + int(rand() * n) }'
	}
}

table_lookup() {
	local r u s t tools=() fastest bin=$BUILD/tests/bench/many-$LOOKUP_UNITS-$LOOKUP_TYPES mb
	for t in addr2line eu-addr2line llvm-symbolizer; do
		! command -v $t >/dev/null || tools+=($t)
	done
	mkdir -p "${bin%/*}"
	[ -x "$bin" ] || "$TOP/tests/tools/manyunits" "$bin" "$LOOKUP_UNITS" "$LOOKUP_TYPES" || return
	mb=$(size -A "$bin" | awk '/^\.debug/ { n += $2 } END { printf "%.0f", n / 1e6 }')
	text_addresses "$bin" "$LOOKUP_ADDRESSES" >"$WORK/addresses"
	for ROW in "in memory" "from disk"; do
		for ((RUN = 1; RUN <= RUNS; RUN++)); do
			for TOOL in $(rotate $RUN "${tools[@]}" nsprof nsprof-symbols); do
				if [ "$ROW" = "from disk" ]; then
					# Drop the file from the page cache.
					dd if="$bin" iflag=nocache count=0 status=none
				else
					cat "$bin" >/dev/null
				fi
				{ time lookup_tool "$TOOL" "$bin" <"$WORK/addresses" >"$WORK/$TOOL.names" 2>"$WORK/log"; } 2>"$WORK/time"
				read -r r u s <"$WORK/time"
				put seconds "$r"
				put cpu "$(awk -v u="$u" -v s="$s" 'BEGIN { print u + s }')"
				put lines "$(wc -l <"$WORK/$TOOL.names")"
			done
		done
	done
	echo "### Names and inlined functions of $LOOKUP_ADDRESSES random addresses, $mb MB of debug info"
	echo
	echo "Wall time in seconds, in brackets CPU time; a process for each tool and run, without a cache. --no-inline: symbols only."
	echo
	md_head "the file is" "${tools[@]}" nsprof "nsprof --no-inline" "nsprof / fastest"
	for ROW in "in memory" "from disk"; do
		fastest=$(for t in "${tools[@]}"; do med "$ROW" "$t" seconds; done | sort -g | head -n 1)
		cells=()
		for t in "${tools[@]}" nsprof nsprof-symbols; do
			cells+=("$(num %.3f "$(med "$ROW" "$t" seconds)") ($(num %.2f "$(med "$ROW" "$t" cpu)"))")
		done
		md "$ROW" "${cells[@]}" "$(verdict "$(ratio "$(med "$ROW" nsprof seconds)" "$fastest")" 0.5)"
	done
}
