"""Models of MXNet scripts that are told the batch size: it matters where they make use of it."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import HEAD, LOADER, LOOP, STEP, TRAINER, codes

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
        (ASIDE, ".reshape((self.batch_size, -1))", "1, batch_size=batch_size", True),
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
