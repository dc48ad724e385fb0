#!/bin/bash
# A short look on the machine that will train: `device_preflight.sh OUT` prints what preflight.py measures and leaves the
# compiler's cache in OUT, which later runs start faster with.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?folder for results}
mkdir -p "$out"
export GCT_BUILD=/tmp/gct-build TORCHINDUCTOR_CACHE_DIR=/tmp/gct-inductor PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
cd "$here"
begun=$SECONDS
nvidia-smi --query-gpu=name,memory.total --format=csv,noheader
timeout 60 python3 preflight.py check
echo "== one GPU, after $((SECONDS - begun)) s"
GPUS=1 timeout 140 python3 preflight.py time 16:16,16:24,96:3 2
echo "== all GPUs, after $((SECONDS - begun)) s"
timeout 120 python3 preflight.py time 16:16,32:8,64:4,96:3 2
echo "== done after $((SECONDS - begun)) s"
tar -C /tmp -c gct-inductor | xz -T0 -2 > /tmp/inductor.tar.xz
ls -l /tmp/inductor.tar.xz
split -b 15M -d /tmp/inductor.tar.xz "$out/inductor.tar.xz."
echo "== packed after $((SECONDS - begun)) s"
