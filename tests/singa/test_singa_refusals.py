"""What would train something else with several processes is refused, with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from cases import FIXTURES

from transpile import Options, Outcome, Result, convert

SCRIPT = (FIXTURES / "singa" / "mlp_graph" / "train.py").read_text("utf-8")
OWN_PATH = FIXTURES / "singa" / "own_path" / "train.py"
DEVICE = "    dev = device.create_cuda_gpu()\n"
STEP = "            out, loss = net(tx, ty)\n"


def codes(result: Result) -> set[str]:
    return {finding.code for finding in result.findings}


def test_the_script_itself_is_converted_without_a_word() -> None:
    result = convert(SCRIPT)
    assert result.outcome is Outcome.CONVERTED
    assert not result.findings


@pytest.mark.parametrize(
    ("old", "new", "code", "options"),
    [
        ("total += tensor", "total += 1 / tx.shape[0] * tensor", "SG143", {}),
        ("total += tensor.to_numpy(loss)[0]", "print(loss)", "SG143", {}),
        ("tensor.to_numpy(loss)[0]", "out.l2()", "SG143", {}),
        ("tensor.to_numpy(loss)[0]", "tensor.to_numpy(out[0])", "SG142", {}),
        ("tensor.to_numpy(loss)[0]", "loss.data.GetFloatValue(1)[0]", "SG143", {}),
        (
            "total += tensor.to_numpy(loss)[0]",
            "import copy; total += tensor.to_numpy(copy.copy(loss))[0]",
            "SG142",
            {},
        ),
        (DEVICE, DEVICE + "    import time\n    begin = time.time()\n", "", {}),
        (
            STEP,
            STEP + "            import time\n            if time.time() > 9e9:\n"
            "                break\n",
            "SG222",
            {},
        ),
        ("np.random.seed(7)", "np.random.seed()", "SG221", {}),
        (
            DEVICE,
            '    import os\n    os.environ["CUDA_VISIBLE_DEVICES"] = "0"\n' + DEVICE,
            "SG123",
            {},
        ),
        ("device.create_cuda_gpu()", "device.create_cuda_gpus(2)[0]", "SG122", {}),
        (STEP, "            tx.gaussian(0.0, 1.0)\n" + STEP, "SG132", {}),
        ("copy_from_numpy(train_x[batch])", "copy_from_numpy(train_x[batch], 0)", "SG132", {}),
        (DEVICE, DEVICE + "    import socket\n    socket.socket()\n", "SG124", {}),
        ("self.criterion(out, y)", "self.criterion(out, y) * 2.0 + 1.0", "", {}),
        ("self.criterion(out, y)", "self.criterion(out, y) * self.criterion(out, y)", "SG211", {}),
        ("self.criterion(out, y)", "self.criterion(out, y) * out.shape[0]", "SG211", {}),
        ("self.relu(self.hidden(x))", "autograd.reshape(x, (-1, 10))", "", {}),
        ("self.relu(self.hidden(x))", "autograd.reshape(x, (x.shape[0], 10))", "", {}),
        ("self.relu(self.hidden(x))", "autograd.reshape(x, (12, 20))", "SG211", {}),
        ("self.relu(self.hidden(x))", "autograd.transpose(x, (1, 0))", "SG211", {}),
        ("self.relu(self.hidden(x))", "autograd.softmax(self.hidden(x), 0)", "SG211", {}),
        ("self.relu(self.hidden(x))", "autograd.reduce_mean(self.hidden(x))", "SG211", {}),
        ("self.criterion(out, y)", "autograd.reduce_mean(out)", "", {}),
        (
            "out, loss = net(tx, ty)",
            "out, loss = net(tensor.random((4, 10), dev), ty)",
            "SG211",
            {},
        ),
        ("self.optimizer(loss)", "pass", "SG103", {}),
        ("use_graph=True", "use_graph=True", "SG162", {"dist_option": "partialUpdate"}),
        ("use_graph=True", "use_graph=False", "SG163", {"dist_option": "partialUpdate"}),
        ("BATCH = 24", "HALF = 12\nBATCH = HALF * 2", "SG192", {"batch_size": "per-device"}),
    ],
)
def test_a_change_is_told(old: str, new: str, code: str, options: dict[str, Any]) -> None:
    assert old in SCRIPT
    text = SCRIPT.replace(old, new).replace("import device", "import autograd, device")
    result = convert(text, Options(**options))
    assert code in codes(result) if code else not codes(result)
    refused = bool(code) and code != "SG163"
    assert result.outcome is (Outcome.REFUSED if refused else Outcome.CONVERTED)


def test_a_path_that_is_not_given_the_batch_size_keeps_its_own() -> None:
    text = OWN_PATH.read_text("utf-8").replace(
        "    dev = device.create_cuda_gpu_on(local_rank)\n",
        "    dev = device.create_cuda_gpu_on(local_rank)\n    batch_size = batch_size * 2\n",
    )
    folder = OWN_PATH.parent
    assert "SG152" in codes(convert(text, path=str(OWN_PATH), folder=folder))
    chosen = Options(batch_size="per-device")
    result = convert(text, chosen, path=str(OWN_PATH), folder=folder)
    assert result.outcome is Outcome.CONVERTED


def test_a_path_whose_ranks_are_called_otherwise_is_refused() -> None:
    text = OWN_PATH.read_text("utf-8").replace("global_rank", "position")
    result = convert(text, path=str(OWN_PATH), folder=OWN_PATH.parent)
    assert result.outcome is Outcome.REFUSED
    assert "SG152" in codes(result)


#: Updates that look at the gradients first, for a limit to their norm.
CLIPPED = (
    """\
        pairs = list(autograd.backward(loss))
        norm = float(np.sqrt(sum((tensor.to_numpy(g) ** 2).sum() for _, g in pairs)))
        for p, g in pairs:
            if norm > 0.5:
                g *= 0.5 / norm
            self.optimizer.update(p, g)
        self.optimizer.step()
""",
    """\
        for p, g in autograd.backward(loss):
            scale = min(1.0, 0.5 / float(np.abs(tensor.to_numpy(g)).max()))
            self.optimizer.update(p, g * scale)
        self.optimizer.step()
""",
    """\
        gradients = dict(autograd.backward(loss))
        self.norm = {p: np.linalg.norm(tensor.to_numpy(g)) for p, g in gradients.items()}
        for p, g in gradients.items():
            self.optimizer.update(p, g)
        self.optimizer.step()
""",
)


def updated(lines: str, loss: str = "self.criterion(out, y)") -> Result:
    """The script with an update of its own."""
    text = SCRIPT.replace("        self.optimizer(loss)\n", lines)
    assert text != SCRIPT
    text = text.replace("self.criterion(out, y)", loss)
    return convert(text.replace("import device", "import autograd, device"))


@pytest.mark.parametrize("lines", CLIPPED)
def test_gradients_that_are_looked_at_are_those_of_the_whole_batch(lines: str) -> None:
    result = updated(lines)
    assert result.outcome is Outcome.CONVERTED, result.findings
    assert "share_gradients(autograd.backward(loss))" in result.text
    assert "_of(tensor.to_numpy(g))" not in result.text


@pytest.mark.parametrize("lines", CLIPPED)
def test_gradients_of_what_is_no_mean_are_refused_for_their_loss(lines: str) -> None:
    result = updated(lines, "autograd.reduce_sum(autograd.abs(autograd.sub(out, y)), axes=[0, 1])")
    assert result.outcome is Outcome.REFUSED
    assert "SG211" in codes(result)
    assert not any("autograd.backward" in finding.message for finding in result.findings)


def test_what_is_made_of_samples_beside_gradients_is_still_refused() -> None:
    lines = CLIPPED[0].replace("tensor.to_numpy(g) **", "tensor.to_numpy(out[0]) **")
    assert "SG142" in codes(updated(lines))


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("self.seen += x.shape[0]", "self.seen += x.shape[0] * get_world_size()"),
        ("self.seen = self.seen + x.shape[0]", ""),
        ("self.sizes.append(x.shape[0])", ""),
        ("self.rows = x.shape[0]", "self.rows = x.shape[0]"),
    ],
)
def test_samples_that_a_model_counts_are_those_of_all_processes(line: str, written: str) -> None:
    update = next(each for each in SCRIPT.splitlines() if "self.optimizer(" in each)
    indentation = update[: len(update) - len(update.lstrip())]
    result = convert(SCRIPT.replace(update, f"{update}\n{indentation}{line}"))
    if written:
        assert result.outcome is Outcome.CONVERTED and f"{written}\n" in result.text
    else:
        assert "SG143" in codes(result)
