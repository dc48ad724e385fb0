#!/usr/bin/env bash
# Completes command lines as bash does, and compares with what must come out.
#   completion_test.sh PROGRAM
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir "a folder" "a second"
touch "a file.mp4" other.png
script=$("$program" completion bash)
eval "$script"
complete -p lingbot-map >/dev/null
failed=0

# expect WORDS... -- REPLIES...: the last word is completed.
expect() {
  local -a words=() wanted=()
  while [[ $1 != -- ]]; do words+=("$1") && shift; done
  shift
  wanted=("$@")
  COMP_WORDS=("${words[@]}")
  COMP_CWORD=$((${#words[@]} - 1))
  COMPREPLY=()
  _lingbot_map || true
  local got want
  got=$(printf '%s\n' "${COMPREPLY[@]+"${COMPREPLY[@]}"}" | sort)
  want=$(printf '%s\n' "${wanted[@]+"${wanted[@]}"}" | sort)
  if [[ $got != "$want" ]]; then
    echo "completing '${words[*]}': expected '${want//$'\n'/, }', got '${got//$'\n'/, }'" >&2
    failed=1
  fi
}

expect lingbot-map ru -- run
expect lingbot-map --v -- --version
expect lingbot-map run --no- -- $("$program" run --help | grep -o '^  --no-[a-z]*' | tr -d ' ')
expect lingbot-map run --fp -- --fps
expect lingbot-map run --preprocess "" -- crop pad
expect lingbot-map run --preprocess = p -- pad
expect lingbot-map run --device c -- cpu cuda
expect lingbot-map run --fps "" --
expect lingbot-map run a -- "a folder" "a second" "a file.mp4"
expect lingbot-map run x --out a -- "a folder" "a second"
expect lingbot-map run x --model o -- other.png
expect lingbot-map eval --asso -- --associate
expect lingbot-map eval --associate n -- name
expect lingbot-map completion "" -- bash zsh fish
expect lingbot-map info --j -- --json
for command in $("$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\) .*/\1/p'); do
  expect lingbot-map "$command" --hel -- --help
done
exit $failed
