"""code_oracle.py LISTING BINARY NAME: checks that all ranges of captured code that tests/tools/code
lists for a path ending in /NAME are the bytes of BINARY at the addresses in its program headers.
Prints how many ranges and bytes; fails at the first difference."""
import struct
import sys


def segments(elf):
    off, size, n = struct.unpack_from('<Q', elf, 32)[0], *struct.unpack_from('<HH', elf, 54)
    for i in range(n):
        kind, flags, at, vaddr, _, filesz, _, _ = struct.unpack_from('<IIQQQQQQ', elf, off + i * size)
        if kind == 1 and flags & 1:  # PT_LOAD, PF_X
            yield vaddr, at, filesz


elf = open(sys.argv[2], 'rb').read()
loads = list(segments(elf))
ranges = size = end = 0
for line in open(sys.argv[1], encoding='utf-8'):
    f = line.split()
    if len(f) != 3 or not f[0].endswith('/' + sys.argv[3]):
        continue
    svma, code = int(f[1], 16), bytes.fromhex(f[2])
    where = [at + svma - vaddr for vaddr, at, filesz in loads if vaddr <= svma and svma + len(code) <= vaddr + filesz]
    if not where or elf[where[0]:where[0] + len(code)] != code:
        sys.exit(f'{f[1]}: {len(code)} bytes are not those of the file')
    if svma < end:
        sys.exit(f'{f[1]}: overlaps the range before')
    end = svma + len(code)
    ranges += 1
    size += len(code)
print(ranges, size)
