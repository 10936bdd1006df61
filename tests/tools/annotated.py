#!/usr/bin/env python3
"""
annotated.py JSON FOLDED N SYMBOL: checks the output of nsprof annotate --json --percent-limit 0
against other sources.

- Samples of each function: the sum over its instructions, against the stacks that end in it, in
  FOLDED, the output of symbolize --no-inline
  --by none --annotate.
- For N functions of each binary: where instructions begin, which of them are jump targets, and
  where calls lead, against objdump.
- Source lines of function SYMBOL, against addr2line.

Prints each difference on a line; then lines that say what was compared.
"""
import collections
import json
import re
import subprocess
import sys


def lines_of(*command):
    return subprocess.run(command, capture_output=True, check=True, encoding="utf-8", errors="replace").stdout.splitlines()


def sums(functions, folded):
    own, leaf = collections.Counter(), collections.Counter()
    for f in functions:
        counted = sum(i["samples"] for i in f["instructions"]) + f["samples_inside"] + f["samples_beyond"]
        if counted != f["samples"]:
            print(f"{f['symbol']}: {counted} samples at instructions, {f['samples']} in all")
        own[f["symbol"]] += f["samples"]
    with open(folded, encoding="utf-8") as text:
        for line in text:
            stack, count = line.rsplit(" ", 1)
            leaf[stack.split(";")[-1]] += int(count)
    for name in own.keys() | leaf.keys():
        # Placeholders, the kernel and JIT code belong to no binary.
        if own[name] != leaf[name] and not name.startswith("[") and not name.endswith(("_[k]", "_[j]")):
            print(f"{name}: annotate has {own[name]}, stacks {leaf[name]}")
    return f"{len(own)} functions, {sum(own.values())} samples"


def objdump(functions, most):
    """The start of an instruction line of objdump -d: "  401136:\tjne    401120 <main+0x10>"."""
    row = re.compile(r"^\s+([0-9a-f]+):\t(\S+)\s*(?:([0-9a-f]+) <([^>+]+)(?:\+0x[0-9a-f]+)?>$)?")
    seen = collections.Counter()
    for f in functions:
        if seen[f["binary"]] == most or not f["binary"].startswith("/"):
            continue  # "[vdso]" is not a file
        seen[f["binary"]] += 1
        begins, targets, calls = [], set(), {}
        for line in lines_of("objdump", "-dz", "--no-show-raw-insn", "-w", f"--start-address={f['start']}",
                             f"--stop-address={f['end']}", f["binary"]):
            m = row.match(line)
            if not m:
                continue
            at = int(m[1], 16)
            begins.append(at)
            if m[3] and m[2].startswith("call"):
                calls[at] = (int(m[3], 16), m[4])
            elif m[3] and f["start"] <= int(m[3], 16) < f["end"]:
                targets.add(int(m[3], 16))
        name = f"{f['symbol']} in {f['binary']}"
        ours = [i["address"] for i in f["instructions"]]
        if ours != begins:
            print(f"{name}: instructions begin at {[hex(a) for a in set(ours) ^ set(begins)][:5]} for one and not for the other")
        marked = {i["address"] for i in f["instructions"] if i.get("jump_target")}
        if marked != targets & set(begins):
            print(f"{name}: jumped to: {[hex(a) for a in marked ^ targets][:5]}")
        for i in f["instructions"]:
            if i["address"] in calls and i.get("target") != calls[i["address"]][0]:
                print(f"{name}: {i['address']:#x} calls {calls[i['address']]}, not {i.get('target')}")
        if f["samples_inside"]:
            print(f"{name}: {f['samples_inside']} samples are at no instruction")
    return "of " + " ".join(sorted(b.rsplit("/", 1)[-1] for b in seen))


def source_lines(functions, symbol):
    compared = 0
    for f in functions:
        if f["symbol"] != symbol:
            continue
        answers = lines_of("addr2line", "-e", f["binary"], *[hex(i["address"]) for i in f["instructions"]])
        for i, answer in zip(f["instructions"], answers):
            ours = f"{i['file']}:{i['line']}" if "file" in i else "?"
            theirs = answer.split(" ")[0]
            if ours != theirs and not (ours == "?" and theirs.endswith(("?", ":0"))):
                print(f"{i['address']:#x}: {ours}, by addr2line {theirs}")
            compared += "file" in i
    return f"{compared} lines"


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        functions = json.load(f)["functions"]
    compared = [sums(functions, sys.argv[2]), objdump(functions, int(sys.argv[3])), source_lines(functions, sys.argv[4])]
    print("\n".join(["compared:"] + compared))


main()
