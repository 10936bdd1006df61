# shellcheck shell=bash
# Bytes per sample of the whole file, including what nsprof captures; and how much smaller that is
# than the stack copies that the kernel delivered, which perf record writes as they are.

size_one() { # FILE: for the current ROW, TOOL and RUN
	local bytes parts
	TABLE=size
	bytes=$(stat -c %s "$1")
	counts "$TOOL" "$1"
	put samples "$KEPT"
	put lost "$LOST"
	put cpu "$CPU"
	[ "$KEPT" -gt 0 ] || return 0
	put bytes_sample "$(ratio "$bytes" "$KEPT")"
	[ "$TOOL" = nsprof ] || return 0
	read -r -a parts < <(python3 "$TOP/tests/bench/blocks.py" "$1")
	put stream_sample "$(ratio "${parts[0]}" "$KEPT")"
	put captures "${parts[1]}"
}

table_size() {
	local w n limit p
	declare -A asked=(["C loop"]=24 [C++]=40 [python3]=48 [g++]=80)
	echo "### Bytes per sample, whole file"
	echo
	echo "999 Hz, one cgroup, $SIZE_SECONDS s; copies of $DUMP_MAX bytes, \"8 KiB\": of 8,192."
	echo
	md_head workload perf samples "bytes: perf" "perf -z" "perf -z, 8 KiB" "**nsprof**" "of it stream" "captures, KB" "perf / nsprof" \
		"-z / nsprof" "-z 8 KiB / nsprof" asked
	for w in "${WORKLOADS[@]}"; do
		n=$(med "$w" nsprof bytes_sample)
		limit=${asked[$w]}
		for p in "${PERFS[@]}"; do
			md "$w" "$(perf_label $p)" "$(num %d "$(med "$w" nsprof samples)")" "$(num %d "$(med "$w" $p bytes_sample)")" \
				"$(num %d "$(med "$w" $p-z bytes_sample)")" "$(num %d "$(med "$w" $p-z8 bytes_sample)")" \
				"$(num %.1f "$n")" "$(num %.1f "$(med "$w" nsprof stream_sample)")" \
				"$(num %.0f "$(ratio "$(med "$w" nsprof captures)" 1000)")" \
				"$(num %d "$(ratio "$(med "$w" $p bytes_sample)" "$n")")" \
				"$(num %.1f "$(ratio "$(med "$w" $p-z bytes_sample)" "$n")")" \
				"$(num %.1f "$(ratio "$(med "$w" $p-z8 bytes_sample)" "$n")")" \
				"$(verdict "$(num %.1f "$n")" "$limit")"
		done
	done
}
