#!/bin/sh
# Starts train_dist.py with torchrun: 2 nodes, 16 processes, 16 GPUs.
#
# This command makes this file again, byte for byte:
#   disttranspile launch train_dist.py --target torchrun
#
# Run it on each of the 2 nodes, with the node's own rank from 0 to 1:
#   sh THIS_FILE --node-rank RANK --master-addr HOST [--master-port PORT] [--] [ARGUMENT...]
# HOST is how the others reach the node with rank 0. NODE_RANK, MASTER_ADDR and MASTER_PORT in the
# environment do the same. The arguments go to the training script, after those written below.
# Each process writes into a folder of its own below LOG_DIR (torchrun-logs), and
# its lines come here marked [worker0], [worker1] and so on, by its local rank.
set -eu

case $0 in
    /*) folder=${0%/*} ;;
    */*) folder=./${0%/*} ;;
    *) folder=. ;;
esac

usage() {
    printf '%s\n' "$0: $1" "usage: $0 --node-rank RANK --master-addr HOST [--master-port PORT] [--] [ARGUMENT...]" >&2
    exit 2
}
node_rank=${NODE_RANK:-}
master_addr=${MASTER_ADDR:-}
master_port=${MASTER_PORT:-29500}
while [ "$#" -gt 0 ]; do
    case $1 in
        --node-rank=* | --master-addr=* | --master-port=*)
            option=${1%%=*}
            value=${1#*=}
            shift
            ;;
        --node-rank | --master-addr | --master-port)
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
        --node-rank) node_rank=$value ;;
        --master-addr) master_addr=$value ;;
        --master-port) master_port=$value ;;
    esac
done
case $node_rank in
    '') usage 'the rank of this node is missing' ;;
    *[!0-9]*) usage "the rank of this node is no number: $node_rank" ;;
esac
[ "$node_rank" -lt 2 ] || usage "the rank of a node is less than 2: $node_rank"
case $master_addr in
    '') usage 'the address of the node where all meet is missing' ;;
    \[*) ;;
    *:*) master_addr="[$master_addr]" ;;
esac
case $master_port in
    '' | *[!0-9]*) usage "the port is no number: $master_port" ;;
esac

export NCCL_DEBUG="${NCCL_DEBUG:-WARN}"
export NCCL_SOCKET_IFNAME=eth0
export NCCL_IB_DISABLE=1
export DATA="/data/it's here"

processes=8

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
    --node-rank="$node_rank" \
    --master-addr="$master_addr" \
    --master-port="$master_port" \
    -- \
    "$folder"/train_dist.py \
    "$@"
