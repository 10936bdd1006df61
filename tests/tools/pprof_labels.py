#!/usr/bin/env python3
"""pprof_labels.py FILE KEY...: prints the values of these labels and how many samples have each,
one per line (profile.proto of pprof)."""
import collections
import gzip
import sys

from protobuf import fields, varint


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
