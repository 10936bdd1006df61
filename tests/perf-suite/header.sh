#!/bin/bash
# A recording describes the host and how it was made, as a file and through a pipe.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"

record file -F 99 -- true
record - -F 99 -- true >pipe
for f in file pipe; do
	tool script --header -i $f >"$f.header" 2>/dev/null
	like "$f: host" "$(<$f.header)" "^# hostname : $(uname -n)\$"
	like "$f: release of the system" "$(<$f.header)" "^# os release : $(uname -r)\$"
	like "$f: architecture" "$(<$f.header)" "^# arch : $(uname -m)\$"
	like "$f: CPUs" "$(<$f.header)" "^# nrcpus avail : $(getconf _NPROCESSORS_CONF)\$"
	like "$f: memory" "$(<$f.header)" "^# total memory : $(awk '/^MemTotal/ { print $2 }' /proc/meminfo) kB\$"
	like "$f: version" "$(<$f.header)" '^# perf version : [0-9]'
	like "$f: command" "$(<$f.header)" '^# cmdline : .*record .*cpu-clock .*true *$'
	like "$f: event" "$(<$f.header)" '^# event : name = cpu-clock'
done
done_testing
