"""A small language model, whose logits are larger than its inputs by far."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SAMPLES, BATCH, LENGTH, WORDS, SIZE = 20 * 32, 32, 64, 1024, 128


class LanguageModel(nn.Module):  # type: ignore[misc]
    """Predicts the next word at every place."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, SIZE)
        self.places = nn.Parameter(torch.zeros(LENGTH, SIZE))
        layer = nn.TransformerEncoderLayer(SIZE, 4, 4 * SIZE, 0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(SIZE, WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return the logits of each place."""
        length = words.size(1)
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        hidden = self.words(words) + self.places[:length]
        logits: torch.Tensor = self.head(self.layers(hidden, mask=mask, is_causal=True))
        return logits


def main() -> None:
    """Train."""
    torch.manual_seed(0)
    texts = torch.randint(0, WORDS, (SAMPLES, LENGTH + 1))
    loader = DataLoader(TensorDataset(texts), batch_size=BATCH, shuffle=True)
    model = LanguageModel()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    for (text,) in loader:
        logits = model(text[:, :-1])
        loss = criterion(logits.reshape(-1, WORDS), text[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
