"""Steps that some processes would pass alone are refused; errors that end the job are not."""

from __future__ import annotations

import pytest
from small_scripts import findings, script

from transpile import Level

TRAIN = "nn.functional.mse_loss(model(x), y).backward()"


def guarded(handler: str, body: str = TRAIN) -> str:
    """A ``try`` statement."""
    return f"try:\n    {body}\n{handler}"


@pytest.mark.parametrize(
    "batch",
    [
        guarded("except RuntimeError:\n    continue"),
        guarded("except Exception as error:\n    print(error)"),
        guarded("except:\n    pass"),
        guarded("except (KeyError, RuntimeError):\n    optimizer.zero_grad()"),
        guarded(
            "except RuntimeError as error:\n    if 'memory' in str(error):\n        continue\n"
            "    raise"
        ),
        guarded("except RuntimeError:\n    continue", "x = x.view(4, 3)"),
        guarded("except torch.cuda.OutOfMemoryError:\n    torch.cuda.empty_cache()"),
    ],
)
def test_an_error_that_is_swallowed_in_the_loop_of_batches_is_refused(batch: str) -> None:
    assert [level for level, _, _ in findings(script(batch=batch), "PT722")] == [Level.ERROR]


@pytest.mark.parametrize(
    "batch",
    [
        guarded("except RuntimeError:\n    print('bad batch')\n    raise"),
        guarded("except RuntimeError:\n    import sys\n    sys.exit(1)"),
        guarded("except StopIteration:\n    break"),
        guarded("except KeyboardInterrupt:\n    break"),
        guarded("except ImportError:\n    pass"),
        guarded("except ValueError:\n    x = x + 0", "x = x.view(4, 3)"),
        guarded("finally:\n    x = None"),
    ],
)
def test_errors_that_all_processes_meet_or_that_end_the_job_are_fine(batch: str) -> None:
    assert findings(script(batch=batch), "PT722") == []


def test_an_error_that_is_swallowed_around_the_training_is_a_warning() -> None:
    loop = "for x, y in loader:\n        nn.functional.mse_loss(model(x), y).backward()"
    for handler, expected in (
        ("except RuntimeError as error:\n    print(error)", [Level.WARNING]),
        ("except KeyboardInterrupt:\n    print('stopped')", []),
        ("except RuntimeError:\n    raise", []),
    ):
        source = script(end=guarded(handler, loop))
        assert [level for level, _, _ in findings(source, "PT723")] == expected


@pytest.mark.parametrize(
    "step",
    [
        f"if int(os.environ['RANK']) == 0:\n    {TRAIN}",
        "if torch.distributed.get_rank() == 0:\n    optimizer.step()",
        "if torch.distributed.get_rank() == 0:\n"
        "    torch.distributed.broadcast_object_list([epoch])",
    ],
)
def test_steps_behind_a_test_of_the_rank_are_refused(step: str) -> None:
    found = findings(script(step=step), "PT721")
    assert [level for level, _, _ in found] == [Level.ERROR]
    assert "reached by some ranks only" in found[0][2]


def test_effects_behind_a_test_of_the_rank_are_fine() -> None:
    step = "if int(os.environ.get('RANK', 0)) == 0:\n    torch.save(model.state_dict(), 'm.pt')"
    assert findings(script(step=step), "PT721") == []


STOPPED = """\
class Stop(Exception):
    pass


class Late(Stop):
    pass


class Rows(torch.utils.data.Dataset):
    def __init__(self):
        self.rows = torch.randn(8, 3)

    def __len__(self):
        return 8

    def __getitem__(self, at):
        {sample}
        return self.rows[at], self.rows[at][:1]


class Net(nn.Linear):
    def forward(self, x):
        {forward}
        return super().forward(x)


def watch(loss, step):
    {watch}


torch.manual_seed(0)
"""
RAISES = {
    "counted": {"watch": "if step == 3:\n        raise Stop"},
    "by the loss": {"watch": "if loss.item() < 0.1:\n        raise Late('enough')"},
    "for a sample": {"sample": "if self.rows[at].sum() > 9:\n            raise Stop"},
    "in a model": {"forward": "if x.sum() > 9:\n            raise Stop"},
    "nowhere": {},
}


@pytest.mark.parametrize("where", RAISES)
def test_an_exception_of_the_script_is_raised_by_all(where: str) -> None:
    parts = {"sample": "pass", "forward": "pass", "watch": "pass"} | RAISES[where]
    loop = (
        "for step, (x, y) in enumerate(DataLoader(Rows(), batch_size=4)):\n"
        "        loss = nn.functional.mse_loss(own(x), y)\n"
        "        own_optimizer.zero_grad()\n        loss.backward()\n"
        "        own_optimizer.step()\n        watch(loss, step)"
    )
    top = STOPPED.format(**parts)
    end = "own = Net(3, 1)\nown_optimizer = torch.optim.SGD(own.parameters(), lr=0.1)\n" + guarded(
        "except Stop:\n    print('stopped')", loop
    )
    expected = [] if where in ("counted", "by the loss") else [Level.WARNING]
    assert [level for level, _, _ in findings(script(top=top, end=end), "PT723")] == expected
