"""What MXNet's workers do once, one after the other, or leave to rank 0."""

from __future__ import annotations

from data_way import convert
from mxnet_scripts import FIT, GLUON, HEAD, STEP, SYMBOL, codes

from transpile import Outcome

FETCH = """\
import os
import sys

if not os.path.exists("data/train.rec"):
    os.system("mkdir data")
    os.system("wget http://example.com/data.zip && unzip data.zip")
"""


def test_programs_that_fetch_data_where_it_is_missing_run_in_turn() -> None:
    for script in (HEAD + FETCH + SYMBOL + FIT, FETCH + GLUON + STEP):
        text = convert(script).text
        assert "with main_process_first():\n    if not os.path.exists" in text
    text = convert(HEAD + "import os\n\nos.system('tar xzf a.tgz')\n" + SYMBOL + FIT).text
    assert "with main_process_first():\n    os.system('tar xzf a.tgz')" in text


def test_other_programs_run_once() -> None:
    text = convert(GLUON + STEP + "import os\n\nos.system('nvidia-smi')\n").text
    assert "if is_main_process():\n    os.system('nvidia-smi')" in text


def test_what_writes_itself_is_bound_to_a_name_first() -> None:
    made = "def made():\n    print(1)\n    return net\n\n\nmade().save_parameters('a')\n"
    result = convert(GLUON + STEP + made)
    assert result.outcome is Outcome.CONVERTED
    written = "made_result = made()\nif is_main_process():\n    made_result.save_parameters('a')"
    assert written in result.text


def test_a_store_that_an_option_makes_distributed_is_left_alone() -> None:
    option = (
        "import argparse\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--kv-store", default="KIND")\n'
        "kv = mx.kv.create(parser.parse_args().kv_store)\n"
    )
    fit = FIT.replace("num_epoch", "kvstore=kv, num_epoch")
    shared = convert(HEAD + SYMBOL + option.replace("KIND", "dist_async") + fit)
    assert shared.outcome is Outcome.UNCHANGED
    assert codes(shared) == {"DT003"}
    alone = convert(HEAD + SYMBOL + option.replace("KIND", "device") + fit)
    assert alone.outcome is Outcome.CONVERTED


def test_effects_between_the_imports_stay_as_they_are_and_are_said() -> None:
    early = "import os\nimport matplotlib\n\nmatplotlib.use('agg')\nprint(1)\nos.makedirs('out')\n"
    result = convert(early + GLUON + STEP)
    assert [f.code for f in result.findings].count("DT013") == 2
    assert "\nprint(1)\nos.makedirs('out')\n" in result.text
    assert "DT013" not in codes(convert(GLUON + STEP + early))
