# shellcheck shell=bash
# Many cgroups against one: the same load (one busy process per CPU, each in one of the cgroups; the
# other cgroups are empty), recorded by the name of the parent and by the names of all. perf needs
# one event per name.

table_cgroups() {
	local i dir=$CGROOT/$CG names='' events='' what one all r
	for ((i = 0; i < N_CGROUPS; i++)); do
		mkdir "$dir/c$i" || return 1
		names+=,$CG/c$i
		events+=,cpu-clock
	done
	for ((i = 0; i < NCPU; i++)); do
		(
			echo $BASHPID >"$dir/c$((i * N_CGROUPS / NCPU))/cgroup.procs"
			exec "$TARGETS/deep" 100000 60
		) >/dev/null 2>&1 &
		disown
	done
	sleep 0.3
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		for what in $(rotate $RUN $(each '#:one #:all') nsprof:one nsprof:all); do
			TOOL=${what%:*} ROW=${what#*:}
			# shellcheck disable=SC2046
			case $what in
			*:one) record "$TOOL" "$WORK/cg.data" "$CGROUP_SECONDS" -F 999 $(dwarf 16384) -a -G "$CG" || return 1 ;;
			perf*:all) # The first event is tool_cmd's.
				record "$TOOL" "$WORK/cg.data" "$CGROUP_SECONDS" -F 999 $(dwarf 16384) -a -e "${events:11}" -G "${names:1}" ||
					{ put samples 0; continue; } ;;
			nsprof:all) record nsprof "$WORK/cg.data" "$CGROUP_SECONDS" -F 999 $(dwarf 16384) -a -G "${names:1}" || return 1 ;;
			esac
			counts "$TOOL" "$WORK/cg.data"
			put samples "$KEPT"
			put lost "$LOST"
			put cpu "$CPU"
			put real "$REAL"
			rm -f "$WORK/cg.data"
		done
	done
	for ((i = 0; i < N_CGROUPS; i++)); do
		cg_kill "$dir/c$i"
		rmdir "$dir/c$i"
	done

	echo "### $N_CGROUPS cgroups against one"
	echo
	echo "Recorder CPU in seconds for $CGROUP_SECONDS s at 999 Hz x 16 KiB, the same load in both rows of a tool; starting and ending included."
	echo
	md_head tool "samples: one" "all" "lost: one" "all" "CPU s: one" "all" "all / one"
	for TOOL in "${PERFS[@]}" nsprof; do
		one=$(med one $TOOL cpu) all=$(med all $TOOL cpu)
		r=$(ratio "$all" "$one")
		[ $TOOL != nsprof ] || r=$(verdict "$r" 1.2)
		md "$(tool_label $TOOL)" "$(num %d "$(med one $TOOL samples)")" "$(num %d "$(med all $TOOL samples)")" \
			"$(num %d "$(med one $TOOL lost)")" "$(num %d "$(med all $TOOL lost)")" "$(num %.3f "$one")" "$(num %.3f "$all")" "$r"
	done
}
