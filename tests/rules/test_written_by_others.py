"""What other packages show: bars that count samples, and summaries of TensorFlow."""

from __future__ import annotations

from small_scripts import converted, findings, script

SUMMARIES = """\
import tensorflow as tf

class Logger:
    def __init__(self, folder):
        self.writer = tf.summary.FileWriter(folder)

    def scalar_summary(self, tag, value, step):
        value = tf.Summary.Value(tag=tag, simple_value=value)
        self.writer.add_summary(tf.Summary(value=[value]), step)
"""
EAGER = """\
import tensorflow as tf

class Logger:
    def __init__(self, folder):
        self.writer = tf.summary.create_file_writer(folder)

    def put(self, tag, value, step):
        with self.writer.as_default():
            tf.summary.scalar(tag, value, step=step)
"""


def lines_of(source: str) -> list[str]:
    """The lines of the output."""
    return [line.strip() for line in converted(source).text.splitlines()]


def test_a_bar_of_training_counts_the_samples_of_all_processes() -> None:
    lines = lines_of(
        script(
            top="from tqdm import tqdm",
            start="bar = tqdm(total=100)",
            step="bar.update(x.shape[0])\nbar.update(1)",
        )
    )
    assert "bar.update(x.shape[0] * get_world_size())" in lines
    assert "bar.update(1)" in lines


def test_a_class_that_writes_summaries_does_so_once() -> None:
    text = script(
        top=SUMMARIES,
        start="logger = Logger('logs')",
        step="logger.scalar_summary('loss', loss.item(), epoch)",
    )
    lines = lines_of(text)
    assert "self.writer = tf.summary.FileWriter(folder) if is_main_process() else None" in lines
    assert "logger.scalar_summary('loss', reduce_mean(loss).item(), epoch)" in lines
    assert not findings(text, "PT603")


def test_summaries_in_eager_mode_are_written_once() -> None:
    text = script(
        top=EAGER,
        start="logger = Logger('logs')",
        step="logger.put('loss', loss.item(), epoch)",
    )
    lines = lines_of(text)
    assert "logger.put('loss', reduce_mean(loss).item(), epoch)" in lines
    assert lines[lines.index("with self.writer.as_default():") - 1] == "if is_main_process():"


def test_a_sum_of_means_over_the_number_of_samples_is_said_to_grow() -> None:
    text = script(
        top="def accuracy(x):\n    return float((x == torch.max(x)).sum()) / float(x.numel())",
        epoch="score, seen = 0.0, 0\nfor x, y in loader:\n    loss = nn.functional.mse_loss("
        "model(x), y)\n    loss.backward()\n    optimizer.step()\n    score += accuracy(x)\n"
        "    seen += x.size(0)\nprint(score / seen)",
    )
    assert any("N times too large" in message for _, _, message in findings(text, "PT603"))
