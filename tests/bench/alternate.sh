# shellcheck shell=bash
# Two waits that alternate, 2 ms on a futex and 7 ms in nanosleep, and one stack for N switches: how
# far each wait's time is from the program's own clock. For perf, which knows no durations, its
# samples at the two waits: they are as many of each.

ALTERNATE=(1 2 3 4 16 64)

# "FUTEX SLEEP": samples at the two waits, by that perf and the kernel's functions. The main thread
# has one more of each.
perf_waits() { # TOOL FILE
	perf_script "$1" "$2" --no-inline -F ip,sym | awk '/ do_futex$/ { f++ } / hrtimer_nanosleep$/ { s++ } END { print f + 0, s + 0 }'
}

table_alternate() {
	local n futex asleep way t secs
	[ -z "$QUICK" ] || ALTERNATE=(1 4)
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		for n in "${ALTERNATE[@]}"; do
			ROW=$n
			# For as many stacks as have to stand for all waits.
			secs=$ALTERNATE_SECONDS
			[ "$n" -lt 16 ] || secs=$(awk -v s="$secs" 'BEGIN { print 2 * s }')
			local tools=nsprof
			# One run of perf per row is enough: it is about what it sees, not about time.
			[ $RUN -gt 1 ] || tools=$(each '#')nsprof
			for TOOL in $tools; do
				local EVENTS=(-e context-switches -c "$n")
				[ "$TOOL" != nsprof ] || EVENTS=("--off-cpu=$n")
				# shellcheck disable=SC2046
				start "$TOOL" "$WORK/alternate.data" $(dwarf 8192) -a -G "$CG" || return 1
				sleep "$SETTLE"
				(echo $BASHPID >"$CGROOT/$CG/cgroup.procs" && exec "$TARGETS/waits" "$secs" alternate) >"$WORK/own"
				stop
				counts "$TOOL" "$WORK/alternate.data"
				put samples "$KEPT"
				if [ "$TOOL" != nsprof ]; then
					read -r futex asleep < <(perf_waits "$TOOL" "$WORK/alternate.data")
					put futex "$futex"
					put nanosleep "$asleep"
				else
					"$NSPROF" symbolize -q --event off-cpu --all -o "$WORK/folded" "$WORK/alternate.data"
					for way in wait_futex wait_nanosleep; do
						put $way "$(awk -v w="$way" -v own="$(awk -v w="$way" '$3 == w { print $4 }' "$WORK/own")" \
							'index($0, ";" w ";") { n += $NF } END { d = 100 * (n / own - 1); print d < 0 ? -d : d }' "$WORK/folded")"
					done
				fi
				rm -f "$WORK/alternate.data"
			done
		done
	done

	echo "### Two waits that alternate"
	echo
	echo "$ALTERNATE_SECONDS s, twice that from N = 16 on; 2 ms on a futex and 7 ms asleep in turn, one stack for N switches. Difference of each wait's time from the program's own"
	echo "clock, which includes entering and leaving the kernel. perf: samples at the futex and asleep, of which there are as many."
	echo
	local heads=()
	for t in "${PERFS[@]}"; do heads+=("$(perf_label $t), samples"); done
	md_head N stacks "futex, %" "sleep, %" "both <= 1 %" "${heads[@]}"
	for n in "${ALTERNATE[@]}"; do
		ROW=$n
		local cells=()
		for t in "${PERFS[@]}"; do cells+=("$(num %d "$(med "$ROW" $t futex)") and $(num %d "$(med "$ROW" $t nanosleep)")"); done
		futex=$(num %.2f "$(med "$ROW" nsprof wait_futex)") asleep=$(num %.2f "$(med "$ROW" nsprof wait_nanosleep)")
		md "$n" "$(num %d "$(med "$ROW" nsprof samples)")" "$futex" "$asleep" \
			"$(verdict "$(awk -v a="$futex" -v b="$asleep" 'BEGIN { print (a > b) ? a : b }')" 1)" "${cells[@]}"
	done
}
