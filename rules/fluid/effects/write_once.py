"""Write models, files and plots on trainer 0 alone.

What:
    Statements that do nothing but write (``save_persistables``, ``save_inference_model``,
    ``os.makedirs``, ``plt.savefig``, ...) go under a test for trainer 0, neighbours together under
    one.

Why:
    Trainers that write one file at the same time leave it torn. ``save_persistables`` of a
    transpiled program fetches from the servers what trainer 0 does not hold itself.

Before:
    fluid.io.save_persistables(exe, path)

After:
    if is_main_process():
        fluid.io.save_persistables(exe, path)

Refuses when:
    a module of the project writes where every trainer comes by; other writes that cannot be guarded
    are reported.

Source:
    https://www.paddlepaddle.org.cn/documentation/docs/en/1.8/api/io/save_persistables.html
"""

from __future__ import annotations

from collections.abc import Iterator

from transpile.once import write_once
from transpile.once.write_once import edits
from transpile.plan.model import Plan
from transpile.rule import Answer
from transpile.rules.fluid.effects._once import once_of

__all__ = ["CODES", "decide", "edits"]

CODES = {
    "FL511": "writes once per job",
    "FL512": "something is written in every process",
    "FL513": "a module of the project writes in every process",
    "FL514": "a person is waited for while the other processes go on",
}


def decide(plan: Plan) -> Iterator[Answer]:
    """One answer for each effect of the script."""
    once_of(plan)
    yield from write_once.decide(plan)
