#!/usr/bin/env bash
# From a bare clone to a finished run: builds the program, makes a short clip and seeded weights, and maps it.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/demo.sh [--no-apt] [OUT]
  OUT       folder for everything the demonstration makes (default: demo-out in the project)
  --no-apt  install no packages
TEXT
}

out=
setup_options=()
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
bin=$project/build/release/bin

say() { printf '\n== %s\n' "$*"; }

build_programs() {
  local launcher=()
  if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  cmake --preset release -DLINGBOT_BUILD_TOOLS=ON "${launcher[@]}"
  cmake --build --preset release --parallel "$(nproc)" \
    --target lingbot-map hash_weights make_demo_clip
}

# The folder is emptied first, so it must be new, empty or one that an earlier demonstration made.
prepare_folder() {
  mkdir -p "$out"
  if [[ ! -e $out/.lingbot-demo && -n $(ls -A "$out") ]]; then
    echo "demo: $out holds other files; name a new or empty folder" >&2
    exit 1
  fi
  touch "$out/.lingbot-demo"
  rm -rf "$out/clip" "$out/map"
}

# Lists what the run left, with sizes; long series of files in one line.
show_results() {
  local folder count
  (
    cd "$out/map"
    find . -maxdepth 1 -type f -printf '  %P  (%s bytes)\n' | sort
    while IFS= read -r folder; do
      count=$(find "$folder" -type f | wc -l)
      printf '  %s/  (%d files)\n' "${folder#./}" "$count"
    done < <(find . -mindepth 1 -maxdepth 1 -type d | sort)
  )
}

say "Set-up"
scripts/setup.sh "${setup_options[@]}"
say "Build"
build_programs
say "Clip and weights"
prepare_folder
"$bin/make_demo_clip" "$out/clip"
"$bin/hash_weights" --config "$project/tools/demo_model.json" "$out/seeded.safetensors"
say "Run"
"$bin/lingbot-map" run "$out/clip" --model "$out/seeded.safetensors" --out "$out/map" --image-size 168
say "Done: $out/map"
show_results
cat <<TEXT

The weights were drawn from a seed, not trained: the run is real, but this map MEANS NOTHING.
Your own images with the public checkpoint (lingbot-map.pt of robbyant/lingbot-map on Hugging Face or ModelScope, 4.6 GB):
  build/release/bin/lingbot-map run FOLDER_OF_IMAGES --model lingbot-map.pt --out my-map
TEXT
