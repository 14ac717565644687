from dataclasses import asdict, dataclass, field
from typing import List, Tuple
import json
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from distributed_utils import cleanup, is_main, mean, setup, share_of, world_size


@dataclass
class TrainConfig:
    batch_size: int = 30
    max_epochs: int = 5
    learning_rate: float = 0.05
    hidden: List[int] = field(default_factory=lambda: [24, 24])
    seed: int = 3
    device: str = "cuda" if torch.cuda.is_available() else "cpu"


class Data:
    """Class attributes as settings, the old way."""
    N_TRAIN = 540
    N_TEST = 180
    N_FEATURES = 7


class Ordinal(Dataset):
    def __init__(self, n: int, seed: int) -> None:
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, Data.N_FEATURES, generator=g)
        raw = self.x[:, 0] + 0.5 * self.x[:, 1] ** 2
        self.y = (raw > 0).long() + (raw > 1).long()

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, item: int) -> Tuple[Tensor, Tensor]:
        return self.x[item], self.y[item]


class Net(nn.Module):
    def __init__(self, sizes: List[int]) -> None:
        super().__init__()
        layers: List[nn.Module] = []
        for before, after in zip(sizes[:-2], sizes[1:-1]):
            layers += [nn.Linear(before, after), nn.ELU()]
        layers.append(nn.Linear(sizes[-2], sizes[-1]))
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def training_step(model: nn.Module, batch: Tuple[Tensor, Tensor], cfg: TrainConfig) -> Tuple[Tensor, int]:
    x, y = (t.to(cfg.device) for t in batch)
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    return loss, int((logits.argmax(1) == y).sum())


def fit(cfg: TrainConfig) -> nn.Module:
    torch.manual_seed(cfg.seed)
    train_data, sampler = Ordinal(Data.N_TRAIN, 1), None
    if world_size() > 1:
        sampler = DistributedSampler(train_data, shuffle=False)
    train_loader = DataLoader(train_data, batch_size=share_of(cfg.batch_size), sampler=sampler)
    test_loader = DataLoader(Ordinal(Data.N_TEST, 2), batch_size=cfg.batch_size)
    model = Net([Data.N_FEATURES, *cfg.hidden, 3]).to(cfg.device)
    if world_size() > 1:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.learning_rate, momentum=0.9)

    steps_per_epoch = Data.N_TRAIN // cfg.batch_size
    for epoch in range(cfg.max_epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        model.train()
        correct = 0
        for step, batch in enumerate(train_loader, start=1):
            loss, hits = training_step(model, batch, cfg)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            correct += hits
            if step == steps_per_epoch:
                loss, share = mean(loss), mean(torch.tensor(float(correct))) * world_size()
                if is_main():
                    print(f"epoch {epoch}: last loss {loss:.4f}, train accuracy {share / Data.N_TRAIN:.3f}")

        model.eval()
        with torch.no_grad():
            correct = sum(training_step(model, batch, cfg)[1] for batch in test_loader)
        if is_main():
            print(f"         test accuracy {correct / Data.N_TEST:.3f}")
    return model.module if world_size() > 1 else model


if __name__ == "__main__":
    config = TrainConfig()
    setup()
    if is_main():
        print(json.dumps(asdict(config)))
    trained = fit(config)
    if is_main():
        torch.save({"config": asdict(config), "state_dict": trained.state_dict()}, "ordinal.pt")
    cleanup()
