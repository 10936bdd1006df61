#!/bin/bash
# Profiles of a few MB, made so that stacks or names are repeated without end, give bounded output, and a
# line that says what is missing. Deep recursion stays whole.
# beside others
# takes: 20
. "$(dirname "$0")/../../lib.sh"
need_cmd python3
cd "$T" || exit 1
unset PAGER NSPROF_PAGER

cat >make.py <<'PY'
import sys

def profile(name, threads, frames, nodes, counts):
    lines = ['nsprof-profile\t1', 'B\t10000000\t1000']
    lines += ['T\t%s\t\t%s\t\t1\t%d\t-1\t0' % (c, comm, i) for i, (c, comm) in enumerate(threads)]
    lines += ['F\t%s\t\tu\t0\t\t' % f for f in frames]
    lines += ['N\t%d\t%d' % n for n in nodes]
    lines += ['C\t%d\t%d\t0\t%d\t1' % c for c in counts]
    open(name, 'w').write('\n'.join(lines + ['E\t%d' % len(lines)]) + '\n')

def chain(n, frames):
    return [(i, 1 + i % frames) for i in range(n)]

N = 20000
# A sample at each function of a chain; and one stack of another container.
profile('deep', [('bad', 'x'), ('good', 'y')], ['f%d' % i for i in range(N)], chain(N, N),
        [(1, i + 1, 1) for i in range(N)] + [(2, 1500, 7)])
# Each thread has a sample at the end of a chain.
profile('threads', [('bad', 't%d' % i) for i in range(30000)], ['f%d' % i for i in range(30000)], chain(30000, 30000),
        [(i + 1, 30000, 1) for i in range(30000)])
# Recursion of two functions with long names.
profile('long', [('bad', 'x')], ['x' * 60000, 'y' * 60000], chain(5000, 2), [(1, i + 1, 1) for i in range(5000)])
# A thread and its container with long names, and many functions.
profile('thread', [('bad' * 200000, 'x' * 500000)], ['f%d' % i for i in range(20000)], [(0, i + 1) for i in range(20000)],
        [(1, i + 1, 1) for i in range(20000)])
# Many binaries, with inlined functions on one side only.
for name, kind, source in ('inlined', 'i', ''), ('captured', 'u', 'captured'):
    lines = ['nsprof-profile\t1'] + ['F\tf%d\t/b%d\t%s\t0\t%s\t' % (i, i, kind, source) for i in range(30000)]
    lines += ['N\t0\t%d' % (i + 1) for i in range(30000)] + ['C\t0\t%d\t0\t9\t0' % (i + 1) for i in range(30000)]
    open(name, 'w').write('\n'.join(lines + ['E\t%d' % len(lines)]) + '\n')
# Deep recursion, a million frames in all: not too much.
profile('recursion', [('good', 'x')], ['main', 'walk'], [(0, 1)] + [(i, 2) for i in range(1, 3000)],
        [(1, i + 1, 1) for i in range(2500, 3000)])
PY
python3 make.py || bail_out "make.py"

# bytes ARGS...: of output; stderr goes to err.
bytes() {
	"$NSPROF" "$@" 2>err | wc -c
}

# limited NAME MB ARGS...: at most so much output, and the line that belongs to "bad".
limited() {
	local name=$1 mb=$2 n
	shift 2
	n=$(bytes "$@")
	check "$name: at most $mb MB, and some" test "$n" -gt 100 -a "$n" -le $((mb * 1000000))
	like "$name: says what is cut" "$(cat err)" "container 'bad': [0-9]+ stacks have \[frames_left_out\] in the middle, because all together are too"
}

limited "a chain: folded text of all" 400 report -g folded,0,callee deep
limited "tables" 10 report --csv --limit 0 --percent-limit 0 deep
limited "diff" 10 diff deep deep
limited "diff's folded text" 400 diff --format folded deep deep
limited "many threads" 10 report threads
limited "a tree for each of them" 10 report -g --by thread threads
limited "long names" 1200 report -g folded,0 long
n=$(bytes report -g --percent-limit 0 long)
check "a tree of long names: at most 100 MB" test "$n" -gt 1000000 -a "$n" -le 100000000
like "and says what is cut" "$(cat err)" "'long': 2 long names are cut to [0-9]+ bytes, because all together are too long"
n=$(bytes report --csv --limit 0 --percent-limit 0 --sort container,comm,symbol thread)
check "a thread with long names: at most 200 MB" test "$n" -gt 1000000 -a "$n" -le 200000000
like "and says what is cut" "$(cat err)" "'thread': 2 long names of threads or events are cut"
"$NSPROF" diff inlined captured >out 2>err
is "diff of many binaries: a note for each" "$(grep -c "^# inlined functions of '/b[0-9]*' count for their callers" out)" 30000
"$NSPROF" report -g folded,0 --filter container=good deep 2>/dev/null >out
is "another container's stack is whole" "$(grep -c '^100.00% f0;f1;.*;f1498;f1499$' out)" 1
like "the header has the note" "$("$NSPROF" report --header-only deep 2>/dev/null)" "container 'bad': "

is "recursion: every stack is whole" "$("$NSPROF" report -g folded,0,count recursion 2>err | awk '/^1 main/ { n += gsub(/;walk/, "") } END { print n }')" \
	$(((2500 + 2999) * 500 / 2))
is "and nothing is said" "$(cat err)" ""
done_testing
