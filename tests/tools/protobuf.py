"""Protocol buffer messages, as far as pprof's profile.proto needs them: varints and
length-delimited fields."""
import collections


def varint(b, i):
    """The number that begins at b[i], and the index after it."""
    v = s = 0
    while True:
        c = b[i]
        v |= (c & 127) << s
        i, s = i + 1, s + 7
        if c < 128:
            return v, i


def fields(b):
    """A message: for each field number all its values, in order."""
    i, out = 0, collections.defaultdict(list)
    while i < len(b):
        key, i = varint(b, i)
        assert key & 7 in (0, 2), key
        v, i = varint(b, i)
        if key & 7 == 2:
            v, i = b[i:i + v], i + v
        out[key >> 3].append(v)
    return out


def packed(b):
    """A list of numbers."""
    i, out = 0, []
    while i < len(b):
        v, i = varint(b, i)
        out.append(v)
    return out
