"""What a wrapped model would answer otherwise than the model itself is asked of the model."""

from __future__ import annotations

import pytest
from data_way import convert
from small_scripts import script

PARTS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 1)
        self.module = nn.Linear(3, 1)

    def forward(self, x):
        return self.head(x)

    def train(self, mode=True):
        return super().train(mode)

    def {name}(self, recurse=True):
        return self.head.parameters(recurse)
"""


@pytest.mark.parametrize(
    "asked",
    [
        "print(len(list({}.modules())))",
        "for place, part in enumerate({}.modules()):\n    print(place, part)",
        "print({}.training)",
        "{}.training = False",
        "print([name for name, _ in {}.named_modules()])",
        "{}.apply(print)",
    ],
)
def test_it_is_reached_behind_the_wrap(asked: str) -> None:
    result = convert(script(epoch=asked.format("model")))
    first = asked.format("unwrap(model)").splitlines()[0]
    assert first in result.text.replace("print_once", "print")


@pytest.mark.parametrize(
    "asked", ["model.train()", "model.eval()", "print(list(model.parameters()))"]
)
def test_what_the_wrap_passes_on_stays_as_it_is(asked: str) -> None:
    assert "unwrap" not in convert(script(epoch=asked)).text


def test_what_the_class_of_the_model_defines_itself_is_asked_of_it() -> None:
    made = {"top": PARTS.format(name="parameters"), "model": "model = Net()"}
    result = convert(script(**made, epoch="model.train()\nprint(model.module)"))
    assert "SGD(unwrap(model).parameters()" in result.text
    assert "(unwrap(model).module)" in result.text
    assert "        model.train()" in result.text


def test_a_class_that_leaves_them_alone_is_wrapped_as_ever() -> None:
    top = PARTS.format(name="weights").replace("self.module =", "self.other =")
    result = convert(script(top=top, model="model = Net()", epoch="print(model.parameters())"))
    assert "unwrap" not in result.text
