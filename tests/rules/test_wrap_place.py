"""Where a model is wrapped that the script assigns to its variable again."""

from __future__ import annotations

import pytest
from small_scripts import findings, new_lines, script, undone

UNKNOWN = "from networks import Network"
MADE = "model = Network()"


@pytest.mark.parametrize(
    "batch",
    ["model = model.train()", "model.train()", "model = model.eval()\nmodel = model.train()"],
)
@pytest.mark.parametrize("made", ["pass", MADE])
def test_setting_the_mode_is_no_new_model(made: str, batch: str) -> None:
    source = script(top=UNKNOWN, model=made, batch=batch)
    assert findings(source, "PT302") == []
    lines = new_lines(source)
    assert lines.count("model = DistributedDataParallel(model)") == 1
    assert undone(source, "wrap-model") == []


def test_moving_the_model_in_the_loop_is_another_matter() -> None:
    source = script(batch="model = model.double().float()")
    assert [line for _, line, _ in findings(source, "PT302")] != []
