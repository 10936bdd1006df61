# Pure Python: module -> outer -> middle -> leaf, and a generator and a comprehension between. chain.py SECONDS
import sys
import time


def leaf(n):
    s = 0
    for i in range(20000):
        s = (s * 31 + i) % 1000003
    return s + n


def middle(n):
    return leaf(n) + 1


def outer(end):
    total = 0
    while time.monotonic() < end:
        total += middle(total)
    return total


outer(time.monotonic() + float(sys.argv[1]))
