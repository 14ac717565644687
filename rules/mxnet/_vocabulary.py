"""Names of MXNet that several rules know."""

from __future__ import annotations

#: Iterators of which each worker can be given a part by ``num_parts`` and ``part_index``.
PARTS = frozenset(
    {
        "mxnet.io.ImageRecordIter", "mxnet.io.ImageRecordIter_v1",
        "mxnet.io.ImageRecordUInt8Iter", "mxnet.io.ImageRecordUInt8Iter_v1",
        "mxnet.io.ImageRecordInt8Iter", "mxnet.io.ImageDetRecordIter", "mxnet.io.MNISTIter",
        "mxnet.io.LibSVMIter", "mxnet.image.ImageIter", "mxnet.image.ImageDetIter",
    }
)  # fmt: skip
#: Iterators that cannot be given a part.
WHOLE = frozenset({"mxnet.io.CSVIter", "mxnet.io.DataIter", "mxnet.rnn.BucketSentenceIter"})

GLUON_LOADER = (
    "dataset", "batch_size", "shuffle", "sampler", "last_batch", "batch_sampler", "batchify_fn",
    "num_workers", "pin_memory", "pin_device_id", "prefetch", "thread_pool", "timeout",
)  # fmt: skip
ARRAY_ITERATOR = (
    "data", "label", "batch_size", "shuffle", "last_batch_handle", "data_name", "label_name",
)  # fmt: skip
IMAGE_ITERATOR = ("batch_size", "data_shape")
STORE = "mxnet.kvstore.create"
STORE_BASES = frozenset({"mxnet.kvstore.KVStoreBase", "mxnet.kvstore.KVStore"})
TRAINER = "mxnet.gluon.Trainer"
#: Classes whose objects train by ``fit``, or by ``init_optimizer`` and ``update``.
MODULES = frozenset(
    {
        "mxnet.module.Module", "mxnet.module.BucketingModule", "mxnet.module.SequentialModule",
        "mxnet.module.PythonModule", "mxnet.module.Module.load",
    }
)  # fmt: skip
FEED_FORWARD = frozenset({"mxnet.model.FeedForward", "mxnet.model.FeedForward.load"})
FEED_FORWARD_CREATE = "mxnet.model.FeedForward.create"
#: Parameters of what trains, in order, without ``self``.
FIT = (
    "train_data", "eval_data", "eval_metric", "epoch_end_callback", "batch_end_callback",
    "kvstore", "optimizer", "optimizer_params",
)  # fmt: skip
INIT_OPTIMIZER = ("kvstore", "optimizer", "optimizer_params", "force_init")
FEED_FORWARD_FIT = (
    "X", "y", "eval_data", "eval_metric", "epoch_end_callback", "batch_end_callback", "kvstore",
    "logger",
)  # fmt: skip
CREATE = (
    "symbol", "X", "y", "ctx", "num_epoch", "epoch_size", "optimizer", "initializer", "eval_data",
    "eval_metric", "epoch_end_callback", "batch_end_callback", "kvstore", "logger",
)  # fmt: skip
TRAINER_PARAMETERS = (
    "params", "optimizer", "optimizer_params", "kvstore", "compression_params",
    "update_on_kvstore",
)  # fmt: skip
