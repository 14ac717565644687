"""The helper functions that PyTorch conversions insert, in the order in which they are written.

Each works in one process without a process group, so that the script stays a plain script.
"""

from __future__ import annotations

from transpile.helpers.files import from_file
from transpile.options import Options
from transpile.prelude import HelperSource, HelperTemplate
from transpile.records import replace
from transpile.rules.pytorch.processes._set_up_helper import (
    EMITTED,
    has_nccl_alone,
    knows_device,
    set_up_helper,
)

#: The helpers by the file that holds them.
FILES = (
    ("randomness", ("share_random_state", "shared_randomness", "unchanged_randomness")),
    ("check_launch", ("check_launch",)),
    ("set_up_mpi", ("adopt_mpi_environment",)),
    ("processes", ("own_gpu", "setup_distributed", "cleanup_distributed")),
    ("processes", ("get_rank", "get_world_size", "is_main_process", "print_once")),
    ("processes", ("report_once",)),
    ("shares", ("split_batch", "share_batch", "share_each_batch", "share_streams")),
    ("shares", ("SamplerOnCpu", "SharedSampler", "share_sampler", "whole_batches")),
    ("shares", ("SharedBatches", "share_batches", "SharedStream", "share_stream")),
    ("loaders", ("shard_loader", "shard_loader_with_sampler", "shard_unknown_loader")),
    ("randomness", ("shared_seed", "vary_seed")),
    ("training", ("wrap_thawed", "average_gradients", "unwrap", "next_epoch")),
    ("processes", ("barrier",)),
    ("training", ("gradients_synchronised", "frozen")),
    ("training", ("contiguous_copy",)),
    ("training", ("scale_learning_rate", "scale_learning_rate_by_root")),
    ("devices", ("own_device", "use_own_gpu", "own_gpus", "own_location")),
    ("devices", ("own_device_map",)),
    ("numbers", ("from_main_process", "any_rank", "all_ranks", "reduce_sum", "reduce_mean")),
    ("numbers", ("reduce_mean_in_training", "mean_size", "selected_mean", "reduce_number")),
    ("numbers", ("weigh_loss_by_labels",)),
    ("numbers", ("reduce_means", "average_numbers", "average_meters", "sum_numbers")),
    ("numbers", ("shard_count", "reduce_shards")),
    ("evaluation", ("OwnBatches", "own_batches", "sync_buffers", "gather_totals")),
    ("evaluation", ("sum_totals", "add_up_counts")),
    ("evaluation", ("join_lists", "join_tensors", "join_arrays")),
    ("processes", ("main_process_first",)),
    ("from_horovod", ("get_local_rank", "get_local_size", "all_reduced", "all_gathered")),
    ("from_horovod", ("refuse_choice",)),
    ("objects", ("broadcast_object", "gather_objects")),
    ("from_horovod", ("broadcast_in_place", "broadcast_tensor")),
    ("from_horovod", ("broadcast_parameters", "broadcast_optimizer_state")),
    ("sharding", ("shard_model", "gathered", "whole_norm", "own_parts", "own_shards")),
    ("split_calls", ("rows_of_ranks", "ShareRows", "GatherRows", "each_tensor")),
    ("norms", ("plain_norm", "synchronise_norms", "own_statistics")),
    ("noise", ("same_noise",)),
    (
        "split_calls",
        ("SplitRows", "SplitCalls", "is_same", "axes_of", "CheckedRows", "CheckedSplitCalls"),
    ),
    ("split_calls", ("SplitMethod", "CheckedSplitMethod", "split_method")),
    ("distributions", ("TakenApart", "take_apart", "put_together", "DistributionRows")),
    ("distributions", ("SplitDistributionCalls", "CheckedSplitDistributionCalls")),
    ("distributions", ("SplitDistributionMethod", "CheckedSplitDistributionMethod")),
    ("batches", ("batches_of_main_process",)),
)
#: Those that know what to do before the process group is joined.
WITHOUT_GROUP = frozenset(
    {
        "own_gpu", "get_rank", "is_main_process", "print_once", "report_once", "next_epoch",
        "own_device",
        "use_own_gpu", "own_gpus", "own_location", "own_device_map", "get_local_rank",
        "get_local_size", "refuse_choice", "split_method", "SplitMethod", "CheckedSplitMethod",
        "SplitDistributionMethod", "CheckedSplitDistributionMethod", "contiguous_copy",
    }
)  # fmt: skip
#: What loaders give one process of a batch, and what they take where each has a whole one.
SHARE = "$split_batch(loader.batch_size)"
WHOLE = "loader.batch_size"
#: What helpers say for a group that may have NCCL alone, and what they say without it.
FOR_NCCL = {
    '    if $dist.get_backend() == "nccl":\n        total = total.cuda()\n': "",
    '    device = "cuda" if $dist.get_backend() == "nccl" else "cpu"\n': "",
    ", device=device)": ")",
}


def in_file(file: str, name: str) -> HelperTemplate:
    """What gives a helper of a file for the options of a conversion."""
    plain = from_file(f"{EMITTED}.{file}", name, without_group=name in WITHOUT_GROUP)

    def chosen(options: Options) -> HelperSource:
        if name == "setup_distributed":
            made: HelperSource = set_up_helper(options)
            return made
        if name == "barrier" and has_nccl_alone(options) and not knows_device(options):
            return from_file(f"{EMITTED}.nccl", name)(options)
        if name == "gradients_synchronised" and options.strategy == "fsdp":
            return from_file(f"{EMITTED}.sharding", name)(options)
        found: HelperSource = plain(options)
        if file == "numbers" and not has_nccl_alone(options):
            found = without_nccl(found)
        if options.batch_size == "per-device" and SHARE in found.code:
            helpers = tuple(helper for helper in found.helpers if helper != "split_batch")
            found = replace(found, code=found.code.replace(SHARE, WHOLE), helpers=helpers)
        return found

    return chosen


def without_nccl(source: HelperSource) -> HelperSource:
    """A helper for tensors on any device, where the group has a backend for each."""
    code = source.code
    for text, other in FOR_NCCL.items():
        code = code.replace(text, other)
    found: HelperSource = replace(source, code=code)
    return found


HELPERS: dict[str, HelperTemplate] = {
    name: in_file(file, name) for file, names in FILES for name in names
}
