#!/usr/bin/env bash
# Carries a CUDA build to a machine with a GPU and checks and times it there.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/gpu.sh pack BUILD_DIR OUT_DIR [FILE...]
       scripts/gpu.sh unpack OUT_DIR TARGET_DIR
       scripts/gpu.sh check TARGET_DIR [NAME...]
  pack    writes OUT_DIR/gpu.tar.xz: programs and CUDA tests of a build, the libraries that they need
          besides CUDA's own and the C library's, and more FILEs (recordings, say)
  unpack  unpacks that into TARGET_DIR
  check   compares with the recordings (*.safetensors in TARGET_DIR/data) in every precision and
          with every attention back end; NAMEs restrict the recordings
Afterwards `source TARGET_DIR/environment` makes the programs in TARGET_DIR/bin find the libraries.
TEXT
}

# Libraries that the other machine has: CUDA's, and those that belong to the C library.
is_foreign() {
  [[ $1 =~ lib(cublas|cublasLt|cudnn|cudart|cuda|nvrtc|c|m|dl|rt|pthread|gcc_s|stdc\+\+)\.so ]]
}

pack() {
  local build=$1 out=$2 stage program library
  shift 2
  stage=$(mktemp -d)
  mkdir -p "$out" "$stage/bin" "$stage/lib" "$stage/data"
  for program in "$build"/bin/* "$build"/tests/*cuda*; do
    if [[ -f $program && -x $program ]]; then
      cp "$program" "$stage/bin/"
      strip "$stage/bin/$(basename "$program")" 2>/dev/null || true
    fi
  done
  for program in "$stage"/bin/*; do
    while read -r library; do
      is_foreign "$library" || cp -Ln "$library" "$stage/lib/"
    done < <(ldd "$program" 2>/dev/null | awk '$3 ~ /^\// {print $3}')
  done
  if (($#)); then cp -L "$@" "$stage/data/"; fi
  cp "${BASH_SOURCE[0]}" "$stage/gpu.sh"
  tar -C "$stage" -cf - . | xz -9 >"$out/gpu.tar.xz"
  rm -rf "$stage"
  ls -l "$out/gpu.tar.xz"
}

unpack() {
  local out=$1 target=$2 folder folders
  mkdir -p "$target"
  tar -C "$target" -xf "$out/gpu.tar.xz"
  target=$(cd "$target" && pwd)
  folders=$target/lib
  # The toolkit's libraries, or those that Python packages bring.
  while read -r folder; do
    folders+=":$folder"
  done < <(find /usr/local /opt /usr/lib -name 'libcublasLt.so.1[23]' -o -name 'libcudnn*.so.9' \
    2>/dev/null | xargs -rn1 dirname | sort -u)
  printf 'export LD_LIBRARY_PATH=%q\nexport PATH=%q:$PATH\n' "$folders" "$target/bin" \
    >"$target/environment"
}

check() {
  local target=$1 file name attention failed=0
  shift
  # shellcheck disable=SC1091
  source "$target/environment"
  for file in "$target"/data/*.safetensors; do
    name=$(basename "$file" .safetensors)
    if (($#)) && [[ " $* " != *" $name "* ]]; then continue; fi
    printf '%-15s ' 'sdpa fp32'
    golden_check "$file" --device cuda --precision fp32 --attention sdpa || failed=1
    for attention in sdpa flashinfer flashinfer-fa3 dense; do
      printf '%-15s ' "$attention"
      golden_check "$file" --device cuda --precision bf16 --attention "$attention" || failed=1
    done
  done
  return "$failed"
}

case ${1:-} in
  pack | unpack | check) "$@" ;;
  -h | --help) usage ;;
  *)
    usage >&2
    exit 2
    ;;
esac
