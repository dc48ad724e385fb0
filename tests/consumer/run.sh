#!/usr/bin/env bash
# run.sh BUILD_DIR CXX: installs the build, moves the installation elsewhere, builds the project beside this script
# against it and runs the result. The paths hold a space on purpose.
set -euo pipefail

source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build_dir=$1
compiler=$2
scratch=$(mktemp -d "${TMPDIR:-/tmp}/lingbot consumer.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build_dir" --prefix "$scratch/staged" >"$scratch/install.log"
mv "$scratch/staged" "$scratch/the prefix"
cmake -S "$source_dir" -B "$scratch/build" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" \
  -DCMAKE_PREFIX_PATH="$scratch/the prefix"
cmake --build "$scratch/build"
"$scratch/build/consumer"

program="$scratch/the prefix/bin/lingbot-map"
if [[ -x $program ]]; then "$program" --help >/dev/null; fi
