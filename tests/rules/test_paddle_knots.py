"""Numbers that depend on each other in knots are given up in time."""

from __future__ import annotations

from time import process_time

from data_way import convert

NAMES = [f"n{number}" for number in range(14)]
SCRIPT = "\n".join(
    [
        "import paddle",
        "from paddle.io import DataLoader, TensorDataset",
        "train_set = TensorDataset([paddle.randn([64, 4]), paddle.randint(0, 2, [64])])",
        "loader = DataLoader(train_set, batch_size=16)",
        "model = paddle.nn.Linear(4, 2)",
        "optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())",
        *(f"{name} = 0.0" for name in NAMES),
        "for x, y in loader:",
        "    loss = paddle.nn.functional.cross_entropy(model(x), y)",
        "    loss.backward()",
        "    optimizer.step()",
        "    optimizer.clear_grad()",
        *(
            f"    {name} = loss.item() + {' + '.join(other for other in NAMES if other != name)}"
            for name in NAMES
        ),
        f"print({', '.join(NAMES)})",
        "",
    ]
)


def test_a_knot_of_numbers_is_given_up() -> None:
    begun = process_time()
    result = convert(SCRIPT.encode(), path="train.py")
    assert process_time() - begun < 20
    assert "DT904" not in {finding.code for finding in result.findings}
