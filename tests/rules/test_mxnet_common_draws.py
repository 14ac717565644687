"""Random numbers that MXNet's training steps draw once for all samples of a batch."""

from __future__ import annotations

import pytest
from data_way import convert
from mxnet_scripts import GLUON, HEAD, LOADER, STEP, TRAINER, codes

OWN = "        vary_random_numbers()\n"
OWN_OF_HOST = "    vary_augmentations()\n    waiting = []"
COMMON = [
    "mx.nd.random.uniform(shape=(1,))",
    "mx.nd.random.normal(shape=(1, 4))",
    "mx.nd.random.uniform(0, 1, (data.shape[1],))",
    "mx.nd.random.uniform().asscalar()",
]
OF_HOST = ["np.random.beta(0.4, 0.4)", "np.random.rand()", "random.uniform(0, 1)"]


def script(*lines: str, net: str = "") -> str:
    """A training whose steps begin with some lines."""
    body = "".join(f"        {line}\n" for line in lines)
    loop = f"""\
for epoch in range(2):
    for data, label in loader:
{body}        with autograd.record():
            loss = loss_fn(net(data), label)
        loss.backward()
"""
    return "import random\n" + HEAD + net + LOADER + TRAINER + loop + STEP


@pytest.mark.parametrize("drawn", [*COMMON, *OF_HOST])
def test_workers_go_on_drawing_the_same_numbers_for_whole_batches(drawn: str) -> None:
    result = convert(script(f"data = data * {drawn}"))
    assert OWN not in result.text or drawn in OF_HOST
    assert OWN_OF_HOST not in result.text
    assert "MX319" not in codes(result)


@pytest.mark.parametrize("drawn", COMMON)
def test_noise_beside_them_is_of_each_worker_and_said(drawn: str) -> None:
    noise = "data = data + mx.nd.random.normal(shape=data.shape)"
    dropping = "net = gluon.nn.Sequential()\nnet.add(gluon.nn.Dropout(0.5))\n"
    scaled = f"data = data * {drawn}"
    for text in (script(scaled, noise), script(scaled, net=dropping)):
        result = convert(text)
        assert OWN in result.text
        assert "MX319" in codes(result)


@pytest.mark.parametrize("drawn", OF_HOST)
def test_noise_of_the_host_beside_them_is_of_each_worker_and_said(drawn: str) -> None:
    noise = "data = data + mx.nd.array(np.random.randn(*data.shape))"
    result = convert(script(f"data = data * {drawn}", noise))
    assert OWN_OF_HOST in result.text
    assert "MX319" in codes(result)


@pytest.mark.parametrize(
    "line",
    [
        "data = data + mx.nd.random.normal(shape=(data.shape[0], 1))",
        "data = data + mx.nd.random.normal(shape=data.shape)",
        "data = mx.nd.stack(*[row * random.random() for row in data])",
        "print(mx.nd.random.uniform(shape=(1,)).asscalar())",
    ],
)
def test_what_is_drawn_for_each_sample_or_shown_is_of_each_worker(line: str) -> None:
    result = convert(script(line))
    assert "MX319" not in codes(result)
    assert OWN in result.text


def test_a_generator_of_the_script_is_alike_on_all_workers() -> None:
    text = script("data = data * rng.rand()").replace(
        "batch_size = 8\n", "batch_size = 8\nrng = np.random.RandomState(0)\n"
    )
    assert "MX319" not in codes(convert(text))


def test_a_training_without_draws_has_dropout_of_each_worker() -> None:
    assert OWN in convert(GLUON + STEP).text
