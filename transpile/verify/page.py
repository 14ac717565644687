"""An audit's report as a page: verdicts, losses, samples that were seen, and when steps were taken.

The page needs nothing but itself: no scripts, no fonts, pictures as SVG.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from transpile.verify.evidence import RankEvidence, RunEvidence
from transpile.verify.report import AuditReport, RunReport, Status

WIDTH, HEIGHT, MARGIN, FOOT = 860, 280, 64, 32
DASH = 9
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2")
MARKS = {Status.PASSED: "passed", Status.FAILED: "failed", Status.NOT_APPLICABLE: "-"}
STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem;
       color: #1c1c1c; background: #fff; }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 1.5rem; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.6rem;
         border-bottom: 1px solid #ddd; }
table.verdicts { table-layout: fixed; } .verdicts th:nth-child(1) { width: 5rem; }
.verdicts th:nth-child(2) { width: 19rem; }
.failed { color: #b00020; font-weight: 600; } .passed { color: #1b7f3b; }
td.detail { white-space: pre-wrap; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #444; }
figure { margin: 0 0 1.5rem; } figcaption { color: #444; }
"""
Point = tuple[float, float]
Curve = tuple[str, Sequence[Point]]


def page_of(report: AuditReport, title: str) -> str:
    """A page of HTML.

    Args:
        report: what an audit found, with what it saw.
        title: which scripts it is about.
    """
    verdict = '<p class="passed">every check passed</p>'
    if not report.passed:
        verdict = f'<p class="failed">failed: {escape(", ".join(report.failed_names))}</p>'
    body = [f"<h1>{escape(title)}</h1>", verdict]
    if report.extent:
        body.append(f"<p>{report.extent}</p>")
    labelled = list(zip((run.label for run in report.runs), report.seen, strict=False))
    curves = [(label, losses_of(run)) for label, run in labelled]
    body.append("<h2>Losses</h2>")
    body.append(
        figure(
            plot(curves, "backward pass", "loss"),
            "What each backward pass began at; of several processes, the mean over them. Curves of "
            "the same training lie on each other.",
        )
    )
    body += ["<h2>Training data</h2>", coverage(labelled), "<h2>Steps over time</h2>"]
    body += [
        figure(timeline(run), f"{label}: each mark is an optimizer step of one process.")
        for label, run in labelled
    ]
    body += [section(run) for run in report.runs]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        f"</title><style>{STYLE}</style></head>\n<body>\n" + "\n".join(body) + "\n</body></html>\n"
    )


def section(run: RunReport) -> str:
    """The verdicts on one run."""
    rows = "".join(
        f'<tr><td class="{check.status.name.lower()}">{MARKS[check.status]}</td>'
        f'<td>{escape(check.name)}</td><td class="detail">{escape(check.detail)}</td></tr>\n'
        for check in run.checks
    )
    return (
        f"<h2>{escape(run.label)} ({run.seconds:.1f} s)</h2>\n"
        '<table class="verdicts"><tr><th>verdict</th>'
        f"<th>check</th><th>what was seen</th></tr>\n{rows}</table>"
    )


def losses_of(run: RunEvidence) -> list[Point]:
    """The loss of each backward pass, over all ranks that say it."""
    found = []
    for index, values in enumerate(zip(*(rank.losses for rank in run.ranks), strict=False)):
        known = [value for value in values if value is not None]
        if known:
            found.append((float(index + 1), sum(known) / len(known)))
    return found


def coverage(runs: Iterable[tuple[str, RunEvidence]]) -> str:
    """How many of the training samples each rank has seen, pass by pass."""
    rows = "".join(
        f"<tr><td>{escape(label)}</td><td>{rank.rank}</td>{cells}</tr>\n"
        for label, run in runs
        for rank in run.ranks
        for cells in passes_of(rank)
    )
    if not rows:
        return "<p>No data loader was trained on.</p>"
    heads = ("run", "rank", "pass", "batches", "samples", "different ones", "data set")
    head = "".join(f"<th>{word}</th>" for word in heads)
    return f"<table><tr>{head}</tr>\n{rows}</table>"


def passes_of(rank: RankEvidence) -> Iterator[str]:
    """The cells of each pass that trains."""
    for number, entry in enumerate(rank.training, 1):
        length = "" if entry.dataset_length is None else entry.dataset_length
        shown = (number, len(entry.batches), len(entry.samples), len(set(entry.samples)), length)
        yield "".join(f"<td>{value}</td>" for value in shown)


def timeline(run: RunEvidence) -> str:
    """When the optimizers of each rank stepped."""
    end = max((max(rank.step_seconds, default=0.0) for rank in run.ranks), default=0.0) or 1.0
    height = 24 * len(run.ranks) + 40
    parts = []
    for row, rank in enumerate(run.ranks):
        y = 12 + 24 * row
        parts.append(f'<text x="0" y="{y + 5}">rank {rank.rank}</text>')
        for seconds in rank.step_seconds:
            x = MARGIN + seconds / end * (WIDTH - 2 * MARGIN)
            colour = COLOURS[row % len(COLOURS)]
            parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 8}" y2="{y + 8}" stroke="{colour}"/>'
            )
    parts.append(f'<text x="{MARGIN}" y="{height - 6}">0 s</text>')
    parts.append(f'<text x="{WIDTH - MARGIN}" y="{height - 6}">{end:.1f} s</text>')
    return drawing(height, parts)


def plot(curves: Sequence[Curve], across: str, upwards: str) -> str:
    """Curves over each other: equal ones are seen as dashes that take turns on the first."""
    points = [point for _, curve in curves for point in curve]
    if not points:
        return "<p>No backward pass began at a single number.</p>"
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    wide, tall = right - left or 1.0, high - low or 1.0

    def place(point: Point) -> str:
        x = MARGIN + (point[0] - left) / wide * (WIDTH - 2 * MARGIN)
        y = HEIGHT - FOOT - (point[1] - low) / tall * (HEIGHT - MARGIN - FOOT)
        return f"{x:.1f},{y:.1f}"

    parts = [
        f'<rect x="{MARGIN}" y="{MARGIN}" width="{WIDTH - 2 * MARGIN}" '
        f'height="{HEIGHT - MARGIN - FOOT}" fill="none" stroke="#ccc"/>',
        f'<text x="{MARGIN}" y="{HEIGHT - FOOT + 18}">{left:g}</text>',
        f'<text x="{WIDTH - MARGIN}" y="{HEIGHT - FOOT + 18}" text-anchor="end">{right:g} '
        f"{escape(across)}</text>",
        f'<text x="0" y="{HEIGHT - FOOT}">{low:.4g}</text>',
        f'<text x="0" y="{MARGIN + 4}">{high:.4g}</text>',
        f'<text x="0" y="{MARGIN - 14}">{escape(upwards)}</text>',
    ]
    for number, (label, curve) in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        turns = len(curves) - 2
        look = 'stroke-width="8" stroke-opacity="0.3"'
        if number:
            look = (
                f'stroke-width="2" stroke-dasharray="{DASH} {DASH * turns}" '
                f'stroke-dashoffset="{-DASH * (number - 1)}"'
            )
        line = " ".join(place(point) for point in curve)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" {look}/>')
        x = MARGIN + 8 + 150 * number
        parts.append(f'<text x="{x}" y="20" style="fill:{colour}">{escape(label)}</text>')
    return drawing(HEIGHT, parts)


def drawing(height: int, parts: Iterable[str]) -> str:
    """A picture as SVG."""
    return (
        f'<svg viewBox="0 0 {WIDTH + MARGIN} {height}" width="{WIDTH + MARGIN}" '
        f'height="{height}">' + "".join(parts) + "</svg>"
    )


def figure(picture: str, caption: str) -> str:
    """A picture with what it shows."""
    return f"<figure>{picture}<figcaption>{escape(caption)}</figcaption></figure>"
