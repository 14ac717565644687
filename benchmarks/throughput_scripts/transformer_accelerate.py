"""The language model, made distributed with Accelerate."""

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from torch import nn
from torch.utils.data import DataLoader
from transformer import BATCH, GATHERED, WORDS, LanguageModel, make_data


def main() -> None:
    """Train."""
    accelerator = Accelerator(
        cpu=True,
        gradient_accumulation_steps=GATHERED,
        dataloader_config=DataLoaderConfiguration(split_batches=True),
    )
    model = LanguageModel()
    criterion = nn.CrossEntropyLoss()
    model, optimizer, loader = accelerator.prepare(
        model,
        torch.optim.AdamW(model.parameters(), lr=0.001),
        DataLoader(make_data(), batch_size=BATCH, shuffle=True),
    )
    running = torch.zeros(())
    for step, (text,) in enumerate(loader):
        with accelerator.accumulate(model):
            logits = model(text[:, :-1])
            loss = criterion(logits.reshape(-1, WORDS), text[:, 1:].reshape(-1))
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        running += loss.item()
        if (step + 1) % 40 == 0:
            shown = accelerator.reduce(running, "mean")
            accelerator.print(f"step {step + 1}: loss {shown.item() / 40:.4f}")
            running.zero_()
    accelerator.end_training()


if __name__ == "__main__":
    main()
