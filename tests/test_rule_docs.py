"""The docstring of a rule is its manual: it is complete, and its example is true."""

from __future__ import annotations

import re
import textwrap

import pytest
import rule_examples_fluid
import rule_examples_mxnet
import rule_examples_paddle
import rule_examples_singa
import rule_examples_tensorflow
from rule_examples import ABOVE, BY_HAND, EXAMPLES, OPTIONS, TOGETHER

from transpile import Options, catalog
from transpile.facts.interpreter import interpret
from transpile.plan.model import Plan, Way
from transpile.plan.roles.build import build_plan
from transpile.prelude import prelude_edits
from transpile.project import Project
from transpile.requested import changes_of
from transpile.rule import Helper, In, Rule, Ruling, Rulings
from transpile.text.edit import apply_edits
from transpile.text.source import read_source

HEADINGS = ("What", "Why", "Before", "After", "Refuses when", "Source")
EXAMPLES = {
    **EXAMPLES,
    **rule_examples_paddle.EXAMPLES,
    **rule_examples_mxnet.EXAMPLES,
    **rule_examples_fluid.EXAMPLES,
    **rule_examples_singa.EXAMPLES,
    **rule_examples_tensorflow.EXAMPLES,
}
BY_HAND = {
    **BY_HAND,
    **rule_examples_paddle.BY_HAND,
    **rule_examples_mxnet.BY_HAND,
    **rule_examples_singa.BY_HAND,
    **rule_examples_tensorflow.BY_HAND,
}
OPTIONS = {
    **OPTIONS,
    **rule_examples_paddle.OPTIONS,
    **rule_examples_fluid.OPTIONS,
    **rule_examples_mxnet.OPTIONS,
    **rule_examples_singa.OPTIONS,
    **rule_examples_tensorflow.OPTIONS,
}
TOGETHER = {**TOGETHER, **rule_examples_paddle.TOGETHER, **rule_examples_singa.TOGETHER}


def key_of(rule: Rule) -> str:
    """What examples call a rule: those of PyTorch by their name alone."""
    return rule.name if rule.framework == "pytorch" else f"{rule.framework}/{rule.name}"


RULES = {key_of(rule): rule for rule in catalog.rules()}
# An example of PyTorch that nothing is said of stands above a short training script.
for _name, _rule in RULES.items():
    if _rule.framework == "pytorch" and _name not in BY_HAND:
        EXAMPLES.setdefault(_name, ABOVE)


def section(rule: Rule, heading: str) -> str:
    """The text under a heading, without its indentation."""
    found = re.search(
        rf"^{heading}:\n(.*?)(?=^(?:{'|'.join(HEADINGS)}):\n|\Z)",
        rule.doc,
        re.DOTALL | re.MULTILINE,
    )
    assert found is not None, f"{rule.name} says nothing under {heading}"
    return textwrap.dedent(found.group(1)).strip("\n")


def plan_of(rule: Rule, script: str) -> Plan:
    """The plan of a script, with the choices that a rule needs."""
    source = read_source(script.encode(), "train.py")
    table = catalog.table(rule.framework)
    project = Project(source, None)
    facts = interpret(project.entry, table.dialect, project.find)
    way: Way = "data" if "data" in rule.ways else "calls"
    return build_plan(facts, table, OPTIONS.get(key_of(rule), Options()), way)


def edited_by(rules: list[Rule], script: str) -> str:
    """The script with the edits of these rules alone, all rules having decided."""
    plan = plan_of(rules[0], script)
    rulings = Rulings({})
    for each in catalog.rules(rules[0].framework):
        if plan.way not in each.ways or plan.options.leave not in each.leaves:
            continue
        rulings.by_rule[each.name] = [a for a in each.decide(plan) if isinstance(a, Ruling)]
    asked = [change for _, changes in changes_of(plan, rulings, rules) for change in changes]
    edits = [change.edit for change in asked if isinstance(change, In)]
    helpers = {change.name for change in asked if isinstance(change, Helper)}
    prelude = prelude_edits(plan, plan.entry, helpers)
    return apply_edits(plan.entry.source.text, [*edits, *prelude])


def squeezed(text: str) -> str:
    """The text without white space and without the commas that black adds."""
    return re.sub(r",(?=[)\]}])", "", re.sub(r"\s+", "", text))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_docstring_has_every_heading(rule: Rule) -> None:
    summary = rule.doc.strip().splitlines()[0]
    assert summary.endswith(".")
    for heading in HEADINGS:
        assert section(rule, heading)


def example(rule: Rule, heading: str, around: str) -> str:
    """A script around the text under a heading, in the place of its line ``@``."""
    text = section(rule, heading)
    script = re.sub(
        r"^( *)@$", lambda found: textwrap.indent(text, found.group(1)), around, flags=re.MULTILINE
    )
    compile(script, rule.name, "exec")
    return script


def test_every_rule_has_an_example() -> None:
    assert set(RULES) == EXAMPLES.keys() | BY_HAND.keys()


@pytest.mark.parametrize("name", BY_HAND)
def test_what_is_left_to_the_user_is_reported_before_and_not_after(name: str) -> None:
    rule = RULES[name]
    assert list(rule.decide(plan_of(rule, example(rule, "Before", BY_HAND[name]))))
    assert not list(rule.decide(plan_of(rule, example(rule, "After", BY_HAND[name]))))


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_comes_out_as_the_docstring_says(name: str) -> None:
    rule = RULES[name]
    script = example(rule, "Before", EXAMPLES[name])
    rules = [rule, *(RULES[other] for other in [TOGETHER.get(name)] if other)]
    assert squeezed(section(rule, "After")) in squeezed(edited_by(rules, script))


def test_no_code_belongs_to_two_rules() -> None:
    seen: dict[str, str] = {}
    for rule in RULES.values():
        for code in rule.codes:
            assert seen.setdefault(code, key_of(rule)) == key_of(rule)
