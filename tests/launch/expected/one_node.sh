#!/bin/sh
# Starts train_dist.py with torchrun: 1 node, one process for each GPU.
#
# This command makes this file again, byte for byte:
#   disttranspile launch train_dist.py --target torchrun
#
# Usage: sh THIS_FILE [ARGUMENT...]
# The arguments go to the training script, after those written below.
# Each process writes into a folder of its own below LOG_DIR (torchrun-logs), and
# its lines come here marked [worker0], [worker1] and so on, by its local rank.
set -eu

case $0 in
    /*) folder=${0%/*} ;;
    */*) folder=./${0%/*} ;;
    *) folder=. ;;
esac

export NCCL_DEBUG="${NCCL_DEBUG:-WARN}"

# One process for each GPU that PyTorch will see, one process without.
if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
    processes=$(printf '%s\n' "$CUDA_VISIBLE_DEVICES" | tr ',' '\n' | grep -c '^ *[0-9GM]') || :
else
    processes=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ') || :
fi
[ "$processes" -gt 0 ] || processes=1

if [ -z "${OMP_NUM_THREADS:-}" ]; then
    cores=$(nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
    OMP_NUM_THREADS=$((cores / processes))
    [ "$OMP_NUM_THREADS" -gt 0 ] || OMP_NUM_THREADS=1
fi
export OMP_NUM_THREADS

# The script refuses to train with another number of processes.
export EXPECTED_WORLD_SIZE="$processes"

exec torchrun \
    --standalone \
    --nproc-per-node="$processes" \
    --role=worker \
    --log-dir="${LOG_DIR:-torchrun-logs}" \
    --redirects=3 \
    --tee=3 \
    -- \
    "$folder"/train_dist.py \
    "$@"
