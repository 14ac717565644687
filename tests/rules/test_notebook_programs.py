"""What a notebook's shell runs, once it is exported as a script, is run once."""

from __future__ import annotations

import pytest
from data_way import convert
from small_scripts import new_lines, script


@pytest.mark.parametrize(
    "call",
    [
        "system('echo ready >> log.txt')",
        "run_line_magic('mkdir', 'runs')",
        "run_cell_magic('bash', '', 'date > started')",
    ],
)
@pytest.mark.parametrize("bound", ["", "from IPython import get_ipython"])
def test_programs_run_once(call: str, bound: str) -> None:
    lines = new_lines(script(top=bound, end=f"get_ipython().{call}"))
    assert "if is_main_process():" in lines
    assert any(call.split("(")[0] in line for line in lines)


def test_other_magics_stay_everywhere() -> None:
    lines = new_lines(script(end="get_ipython().run_line_magic('matplotlib', 'inline')"))
    assert not any("get_ipython" in line for line in lines)


def test_a_frame_is_displayed_once() -> None:
    assert "if is_main_process():" in new_lines(script(end="display(args)"))


def test_a_tracker_of_the_older_package_is_made_once() -> None:
    source = script(
        top="from tensorboard import SummaryWriter", start="writer = SummaryWriter('runs')"
    )
    assert "SummaryWriter('runs') if is_main_process() else None" in convert(source).text
