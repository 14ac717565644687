#!/bin/sh
# Starts train_dist.py with torchrun: 1 node, 4 processes, 4 GPUs.
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

processes=4

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
    --epochs \
    3 \
    --tag \
    'a b' \
    "$@"
