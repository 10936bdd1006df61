#!/bin/bash
# One CPU is recorded; a program is started and mapped on another one before it comes there. Its names are wanted all the same.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_root
need_cmd taskset
mapfile -t cpus < <(taskset -pc $$ | sed 's/.*: //' | tr ',' '\n' | awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
[ ${#cpus[@]} -ge 2 ] || skip_all "needs two CPUs"

# It ends before anybody can ask about it.
cat >run <<'RUN'
taskset -c "$2" "$4" --cpu 0.4 &
pid=$!
until [ "$(readlink /proc/$pid/exe)" = "$4" ]; do sleep 0.01; done
taskset -pc "$3" $pid >/dev/null
wait $pid
rm -f "$4"
RUN
cp "$TARGETS/spin" moved
record data -F 499 -g -C "${cpus[0]}" -- bash run - "${cpus[1]}" "${cpus[0]}" "$T/moved" 2>err
is "status" $? 0
stacks data >folded
like "names of what was mapped on another CPU" "$(<folded)" '^moved.*;app_leaf '
unlike "and no other names" "$(grep -v '^moved' folded)" 'app_leaf'
done_testing
