#!/usr/bin/env python3
"""Runs every benchmark and writes the table of their figures into docs/performance.md, with the
machine, the command of each line, and the ratio to its reference.

usage: bench/table.py [NAME...]      all of bench/*/run, or some: then their lines only are new

Takes minutes. A machine that does other things meanwhile is told in the table, since its figures are
worth less. A benchmark that fails keeps its old lines, and makes the exit code 1.
"""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
BEGIN = "<!-- begin of the table: written by ./dev bench -->"
END = "<!-- end of the table -->"
QUICK = {"library": ["--quick"]}  # what takes longer otherwise than the table is worth
HEADER = "| what | weir | reference | ratio | aim | `./dev bench` |\n| --- | --: | --: | --: | --- | --- |\n"
MOST_SECONDS = 600  # for one benchmark
BUSY = 0.5  # load per CPU before we begin, from which on the machine counts as busy


def figure(value, unit):
    if value is None:
        return ""
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{digits} {unit}".strip()


def ratio_of(row):
    if row["ratio"] is not None or not row["theirs"]:
        return row["ratio"]
    # Of rates more is better, of times less.
    times = row["unit"].startswith(("ns", "us", "ms", "s "))
    if times and not row["at_most"]:
        return row["theirs"] / row["ours"]
    return row["ours"] / row["theirs"]


def aim_of(row):
    """The aim, and whether it was reached."""
    if row["aim"] is None:
        return ""
    measured = ratio_of(row) if row["theirs"] or row["ratio"] is not None else row["ours"]
    reached = measured <= row["aim"] if row["at_most"] else measured >= row["aim"]
    unit = "x" if measured is not row["ours"] else f" {row['unit']}".rstrip()
    word = "at most " if row["at_most"] else ""
    return f"{word}{row['aim']:g}{unit}" + ("" if reached else ", **missed**")


def line(name, row):
    ratio = ratio_of(row)
    reference = figure(row["theirs"], row["unit"])
    if row["reference"]:
        reference = f"{reference} ({row['reference']})".strip()
    cells = [row["what"], figure(row["ours"], row["unit"]), reference,
             "" if ratio is None else f"{ratio:.3g}x", aim_of(row), name]
    return "| " + " | ".join(cells) + " |"


def run(name):
    """The lines of one benchmark."""
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder, "rows")
        rows.touch()
        subprocess.run([ROOT / "bench" / name / "run", *QUICK.get(name, [])], check=True, cwd=ROOT,
                       env={**os.environ, "BENCH_ROWS": str(rows)}, timeout=MOST_SECONDS)
        return [line(name, json.loads(text)) for text in rows.read_text().splitlines()]


def output(*words):
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


def processor():
    found = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return found.group(1) if found else "unknown processor"


def machine(load):
    cpus = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    text = (f"{datetime.date.today()}, commit {output('git', 'rev-parse', '--short=12', 'HEAD')}: "
            f"{processor()}, {cpus} CPUs, {memory:.0f} GiB, Linux {os.uname().release.split('-')[0]}, "
            f"{output('c++', '--version').splitlines()[0]}, the release preset.")
    if load > BUSY * cpus:
        text += f" **The machine was busy** (load {load:.1f} before the first run)."
    return text


def name_of(told):
    """The benchmark that a line of the table is of."""
    return told.split("|")[-2].strip()


def main():
    every = sorted(path.parent.name for path in (ROOT / "bench").glob("*/run"))
    names = sys.argv[1:] or every
    load = os.getloadavg()[0]
    before, rest = PAGE.read_text().split(BEGIN)
    old, after = rest.split(END)
    lines = [one for one in old.splitlines() if one.startswith("| ")][2:]
    failed = []
    for name in names:
        print(f"bench/{name}", flush=True)
        try:
            new = run(name)
        except subprocess.SubprocessError as failure:
            print(f"bench/{name}: {failure}", file=sys.stderr)
            failed.append(name)
            continue
        lines = [one for one in lines if name_of(one) != name] + new
    lines.sort(key=name_of)  # stable: within one, as it told them
    # Wrapped by hand: the page's other lines are.
    words, told = machine(load).split(), [""]
    for word in words:
        if len(told[-1]) + len(word) > 98:
            told.append("")
        told[-1] = f"{told[-1]} {word}".strip()
    table = HEADER + "\n".join(lines) + "\n\n" + "\n".join(told) + "\n"
    PAGE.write_text(f"{before}{BEGIN}\n{table}{END}{after}")
    print(table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
