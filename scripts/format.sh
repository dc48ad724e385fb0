#!/usr/bin/env bash
# Formats the C++ sources with clang-format, or with --check only names those that are not formatted.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Other major versions lay out some constructs differently, so only this one judges the sources.
find_clang_format() {
  local name
  for name in clang-format-14 clang-format; do
    if [[ $("$name" --version 2>/dev/null) == *'version 14.'* ]]; then
      printf '%s\n' "$name"
      return 0
    fi
  done
  return 1
}

sources() {
  find . \( -path ./build -o -path ./.deps -o -path ./.git \) -prune -o -type f \
    \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0 | sort -z
}

# One process a file, as the tool does not say which of several it would change.
check() {
  # shellcheck disable=SC2016  # for the inner shell
  if ! sources | xargs -0 --no-run-if-empty -P "$(nproc)" -n 1 bash -c \
    '"$0" --style=file --dry-run --Werror "$1" 2>/dev/null || { echo "not formatted: ${1#./}"; exit 1; }' "$tool"; then
    echo "run scripts/format.sh"
    return 1
  fi
}

if (($# > 1)) || [[ ${1:---check} != --check ]]; then
  echo "Usage: scripts/format.sh [--check]" >&2
  exit 2
fi
if ! tool=$(find_clang_format); then
  if (($#)); then
    echo "skipped: clang-format 14 is not installed"
    exit 0
  fi
  echo "format: clang-format 14 is not installed" >&2
  exit 1
fi
if (($#)); then
  check
else
  sources | xargs -0 --no-run-if-empty "$tool" --style=file -i
fi
