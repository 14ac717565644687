"""Environments that nothing seeds play another game in each process."""

from __future__ import annotations

import pytest

from transpile import Options, convert

SCRIPT = """\
import os
import random
import sys

import procgen

import gymnasium as gym
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
env = gym.make("Pendulum-v1")
{seeded}
q = nn.Linear(4, 1)
optimizer = torch.optim.Adam(q.parameters(), 1e-2)
memory, (state, _) = [], env.reset({reset})
for step in range(60):
    action = {action}
    after, reward, done, _, _ = env.step(action)
    memory.append((state, action, reward))
    state = env.reset()[0] if done else after
    if step > 20:
        chosen = random.sample(memory, 8)
        x = torch.tensor(np.array([np.concatenate([e[0], e[1]]) for e in chosen])).float()
        y = torch.tensor(np.array([e[2] for e in chosen])).float()
        loss = ((q(x)[:, 0] - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
DRAWN = "np.random.uniform(-1, 1, 1)"
SPACE = "env.action_space.sample()"


def told(level: str, **parts: str) -> int:
    """How many remarks of a level a script has on its environment."""
    fields = {"seeded": "", "reset": "", "action": DRAWN, **parts}
    found = convert(SCRIPT.format(**fields), Options(), path="train.py").findings
    assert "DT015" in [each.code for each in found]
    return sum(each.code == "PT359" and each.level.name == level for each in found)


@pytest.mark.parametrize(
    ("parts", "warned", "noted"),
    [
        ({}, 1, 0),
        ({"reset": "seed=None"}, 1, 0),
        ({"seeded": "env = procgen.ProcgenGym3Env(num=1, env_name='coinrun')"}, 1, 0),
        ({"seeded": "env = procgen.ProcgenGym3Env(num=1, rand_seed=3)"}, 0, 0),
        ({"seeded": "env = gym.wrappers.Clip(procgen.Env(rand_seed=3))"}, 0, 0),
        ({"reset": "seed=os.getpid()"}, 1, 0),
        ({"action": SPACE}, 2, 0),
        ({"action": SPACE, "reset": "seed=1"}, 1, 0),
        ({"seeded": "env = gym.wrappers.ClipAction(env)"}, 1, 0),
        ({"seeded": "if len(sys.argv) > 1:\n    env.seed(1)"}, 0, 1),
        ({"reset": "seed=1"}, 0, 0),
        ({"seeded": "env.seed(1)"}, 0, 0),
        ({"seeded": "env = gym.wrappers.ClipAction(env)\nenv.seed(1)"}, 0, 0),
        ({"seeded": "env.action_space.seed(1)", "action": SPACE, "reset": "seed=1"}, 0, 0),
        ({"seeded": "env.action_space.seed(1)", "action": SPACE}, 1, 0),
    ],
)
def test_what_nothing_seeds_is_warned_of(parts: dict[str, str], warned: int, noted: int) -> None:
    assert (told("WARNING", **parts), told("NOTE", **parts)) == (warned, noted)
