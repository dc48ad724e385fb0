#!/usr/bin/env bash
# What is made for zsh, fish and man, read by those of them that are installed.
#   shells_test.sh PROGRAM
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for shell in bash zsh fish; do
  "$program" completion $shell >"$folder/$shell"
  [[ -s $folder/$shell ]]
  if command -v $shell >/dev/null; then $shell -n "$folder/$shell"; fi
done
"$program" help --format man >"$folder/page.1"
if command -v groff >/dev/null; then
  groff -man -Tutf8 -ww "$folder/page.1" 2>"$folder/warnings" | sed "s/.\x08//g" >"$folder/page"
  if [[ -s $folder/warnings ]]; then
    cat "$folder/warnings" >&2
    exit 1
  fi
  grep -q "EXIT STATUS" "$folder/page"
  grep -qe "--keyframe-interval" "$folder/page"
fi
