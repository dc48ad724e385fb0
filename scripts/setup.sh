#!/usr/bin/env bash
# Installs what the build needs. Safe to repeat: with nothing to do it neither asks nor touches the network.
set -euo pipefail

usage() {
  cat <<'TEXT'
Usage: scripts/setup.sh [--fuzz] [--no-apt]
  --fuzz    also install clang with its sanitizer and OpenMP runtimes, for the fuzz preset
  --no-apt  install nothing; only say what is missing
TEXT
}

# "a|b": the first of the names that this distribution has. "?" in front: do without if it has none.
build_packages=(
  cmake ninja-build g++ 'pkg-config|pkgconf' python3 git ca-certificates
  libdnnl-dev libhwy-dev libfmt-dev nlohmann-json3-dev libcli11-dev libeigen3-dev
  'libjpeg-dev|libjpeg62-turbo-dev|libjpeg-turbo8-dev' libpng-dev libexif-dev
  libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
)
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

use_apt=1
packages=("${build_packages[@]}")
for argument in "$@"; do
  case $argument in
    --fuzz) packages+=("${fuzz_packages[@]}") ;;
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
ensure_packages "${packages[@]}"
