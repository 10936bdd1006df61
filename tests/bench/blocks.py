"""Bytes of a recording by kind of block, headers included: stream, captures, all else (nsprof.data(5))."""
import struct
import sys

STREAM, CAPTURE = 2, 3
data = open(sys.argv[1], 'rb').read()
pos = struct.unpack_from('<I', data, 12)[0]
n = {'stream': 0, 'captures': 0}
while pos + 32 <= len(data):
    magic, kind, _flags, stored = struct.unpack_from('<IHHI', data, pos)
    if magic != 0x0a424e9e:
        break
    size = 32 + stored
    if kind == STREAM:
        n['stream'] += size
    elif kind == CAPTURE:
        n['captures'] += size
    pos += size
print(n['stream'], n['captures'], len(data) - n['stream'] - n['captures'])
