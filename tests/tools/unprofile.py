"""Prints a saved profile (nsprof.profile(5)) as the folded text of symbolize --annotate --by
thread; written from the manual page alone. unprofile.py FILE samples|period [EVENT]"""
import re
import sys

ESCAPES = {'\\t': '\t', '\\n': '\n', '\\\\': '\\'}


def crc32c(data):
    table, crc = [], 0xffffffff
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 0xff]
    return crc ^ 0xffffffff


def fields(line):
    return [re.sub(r'\\.', lambda m: ESCAPES[m.group()], f) for f in line.split('\t')]


def folded(path, weight, event=None):
    lines = open(path, encoding='utf-8', newline='\n').read().split('\n')
    assert lines.pop() == '', 'the last line has no end'
    assert lines[0] in ('nsprof-profile\t1', 'nsprof-profile\t2'), lines[0]
    several = lines[0].endswith('2')
    end = 'E\t%d' % (len(lines) - 1)
    assert lines[-1] in (end, '%s\t%08x' % (end, crc32c(('\n'.join(lines[:-1]) + '\n').encode()))), lines[-1]
    threads, frames, nodes, events, counts, blocks = [None], [None], [None], [], {}, 0
    for line in lines[1:-1]:
        kind, *f = fields(line)
        if kind == 'B':
            blocks = int(f[1])
        elif kind == 'V':
            name, modifier, unit, hz, fixed, best, truncated, incomplete, *losses = f
            losses, stacks = losses[:7], losses[7:]
            assert len(losses) in (0, 5, 7) and all(n == '' or n.isdigit() for n in losses), line
            assert len(stacks) in (0, 2) and any(losses + stacks) == bool(losses), line
            assert not stacks or (stacks[0] in ('dwarf', 'fp', 'none') and stacks[1].isdigit()), line
            assert several and best in ('samples', 'period') and int(incomplete) >= int(truncated), line
            events.append(name + ':' * bool(modifier) + modifier)
        elif kind == 'T':
            threads.append(f)
        elif kind == 'F':
            frames.append(f)
        elif kind == 'N':
            parent, frame = map(int, f)
            assert parent < len(nodes) and 0 < frame < len(frames), line
            nodes.append((parent, frame))
        elif kind == 'C':
            thread, node, block, samples, period, *which = map(int, f)
            assert len(which) == several, line
            if several and events[which[0]] != (event or events[0]):
                continue
            assert block < max(blocks, 1), line
            stack = []
            while node:
                node, frame = nodes[node]
                name, _, letter, joined = frames[frame][:4]
                stack.append(name + '_[joined]' * int(joined) + {'u': '', 'k': '_[k]', 'j': '_[j]', 'i': '_[i]'}[letter])
            t = threads[thread]
            number = 'N' if t[5] == '-2' else t[5]
            stack.append('%s-%s/%s' % (t[2] or '[no_name]', t[4], number))
            text = ';'.join(reversed(stack))
            counts[text] = counts.get(text, 0) + (period if weight == 'period' else samples)
        else:
            assert kind == 'M', line
    return ['%s %d\n' % c for c in counts.items()]


sys.stdout.reconfigure(encoding='utf-8', newline='\n')
sys.stdout.writelines(sorted(folded(*sys.argv[1:]), key=lambda s: s.encode()))
