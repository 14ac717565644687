"""Models of MXNet scripts that are told the batch size: it matters where they make use of it."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import HEAD, LOADER, LOOP, STEP, TRAINER, codes

from transpile import Options
from transpile import convert as convert_on_any_way

MODEL = """\
class Net(gluon.nn.Block):
    def __init__(self, width, batch_size=8, **kwargs):
        super().__init__(**kwargs)
        {kept}
        self.layer = gluon.nn.Dense(width)

    def forward(self, x):
        return self.layer(x){used}


batch_size = 8
net = Net({given})
net.initialize()
"""
ASIDE = "self.batch_size = batch_size"


@pytest.mark.parametrize(
    ("kept", "used", "given", "told"),
    [
        (ASIDE, "", "1, batch_size=batch_size", False),
        (ASIDE, "", "1, batch_size", False),
        (ASIDE, ".reshape((self.batch_size, -1))", "1, batch_size=batch_size", False),
        (ASIDE, " / self.batch_size", "1, batch_size=batch_size", True),
        ("self.half = batch_size // 2", "", "1, batch_size=batch_size", True),
        ("size = batch_size", "", "1, batch_size", True),
    ],
)
def test_only_a_batch_size_that_is_used_is_told(
    kept: str, used: str, given: str, told: bool
) -> None:
    loader = LOADER.replace("batch_size = 8\n", "")
    script = HEAD + MODEL.format(kept=kept, used=used, given=given) + loader
    assert ("MX214" in codes(convert(script + TRAINER + LOOP + STEP))) is told


@pytest.mark.parametrize(
    ("kept", "used", "given", "splits"),
    [
        (ASIDE, "", "1, batch_size=batch_size", True),
        (ASIDE, ".reshape((self.batch_size, -1))", "1, batch_size=batch_size", False),
        (ASIDE, " + mx.nd.zeros((self.batch_size, 1))", "1, batch_size=8", False),
        (ASIDE, " + mx.nd.zeros((self.batch_size, 1))", "1", False),
        (ASIDE, " + mx.nd.zeros((4, 1)).sum()", "1, batch_size=8", True),
    ],
)
def test_calls_of_models_of_one_batch_size_are_not_split(
    kept: str, used: str, given: str, splits: bool
) -> None:
    loader = LOADER.replace("batch_size = 8\n", "")
    script = HEAD + MODEL.format(kept=kept, used=used, given=given) + loader
    result = convert_on_any_way(script + TRAINER + LOOP + STEP, Options(shard="calls"))
    assert ("MX352" not in codes(result)) is splits
