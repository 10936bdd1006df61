#!/usr/bin/env python3
"""judge.py CHAIN ROOT BETWEEN LIVE GONE: what is right in folded stacks of a program that declares its call chain.

CHAIN: regular expressions of frames, root first, separated by ";". ROOT: the outermost frame of a whole stack, behind the
thread name. BETWEEN: frames that may stand between those of the chain (an interpreter's). LIVE, GONE: folded text, made while
the container lived and afterwards.

Prints "samples N", "complete PERCENT", "chain PERCENT" (of all samples, those that hold the whole chain), "wrong N", "nameless
PERCENT" (a frame in brackets), "differ N" (samples whose stack is another one in GONE), then "# WHY" for what is wrong: a
chain's frame without the one that called it, frames of others between them, or a whole stack with another root.
"""
import re
import sys
from collections import Counter

# Where the kernel is entered: a sample without user frames, as during an exec.
KERNEL = re.compile(r"(entry_SYSCALL|asm_(exc|sysvec|common)|ret_from_fork).*")
PLACEHOLDER = re.compile(r"\[(?!kernel\])[^\]]*\](_\[.\])?$")


def read(path):
    stacks = Counter()
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            stack, count = line.rstrip("\n").rsplit(" ", 1)
            stacks[stack] += int(count)
    return stacks


def fault(frames, chain, root, between):
    """Why the stack cannot be, or None; and whether it holds the whole chain."""
    broken = frames[0] in ("[broken_stack]", "[truncated_stack]")
    if broken:
        frames = frames[1:]
    elif KERNEL.fullmatch(frames[0]):
        return None, False
    elif not root.fullmatch(frames[0]):
        return f"the root is {frames[0]}", False
    at = [(i, k) for i, f in enumerate(frames) for k, c in enumerate(chain) if c.fullmatch(f)]
    if not at:
        return None, False
    if not broken and at[0][1] != 0:
        return f"{frames[at[0][0]]} has no caller of the chain", False
    for (i, k), (j, m) in zip(at, at[1:]):
        if m not in (k, k + 1):
            return f"{frames[j]} is called by {frames[i]}", False
        for f in frames[i + 1:j]:
            if not between.fullmatch(f):
                return f"{f} is between {frames[i]} and {frames[j]}", False
    return None, at[0][1] == 0 and at[-1][1] == len(chain) - 1


def main():
    chain = [re.compile(c) for c in sys.argv[1].split(";")]
    root, between = re.compile(sys.argv[2]), re.compile(sys.argv[3] or "(?!)")
    live, gone = read(sys.argv[4]), read(sys.argv[5])
    total, complete, whole, nameless = sum(live.values()), 0, 0, 0
    wrong = Counter()
    for stack, n in live.items():
        # The thread's name comes first.
        frames = stack.split(";")[1:]
        if not frames:
            wrong["no frame at all"] += n
            continue
        why, full = fault(frames, chain, root, between)
        if why:
            wrong[why] += n
        if frames[0] not in ("[broken_stack]", "[truncated_stack]"):
            complete += n
        if any(PLACEHOLDER.match(f) for f in frames):
            nameless += n
        if full:
            whole += n
    share = 100 / total if total else 0
    print(f"samples {total}")
    print(f"complete {complete * share:.2f}")
    print(f"chain {whole * share:.2f}")
    print(f"wrong {sum(wrong.values())}")
    print(f"nameless {nameless * share:.2f}")
    print(f"differ {sum((live - gone).values())}")
    for why, n in wrong.most_common(5):
        print(f"# {n}: {why}")


main()
