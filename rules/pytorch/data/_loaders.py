"""Training loaders that draw through a sampler of their own, or from a stream."""

from __future__ import annotations

import libcst as cst

from transpile.facts.values import (
    Class,
    Constant,
    Instance,
    Opaque,
    Values,
)
from transpile.plan.data.collation import Padding
from transpile.plan.data.data_code import makers, root_names
from transpile.plan.data.padding_readers import Readers
from transpile.plan.data.sources import (
    Site,
    constant_of,
    depends_on_world_size,
    given,
    is_indirect,
    made_by,
)
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Loader, Plan
from transpile.plan.roles.loaders import enters_iterator
from transpile.records import dataclass

ITERABLE_DATASETS = (
    "webdataset.", "torch.utils.data.ChainDataset", "torch.utils.data.IterableDataset",
    "torchdata.", "datasets.IterableDataset", "monai.data.IterableDataset", "torchtext.datasets.",
    "torch.utils.data.datapipes.iter.", "torch.utils.data.IterDataPipe",
)  # fmt: skip
#: What fills samples of different lengths up.
PADDING = Padding(
    frozenset({"torch.nn.utils.rnn.pad_sequence", "torch.max", "torch.amax"}),
    ("transformers.DataCollator", "transformers.data.data_collator.DataCollator"),
    masks=frozenset(
        {
            "torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.CTCLoss", "masked_fill",
            "torch.nn.functional.ctc_loss", "masked_fill_", "masked_select", "torch.masked_select",
            "torch.masked_fill", "torch.nested.as_nested_tensor", "torch.nested.nested_tensor",
        }
    ),
    masked=frozenset(
        {
            "ignore_index", "attention_mask", "attn_mask", "key_padding_mask", "mask",
            "src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask",
        }
    ),
    readers=Readers(
        recurrent={
            "torch.nn.GRU": ("bidirectional", 6), "torch.nn.LSTM": ("bidirectional", 6),
            "torch.nn.RNN": ("bidirectional", 6),
        },
        mixing=frozenset(
            {
                "torch.nn.MultiheadAttention", "torch.nn.TransformerEncoderLayer",
                "torch.nn.TransformerEncoder", "torch.nn.TransformerDecoderLayer",
                "torch.nn.TransformerDecoder", "torch.nn.Transformer", "torch.nn.Conv1d",
                "torch.nn.functional.scaled_dot_product_attention", "torch.nn.functional.conv1d",
            }
        ),
        before={
            "torch.nn.MultiheadAttention": 3, "torch.nn.TransformerEncoderLayer": 1,
            "torch.nn.TransformerEncoder": 1, "torch.nn.TransformerDecoderLayer": 2,
            "torch.nn.TransformerDecoder": 2, "torch.nn.Transformer": 2,
            "torch.nn.functional.scaled_dot_product_attention": 3,
        },
        one_way=(False,),
        told=frozenset(
            {
                "mask", "attn_mask", "src_mask", "tgt_mask", "memory_mask", "key_padding_mask",
                "src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask",
                "is_causal", "src_is_causal", "tgt_is_causal",
            }
        ),
        packs=frozenset(
            {
                "torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pack_sequence",
            }
        ),
    ),
)  # fmt: skip


#: Packages whose data sets are indexed, or whose functions give plain data.
INDEXED_DATASETS = (
    "builtins.", "torch.", "numpy.", "pandas.", "polars.", "scipy.", "sklearn.", "h5py.", "zarr.",
    "pickle.", "json.", "joblib.", "yaml.", "csv.", "collections.", "itertools.", "functools.",
    "copy.", "math.", "os.", "pathlib.", "glob.", "random.", "operator.", "PIL.", "cv2.",
    "torchvision.", "torchaudio.", "torchtext.", "datasets.", "transformers.", "torch_geometric.",
    "ogb.", "medmnist.", "wilds.", "monai.", "timm.", "librosa.", "nltk.", "dgl.", "sqlite3.",
)  # fmt: skip
SAMPLER = "torch.utils.data.distributed.DistributedSampler"


def sharded_sibling(plan: Plan, loader: Loader) -> bool:
    """Whether the loops over a loader draw from a sharded one when there are several processes."""
    if loader.foreign:
        return dataset_is_shared(plan, loader)
    for event in loader.iterations:
        for value in walk_back(event.callee, enters_iterator):
            for other in plan.loaders:
                if other.value is value and other is not loader:
                    for name in ("sampler", "batch_sampler"):
                        given_one = other.argument(name)
                        if given_one is not None and gives_parts(plan, given_one.values):
                            return True
    return False


def dataset_is_shared(plan: Plan, loader: Loader) -> bool:
    """Whether the script makes a DistributedSampler for the dataset of a library's loader."""
    for event in plan.facts.calls_to(SAMPLER):
        dataset = event.arguments.get("dataset", 0)
        for value in dataset.values if dataset is not None else ():
            if isinstance(value, Opaque) and value.kind == "attribute" and value.name == "dataset":
                if any(owner is loader.value for owner in value.operands[0]):
                    return True
    return False


def gives_parts(plan: Plan, values: Values) -> bool:
    """Whether a sampler already gives each process its part."""
    if is_distributed_sampler(values):
        return True
    return any(
        isinstance(value, Instance)
        and any(depends_on_world_size(plan, held) for held in value.attributes.values())
        for value in values
    )


def gives_batches(values: Values) -> bool:
    """Whether a sampler draws the positions of whole batches, each of one size."""
    own = [value for value in values if value != Constant(None)]
    return bool(own) and all("torch.utils.data.BatchSampler" in called_names(v) for v in own)


def has_own_way(plan: Plan, site: Site) -> bool:
    """Whether the loader has a sampler or a stream that other rules shard."""
    if is_indirect(plan, site):
        return False
    dataset = site.loader.argument("dataset")
    if dataset is not None and any(is_iterable_dataset((value,)) for value in dataset.values):
        return True
    if given(site, "batch_sampler") is not None:
        return True
    sampler = given(site, "sampler")
    return sampler is not None and not is_distributed_sampler(sampler.values)


def is_distributed_sampler(values: Values) -> bool:
    """Whether every alternative is a DistributedSampler, or None for a single process."""
    found = False
    for value in values:
        if isinstance(value, Constant) and value.value is None:
            continue
        if SAMPLER not in made_by(value):
            return False
        found = True
    return found


def is_iterable_dataset(values: Values) -> bool:
    """Whether a dataset is certainly iterated and not indexed."""
    for value in values:
        if isinstance(value, Instance):
            bases = value.cls.external_bases()
            if any(f"{base}.".startswith(ITERABLE_DATASETS) for base in bases):
                return True
            defined = {
                name
                for ancestor in value.cls.ancestry()
                if isinstance(ancestor, Class)
                for name in ancestor.scope.names
            }
            if not bases and "__iter__" in defined and "__getitem__" not in defined:
                return True
        elif isinstance(value, Opaque):
            if any(f"{name}.".startswith(ITERABLE_DATASETS) for name in root_names(value)):
                return True
            if any(is_streaming(each) for each in makers(value)):
                return True
    return False


def is_streaming(value: Opaque) -> bool:
    """Whether a call says that what it gives is a stream."""
    streaming = value.arguments.keyword("streaming")
    return streaming is not None and constant_of(streaming, False) is not False


def unknown_kind(values: Values) -> str:
    """What outside the project makes a data set that may be a stream; empty where that is known."""
    for value in values:
        if isinstance(value, Instance):
            own = {n for a in value.cls.ancestry() if isinstance(a, Class) for n in a.scope.names}
            names = () if "__getitem__" in own else value.cls.external_bases()
        else:
            names = tuple(root_names(value)) if isinstance(value, Opaque) else ()
        for name in names:
            if not f"{name}.".startswith(INDEXED_DATASETS):
                return name
    return ""


@dataclass(frozen=True, eq=False)
class Sharding:
    """How a loader's call is to be changed.

    Args:
        site: the call.
        sampler: the variable of the sampler.
        dataset: the dataset's expression.
        shuffle: the expression that says whether to shuffle; None where it is not given.
        drop_last: the same for dropping the last batch.
        options: the dict unpacked into the call that holds shuffle or drop_last, by its text.
    """

    site: Site
    sampler: str
    dataset: cst.BaseExpression
    shuffle: cst.CSTNode | None
    drop_last: cst.CSTNode | None
    options: str | None
