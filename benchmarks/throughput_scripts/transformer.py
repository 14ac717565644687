"""A small language model that gathers the gradients of four batches before each step."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

BATCH, GATHERED, LENGTH, WORDS, SIZE = 16, 4, 32, 512, 128


class LanguageModel(nn.Module):  # type: ignore[misc]
    """Predicts the next word at every place."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, SIZE)
        layer = nn.TransformerEncoderLayer(SIZE, 4, 4 * SIZE, 0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(SIZE, WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return the logits of each place."""
        mask = nn.Transformer.generate_square_subsequent_mask(words.size(1))
        hidden = self.layers(self.words(words), mask=mask, is_causal=True)
        logits: torch.Tensor = self.head(hidden)
        return logits


def make_data() -> TensorDataset:
    """Texts."""
    torch.manual_seed(0)
    return TensorDataset(torch.randint(0, WORDS, (40 * GATHERED * BATCH, LENGTH + 1)))


def main() -> None:
    """Train."""
    loader = DataLoader(make_data(), batch_size=BATCH, shuffle=True)
    model = LanguageModel()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    running = 0.0
    for step, (text,) in enumerate(loader):
        logits = model(text[:, :-1])
        loss = criterion(logits.reshape(-1, WORDS), text[:, 1:].reshape(-1))
        (loss / GATHERED).backward()
        running += loss.item()
        if (step + 1) % GATHERED == 0:
            optimizer.step()
            optimizer.zero_grad()
        if (step + 1) % 40 == 0:
            print(f"step {step + 1}: loss {running / 40:.4f}")
            running = 0.0


if __name__ == "__main__":
    main()
