"""The table that `./dev bench` writes: what its lines say of figures, ratios and aims, and that lines
of benchmarks which were not run stay."""

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
from unittest import mock

import harness

BENCH = harness.ROOT / "bench"


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Table(harness.SystemTest):
    def setUp(self):
        super().setUp()
        self.table, self.rows = loaded("table"), loaded("rows")

    def line(self, *arguments, **options):
        """The line of one row, as it goes through the file between a benchmark and the table."""
        path = self.folder / "rows"
        path.unlink(missing_ok=True)
        with mock.patch.dict(os.environ, {"BENCH_ROWS": str(path)}):
            self.rows.row(*arguments, **options)
        return self.table.line("some", json.loads(path.read_text()))

    def test_of_rates_more_is_better_and_of_times_less(self):
        self.assertEqual(self.line("a", "/s", 3000, 1500, "b", aim=1.5),
                         "| a | 3,000 /s | 1,500 /s (b) | 2x | 1.5x | some |")
        self.assertEqual(self.line("a", "ns", 10, 100, "b", aim=10),
                         "| a | 10 ns | 100 ns (b) | 10x | 10x | some |")

    def test_what_misses_its_aim_is_marked(self):
        self.assertIn("| 0.5x | 1.2x, **missed** |", self.line("a", "/s", 50, 100, "b", aim=1.2))
        self.assertIn("| 3x | at most 1.5x, **missed** |",
                      self.line("a", "ns", 30, 10, "b", aim=1.5, at_most=True))
        self.assertIn("| at most 20 ms, **missed** |", self.line("a", "ms", 21, aim=20, at_most=True))
        self.assertIn("| at most 20 ms |", self.line("a", "ms", 20, aim=20, at_most=True))

    def test_a_ratio_of_pairs_counts_and_not_that_of_the_medians(self):
        self.assertIn("| 1.3x | 1.2x |", self.line("a", "/s", 10, 10, "b", 1.3, 1.2))

    def test_without_an_aim_or_a_reference_there_is_just_the_figure(self):
        self.assertEqual(self.line("a", "KiB", 3.14), "| a | 3.14 KiB |  |  |  | some |")

    def test_nothing_is_written_where_nobody_gathers(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("BENCH_ROWS", None)
            self.rows.row("a", "s", 1)

    def written(self, run):
        """The page after `table.py run`, whose benchmark is a function, and the exit code."""
        page = self.write("page.md", f"before\n{self.table.BEGIN}\n{self.table.HEADER}"
                          "| old | 1 |  |  |  | kept |\n| old | 1 |  |  |  | run |\n\nmachine\n"
                          f"{self.table.END}\nafter\n")
        with (mock.patch.object(self.table, "PAGE", page), mock.patch.object(self.table, "run", run),
              mock.patch.object(sys, "argv", ["table.py", "run"]),
              contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())):
            code = self.table.main()
        text = page.read_text()
        self.assertTrue(text.startswith("before\n") and text.endswith("\nafter\n"))
        return text, code

    def test_lines_of_other_benchmarks_stay(self):
        text, code = self.written(lambda name: [f"| new | 2 |  |  |  | {name} |"])
        self.assertIn("| old | 1 |  |  |  | kept |\n| new | 2 |  |  |  | run |\n\n", text)
        self.assertNotIn("| old | 1 |  |  |  | run |", text)
        self.assertEqual(code, 0)

    def test_a_benchmark_that_fails_keeps_its_lines(self):
        def fail(name):
            raise subprocess.CalledProcessError(1, name)
        text, code = self.written(fail)
        self.assertIn("| old | 1 |  |  |  | kept |\n| old | 1 |  |  |  | run |\n\n", text)
        self.assertEqual(code, 1)

    def test_the_page_has_a_place_for_it_and_every_benchmark_can_be_run(self):
        page = self.table.PAGE.read_text()
        self.assertEqual((page.count(self.table.BEGIN), page.count(self.table.END)), (1, 1))
        for run in BENCH.glob("*/run"):
            self.assertTrue(os.access(run, os.X_OK), run)
            self.assertIn("from rows import", run.read_text(), "its figures go into the table")


if __name__ == "__main__":
    harness.main()
