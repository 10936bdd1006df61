# shellcheck shell=bash
# Memory of the recorder without its rings: the largest RssAnon (the rings are not anonymous memory)
# and VmHWM that the kernel reports from its start to its end, with very many busy threads and very
# many busy containers.

# crowd COMMAND...: starts it and waits until it is there; ended by uncrowd.
crowd() {
	rm -f "$WORK/ready"
	"$TARGETS/crowd" "$@" >"$WORK/ready" &
	CROWD=$!
	until [ -s "$WORK/ready" ]; do
		kill -0 $CROWD 2>/dev/null || { echo "bench: crowd $* did not start" >&2; return 1; }
		sleep 0.05
	done
}

uncrowd() {
	kill "$CROWD"
	wait "$CROWD" 2>/dev/null
	CROWD=''
}

# watch: watch RECORDER until it has ended. Sets ANON and HWM, KiB.
watch() {
	local key value rest
	ANON=0 HWM=0
	while kill -0 "$RECORDER" 2>/dev/null; do
		while read -r key value rest; do
			case $key in
			RssAnon:) ((value > ANON)) && ANON=$value ;;
			VmHWM:) ((value > HWM)) && HWM=$value ;;
			esac
		done 2>/dev/null <"/proc/$RECORDER/status"
		sleep 0.05
	done
	wait "$RECORDER" 2>/dev/null
	RECORDER=''
}

memory_row() { # ROW ARGUMENT...
	ROW=$1
	shift
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		for TOOL in $(rotate $RUN $(each '#') nsprof); do
			# Both tools count the time from when sampling is on. RECORDER has to be the
			# recorder itself, not a subshell.
			local end=(-- sleep "$MEMORY_SECONDS")
			[ "$TOOL" != nsprof ] || end=(--duration "$MEMORY_SECONDS")
			# shellcheck disable=SC2046
			tool_cmd "$TOOL" "$WORK/mem.data" -F 1999 $(dwarf 8192) "$@"
			"${CMD[@]}" "${end[@]}" >"$WORK/log" 2>&1 &
			RECORDER=$!
			watch
			counts "$TOOL" "$WORK/mem.data"
			put samples "$KEPT"
			put lost "$LOST"
			put rss_anon_kib "$ANON"
			put hwm_kib "$HWM"
			[ "$TOOL" != nsprof ] || put members "$("$NSPROF" info --json "$WORK/mem.data" | jq ".counts.$MEMBERS")"
			rm -f "$WORK/mem.data"
		done
	done
}

table_memory() {
	local threads="$N_THREADS threads" containers="$N_CONTAINERS containers" what p
	crowd threads "$N_THREADS" || return 1
	MEMBERS=threads memory_row "$threads" -a || return 1
	uncrowd
	mkdir -p "$CGROOT/$CG/crowd"
	crowd containers "$N_CONTAINERS" "$CGROOT/$CG/crowd" || return 1
	MEMBERS=containers memory_row "$containers" -a -G "$CG/crowd" || return 1
	uncrowd
	rmdir "$CGROOT/$CG/crowd"

	echo "### Memory apart from the rings"
	echo
	echo "Largest RssAnon in MiB (VmHWM in brackets), 1,999 Hz x 8 KiB for $MEMORY_SECONDS s; at most 64 MiB are asked for."
	echo
	md_head crowd perf "sampled of it" "samples: perf" nsprof "lost: perf" nsprof "MiB: perf" nsprof "<= 64 MiB"
	for what in "$threads" "$containers"; do
		ROW=$what
		for p in "${PERFS[@]}"; do
			md "$what" "$(perf_label $p)" "$(num %d "$(med "$ROW" nsprof members)")" "$(num %d "$(med "$ROW" $p samples)")" \
				"$(num %d "$(med "$ROW" nsprof samples)")" "$(num %d "$(med "$ROW" $p lost)")" \
				"$(num %d "$(med "$ROW" nsprof lost)")" "$(mib $p)" "$(mib nsprof)" \
				"$(verdict "$(num %.1f "$(ratio "$(med "$ROW" nsprof rss_anon_kib)" 1024)")" 64)"
		done
	done
}

mib() { # TOOL
	echo "$(num %.1f "$(ratio "$(med "$ROW" "$1" rss_anon_kib)" 1024)") ($(num %.1f "$(ratio "$(med "$ROW" "$1" hwm_kib)" 1024)"))"
}
