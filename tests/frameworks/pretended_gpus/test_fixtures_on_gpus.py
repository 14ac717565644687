"""Every converted fixture trains on two pretended GPUs as it does on the CPU.

What is not imitated: `compiled_model` runs uncompiled; the originals of `data_parallel_always` and
`data_parallel_resume` compute on the first GPU alone; see :mod:`transpile.verify.pretend_cuda`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from cases import Case, cases

from transpile.verify import Auditor
from transpile.verify.table import format_report

CONVERTED = [case for case in cases("pytorch") if case.expect == "converted"]
#: Outputs that do not train there, with the reason.
EXCEPTIONS: dict[str, str] = {}
AGREEING = ("from_main_process(", "any_rank(", "all_ranks(")


@pytest.fixture(scope="module")
def on_gpus() -> Iterator[dict[bool, Auditor]]:
    """Auditors for results that are equal on all processes, and for those that differ a little."""
    with Auditor(pretend_cuda=2) as exact, Auditor(pretend_cuda=2, noise=True) as noisy:
        yield {False: exact, True: noisy}


def decides(case: Case) -> bool:
    """Whether the processes of an output agree on decisions."""
    texts = [path.read_text("utf-8") for path in case.output_folder.rglob("*.py")]
    return any(word in text for text in texts for word in AGREEING)


def parameter(case: Case) -> Any:
    reason = EXCEPTIONS.get(case.folder.name)
    marks = [] if reason is None else [pytest.mark.xfail(reason=reason)]
    return pytest.param(case, id=case.folder.name, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("case", [parameter(case) for case in CONVERTED])
def test_output_trains_on_gpus(case: Case, on_gpus: dict[bool, Auditor]) -> None:
    noise = decides(case)
    report = on_gpus[noise].audit(
        case.script,
        case.expected_output,
        world_sizes=(2,),
        arguments=case.arguments,
        batch_size=str(dict(case.options).get("batch_size", "global")),  # type: ignore[arg-type]
        tolerance=1e-5 if case.deterministic and not noise else None,
        workdir_seed=case.folder,
        length_may_differ=case.length_may_differ or noise,
        timeout_seconds=90,
    )
    assert report.passed, format_report(report)
