"""Threads that a script starts use the GPU of their process."""

from __future__ import annotations

import pytest
from small_scripts import converted, findings, script, undone

from transpile import Level

RULE = "use-own-gpu-in-threads"
TOP = "import asyncio\nimport threading\nfrom concurrent.futures import ThreadPoolExecutor\n\n"
FETCH = TOP + "def fetch(rows):\n    {}\n    return rows\n\n"
STARTS = (
    "threading.Thread(target=fetch, args=(x,)).start()",
    "threading.Timer(1.0, fetch, (x,)).start()",
    "ThreadPoolExecutor().submit(fetch, x)",
    "list(ThreadPoolExecutor().map(fetch, [x]))",
    "asyncio.run(asyncio.to_thread(fetch, x))",
    "asyncio.new_event_loop().run_in_executor(None, fetch, x)",
)
CLASS = (
    TOP + "class Fetch(threading.Thread):\n"
    "    def run(self):\n"
    '        """Move."""\n'
    "        self.rows = self.rows.cuda()\n\n"
)


def text_of(top: str, batch: str = "", model: str = "model.cuda()") -> str:
    source = script(top=top, batch=batch, model=model)
    return source.replace('default="cuda:0", help="for example cuda:1"', "")


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    "line",
    [
        "rows = rows.cuda()",
        'rows = rows.to("cuda")',
        "rows = rows.to(DEVICE)",
        "rows = torch.zeros(3, device=DEVICE)",
        "torch.cuda.synchronize()",
    ],
)
def test_functions_that_threads_begin_with_choose_the_gpu(start: str, line: str) -> None:
    top = 'DEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n' + FETCH.format(line)
    source = text_of(top, start)
    assert f"def fetch(rows):\n    use_own_gpu()\n    {line}\n" in converted(source).text
    assert undone(source, RULE) == []


def test_methods_that_threads_begin_with_choose_the_gpu() -> None:
    source = text_of(CLASS, "Fetch().start()")
    expected = '        """Move."""\n        use_own_gpu()\n        self.rows'
    assert expected in converted(source).text
    assert undone(source, RULE) == []


@pytest.mark.parametrize(
    ("line", "start", "model"),
    [
        ("rows = rows + 1", STARTS[0], "model.cuda()"),
        ('rows = rows.to("cpu")', STARTS[0], "model.cuda()"),
        ("rows = rows.to(torch.float64)", STARTS[0], "model.cuda()"),
        ("rows = rows.cuda()", "fetch(x)", "model.cuda()"),
    ],
)
def test_other_functions_stay(line: str, start: str, model: str) -> None:
    assert "use_own_gpu" not in converted(text_of(FETCH.format(line), start, model)).text


def test_functions_without_lines_are_told() -> None:
    source = text_of(TOP, "threading.Thread(target=lambda: x.cuda()).start()")
    ((level, _, _),) = findings(source, "PT816")
    assert level is Level.WARNING
