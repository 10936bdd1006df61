#!/usr/bin/env python3
"""pprof_labels.py FILE KEY...: the values of these labels and how many samples have them, one line each (profile.proto of pprof)."""
import collections
import gzip
import sys


def varint(b, i):
    v = s = 0
    while True:
        c = b[i]
        v |= (c & 127) << s
        i, s = i + 1, s + 7
        if c < 128:
            return v, i


def fields(b):
    i, out = 0, collections.defaultdict(list)
    while i < len(b):
        key, i = varint(b, i)
        v, i = varint(b, i)
        if key & 7 == 2:
            v, i = b[i:i + v], i + v
        out[key >> 3].append(v)
    return out


def main(path, keys):
    p = fields(gzip.open(path).read())
    text = [s.decode() for s in p[6]]
    counts = collections.Counter()
    for sample in map(fields, p[2]):
        labels = {text[l[1][0]]: text[l[2][0]] if l[2] else l[3][0] for l in map(fields, sample[3])}
        counts[tuple(str(labels.get(k, "-")) for k in keys)] += varint(sample[2][0], 0)[0]
    for values, n in sorted(counts.items()):
        print(*values, n)


main(sys.argv[1], sys.argv[2:])
