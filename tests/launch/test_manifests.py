"""Every manifest is one that its platform accepts, and passes on what it was given."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from clusters import documents, expand, pods
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from validation import (
    RELEASES,
    TRAINER_RELEASES,
    check_core,
    check_with_operators,
    load,
    needs_operators,
)

from transpile.launch import targets
from transpile.launch.job import Job
from transpile.launch.manifests.pod import literal
from transpile.launch.manifests.volumes import Volume
from transpile.launch.roles import Resources

EXPECTED = Path(__file__).parent / "expected"
MANIFESTS = (
    *("jobset", "kubernetes", "mpijob", "mxjob", "paddlejob"),
    *("pytorchjob", "tfjob", "trainjob", "volcano"),
)
FULL: dict[str, Any] = {
    "nodes": 3,
    "gpus_per_node": 4,
    "worker_resources": Resources(Decimal("12.5"), 120 * 10**9),
    "environment": (("DATA", "/data/it's here"),),
    "nccl_socket_interface": "ib0",
    "nccl_disable_infiniband": True,
    "max_restarts": 2,
    "image": "registry.example.com/mine:1",
    "namespace": "team-a",
    "work_directory": "/work",
    "volumes": (Volume("data", "/data", read_only=True), Volume("/mnt/out", "/out")),
    "shared_memory": 2**30,
}
WITH_SERVERS: dict[str, Any] = {
    **FULL,
    "servers": 2,
    "server_resources": Resources(Decimal(2), 12 * 10**9),
}
HOSTILE = (
    *("", "-", "--", "--nnodes=9", "a b", "yes", "null", "~", "1", "1e3", "0x1", "2026-11-21"),
    *("$(touch broken)", "$$(HOME)", "$(JOB_COMPLETION_INDEX)", "$(PATH)", "$$", "$$$(A)", "${A}$"),
    *("'; touch broken; '", '"; touch broken; "', "\\", "\\'", "a\\\n", "`x`"),
    *("key: value", "- a", "# no comment", "{a: b}", "[a]", "&a", "*a", "!a", "|", ">", "%", "@"),
    *("\n", "\nspec:\n  x: y\n", "---\n", "...\n", "\r\n", "\t", "a\n\n b\n", " a "),
    *("é ü 漢字 \u200b\u2028\u2029\u00a0\ufeff\x85", "😀", "\x01\x1b[31m\x7f\x81", "“quoted”"),
)

SCRIPTS = ("-x.py", "--", "- a: b.py", "it's $(here).py", "a\n b.py", "yes", "# x.py")

words = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(st.sampled_from("ab '\"\\$(){}!#*?~&|;:<>\n\t-=é%@,[]"), max_size=12),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8),
)
names = st.text(
    st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1, max_size=8
).filter(lambda name: name not in (".", ".."))


def job(**choices: Any) -> Job:
    return Job(**{"script": "train_dist.py", "command": ("disttranspile", "launch"), **choices})


def manifest(target: str, wanted: Job) -> str:
    (text,) = targets()[target](wanted).values()
    return text


def fitting() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every target with every framework, mode and version that it knows."""
    for target in MANIFESTS:
        for framework in sorted(targets()[target].frameworks):
            basis: dict[str, Any] = {"framework": framework}
            if target == "trainjob":
                yield from (
                    (target, {**basis, "trainer_version": each}) for each in TRAINER_RELEASES
                )
            elif target == "mpijob":
                yield from ((target, {**basis, "mpi": each}) for each in (None, "openmpi", "mpich"))
            elif framework == "fluid":
                yield target, {**basis, "gpus_per_node": 1}
                yield target, {**basis, "mode": "pserver"}
            else:
                yield target, basis
                if framework == "paddle":
                    yield target, {**basis, "mode": "pserver"}


FITTING = list(fitting())
FITTING_IDS = ["-".join(map(str, (target, *choices.values()))) for target, choices in FITTING]
each_fitting = pytest.mark.parametrize(("target", "choices"), FITTING, ids=FITTING_IDS)


def full(target: str, choices: dict[str, Any]) -> dict[str, Any]:
    """All that a target knows of."""
    if target == "kubernetes" and choices["framework"] != "pytorch":
        choices = {"max_restarts": 0, **choices}
    has_servers = choices["framework"] == "mxnet" or choices.get("mode") == "pserver"
    return {**(WITH_SERVERS if has_servers else FULL), **choices}


@pytest.fixture(params=["plain", "full"])
def variant(request: pytest.FixtureRequest, target: str, choices: dict[str, Any]) -> Job:
    return job(**(choices if request.param == "plain" else full(target, choices)))


@each_fitting
def test_kubernetes_accepts_it(target: str, variant: Job) -> None:
    check_core(manifest(target, variant))


@needs_operators
@each_fitting
def test_the_operators_accept_it(target: str, variant: Job) -> None:
    releases = RELEASES.get(target, (None,))
    if target == "trainjob":
        releases = (TRAINER_RELEASES[variant.trainer_version],)
    for release in releases:
        check_with_operators(manifest(target, variant), release)


@needs_operators
def test_only_its_own_version_accepts_a_trainjob() -> None:
    texts = {
        version: manifest("trainjob", job(trainer_version=version, **FULL))
        for version in TRAINER_RELEASES
    }
    for version, other in (("2.0", "2.1"), ("2.1", "2.0"), ("2.1", "2.2"), ("2.3", "2.1")):
        with pytest.raises(AssertionError, match="unknown field"):
            check_with_operators(texts[version], TRAINER_RELEASES[other])


@st.composite
def hostile_jobs(draw: st.DrawFn) -> tuple[str, Job]:
    target, choices = draw(st.sampled_from(FITTING))
    gpus = draw(st.integers(1, 8)) if choices["framework"] == "fluid" else None
    hostile: dict[str, Any] = {
        "script": draw(st.sampled_from(SCRIPTS) | names),
        "command": tuple(draw(st.lists(words, min_size=1, max_size=4))),
        "name": draw(words),
        "script_arguments": tuple(draw(st.lists(words, max_size=5))),
        "nodes": draw(st.integers(1, 12)),
        "gpus_per_node": gpus or draw(st.none() | st.integers(1, 8)),
        "environment": tuple({"FIRST": draw(words), "SECOND": draw(words)}.items()),
        "nccl_socket_interface": draw(words),
        "max_restarts": draw(st.none() | st.integers(0, 3)),
        "volumes": draw(st.sampled_from([(), (Volume("/it's $(x) \"", "/a b'é"),)])),
        "work_directory": draw(st.sampled_from(["", "/it's: $(x) é"])),
    }
    if target == "kubernetes" and choices["framework"] != "pytorch":
        hostile["max_restarts"] = 0
    return target, job(**{**choices, **hostile})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hostile_jobs())
def test_every_text_arrives_as_it_was_given(wanted: tuple[str, Job]) -> None:
    target, given_job = wanted
    text = manifest(target, given_job)
    check_core(text)
    arguments = list(given_job.script_arguments)
    running = [pod for pod in pods(text) if pod.words]
    assert running
    for pod in running:
        script = pod.words[len(pod.words) - len(arguments) - 1]
        assert pod.words[len(pod.words) - len(arguments) :] == arguments
        assert script.removeprefix("./") == given_job.script
        assert not script.startswith("-")
        for name, value in given_job.environment:
            assert pod.environment[name] == value


@pytest.fixture(scope="module")
def operators() -> None:
    """Their schemas, read before a test's time is measured."""
    load()


@needs_operators
@pytest.mark.usefixtures("operators")
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hostile_jobs())
def test_the_operators_accept_every_text(wanted: tuple[str, Job]) -> None:
    target, given_job = wanted
    release = TRAINER_RELEASES[given_job.trainer_version] if target == "trainjob" else None
    check_with_operators(manifest(target, given_job), release)


@given(st.one_of(words, st.text(st.sampled_from("$()A"), max_size=12)))
def test_kubernetes_replaces_nothing_in_a_literal(text: str) -> None:
    assert expand(literal(text), {"A": "wrong", "": "wrong"}) == text


def test_the_test_expands_as_kubernetes_does() -> None:
    known = {"A": "1", "B": "$(A)"}
    for text, expected in (
        ("$(A)", "1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(B)", "$(A)"),
        ("$(C)-$", "$(C)-$"),
        ("$A $$ $( $(A", "$A $ $( $(A"),
    ):
        assert expand(text, known) == expected


@pytest.mark.parametrize("target", MANIFESTS)
def test_what_is_no_text_is_refused(target: str) -> None:
    framework = sorted(targets()[target].frameworks)[0]
    for choices in ({"script_arguments": ("\udcff",)}, {"environment": (("A", "\udcff"),)}):
        with pytest.raises(ValueError, match=r"^'\\udcff' cannot stand in a manifest"):
            manifest(target, job(framework=framework, gpus_per_node=1, **choices))


@each_fitting
def test_the_head_says_how_the_file_was_made_and_is_used(target: str, variant: Job) -> None:
    text = manifest(target, variant)
    head = text[: text.index("---\n")]
    assert all(line.startswith("#") for line in head.splitlines())
    assert "#   disttranspile launch\n" in head
    assert "apply -f THIS_FILE" in head
    assert re.search(r"logs -f --prefix", head)
    assert ("-n team-a" in head) == (variant.namespace == "team-a")
    assert ("# change: an image" in text) == (variant.image is None)


@pytest.mark.parametrize("target", MANIFESTS)
def test_a_hostile_command_stays_in_its_comment(target: str) -> None:
    framework = sorted(targets()[target].frameworks)[0]
    command = ("disttranspile", "a\nkind: X", "\x85\u2028é", "\udcff")
    text = manifest(target, job(framework=framework, gpus_per_node=1, command=command))
    plain = manifest(target, job(framework=framework, gpus_per_node=1))
    assert documents(text) == documents(plain)
    (line,) = [line for line in text.split("\n") if line.startswith("#   disttranspile ")]
    done = subprocess.run(
        ["bash", "-c", f"printf '%s\\0' {line[4:]}"], capture_output=True, check=True, timeout=60
    )
    assert done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1] == list(command)


@pytest.mark.parametrize("path", sorted(EXPECTED.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_manifest_is_the_expected_one(path: Path) -> None:
    target, _, framework = path.stem.partition("-")
    wanted = job(**full(target, {"framework": framework}))
    assert manifest(target, wanted) == path.read_text("utf-8")
