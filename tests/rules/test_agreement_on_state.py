"""What training starts from is the same everywhere: orders, splits, weights; or it is reported."""

from __future__ import annotations

import pytest
from small_scripts import converted, findings, new_lines, script, undone

from transpile import Level

SPLIT = """order = {}
loader = DataLoader(torch.utils.data.Subset(data, order[:6]), batch_size=4)"""
FOLDS = """for fold in range(3):
    {seed}
    split = {draw}
    inner = DataLoader(torch.utils.data.Subset(data, split[:6]), batch_size=2)
    for epoch in range(2):
        for x, y in inner:
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()"""
SKLEARN = "from sklearn.model_selection import train_test_split\n"
NUMPY = "import numpy as np\n"
TEACHER = """teacher = {}
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x), teacher(x)).backward()
    optimizer.step()"""


def ordered_lines(source: str) -> list[str]:
    """The lines of the output that have an order, or a draw, of their own."""
    return [line for line in new_lines(source) if "from_main_process(" in line or "sorted(" in line]


@pytest.mark.parametrize(
    ("start", "line"),
    [
        ("words = list(set('b a'.split()))", "words = sorted(set('b a'.split()))"),
        (
            "ids = {w: i for i, w in enumerate(set(open('f').read().split()))}",
            "ids = {w: i for i, w in enumerate(sorted(set(open('f').read().split())))}",
        ),
        (
            "ids = {}\nfor word in set('b a'.split()):\n    ids[word] = len(ids)",
            "for word in sorted(set('b a'.split())):",
        ),
        (
            "words = []\nfor word in {'b', 'a'} | {'c'}:\n    words.append(word)",
            "for word in sorted({'b', 'a'} | {'c'}):",
        ),
        (
            "words = tuple({w.lower() for w in ['A']})",
            "words = tuple(sorted({w.lower() for w in ['A']}))",
        ),
        (
            "import json\nnames = list(set(json.load(open('f'))))",
            "names = from_main_process(list(set(json.load(open('f')))))",
        ),
        (
            "import json\nids = {n: i for i, n in enumerate(set(json.loads('[]')))}",
            "ids = {n: i for i, n in enumerate(from_main_process(list(set(json.loads('[]')))))}",
        ),
    ],
)  # fmt: skip
def test_sets_have_one_order(start: str, line: str) -> None:
    source = script(start=start)
    assert ordered_lines(source) == [line]
    assert undone(source, "agree-on-order") == []


@pytest.mark.parametrize(
    "start",
    [
        "words = sorted(set('b a'.split()))",
        "words = sorted(list(set('b a'.split())))",
        "count = len(list(set('b a'.split())))",
        "words = list(set('b a'.split()))\nwords.sort()",
        "words = list(set('b a'.split()))\ncount = len(words)",
        "rest = list(set(range(10)) - {1, 2})",
        "labels = list(set(torch.zeros(3).tolist()))",
        "for word in set('b a'.split()):\n    print(word)",
        "both = {w for w in set('b a'.split())}",
    ],
)
def test_sets_that_have_one_order_already_or_need_none_stay(start: str) -> None:
    assert ordered_lines(script(start=start)) == []


@pytest.mark.parametrize(
    "start",
    [
        "classes = {c: i for i, c in enumerate(os.listdir('data'))}",
        "names = os.listdir('data')\nclasses = {c: i for i, c in enumerate(names)}",
        "names = [n for n in os.listdir('data')]\nclasses = {c: i for i, c in enumerate(names)}",
    ],
)
def test_listings_that_number_something_are_those_of_rank_0(start: str) -> None:
    source = script(start=start)
    (line,) = ordered_lines(source)
    assert "from_main_process(os.listdir('data'))" in line
    assert undone(source, "agree-on-order") == []


def test_listings_that_the_data_is_read_from_are_those_of_rank_0() -> None:
    source = script(
        top="import glob\n",
        resume="files = glob.glob('*.pt')\nloader = DataLoader(files, batch_size=4)",
        end="for x, y in loader:\n    model(x).sum().backward()\n    optimizer.step()",
    )
    assert ordered_lines(source) == ["files = from_main_process(glob.glob('*.pt'))"]
    assert undone(source, "agree-on-order") == []


@pytest.mark.parametrize(
    "start",
    [
        "classes = {c: i for i, c in enumerate(sorted(os.listdir('data')))}",
        "for name in os.listdir('out'):\n    os.remove(name)",
        "count = len(os.listdir('data'))",
        "names = os.listdir('data')\nnames.sort()\nids = {c: i for i, c in enumerate(names)}",
    ],
)
def test_other_listings_stay(start: str) -> None:
    source = script(start=start)
    assert ordered_lines(source) == []
    assert findings(source, "PT732") == []


COMPLETE = """\
def complete():
    if not os.path.exists("out"):
        return False
    return [(i, torch.load(name)) for i, name in enumerate(os.listdir("out"))]


if not complete():
    MAKE
"""


def test_a_listing_behind_a_test_for_what_the_script_makes_is_no_place_to_agree() -> None:
    source = script(start=COMPLETE.replace("MAKE", 'os.mkdir("out")'))
    assert ordered_lines(source) == []
    assert len(findings(source, "PT732")) == 1
    other = script(start=COMPLETE.replace("MAKE", 'os.mkdir("elsewhere")'))
    assert any("from_main_process(os.listdir" in line for line in ordered_lines(other))


def test_a_listing_that_cannot_be_sent_is_reported() -> None:
    start = "from pathlib import Path\nids = {p: i for i, p in enumerate(Path('d').iterdir())}"
    found = findings(script(start=start), "PT732")
    assert [level for level, _, _ in found] == [Level.WARNING]


@pytest.mark.parametrize(
    ("parts", "line"),
    [
        (
            {"top": NUMPY, "resume": SPLIT.format("np.random.default_rng().permutation(8)")},
            "order = from_main_process(np.random.default_rng().permutation(8))",
        ),
        (
            {"end": FOLDS.format(draw="torch.randperm(8)", seed="pass")},
            "split = from_main_process(torch.randperm(8))",
        ),
        (
            {"top": NUMPY, "end": FOLDS.format(draw="np.random.permutation(8)", seed="pass")},
            "split = from_main_process(np.random.permutation(8))",
        ),
    ],
)
def test_splits_that_no_seed_makes_equal_are_drawn_by_rank_0(
    parts: dict[str, str], line: str
) -> None:
    source = script(**parts)
    assert ordered_lines(source) == [line]
    assert undone(source, "agree-on-splits") == []


@pytest.mark.parametrize(
    "parts",
    [
        {"resume": SPLIT.format("torch.randperm(8)")},
        {"top": SKLEARN + NUMPY, "resume": SPLIT.format("train_test_split(list(range(8)))[0]")},
        {"top": SKLEARN, "resume": SPLIT.format("train_test_split(list(range(8)))[0]")},
        {
            "top": SKLEARN,
            "resume": SPLIT.format("train_test_split(list(range(8)), random_state=0)[0]"),
        },
        {"top": NUMPY, "resume": SPLIT.format("np.random.default_rng(0).permutation(8)")},
        {"top": "torch.manual_seed(0)\norder = torch.randperm(8)\n",
         "resume": SPLIT.format("order")},
        {"end": FOLDS.format(draw="torch.randperm(8)", seed="torch.manual_seed(fold)")},
        {"top": "import random\n", "step": "number = random.sample(range(8), 3)"},
    ],
)  # fmt: skip
def test_splits_that_are_equal_anyway_stay(parts: dict[str, str]) -> None:
    source = script(**parts)
    assert ordered_lines(source) == []
    assert findings(source, "PT733") == []


def test_a_split_that_nobody_seeds_is_drawn_once_the_processes_know_each_other() -> None:
    parts = {"top": "order = torch.randperm(8)\n", "resume": SPLIT.format("order")}
    assert findings(script(**parts), "PT733") == []
    text = converted(script(**parts)).text
    assert text is not None
    above = text[: text.index("order = torch.randperm(8)")]
    assert "setup_distributed()\nshare_random_state()\n" in above


def test_a_split_that_cannot_be_sent_is_drawn_with_the_random_state_of_rank_0() -> None:
    draw = FOLDS.format(draw="torch.utils.data.random_split(data, [6, 2])[0]", seed="pass")
    lines = new_lines(script(end=draw.replace("torch.utils.data.Subset(data, split[:6])", "split")))
    assert "with shared_randomness():" in lines


def test_a_hash_of_a_string_is_reported() -> None:
    found = findings(script(start="bucket = hash('word') % 7"), "PT734")
    assert [level for level, _, _ in found] == [Level.WARNING]
    assert findings(script(start="bucket = hash(3) % 7"), "PT734") == []


def test_random_weights_of_each_process_are_reported() -> None:
    late = script(epoch=TEACHER.format("nn.Sequential(nn.Linear(3, 1))"))
    assert [level for level, _, _ in findings(late, "PT735")] == [Level.WARNING]
    without = script(epoch=TEACHER.format("nn.Softmax(dim=1)"))
    assert findings(without, "PT735") == []
    early = script(resume="teacher = nn.Linear(3, 1)", batch="y = teacher(x)")
    assert findings(early, "PT735") == []


def test_a_random_state_restored_in_training_is_reported() -> None:
    restore = "torch.set_rng_state(torch.load('rng.pt'))"
    assert findings(script(epoch=restore), "PT736")
    assert findings(script(resume=restore), "PT736") == []


def test_nothing_is_said_of_a_script_that_agrees_on_nothing() -> None:
    codes = {finding.code for finding in converted(script()).findings}
    assert not any(code.startswith("PT73") for code in codes)
