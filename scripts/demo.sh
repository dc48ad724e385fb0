#!/usr/bin/env bash
# From a bare clone to reconstructions that are compared with the truth: builds the program and maps the sample clips
# with the bundled model.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/demo.sh [--no-apt] [OUT]
  OUT       folder for everything the demonstration makes (default: demo-out in the project)
  --no-apt  install no packages
TEXT
}

out=
setup_options=(--no-tests)
for argument in "$@"; do
  case $argument in
    --no-apt) setup_options+=(--no-apt) ;;
    -h | --help)
      usage
      exit 0
      ;;
    -*)
      echo "demo: unknown option '$argument'" >&2
      usage >&2
      exit 2
      ;;
    *) out=$(realpath -m -- "$argument") ;;
  esac
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."
project=$PWD
out=${out:-$project/demo-out}

say() { printf '\n== %s\n' "$*"; }

has_gpu() { nvidia-smi -L >/dev/null 2>&1; }

# Takes the release build if there is one, else makes a smaller one: the program alone, with GPU code only where there
# is a GPU to run it.
build_program() {
  local options=(-DLINGBOT_BUILD_TESTS=OFF -DLINGBOT_BUILD_TOOLS=OFF -DCMAKE_BUILD_TYPE=Release)
  build=build/release
  if [[ ! -e $build/CMakeCache.txt ]]; then
    build=build/demo
    if ! has_gpu; then options+=(-DLINGBOT_CUDA=OFF); fi
    if command -v ccache >/dev/null; then options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
    cmake -S . -B "$build" -G Ninja "${options[@]}"
  fi
  cmake --build "$build" --parallel "$(nproc)" --target lingbot-map
}

# The folder is emptied first, so it must be new, empty or one that an earlier demonstration made.
prepare_folder() {
  mkdir -p "$out"
  if [[ ! -e $out/.lingbot-demo && -n $(ls -A "$out") ]]; then
    echo "demo: $out holds other files; name a new or empty folder" >&2
    exit 1
  fi
  touch "$out/.lingbot-demo"
}

# map_sample NAME: reconstructs a clip, compares it with its truth and draws both.
map_sample() {
  local name=$1 start=$SECONDS
  say "$name: reconstruction"
  "$program" run "samples/$name/video.mp4" --model nano --out "$out/$name" --overwrite --quiet >"$out/$name.log"
  echo "$(wc -l <"$out/$name/frames.jsonl") frames in $((SECONDS - start)) s: $out/$name/points.ply"
  say "$name: against the truth"
  "$program" eval "$out/$name" --ground-truth "samples/$name/ground_truth" --plot "$out/$name.svg" |
    tee "$out/$name.txt"
}

# What matters most of every sample, from the tables.
summary() {
  local name
  printf '%-12s %22s %22s\n' "sample" "ATE, % of the path" "best straight line, %"
  for name in "${samples[@]}"; do
    printf '%-12s %22s %22s\n' "$name" \
      "$(awk '/ATE, Sim3/ {print $(NF-1)}' "$out/$name.txt")" \
      "$(awk '/baseline: straight line/ {print $(NF-1)}' "$out/$name.txt")"
  done
}

samples=()
for clip in samples/*/video.mp4; do
  if [[ -e $clip ]]; then samples+=("$(basename "$(dirname "$clip")")"); fi
done
if ((${#samples[@]} == 0)); then
  echo "demo: the project's samples/ are missing; clone it whole" >&2
  exit 1
fi

prepare_folder
say "Set-up"
scripts/setup.sh "${setup_options[@]}"
say "Build"
build_program
program=$project/$build/bin/lingbot-map
for name in "${samples[@]}"; do map_sample "$name"; done
say "Done in $SECONDS s: point clouds (NAME/points.ply), pictures (NAME.svg) and tables (NAME.txt) in $out"
summary
cat <<TEXT

Your own video with the public checkpoint (lingbot-map.pt of robbyant/lingbot-map, 4.6 GB, see docs/models.md):
  $build/bin/lingbot-map run VIDEO_OR_FOLDER_OF_IMAGES --model lingbot-map.pt --out my-map
TEXT
