"""The language server ``disttranspile lsp``: diagnostics, explanations, and the conversion."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from transpile import __version__
from transpile.editor import remarks
from transpile.editor.look import Choice, Look, look
from transpile.report import Description

Describe = Callable[[str], Description | None]
Choose = Callable[[str], Choice]


def serve(describe: Describe, choose: Choose) -> None:
    """Answer an editor over standard input and output until it says that it is done.

    Args:
        describe: what there is to read about a code.
        choose: what holds for a script, by its path.
    """
    server(describe, choose).start_io()


def server(describe: Describe, choose: Choose) -> LanguageServer:
    """A server that has heard of no file yet; see :func:`serve`."""
    made = LanguageServer("disttranspile", __version__)
    looks: dict[str, Look] = {}

    def inspect(uri: str) -> None:
        document = made.workspace.get_text_document(uri)
        path = to_fs_path(uri)
        if path is None or Path(path).suffix != ".py":
            return
        found = look(document.source, path, choose(path))
        looks[uri] = found
        shown = remarks.diagnostics(
            found.findings, path, document.source.splitlines(), audited=found.audited
        )
        made.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown))

    @made.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(parameters: types.DidOpenTextDocumentParams) -> None:
        inspect(parameters.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(parameters: types.DidSaveTextDocumentParams) -> None:
        inspect(parameters.text_document.uri)

    @made.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(parameters: types.DidCloseTextDocumentParams) -> None:
        uri = parameters.text_document.uri
        looks.pop(uri, None)
        made.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    @made.feature(types.TEXT_DOCUMENT_HOVER)
    def hovered(parameters: types.HoverParams) -> types.Hover | None:
        found = looks.get(parameters.text_document.uri, Look())
        for finding in found.findings:
            if finding.line == parameters.position.line + 1:
                description = describe(finding.code)
                if description is not None:
                    return remarks.hover(description, finding.code)
        return None

    @made.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(
            code_action_kinds=[types.CodeActionKind.RefactorRewrite, types.CodeActionKind.QuickFix]
        ),
    )
    def offered(parameters: types.CodeActionParams) -> list[types.CodeAction]:
        uri = parameters.text_document.uri
        found = looks.get(uri, Look())
        lines = made.workspace.get_text_document(uri).source.splitlines()
        offers = remarks.fixes(uri, found.findings, lines, parameters.range)
        if not found.text:
            return offers
        return [
            *offers,
            types.CodeAction(
                "Write the script for several processes beside this one",
                kind=types.CodeActionKind.RefactorRewrite,
                edit=remarks.conversion(uri, found.text),
            ),
        ]

    return made
