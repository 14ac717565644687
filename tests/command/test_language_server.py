"""The language server, driven over its protocol as an editor does."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

ROOT = Path(__file__).resolve().parents[2]
TRAIN = (ROOT / "fixtures" / "pytorch" / "main_sgd" / "train.py").read_text("utf-8")
HANGS = (ROOT / "fixtures" / "audit" / "some_ranks_meet" / "wrong.py").read_text("utf-8")
SHUFFLED = (ROOT / "fixtures" / "audit" / "shares_of_data" / "wrong.py").read_text("utf-8")
REFUSED = """\
import torch
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 2)
(gradient,) = torch.autograd.grad(net(x).mean(), [net.weight])
net.weight.grad = gradient
optimizer.step()
"""
Session = Callable[[LanguageClient, list[types.PublishDiagnosticsParams]], Awaitable[None]]


def in_session(session: Session) -> None:
    """Start the server, run a session with it, and end it in order."""

    async def run() -> None:
        client = LanguageClient("editor", "1")
        told: list[types.PublishDiagnosticsParams] = []

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def tell(parameters: types.PublishDiagnosticsParams) -> None:
            told.append(parameters)

        await client.start_io(sys.executable, "-m", "transpile", "lsp")
        await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        client.initialized(types.InitializedParams())
        await session(client, told)
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()  # type: ignore[no-untyped-call]

    asyncio.run(asyncio.wait_for(run(), 60))


async def opened(
    client: LanguageClient,
    told: list[types.PublishDiagnosticsParams],
    path: Path,
    text: str,
) -> list[types.Diagnostic]:
    """What is told of a file once it is opened."""
    before = len(told)
    client.text_document_did_open(
        types.DidOpenTextDocumentParams(
            types.TextDocumentItem(path.as_uri(), types.LanguageKind.Python, 1, text)
        )
    )
    while len(told) == before:
        await asyncio.sleep(0.02)
    assert told[-1].uri == path.as_uri()
    return list(told[-1].diagnostics)


def actions(path: Path) -> types.CodeActionParams:
    start = types.Position(0, 0)
    return types.CodeActionParams(
        types.TextDocumentIdentifier(path.as_uri()),
        types.Range(start, start),
        types.CodeActionContext([]),
    )


def test_an_editor_is_told_and_offered_the_conversion(tmp_path: Path) -> None:
    async def session(client: LanguageClient, told: list[types.PublishDiagnosticsParams]) -> None:
        refused, train = tmp_path / "refused.py", tmp_path / "train.py"
        found = await opened(client, told, refused, REFUSED)
        shown = next(one for one in found if one.code == "PT304")
        assert shown.severity == types.DiagnosticSeverity.Warning
        line = REFUSED.splitlines()[shown.range.start.line]
        said = line[shown.range.start.character : shown.range.end.character]
        assert said == "torch.autograd.grad"
        hover = await client.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(refused.as_uri()), shown.range.start)
        )
        assert hover is not None
        assert isinstance(hover.contents, types.MarkupContent)
        assert "PT304" in hover.contents.value
        assert "Refuses when" in hover.contents.value
        assert not await client.text_document_code_action_async(actions(refused))

        await opened(client, told, train, TRAIN)
        (offered,) = await client.text_document_code_action_async(actions(train)) or ()
        assert isinstance(offered, types.CodeAction)
        assert offered.edit is not None
        created, written = offered.edit.document_changes or ()
        assert isinstance(created, types.CreateFile)
        assert created.uri == (tmp_path / "train_dist.py").as_uri()
        assert isinstance(written, types.TextDocumentEdit)
        assert "DistributedDataParallel(" in str(written.edits)

    in_session(session)


def test_a_distributed_script_is_audited_and_comments_are_heard(tmp_path: Path) -> None:
    async def session(client: LanguageClient, told: list[types.PublishDiagnosticsParams]) -> None:
        found = await opened(client, told, tmp_path / "hangs.py", HANGS)
        first = next(one for one in found if one.code == "AU101")
        assert first.severity == types.DiagnosticSeverity.Error
        lines = HANGS.splitlines()
        lines[first.range.start.line] += "  # disttranspile: ignore[AU101] known"
        text = "\n".join(lines)
        again = await opened(client, told, tmp_path / "known.py", text)
        assert len(again) == len(found) - 1

        # Where the advice is mechanical, one click follows it.
        path = tmp_path / "shuffled.py"
        (shuffles,) = [
            one for one in await opened(client, told, path, SHUFFLED) if one.code == "AU204"
        ]
        where = types.CodeActionParams(
            types.TextDocumentIdentifier(path.as_uri()), shuffles.range, types.CodeActionContext([])
        )
        (action,) = await client.text_document_code_action_async(where) or ()
        assert isinstance(action, types.CodeAction) and action.edit is not None
        ((edit,),) = (action.edit.changes or {}).values()
        line = SHUFFLED.splitlines()[edit.range.start.line]
        assert "shuffle=True" in line[edit.range.start.character : edit.range.end.character]
        assert edit.new_text == ""

        assert await opened(client, told, tmp_path / "other.py", "import json\n") == []
        assert await opened(client, told, tmp_path / "broken.py", "import torch\ndef f(:\n") == []

    in_session(session)


def test_what_the_project_accepts_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "some/disttranspile.toml").write_text('ignore = ["AU1"]\n')
    (tmp_path / "known").mkdir()
    (tmp_path / "known/disttranspile.toml").write_text('baseline = "known.json"\n')
    (tmp_path / "known/hangs.py").write_text(HANGS)
    words = [sys.executable, "-m", "transpile", "audit", "hangs.py", "--write-baseline"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    assert subprocess.run(words, cwd=tmp_path / "known", env=environment).returncode == 0

    async def session(client: LanguageClient, told: list[types.PublishDiagnosticsParams]) -> None:
        codes = {one.code for one in await opened(client, told, tmp_path / "hangs.py", HANGS)}
        found = await opened(client, told, tmp_path / "some/hangs.py", HANGS)
        assert {one.code for one in found} == {code for code in codes if "AU1" not in str(code)}
        found = await opened(client, told, tmp_path / "known/hangs.py", HANGS)
        assert all(one.severity == types.DiagnosticSeverity.Information for one in found)
        # An entry is about one line: the next one like it is shown.
        twice = await opened(client, told, tmp_path / "known/hangs.py", HANGS)
        assert len(twice) == len(found)

    in_session(session)
