#!/usr/bin/env bash
# The bundled model from nothing: trains in pieces of under ten minutes, evaluates on the test set, exports.
#
#   ./reproduce.sh FOLDER          all pieces, one after the other
#   ./reproduce.sh FOLDER next     the next piece only, for machines that are lent for a short time
#
# A piece that has ended is not repeated; one that was interrupted starts again from the piece before.
set -euo pipefail

out=${1:?"usage: reproduce.sh FOLDER [next]"}
mode=${2:-all}
if [[ $mode != all && $mode != next ]]; then
  echo "reproduce: unknown mode '$mode'; expected 'next' or nothing" >&2
  exit 2
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"
gpus=$(python3 -c 'import torch; print(torch.cuda.device_count())')
if ((gpus == 0)); then
  echo "reproduce: PyTorch sees no GPU here" >&2
  exit 1
fi

ended() { [[ -e $out/$1/log.jsonl ]] && grep -q '"kind": "trained"' "$out/$1/log.jsonl"; }

# piece NAME OPTIONS...: trains unless done.
piece() {
  local name=$1
  shift
  if ended "$name"; then return; fi
  rm -rf "${out:?}/$name"
  ./train.py --out "$out/$name" "$@"
  if [[ $mode == next ]]; then exit 0; fi
}

piece run1 --gpus 1 --seed 1 --minutes 9 --phases 16:24:0.45,32:12:0.55
if ((gpus > 1)); then
  piece run2 --gpus 2 --seed 2 --minutes 8.75 --phases 64:4:0.35,96:3:0.65 --decay-from 0.25 --matching-until 0.4 --resume "$out/run1"
else # as many sequences take one GPU twice as long
  piece run2a --seed 2 --minutes 8.75 --phases 64:8:0.7,96:6:0.3 --resume "$out/run1"
  piece run2 --seed 3 --minutes 8.75 --phases 96:6:1 --decay-from 0 --resume "$out/run2a"
fi
if [[ ! -e $out/test.json ]]; then ./evaluate.py "$out/run2" --set test --out "$out/test.json"; fi
./export.py "$out/run2" "$out/nano.safetensors" --evaluation "$out/test.json"
