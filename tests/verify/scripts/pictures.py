"""Reads every data set that has stand-in files."""

from torchvision import datasets, models, transforms

to_tensor = transforms.ToTensor()
for kind in (datasets.MNIST, datasets.FashionMNIST, datasets.CIFAR10, datasets.CIFAR100):
    train = kind("../data", train=True, download=True, transform=to_tensor)
    test = kind("../data", train=False, transform=to_tensor)
    image, label = train[1]
    print(kind.__name__, len(train), len(test), tuple(image.shape), label, len(train.classes))
folder = datasets.ImageFolder("pictures", transform=to_tensor)
print("ImageFolder", len(folder), tuple(folder[0][0].shape), folder.classes)
model = models.resnet18(num_classes=2)
