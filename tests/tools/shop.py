"""A profile (nsprof.profile(5)) of a made-up shop and the facts about it, for the test of the page
that shows it. shop.py profile | expect"""
import sys

BLOCKS, WIDTH = 40, 100000000
THREADS = [('web', 'nginx', 'worker', 100, 101), ('web', 'nginx', 'worker', 100, 102), ('web', 'nginx', 'cache', 100, 103),
           ('db', 'postgres', 'postgres', 200, 200), ('db', 'postgres', 'writer', 210, 210), ('host', 'cron', 'cron', 300, 300)]
STACKS = ['main', 'main;serve;parse;token', 'main;serve;parse', 'main;serve;render;layout_[i];blit', 'main;serve;write;sys_write_[k];vfs_write_[k]',
          'main;gc;mark_[j]', 'main;gc;walk;walk;walk']


def rows():
    x = 7
    for block in range(BLOCKS):
        for thread in range(len(THREADS)):
            for stack in range(len(STACKS)):
                x = (x * 1103515245 + 12345) % 2**31
                n = (x >> 16) % 5 - 1
                if n > 0 and not (THREADS[thread][0] == 'db' and block < BLOCKS // 2):
                    yield block, thread, stack, n


def profile():
    frames, nodes, out = {}, {}, []
    for s in STACKS:
        path = ()
        for f in s.split(';'):
            frames.setdefault(f, len(frames) + 1)
            nodes.setdefault(path + (f,), len(nodes) + 1)
            path += (f,)
    out += ['M\t%s\t%s' % m for m in [('input', 'shop.data'), ('event', 'cpu-clock'), ('frequency', '100'), ('lost', '12'), ('begin_wall_ns', '1000000000000000000'), ('filter', 'comm=*'),
            ('note', '1 container without samples: <idle>'), ('throttled', 'container web (docker): throttled in 7 of 9 periods, 3.8 s')]]
    out.append('B\t%d\t%d' % (WIDTH, BLOCKS))
    out += ['T\t%s\t/%s\t%s\t%s\t%d\t%d\t-1\t0' % (c, c, comm, p, pid, tid) for c, p, comm, pid, tid in THREADS]
    kind = {'_[k]': 'k', '_[j]': 'j', '_[i]': 'i'}
    out += ['F\t%s\t/bin/shop\t%s\t0\tsymtab\tshop.c:12' % (f[:-4] if f[-4:] in kind else f, kind.get(f[-4:], 'u')) for f in frames]
    out += ['N\t%d\t%d' % (nodes.get(n[:-1], 0), frames[n[-1]]) for n in nodes]
    out += ['C\t%d\t%d\t%d\t%d\t%d' % (t + 1, nodes[tuple(STACKS[s].split(';'))], b, n, n * 10000000) for b, t, s, n in rows()]
    out.insert(0, 'nsprof-profile\t1')
    return out + ['E\t%d' % len(out)]


def lanes(rows, levels):
    """Rows of the timeline: the first levels of container, process, thread; those of one stand together."""
    sums = {}
    for _, thread, _, n in rows:
        c, process, comm, pid, tid = THREADS[thread]
        path = (c, '%s-%d' % (process, pid), '%s-%d/%d' % (comm, pid, tid))[:levels]
        for i in range(levels):
            sums[path[:i + 1]] = sums.get(path[:i + 1], 0) + n
    order = sorted((p for p in sums if len(p) == levels), key=lambda p: [(-sums[p[:i + 1]], p[i]) for i in range(levels)])
    return ['row %s %d' % (' / '.join(p), sums[p]) for p in order]


def expect():
    def share(rows, word):
        all = sum(r[3] for r in rows)
        return '%.2f%%' % (100 * sum(r[3] for r in rows if any(word in f for f in STACKS[r[2]].split(';'))) / all)

    r = list(rows())
    web = [x for x in r if THREADS[x[1]][0] == 'web']
    cache = [x for x in web if THREADS[x[1]][2] == 'cache']
    late = [x for x in web if 10 <= x[0] < 20]
    yield 'all %d' % sum(x[3] for x in r)
    for level in 1, 2, 3:
        yield from lanes(r, level)
    yield 'parse matched: ' + share(r, 'parse')
    yield 'w.lk matched: ' + share(r, 'walk')
    yield 'web %d' % sum(x[3] for x in web)
    yield from lanes(web, 3)
    yield from lanes(web, 2)
    yield 'cache %d' % sum(x[3] for x in cache)
    yield 'web from 1 to 2 s %d' % sum(x[3] for x in late)
    yield 'of these parse matched: ' + share(late, 'parse')
    names = sorted({f.split('_[')[0] for s in STACKS for f in s.split(';')})
    for n in names:
        of = [[f.split('_[')[0] for f in STACKS[x[2]].split(';')] for x in r]
        yield 'function %s %d %d' % (n, sum(x[3] for x, s in zip(r, of) if s[-1] == n), sum(x[3] for x, s in zip(r, of) if n in s))
    for c in sorted({t[0] for t in THREADS}):
        yield 'box %s %.2f' % (c, 1000 * sum(x[3] for x in r if THREADS[x[1]][0] == c) / sum(x[3] for x in r))


print('\n'.join(profile() if sys.argv[1] == 'profile' else expect()))
