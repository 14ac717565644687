"""Where the batches of a program come from."""

from __future__ import annotations

from dataclasses import dataclass, field

from .choices import Choices
from .names import Names
from .text import marked


@dataclass
class Source:
    """Where batches come from.

    Args:
        defined: classes and functions at the top.
        made: lines that make it, after the tensors ``X`` and ``Y``.
        header: the head of the loop over the batches of a pass.
        unpack: first lines of the loop.
        length: what says how many batches there are.
        data: what says how many samples there are.
        per_pass: lines before each pass.
        inexact: why the data way may take other samples; empty if it may not.
        endless: lines of a loop by steps in place of one by epochs.
        loader: whether there is a loader that can be handed to a function.
    """

    defined: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    header: str = ""
    unpack: list[str] = field(default_factory=list)
    length: str = ""
    data: str = ""
    per_pass: list[str] = field(default_factory=list)
    inexact: str = ""
    endless: str = ""
    loader: bool = True


def source_of(choices: Choices, names: Names, count: int, batch: int, kind: str) -> Source:
    """A random source."""
    way = choices.pick(
        "source",
        ("loader", "index", "slices", "split", "generator", "random_rows"),
        (7, 0.7, 0.5, 0.4, 0.5, 0.4),
    )
    if way != "loader":
        return _cut(choices, names, way, batch)
    return _loader(choices, names, count, batch, kind)


def _cut(choices: Choices, names: Names, way: str, batch: int) -> Source:
    x, y = names.x, names.y
    source = Source(length=f"range(0, len(X), {batch})", data="X", loader=False)
    mark = f"source={way}"
    if way == "index":
        source.per_pass = ["perm = torch.randperm(len(X))"]
        source.header = f"for j in range(0, len(X), {batch}):"
        source.unpack = [f"idx = perm[j:j + {batch}]", f"{x}, {y} = X[idx], Y[idx]"]
    elif way == "slices":
        source.header = f"for j in range(0, X.size(0), {batch}):"
        source.unpack = [f"{x} = X[j:j + {batch}]", f"{y} = Y[j:j + {batch}]"]
    elif way == "split":
        source.header = f"for {x}, {y} in zip(X.split({batch}), Y.split({batch})):"
    elif way == "generator":
        source.defined = [
            "def batches_of(a, b, size):",
            "    order = torch.randperm(len(a))",
            "    for j in range(0, len(a), size):",
            "        rows = order[j:j + size]",
            "        yield a[rows], b[rows]",
            "",
            "",
        ]
        source.header = f"for {x}, {y} in batches_of(X, Y, {batch}):"
    else:
        source.header = "for _ in range(3):"
        source.unpack = [
            f"rows = torch.randint(0, len(X), ({batch},))",
            f"{x}, {y} = X[rows], Y[rows]",
        ]
        source.length = "range(3)"
    for name in ("defined", "per_pass", "unpack"):
        setattr(source, name, marked(mark, getattr(source, name)))
    source.header = marked(mark, [source.header])[0]
    return source


def _loader(choices: Choices, names: Names, count: int, batch: int, kind: str) -> Source:
    _x, _y, dataset, loader = names.x, names.y, names.dataset, names.loader
    source = Source(length=loader, data=dataset)
    data = choices.pick(
        "dataset",
        ("tensors", "own", "list", "subset", "split", "dict", "iterable", "scaled"),
        (4, 2, 1, 1, 1, 1, 0.5, 0.5),
    )
    made: list[str]
    if data in ("own", "dict", "scaled"):
        item = {
            "own": "return self.a[index], self.b[index]",
            "dict": "return {'x': self.a[index], 'y': self.b[index]}",
            "scaled": "return self.a[index], self.b[index] + 0",
        }[data]
        source.defined = [
            "class Samples(Dataset):",
            "    def __init__(self, a, b):",
            "        self.a, self.b = a, b",
            *(["        self.scale = a.double().std()"] if data == "scaled" else []),
            "",
            "    def __len__(self):",
            "        return len(self.a)",
            "",
            "    def __getitem__(self, index):",
            f"        {item}",
            "",
            "",
        ]
        made = [f"{dataset} = Samples(X, Y)"]
    elif data == "iterable":
        source.defined = [
            "class Stream(IterableDataset):",
            "    def __init__(self, a, b):",
            "        super().__init__()",
            "        self.a, self.b = a, b",
            "",
            "    def __len__(self):",
            "        return len(self.a)",
            "",
            "    def __iter__(self):",
            "        for j in range(len(self.a)):",
            "            yield self.a[j], self.b[j]",
            "",
            "",
        ]
        made = [f"{dataset} = Stream(X, Y)"]
    else:
        made = {
            "tensors": [f"{dataset} = TensorDataset(X, Y)"],
            "list": [f"{dataset} = list(zip(X, Y))"],
            "subset": [f"{dataset} = Subset(TensorDataset(X, Y), list(range(0, {count})))"],
            "split": [
                f"{dataset}, _ = random_split(TensorDataset(X, Y), [{count - 6}, 6], "
                "generator=torch.Generator().manual_seed(3))"
            ],
        }[data]
    made = marked(f"dataset={data}", made)
    size = count - 6 if data == "split" else count
    words = [choices.pick("loader.batch", ("batch_size=B", "B")).replace("B", str(batch))]
    orders = [
        "plain",
        "shuffle",
        "random_sampler",
        "subset_sampler",
        "weighted_sampler",
        "batch_sampler",
        "own_sampler",
        "generator",
    ]
    order = "plain"
    if data != "iterable":
        order = choices.pick("loader.order", orders, (3, 4, 0.4, 0.3, 0.4, 0.4, 0.3, 0.4))
    lines: list[str] = []
    if order == "shuffle":
        words.append("shuffle=True")
    elif order == "generator":
        words += ["shuffle=True", "generator=torch.Generator().manual_seed(7)"]
    elif order == "random_sampler":
        words.append(f"sampler=RandomSampler({dataset})")
    elif order == "subset_sampler":
        words.append(f"sampler=SubsetRandomSampler(range({size}))")
        source.inexact = "subset sampler"
    elif order == "weighted_sampler":
        lines = [f"sample_weights = torch.rand({size}) + 0.1"]
        words.append(f"sampler=WeightedRandomSampler(sample_weights, {size // 6 * 6})")
        source.inexact = "weighted sampler"
    elif order == "batch_sampler":
        lines = [f"whole = BatchSampler(SequentialSampler({dataset}), {batch}, drop_last=False)"]
        words = ["batch_sampler=whole"]
    elif order == "own_sampler":
        source.defined += [
            "class Backwards(Sampler):",
            "    def __init__(self, size):",
            "        self.size = size",
            "",
            "    def __len__(self):",
            "        return self.size",
            "",
            "    def __iter__(self):",
            "        return iter(range(self.size - 1, -1, -1))",
            "",
            "",
        ]
        words.append(f"sampler=Backwards({size})")
    if order not in ("batch_sampler",) and choices.chance("loader.drop_last", 0.2):
        words.append("drop_last=True")
    if choices.chance("loader.collate", 0.12) and data != "dict":
        source.defined += marked(
            "loader.collate=yes",
            [
                "def collate(rows):",
                "    a, b = zip(*rows)",
                "    return torch.stack(a), torch.stack(b)",
                "",
                "",
            ],
        )
        words.append("collate_fn=collate")
    made += marked(f"loader.order={order}", lines)
    made += marked(
        f"loader.order={order}", [f"{loader} = DataLoader({dataset}, {', '.join(words)})"]
    )
    source.made = made
    _head(choices, names, source, data)
    return source


def _head(choices: Choices, names: Names, source: Source, data: str) -> None:
    x, y, loader, index = names.x, names.y, names.loader, names.index
    head = choices.pick(
        "loop.head",
        (
            "plain",
            "enumerate",
            "batch",
            "enumerate_batch",
            "progress",
            "zip_range",
            "counted",
            "iter",
            "enumerate_progress",
        ),
        (4, 3, 1, 1, 1, 0.5, 0.5, 0.5, 0.5),
    )
    pair = f"{x}, {y}"
    unpack: list[str] = []
    if data == "dict":
        pair, unpack = "batch", [f"{x}, {y} = batch['x'], batch['y']"]
    if head in ("progress", "enumerate_progress"):
        source.defined += [
            "def progress(things, desc=''):",
            "    for thing in things:",
            "        yield thing",
            "",
            "",
        ]
    own = f"({pair})" if "," in pair else pair
    over = {
        "plain": f"for {pair} in {loader}:",
        "enumerate": f"for {index}, {own} in enumerate({loader}):",
        "batch": f"for batch in {loader}:",
        "enumerate_batch": f"for {index}, batch in enumerate({loader}, 1):",
        "progress": f"for {pair} in progress({loader}, desc='train'):",
        "zip_range": f"for _, {own} in zip(range(2), {loader}):",
        "counted": f"for {index} in range(len({loader})):",
        "iter": f"for {pair} in iter({loader}):",
        "enumerate_progress": f"for {index}, {own} in enumerate(progress({loader})):",
    }[head]
    if head in ("batch", "enumerate_batch") and data != "dict":
        unpack = [choices.pick("loop.unpack", ("P = batch", "X = batch[0]; Y = batch[1]"))]
        unpack = (
            [f"{x}, {y} = batch"]
            if unpack[0].startswith("P")
            else [f"{x} = batch[0]", f"{y} = batch[1]"]
        )
    if head == "counted":
        source.per_pass = [f"stream = iter({loader})"]
        unpack = [f"{pair} = next(stream)", *unpack]
    mark = f"loop.head={head}"
    source.header = marked(mark, [over])[0]
    source.unpack = marked(mark, unpack)
