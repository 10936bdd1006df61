#!/bin/bash
# One CPU is recorded. A process that was seen there becomes another program on another CPU, and
# comes back. Its new name and functions must show, though every event about them happened on a CPU
# that is not sampled.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_root
need_cmd taskset
mapfile -t cpus < <(taskset -pc $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
[ ${#cpus[@]} -ge 2 ] || skip_all "needs two CPUs"

# It is gone before anything can look at it.
cat >run <<'RUN'
here=$1 there=$2 program=$3
(
	taskset -pc "$here" $BASHPID >/dev/null
	for ((i = 0; i < 30000; i++)); do :; done
	taskset -pc "$there" $BASHPID >/dev/null
	exec "$program" --cpu 0.4
) &
pid=$!
until [ "$(readlink /proc/$pid/exe)" = "$program" ]; do sleep 0.01; done
taskset -pc "$here" $pid >/dev/null
wait $pid
rm -f "$program"
RUN
cp "$TARGETS/spin" moved
record data -F 499 -g -C "${cpus[0]}" -- bash run "${cpus[0]}" "${cpus[1]}" "$T/moved" 2>err
is "status" $? 0
stacks data >folded
like "it was seen there before" "$(<folded)" '^bash;'
like "names of what was mapped on another CPU" "$(<folded)" '^moved;.*;app_leaf '
is "nothing under its old name" "$(grep '^bash;.*app_leaf' folded)" ""
done_testing
