"""Segment circles with a tiny U-Net, in mixed precision where there is a GPU."""

from pathlib import Path
import argparse
import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from distributed_utils import cleanup, is_main, mean, setup, share_of, world_size

dir_checkpoint = Path('./checkpoints/')


class CircleDataset(Dataset):
    def __init__(self, length: int, size: int = 16, seed: int = 0):
        self.length = length
        self.size = size
        self.seed = seed

    def __len__(self):
        return self.length

    def __getitem__(self, idx):
        g = torch.Generator().manual_seed(self.seed * 100_000 + idx)
        cx, cy = torch.randint(4, self.size - 4, (2,), generator=g).tolist()
        radius = 2 + 2 * torch.rand(1, generator=g).item()
        ys, xs = torch.meshgrid(torch.arange(self.size), torch.arange(self.size), indexing='ij')
        mask = (xs - cx) ** 2 + (ys - cy) ** 2 <= radius ** 2
        image = mask + 0.5 * torch.randn(self.size, self.size, generator=g)
        return {'image': image.unsqueeze(0), 'mask': mask.long()}


class MiniUNet(nn.Module):
    def __init__(self, n_channels=1, n_classes=2):
        super().__init__()
        self.n_channels = n_channels
        self.n_classes = n_classes
        self.inc = self._double(n_channels, 8)
        self.down = self._double(8, 16)
        self.up = self._double(16 + 8, 8)
        self.outc = nn.Conv2d(8, n_classes, kernel_size=1)

    @staticmethod
    def _double(cin, cout):
        return nn.Sequential(
            nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))

    def forward(self, x):
        x1 = self.inc(x)
        x2 = self.down(F.max_pool2d(x1, 2))
        up = F.interpolate(x2, scale_factor=2)
        return self.outc(self.up(torch.cat([up, x1], dim=1)))


@torch.inference_mode()
def evaluate(net, dataloader, device, amp):
    net.eval()
    intersection, union = 0, 0
    with torch.autocast(device.type, enabled=amp):
        for batch in dataloader:
            image, mask_true = batch['image'].to(device), batch['mask'].to(device)
            mask_pred = net(image).argmax(dim=1)
            intersection += (mask_pred * mask_true).sum().item()
            union += ((mask_pred + mask_true) > 0).sum().item()
    net.train()
    return intersection / max(union, 1)


def train_model(model, device, epochs: int = 2, batch_size: int = 16, learning_rate: float = 1e-2,
                save_checkpoint: bool = True, amp: bool = False, gradient_clipping: float = 1.0):
    train_set = CircleDataset(240, seed=1)
    val_set = CircleDataset(48, seed=2)
    loader_args = dict(num_workers=0, pin_memory=device.type == 'cuda')
    sampler = None
    if world_size() > 1:
        sampler = DistributedSampler(train_set)
    train_loader = DataLoader(train_set, batch_size=share_of(batch_size), sampler=sampler,
                              shuffle=sampler is None, **loader_args)
    val_loader = DataLoader(val_set, batch_size=batch_size, drop_last=True, **loader_args)

    logging.info(f'''Starting training:
        Epochs:          {epochs}
        Batch size:      {batch_size}
        Learning rate:   {learning_rate}
        Training size:   {len(train_set)}
        Checkpoints:     {save_checkpoint}
        Device:          {device.type}
        Mixed Precision: {amp}
    ''')

    net = model
    if world_size() > 1:
        if device.type == 'cuda':
            net = model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
        model = DistributedDataParallel(model)
    optimizer = optim.RMSprop(model.parameters(), lr=learning_rate, weight_decay=1e-8, momentum=0.9)
    grad_scaler = torch.cuda.amp.GradScaler(enabled=amp)
    criterion = nn.CrossEntropyLoss()
    global_step = 0

    for epoch in range(1, epochs + 1):
        if sampler is not None:
            sampler.set_epoch(epoch)
        model.train()
        epoch_loss = 0
        for batch in train_loader:
            images, true_masks = batch['image'], batch['mask']

            assert images.shape[1] == net.n_channels, \
                f'Network has been defined with {net.n_channels} input channels, ' \
                f'but loaded images have {images.shape[1]} channels.'

            images = images.to(device=device)
            true_masks = true_masks.to(device=device)

            with torch.autocast(device.type, enabled=amp):
                masks_pred = model(images)
                loss = criterion(masks_pred, true_masks)

            optimizer.zero_grad(set_to_none=True)
            grad_scaler.scale(loss).backward()
            grad_scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), gradient_clipping)
            grad_scaler.step(optimizer)
            grad_scaler.update()

            global_step += 1
            epoch_loss += loss.item()

        epoch_loss = mean(torch.tensor(epoch_loss, dtype=torch.float64)).item()
        iou = evaluate(net, val_loader, device, amp)
        logging.info(f'epoch {epoch} step {global_step} loss {epoch_loss / len(train_loader):.4f} IoU {iou:.3f}')

        if save_checkpoint and is_main():
            Path(dir_checkpoint).mkdir(parents=True, exist_ok=True)
            state_dict = net.state_dict()
            state_dict['mask_values'] = [0, 1]
            torch.save(state_dict, str(dir_checkpoint / 'checkpoint_epoch{}.pth'.format(epoch)))
            logging.info(f'Checkpoint {epoch} saved!')


def get_args():
    parser = argparse.ArgumentParser(description='Train the U-Net on circles and target masks')
    parser.add_argument('--epochs', '-e', metavar='E', type=int, default=2, help='Number of epochs')
    parser.add_argument('--batch-size', '-b', dest='batch_size', metavar='B', type=int, default=16)
    parser.add_argument('--learning-rate', '-l', metavar='LR', type=float, default=1e-2, dest='lr')
    parser.add_argument('--load', '-f', type=str, default=False, help='Load model from a .pth file')
    parser.add_argument('--no-amp', action='store_true', help='Never use mixed precision')
    return parser.parse_args()


if __name__ == '__main__':
    args = get_args()
    setup()

    logging.basicConfig(level=logging.INFO if is_main() else logging.WARNING, format='%(levelname)s: %(message)s')
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    logging.info(f'Using device {device}')
    torch.manual_seed(0)

    model = MiniUNet()
    if args.load:
        state_dict = torch.load(args.load, map_location=device)
        del state_dict['mask_values']
        model.load_state_dict(state_dict)
        logging.info(f'Model loaded from {args.load}')

    model.to(device=device)
    train_model(
        model=model,
        epochs=args.epochs,
        batch_size=args.batch_size,
        learning_rate=args.lr,
        device=device,
        amp=device.type == 'cuda' and not args.no_amp,
    )
    cleanup()
