#!/bin/sh
# Runs every fuzzer for some seconds over its corpus: tools/fuzz_all.sh BUILD_DIR [SECONDS]
#
# What they find new stays in BUILD_DIR/corpus; only small inputs that show something are committed
# to fuzz/corpus. An input that breaks a property is kept as BUILD_DIR/crash-NAME-*: make it a unit
# test.
set -eu

build=$1
seconds=${2:-20}
root=$(cd "$(dirname "$0")/.." && pwd)
for program in "$build"/fuzz/*_fuzz; do
  name=$(basename "$program" _fuzz)
  found=$build/corpus/$name
  seeds=$root/fuzz/corpus/$name
  [ -d "$seeds" ] || seeds=
  mkdir -p "$found"
  echo "$name: $seconds s"
  "$program" -max_total_time="$seconds" -max_len=2048 -artifact_prefix="$build/crash-$name-" \
    "$found" ${seeds:+"$seeds"} > "$build/$name.log" 2>&1 || {
    tail -n 60 "$build/$name.log"
    exit 1
  }
done
