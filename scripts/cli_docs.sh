#!/usr/bin/env bash
# Writes docs/cli.md as the program describes itself.
#   scripts/cli_docs.sh [--check] [PROGRAM]     PROGRAM: build/release/bin/lingbot-map
# --check writes nothing and fails where the page differs.
set -euo pipefail
cd "$(dirname "$0")/.."
check=false
if [[ ${1:-} == --check ]]; then
  check=true
  shift
fi
program=${1:-build/release/bin/lingbot-map}
page=$("$program" help --format markdown)
if ! $check; then
  printf '%s\n' "$page" >docs/cli.md
elif ! diff -u docs/cli.md <(printf '%s\n' "$page"); then
  echo "docs/cli.md is not what the program says; run scripts/cli_docs.sh $program" >&2
  exit 1
fi
