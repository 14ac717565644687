"""Refuse data sets that give what comes next, whatever index they are asked for.

What:
    A training set whose ``__getitem__`` reads on in a file, takes the next of an iterator or
    queue, counts its own calls, keeps something for the next sample or for the script, or draws
    from a generator of random numbers that has a seed of its own, is an error. So are workers that
    seed what they draw by their number alone.

Why:
    A ``DistributedSampler`` gives each process indices of its own. A data set that does not go by
    them, or that draws the same random numbers in every process, gives all processes the same
    samples, or the same distortions.

Before:
    class Lines(Dataset):
        def __getitem__(self, index):
            return encode(self.file.readline())

After:
    class Lines(Dataset):
        def __getitem__(self, index):
            return encode(self.lines[index])

Refuses when:
    what a sample is depends on how many were drawn before.

Source:
    https://pytorch.org/docs/stable/data.html#map-style-datasets
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from transpile.backends.data_in_order import refusals
from transpile.facts.module import Module
from transpile.facts.values import External
from transpile.plan.data.data_code import called, given_to, reached_by
from transpile.plan.data.sources import sites
from transpile.plan.graph import called_names, walk_back
from transpile.plan.model import Loader, Plan
from transpile.rule import Answer, Ruling
from transpile.rules.pytorch.randomness._seeds import SEEDING

CODES = {"PT229": "a data set gives what comes next, whatever its index"}
WORKERS = (
    "the workers of the training loader seed their random numbers here by their number alone: "
    "those of every process would draw the same"
)
BY_SEED = "seed them by torch.initial_seed(), which differs by process"
#: What PyTorch calls its generators of random numbers.
GENERATOR = "torch.Generator"
#: What differs from process to process.
OWN = frozenset(
    {
        "torch.initial_seed", "torch.utils.data.get_worker_info", "torch.distributed.get_rank",
        "numpy.random.get_state", "random.random", "random.getrandbits", "random.randint",
        "numpy.random.randint", "torch.randint", "torch.random.initial_seed", "os.getpid",
        "time.time", "time.time_ns", "os.urandom", "os.environ.get", "torch.seed",
    }
)  # fmt: skip
#: Where calls are sharded, every rank draws the same batches from the same data.
WAYS = ("data",)


def decide(plan: Plan) -> Iterator[Answer]:
    """One refusal for each place that goes on from sample to sample."""
    yield from refusals(plan, "PT229", GENERATOR)
    seen: set[int] = set()
    for site in sites(plan):
        for loader in site.loaders:
            for module, node in seeded_by_worker(plan, loader):
                if id(node) not in seen:
                    seen.add(id(node))
                    yield Ruling.refuse("PT229", (module, node), WORKERS, BY_SEED)


def seeded_by_worker(plan: Plan, loader: Loader) -> Iterator[tuple[Module, cst.CSTNode]]:
    """Where the workers of a loader seed what they draw by nothing that differs by process."""
    given = given_to(loader, "worker_init_fn")
    reads = reached_by(plan, (function for value in given for function in called(value)))
    for function, node in reads.nodes:
        if not isinstance(node, cst.Call):
            continue
        names = {v.name for v in plan.facts.values_of(node.func) if isinstance(v, External)}
        if not names.intersection(SEEDING):
            continue
        behind = walk_back(tuple(v for a in node.args for v in plan.facts.values_of(a.value)))
        if not any(name in OWN for value in behind for name in called_names(value)):
            yield function.module, node
