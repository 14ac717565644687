"""Modules that are left out where a script is too large to be followed with all of them."""

from __future__ import annotations

import re
from collections.abc import Callable

from transpile.facts.module import Module

#: Words of what the processes of a job do in common, or must not do all.
TELLING = re.compile(
    r"\b(?:distributed|dist|all_reduce|all_gather|barrier|broadcast|get_rank|rank|local_rank|"
    r"world_size|is_main_process|backward|zero_grad|no_sync|DataLoader|Dataset|Sampler|"
    r"[Oo]ptimizer|optim|save|open|makedirs|rmtree|download|urlretrieve|wandb|SummaryWriter|"
    r"set_device|manual_seed|spawn|Accelerator|Fabric|deepspeed|hvd|horovod|parse_args|"
    r"add_argument|environ|getenv|FileHandler|getLogger)\b"
)


class Aside:
    """Finds modules, but for those in which nothing is about several processes.

    Args:
        find: finds any.
    """

    def __init__(self, find: Callable[[str, Module], Module | None]) -> None:
        self._find = find
        #: The paths of those that were left out.
        self.left_out: set[str] = set()

    def __call__(self, dotted: str, importer: Module) -> Module | None:
        """The project's module of that name; None also for one that is left out."""
        module = self._find(dotted, importer)
        if module is None or module.is_package or TELLING.search(module.source.text):
            return module
        self.left_out.add(module.source.path)
        return None
