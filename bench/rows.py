"""Figures as rows of the table in docs/performance.md: each bench/*/run says them here, and
bench/table.py, which `./dev bench` calls, gathers them."""

import json
import os
import subprocess


def row(what, unit, ours, theirs=None, reference="", ratio=None, aim=None, at_most=False):
    """One line of the table: our figure, and the reference's of the same run.

    `ratio`: ours to the reference's, larger being better (of pairs of runs the median, else it is
    worked out of the two); with `at_most`, smaller being better, and `aim` the most that is allowed.
    Without a reference the aim is one of our own figure. Nothing happens unless $BENCH_ROWS names a
    file.
    """
    path = os.environ.get("BENCH_ROWS")
    if not path:
        return
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps({"what": what, "unit": unit, "ours": ours, "theirs": theirs,
                               "reference": reference, "ratio": ratio, "aim": aim,
                               "at_most": at_most}) + "\n")


def google_benchmark(program, *arguments):
    """Runs a Google Benchmark program five times over, prints its table, and returns the medians:
    name -> ns of processor time."""
    out = f"{program}.json"
    subprocess.run([program, "--benchmark_repetitions=5", "--benchmark_report_aggregates_only=true",
                    f"--benchmark_out={out}", "--benchmark_out_format=json", *arguments], check=True)
    with open(out, encoding="utf-8") as file:
        rows = json.load(file)["benchmarks"]
    to_ns = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    return {one["run_name"]: one["cpu_time"] * to_ns[one["time_unit"]] for one in rows
            if one["aggregate_name"] == "median"}
