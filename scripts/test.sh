#!/usr/bin/env bash
# Everything that must hold before a change goes in, from a bare clone: set-up, layer arrows, release build and
# tests (with the out-of-tree consumer), format, and the tests again under the sanitizers.
# shellcheck disable=SC2317  # functions are called through step()
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

usage() {
  cat <<'TEXT'
Usage: scripts/test.sh [--no-asan] [--no-apt] [--jobs N]
  --no-asan  leave out the build and tests under the address and undefined-behaviour sanitizers
  --no-apt   install no packages
  --jobs N   compile and test with N processes (default: all cores)
TEXT
}

with_asan=1
setup_options=()
jobs=$(nproc)
while (($#)); do
  case $1 in
    --no-asan) with_asan=0 ;;
    --no-apt) setup_options+=(--no-apt) ;;
    --jobs)
      jobs=${2:-}
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      echo "test: unknown option '$1'" >&2
      usage >&2
      exit 2
      ;;
  esac
  shift
done
if ! [[ $jobs =~ ^[1-9][0-9]*$ ]]; then
  echo "test: --jobs needs a positive number" >&2
  exit 2
fi

# Several test programs share the cores: their threads must sleep, not spin, while they wait for each other.
export OMP_WAIT_POLICY=passive

failed_steps=()
passed_steps=0
release_log=build/release-tests.log

# step NAME COMMAND...: runs it, keeps the score, passes its status on.
step() {
  local name=$1 start=$SECONDS status
  shift
  printf '\n=== %s\n' "$name"
  "$@"
  status=$?
  if ((status == 0)); then
    passed_steps=$((passed_steps + 1))
    printf '=== %s: ok (%d s)\n' "$name" $((SECONDS - start))
  else
    failed_steps+=("$name")
    printf '=== %s: FAILED (%d s)\n' "$name" $((SECONDS - start))
  fi
  return "$status"
}

configure() {
  local options=(-DLINGBOT_BUILD_TESTS=ON -DLINGBOT_BUILD_TOOLS=ON)
  if command -v ccache >/dev/null; then
    options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
  fi
  # Without a GPU the CUDA code is compiled for one architecture, the one with the most of it.
  if ! nvidia-smi -L >/dev/null 2>&1; then options+=(-DLINGBOT_CUDA_ARCHITECTURES=90a); fi
  cmake --preset "$1" "${options[@]}"
}

build() {
  configure "$1" && cmake --build --preset "$1" --parallel "$jobs"
}

release_tests() {
  ctest --preset release --parallel "$jobs" --no-tests=error | tee "$release_log"
}

# `slow` are tests of length, not of memory; `consumer` and `style` do not run sanitized code.
asan_tests() {
  ctest --preset asan --parallel "$jobs" --no-tests=error --label-exclude 'slow|consumer|style'
}

# The last line of all: ctest's own when everything is fine, else the count of tests and steps.
closing_line() {
  local line passed=$passed_steps failed=${#failed_steps[@]}
  line=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$release_log" 2>/dev/null | tail -n 1)
  echo
  if ((failed == 0)) && [[ -n $line ]]; then
    printf '%s\n' "$line"
    return
  fi
  if ((failed)); then
    printf 'FAILED:'
    printf ' [%s]' "${failed_steps[@]}"
    echo
  fi
  printf '%d passed, %d failed\n' "$passed" "$failed"
}

main() {
  mkdir -p build
  rm -f "$release_log"
  step "set-up" scripts/setup.sh "${setup_options[@]}" || return 1
  # Second opinions on the evaluation and on exported files; their tests say that they skip without.
  scripts/setup.sh "${setup_options[@]}" --evo || true
  step "layers and style" python3 scripts/check_layers.py
  step "format" scripts/format.sh --check
  step "release build" build release && step "release tests" release_tests
  if ((with_asan)); then
    step "sanitizer build" build asan && step "sanitizer tests" asan_tests
  fi
  ((${#failed_steps[@]} == 0))
}

main
status=$?
closing_line
exit "$status"
