"""Compares the boxes that scale_page.js saw with folded text.

	scale.py DRAWN EVENT=FOLDED...

The width of a box has to be its share of the picture: of the event's total, or of the frame that is
zoomed. Boxes of one path count together, since folded text does not tell two functions of one name apart.
Prints "EVENT ZOOM" and the number of boxes that were compared; a state that was among them is a line.
"""
import json
import sys

ROW, GAP, CHAR = 18, 0.6, 8
STATES = '[running]', '[runnable]', '[blocked]', '[throttled]'


def totals(file):
    sums = {}
    for line in open(file, encoding='utf-8'):
        stack, n = line.rstrip('\n').rsplit(' ', 1)
        frames = stack.split(';')
        for i in range(len(frames) + 1):
            path = tuple(frames[:i])
            sums[path] = sums.get(path, 0) + int(n)
    return sums


def paths(boxes):
    """Sums of widths by path, of the boxes whose whole name can be read, and that of their callers."""
    out, rows = {}, {}
    base = max(y for _, y, _, _ in boxes)
    for x, y, w, text in sorted(boxes, key=lambda b: -b[1]):
        depth = round((base - y) / ROW)
        w += GAP if w > 2.4 else 0
        if depth:
            below = [p for left, right, p in rows.get(depth - 1, []) if left <= x + w / 2 < right]
            # Boxes of less than a pixel are drawn wider than they are.
            assert len(below) == 1 or w < 2, 'a box stands on %d boxes: %s' % (len(below), text)
            path = below[0] if len(below) == 1 else None
        else:
            path = ()
            assert text == 'all'
        if depth and path is not None:
            path = path + (text,) if text and not text.endswith('..') else None
        rows.setdefault(depth, []).append((x, x + w, path))
        if path is not None:
            out[path] = out.get(path, 0) + w
    return out


folded = {name: totals(file) for name, file in (a.split('=', 1) for a in sys.argv[2:])}
for line in open(sys.argv[1], encoding='utf-8'):
    d = json.loads(line)
    sums = folded[d['event']]
    got = paths(d['flame'])
    # The frame that is zoomed is the last one that has the whole width.
    zoom = ()
    if d['zoom']:
        zoom = max((p for p, w in got.items() if abs(w - d['width']) < 0.01 and p and p[-1] == d['zoom']), key=len)
    assert got[()] == d['width'], got[()]
    def want(path):
        return d['width'] * (sums.get(path, 0) / sums[zoom] if path[:len(zoom)] == zoom else path == zoom[:len(path)])
    for path, w in got.items():
        assert abs(w - want(path)) < 0.02, (d['event'], d['zoom'], path, w, want(path))
    for path in sums:
        wide = all(want(path[:i]) > CHAR * len(path[i - 1]) + 10 for i in range(1, len(path) + 1))
        assert path in got or not wide, ('missing', d['event'], d['zoom'], path)
    print(d['event'], d['zoom'], len(got))
    for state in STATES:
        if any(path and path[-1] == state for path in got):
            print(d['event'], d['zoom'], state)
