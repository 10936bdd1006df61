"""Decodes the data of a report --format html page independently: prints the stacks as unprofile.py
does, joined frames like the others. unpage.py PAGE [SIDE [EVENT]]; EVENT is a number."""
import base64
import json
import sys
from html.parser import HTMLParser


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.links = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.links += [v for k, v in attrs if k in ('src', 'href', 'action', 'srcset', 'data', 'poster')]
        if tag == 'script':
            self.scripts.append([dict(attrs), ''])

    def handle_data(self, text):
        if self.tags and self.tags[-1] == 'script':
            self.scripts[-1][1] += text


def numbers(text):
    v = shift = 0
    for b in base64.b64decode(text, validate=True):
        v |= (b & 127) << shift
        shift += 7
        if not b & 128:
            yield v
            v = shift = 0
    assert shift == 0


def folded(d, side=0, event=0):
    it = numbers(d['frames'])
    frames = [[next(it) for _ in range(5)] for _ in range(d['nframes'])]
    assert not list(it)
    name = [d['strings'][f[0]] + ['', '_[k]', '_[j]', '_[i]', ''][f[4]] for f in frames]
    it, path, stacks = numbers(d['nodes']), [], [()]
    for _ in range(d['nnodes'] - 1):
        up, frame = next(it), next(it)
        path = path[:len(path) - up] + [name[frame]]
        stacks.append(tuple(path))
    assert not list(it)
    s = d['sides'][side]
    # The first event's counts are those of the side.
    columns = d['events'][event] if event else s
    it, thread, block, node, out = numbers(columns['counts']), 0, 0, 0, {}
    for _ in range(columns['ncounts']):
        up, b, step, n = next(it), next(it), next(it), next(it)
        thread, block = thread + up, b if up else block + b
        node += -(step + 1) // 2 if step & 1 else step // 2
        assert block < max(s['nblocks'], 1)
        t = s['threads'][thread]
        lead = '%s-%d/%s' % (t.get('comm', '[no_name]'), t['pid'], 'N' if t['tid'] == -2 else t['tid'])
        text = ';'.join((lead,) + stacks[node])
        out[text] = out.get(text, 0) + n
    return ['%s %d\n' % c for c in out.items()]


if __name__ == '__main__':
    page = Page(open(sys.argv[1], encoding='utf-8', newline='\n').read())
    assert [a.get('id') for a, _ in page.scripts] == ['data', None], page.scripts
    assert all(v.startswith('data:') for v in page.links), page.links
    data = json.loads(page.scripts[0][1])
    sys.stdout.reconfigure(encoding='utf-8', newline='\n', errors='surrogatepass')
    sys.stdout.writelines(sorted(folded(data, *map(int, sys.argv[2:])), key=lambda s: s.encode('utf-8', 'surrogatepass')))
