#!/usr/bin/env bash
# Installs what the build needs. Safe to repeat: with nothing to do it neither asks nor touches the network.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/setup.sh [--no-tests] [--fuzz] [--evo] [--cuda | --no-cuda] [--no-apt]
  --no-tests only what the program needs, without the libraries of tests and benchmarks
  --fuzz     also install clang with its sanitizer and OpenMP runtimes, for the fuzz preset
  --evo      also install evo, pycolmap and trimesh into .deps/evo (0.4 GB), with which tests compare results
  --cuda     also fetch FlashInfer's headers into .deps (by itself where nvcc is found)
  --no-cuda  do not, even where nvcc is found
  --no-apt   install no packages; only say what is missing
TEXT
}

# "a|b": the first of the names that this distribution has. "?" in front: do without if it has none.
build_packages=(
  cmake ninja-build g++ 'pkg-config|pkgconf' python3 git ca-certificates
  libdnnl-dev libhwy-dev libfmt-dev nlohmann-json3-dev libcli11-dev libeigen3-dev
  'libjpeg-dev|libjpeg62-turbo-dev|libjpeg-turbo8-dev' libpng-dev libwebp-dev libtiff-dev libexif-dev
  libavformat-dev libavcodec-dev libavutil-dev libswscale-dev libavdevice-dev
)
test_packages=(libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev)
fuzz_packages=(clang libomp-dev '?libclang-rt-dev|libclang-rt-14-dev')

installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

any_installed() {
  local name
  for name in ${1//|/ }; do
    if installed "$name"; then return 0; fi
  done
  return 1
}

# Prints the first alternative that can be installed.
candidate() {
  local name policy
  for name in ${1//|/ }; do
    policy=$(apt-cache policy "$name" 2>/dev/null)
    if [[ $policy == *Candidate:* && $policy != *'Candidate: (none)'* ]]; then
      printf '%s\n' "$name"
      return 0
    fi
  done
  return 1
}

missing_packages() {
  local spec
  for spec in "$@"; do
    if ! any_installed "${spec#\?}"; then printf '%s\n' "$spec"; fi
  done
}

# retry COUNT COMMAND...: mirrors and locks fail in passing; waits a little longer each time.
retry() {
  local count=$1 try
  shift
  for ((try = 1; ; ++try)); do
    if "$@"; then return 0; fi
    if ((try == count)); then return 1; fi
    echo "setup: '$*' failed, trying again in $((try * 5)) s" >&2
    sleep $((try * 5))
  done
}

apt_get() {
  local as_root=()
  if ((EUID != 0)); then as_root=(sudo -n); fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive NEEDRESTART_MODE=a \
    apt-get -y -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@" </dev/null
}

check_can_install() {
  set -- "${@#\?}"
  set -- "${@%%|*}"
  if ! command -v apt-get >/dev/null; then
    echo "setup: this system has no apt-get; install the equivalents of: $*" >&2
    echo "setup: then call with --no-apt" >&2
    exit 1
  fi
  if ((EUID != 0)) && ! sudo -n true 2>/dev/null; then
    echo "setup: not root and sudo would ask for a password; run this first:" >&2
    echo "  sudo apt-get install --no-install-recommends $*" >&2
    exit 1
  fi
}

install_packages() {
  local spec name names=() unknown=()
  check_can_install "$@"
  retry 4 apt_get update || echo "setup: apt-get update failed; going on with the lists at hand" >&2
  for spec in "$@"; do
    if name=$(candidate "${spec#\?}"); then
      names+=("$name")
    elif [[ $spec != \?* ]]; then
      unknown+=("$spec")
    fi
  done
  if ((${#unknown[@]})); then
    echo "setup: this distribution has no package: ${unknown[*]}" >&2
    echo "setup: see docs/dependencies.md for what is needed and why" >&2
    exit 1
  fi
  if ((${#names[@]})); then
    retry 3 apt_get install --no-install-recommends "${names[@]}"
  fi
}

ensure_packages() {
  local missing
  mapfile -t missing < <(missing_packages "$@")
  if ((${#missing[@]} == 0)); then
    echo "setup: all packages are installed"
  elif ((use_apt)); then
    echo "setup: installing ${missing[*]}"
    install_packages "${missing[@]}"
  else
    echo "setup: not installed as packages (--no-apt): ${missing[*]}"
  fi
}

# --- FlashInfer: headers from a wheel, no Python at build or run time ---
flashinfer_version=0.6.18
flashinfer_sha256=d5d26edb48f8def0bf28b2c94415aef7f0754e2cd9e3cb3d6e7081262d068aad
deps_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.deps

find_nvcc() {
  command -v nvcc || compgen -G '/usr/local/cuda*/bin/nvcc' || compgen -G '/opt/cuda/bin/nvcc'
}

# Debian calls its Python externally managed, which forbids pip to install but not to download; a
# system without pip at all may still be able to make a virtual environment.
find_pip() {
  if python3 -m pip --version >/dev/null 2>&1; then
    pip=(python3 -m pip)
  elif python3 -m venv "$deps_folder/pip" >/dev/null 2>&1; then
    pip=("$deps_folder/pip/bin/python" -m pip)
  else
    rm -rf "$deps_folder/pip"
    return 1
  fi
}

# unpack_flashinfer WHEEL FOLDER: only what the adapters include, and the licences.
unpack_flashinfer() {
  python3 - "$1" "$2" <<'PYTHON'
import pathlib, sys, zipfile

wheel, folder = zipfile.ZipFile(sys.argv[1]), pathlib.Path(sys.argv[2])
data = "flashinfer/data/"
wanted = {
    data + "include/": "include/",
    data + "cutlass/include/": "cutlass/include/",
    data + "cccl/libcudacxx/include/": "libcudacxx/include/",
}
for name in wheel.namelist():
    target = next((to + name[len(at):] for at, to in wanted.items() if name.startswith(at)), None)
    if target is None and ".dist-info/licenses/" in name:
        target = "licenses/" + name.split("/licenses/")[1]
    if target is None or name.endswith("/") or ".." in target.split("/"):
        continue
    path = folder / target
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(wheel.read(name))
PYTHON
}

fetch_flashinfer() {
  local folder=$deps_folder/flashinfer download pip=()
  if [[ $(cat "$folder/wheel.sha256" 2>/dev/null) == "$flashinfer_sha256" ]]; then
    echo "setup: FlashInfer $flashinfer_version is in .deps"
    return 0
  fi
  mkdir -p "$deps_folder"
  if ! find_pip; then
    (ensure_packages python3-pip) || true
    if ! find_pip; then
      echo "setup: neither pip nor a virtual environment works here, so FlashInfer was not fetched;" >&2
      echo "setup: install python3-pip and call again, or build without its attention back ends" >&2
      return 1
    fi
  fi
  download=$(mktemp -d "$deps_folder/download.XXXXXX")
  echo "setup: fetching FlashInfer $flashinfer_version (18 MB)"
  if ! retry 3 "${pip[@]}" download --quiet --disable-pip-version-check --no-deps \
    --only-binary=:all: --dest "$download" "flashinfer-python==$flashinfer_version"; then
    rm -rf "$download"
    echo "setup: FlashInfer could not be downloaded; the build works without it" >&2
    return 1
  fi
  if ! echo "$flashinfer_sha256  $(echo "$download"/*.whl)" | sha256sum --check --status; then
    rm -rf "$download"
    echo "setup: the FlashInfer wheel is not the pinned one: its SHA-256 differs; not used" >&2
    return 1
  fi
  if ! unpack_flashinfer "$(echo "$download"/*.whl)" "$download/flashinfer"; then
    rm -rf "$download"
    echo "setup: the FlashInfer wheel could not be unpacked (disk full?)" >&2
    return 1
  fi
  echo "$flashinfer_sha256" >"$download/flashinfer/wheel.sha256"
  rm -rf "$folder"
  mv "$download/flashinfer" "$folder"
  rm -rf "$download"
}

# Second opinions for tests (Python 3.11 or later): evo on trajectories, pycolmap on COLMAP models, trimesh on GLB. Only
# what the tests import; evo's plotting and recording tools need much more.
readers=(evo==1.38.1 pycolmap==4.2.1 trimesh==5.2.0 numpy scipy)
install_evo() {
  local folder=$deps_folder/evo
  if "$folder/bin/python" -c 'import evo.core.metrics, pycolmap, trimesh' 2>/dev/null; then
    echo "setup: evo, pycolmap and trimesh are in .deps"
    return 0
  fi
  rm -rf "$folder"
  if ! python3 -m venv "$folder" >/dev/null 2>&1; then
    (ensure_packages python3-venv) || true
    rm -rf "$folder"
    if ! python3 -m venv "$folder" >/dev/null 2>&1; then
      echo "setup: no virtual environment works here (python3-venv), so evo, pycolmap and trimesh were not installed" >&2
      return 1
    fi
  fi
  echo "setup: installing ${readers[*]}"
  if ! retry 3 "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
    --only-binary=:all: "${readers[@]}"; then
    rm -rf "$folder"
    echo "setup: evo, pycolmap and trimesh could not be installed; their tests will be skipped" >&2
    return 1
  fi
}

use_apt=1
use_evo=0
use_cuda=auto
packages=("${build_packages[@]}")
with_tests=1
for argument in "$@"; do
  case $argument in
    --no-tests) with_tests=0 ;;
    --fuzz) packages+=("${fuzz_packages[@]}") ;;
    --evo) use_evo=1 ;;
    --cuda) use_cuda=1 ;;
    --no-cuda) use_cuda=0 ;;
    --no-apt) use_apt=0 ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      echo "setup: unknown option '$argument'" >&2
      usage >&2
      exit 2
      ;;
  esac
done
if ((with_tests)); then packages+=("${test_packages[@]}"); fi
ensure_packages "${packages[@]}"
if [[ $use_cuda == auto ]]; then
  # The headers are a convenience where a toolkit is: without them the build has fewer back ends.
  if find_nvcc >/dev/null; then fetch_flashinfer || true; fi
elif ((use_cuda)); then
  fetch_flashinfer
fi
if ((use_evo)); then install_evo; fi
