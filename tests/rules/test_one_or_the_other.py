"""What ``given or default`` holds: callbacks and settings that are not always there."""

from __future__ import annotations

import pytest
from data_way import convert

SCRIPT = """\
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Checkpoint:
    def on_epoch_end(self, trainer, logs):
        torch.save(trainer.model.state_dict(), "best.pt")


class History:
    def __init__(self):
        self.losses = []

    def on_batch_end(self, trainer, logs):
        self.losses.append(logs["loss"])


class Trainer:
    def __init__(self, model, callbacks=None, history=None):
        self.model = model
        self.callbacks = {callbacks}
        self.history = {history}

    def fit(self, loader):
        optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        for x, y in loader:
            loss = nn.functional.mse_loss(self.model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            self.history.on_batch_end(self, {{"loss": loss.item()}})
        for callback in self.callbacks:
            {call}


history = History()
data = TensorDataset(torch.randn(60, 4), torch.randn(60, 1))
trainer = Trainer(nn.Linear(4, 1), [Checkpoint()], history)
trainer.fit(DataLoader(data, batch_size=12, shuffle=True))
torch.save(history.losses, "losses.pt")
"""
DIRECT = "callback.on_epoch_end(self, {})"


@pytest.mark.parametrize("callbacks", ["callbacks", "callbacks or []", "list(callbacks or [])"])
@pytest.mark.parametrize("history", ["history", "history or History()"])
@pytest.mark.parametrize("call", [DIRECT, 'getattr(callback, "on_epoch_end")(self, {})'])
def test_what_it_calls_is_known(callbacks: str, history: str, call: str) -> None:
    text = convert(SCRIPT.format(callbacks=callbacks, history=history, call=call)).text
    assert 'torch.save(unwrap(trainer.model).state_dict(), "best.pt")' in text
    assert "reduce_mean(loss).item()" in text or "average_numbers" in text
