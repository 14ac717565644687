#!/bin/sh
# Starts train_dist.py with torchrun: 2 nodes, one process for each GPU.
#
# This command makes this file again, byte for byte:
#   disttranspile launch train_dist.py --target torchrun
#
# Run it on each of the 2 nodes:
#   sh THIS_FILE --master-addr HOST [--master-port PORT] [--] [ARGUMENT...]
# HOST is one of the nodes, the same for all: the name or address by which it knows itself and the
# others reach it. MASTER_ADDR and MASTER_PORT in the environment do the same. The arguments go to
# the training script, after those written below.
# Each process writes into a folder of its own below LOG_DIR (torchrun-logs), and
# its lines come here marked [worker0], [worker1] and so on, by its local rank.
set -eu

usage() {
    printf '%s\n' "$0: $1" "usage: $0 --master-addr HOST [--master-port PORT] [--] [ARGUMENT...]" >&2
    exit 2
}
master_addr=${MASTER_ADDR:-}
master_port=${MASTER_PORT:-29500}
while [ "$#" -gt 0 ]; do
    case $1 in
        --master-addr=* | --master-port=*)
            option=${1%%=*}
            value=${1#*=}
            shift
            ;;
        --master-addr | --master-port)
            [ "$#" -gt 1 ] || usage "$1 needs a value"
            option=$1
            value=$2
            shift 2
            ;;
        --)
            shift
            break
            ;;
        *) break ;;
    esac
    case $option in
        --master-addr) master_addr=$value ;;
        --master-port) master_port=$value ;;
    esac
done
case $master_addr in
    '') usage 'the address of the node where all meet is missing' ;;
    \[*) ;;
    *:*) master_addr="[$master_addr]" ;;
esac
case $master_port in
    '' | *[!0-9]*) usage "the port is no number: $master_port" ;;
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
export EXPECTED_WORLD_SIZE=$((2 * processes))

exec torchrun \
    --nnodes=2 \
    --nproc-per-node="$processes" \
    --role=worker \
    --log-dir="${LOG_DIR:-torchrun-logs}" \
    --redirects=3 \
    --tee=3 \
    --rdzv-backend=c10d \
    --rdzv-endpoint="$master_addr:$master_port" \
    --rdzv-id=train_dist \
    -- \
    '/opt/my scripts/train_dist.py' \
    "$@"
