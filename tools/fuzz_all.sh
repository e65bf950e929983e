#!/bin/sh
# Runs fuzzers over their corpora: tools/fuzz_all.sh BUILD_DIR [SECONDS [NAME...]]
#
# All of them, or those that are named, one after the other, SECONDS each (20). A line for each says
# how often it ran and what it reached. What they find new stays in BUILD_DIR/corpus; only small
# inputs that show something are committed to fuzz/corpus. An input that breaks a property is kept as
# BUILD_DIR/crash-NAME-*: make it a unit test.
set -eu

build=$1
seconds=${2:-20}
[ $# -ge 2 ] && shift
shift
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || set -- $(cd "$build/fuzz" && ls -- *_fuzz | sed 's/_fuzz$//')

# What a log says last of a thing: figure LOG PATTERN
figure() { sed -n "s/$2/\1/p" "$1" | tail -n 1; }

for name in "$@"; do
  found=$build/corpus/$name
  seeds=$root/fuzz/corpus/$name
  [ -d "$seeds" ] || seeds=
  mkdir -p "$found"
  log=$build/$name.log
  "$build/fuzz/${name}_fuzz" -max_total_time="$seconds" -max_len=2048 -print_final_stats=1 \
    -artifact_prefix="$build/crash-$name-" "$found" ${seeds:+"$seeds"} > "$log" 2>&1 || {
    tail -n 60 "$log"
    echo "$name: broken; see $build/crash-$name-*"
    exit 1
  }
  echo "$name: $seconds s, $(figure "$log" 'stat::number_of_executed_units: *\([0-9]*\)') runs," \
    "$(figure "$log" '.* cov: \([0-9]*\).*') edges," \
    "$(figure "$log" 'stat::new_units_added: *\([0-9]*\)') new inputs, nothing found"
done
