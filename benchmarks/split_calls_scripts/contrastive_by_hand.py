"""The two encoders, made distributed by hand."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

SAMPLES, BATCH, SIZE = 25 * 128, 128, 128


def encoder() -> nn.Sequential:
    """Return the encoder of one kind of sample."""
    return nn.Sequential(
        nn.Linear(512, 1024),
        nn.ReLU(),
        nn.Linear(1024, 1024),
        nn.ReLU(),
        nn.Linear(1024, SIZE),
    )


class Encoders(nn.Module):  # type: ignore[misc]
    """Both encoders, so that their gradients travel together."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = encoder(), encoder()

    def forward(self, image: torch.Tensor, text: torch.Tensor) -> torch.Tensor:
        """Return the features of both, one beside the other."""
        image_features = functional.normalize(self.image(image), dim=1)
        text_features = functional.normalize(self.text(text), dim=1)
        return torch.cat([image_features, text_features], dim=1)


def gather(features: torch.Tensor) -> torch.Tensor:
    """Return the features of all ranks, of which those of this rank have gradients."""
    parts = [torch.empty_like(features) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, features.detach())
    parts[dist.get_rank()] = features
    return torch.cat(parts)


def main() -> None:
    """Train."""
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    images, texts = torch.randn(2, SAMPLES, 512)
    data = TensorDataset(images, texts)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=BATCH // dist.get_world_size(), sampler=sampler)
    model = DistributedDataParallel(Encoders())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.001)
    for image, text in loader:
        image_features, text_features = gather(model(image, text)).split(SIZE, dim=1)
        logits = image_features @ text_features.T / 0.07
        target = torch.arange(len(logits))
        loss = functional.cross_entropy(logits, target) + functional.cross_entropy(logits.T, target)
        optimizer.zero_grad()
        # Every rank has the gradients of its own features alone: their sum is needed, not the mean.
        (loss * dist.get_world_size()).backward()
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
