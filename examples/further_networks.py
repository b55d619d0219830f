# SPDX-License-Identifier: Apache-2.0
"""The networks of validate_further.py: for each name a function that makes the network, with random weights, and its inputs."""
import torch
from torch import nn


def double_conv(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
                         nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """Ronneberger's U-Net with batch normalisation; transposed convolutions on the way up."""

    def __init__(self, widths=(16, 32, 64, 128), classes=3):
        super().__init__()
        self.down = nn.ModuleList([double_conv(a, b) for a, b in zip((3, *widths), widths)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in zip(widths, widths[1:])])
        self.join = nn.ModuleList([double_conv(2 * a, a) for a in widths[:-1]])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        kept = []
        for block in self.down:
            x = block(nn.functional.max_pool2d(x, 2) if kept else x)
            kept.append(x)
        for up, join, skip in zip(reversed(self.up), reversed(self.join), reversed(kept[:-1])):
            x = join(torch.cat([skip, up(x)], 1))
        return self.head(x)


class Residual(nn.Module):
    """Stable Diffusion's ResNet block: group norm, SiLU, and an embedding of the time step."""

    def __init__(self, inputs, outputs, embedding):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(8, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(embedding, outputs))
        self.second = nn.Sequential(nn.GroupNorm(8, outputs), nn.SiLU(), nn.Conv2d(outputs, outputs, 3, padding=1))
        self.skip = nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, time):
        return self.skip(x) + self.second(self.first(x) + self.time(time)[:, :, None, None])


class Attention(nn.Module):
    def __init__(self, channels, context, heads=4):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = nn.Linear(channels, channels, bias=False), nn.Linear(context, channels, bias=False), nn.Linear(context, channels, bias=False)
        self.out = nn.Linear(channels, channels)

    def forward(self, x, context):
        def split(y):
            return y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        y = nn.functional.scaled_dot_product_attention(split(self.query(x)), split(self.key(context)), split(self.value(context)))
        return self.out(y.transpose(1, 2).flatten(2))


class DiffusionBlock(nn.Module):
    """A ResNet block and a transformer block: attention to itself and to a text, and a gated linear layer; then interpolation."""

    def __init__(self, channels=64, context=32):
        super().__init__()
        self.residual = Residual(32, channels, 48)
        self.norm = nn.GroupNorm(8, channels)
        self.norms = nn.ModuleList([nn.LayerNorm(channels) for _ in range(3)])
        self.own, self.cross = Attention(channels, channels), Attention(channels, context)
        self.wide, self.narrow = nn.Linear(channels, 8 * channels), nn.Linear(4 * channels, channels)

    def forward(self, x, time, context):
        x = self.residual(x, time)
        y = self.norm(x).flatten(2).transpose(1, 2)
        z = self.norms[0](y)
        y = y + self.own(z, z)
        y = y + self.cross(self.norms[1](y), context)
        value, gate = self.wide(self.norms[2](y)).chunk(2, -1)
        y = y + self.narrow(value * nn.functional.gelu(gate))
        return nn.functional.interpolate(x + y.transpose(1, 2).unflatten(2, x.shape[2:]), scale_factor=2.0)


def conv(inputs, outputs, kernel=1, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs, eps=1e-3, momentum=0.03), nn.SiLU(inplace=True))


class C2f(nn.Module):
    def __init__(self, inputs, outputs, count, shortcut):
        super().__init__()
        half = outputs // 2
        self.shortcut = shortcut
        self.first, self.last = conv(inputs, outputs), conv((2 + count) * half, outputs)
        self.blocks = nn.ModuleList([nn.Sequential(conv(half, half, 3), conv(half, half, 3)) for _ in range(count)])

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(parts[-1] + block(parts[-1]) if self.shortcut else block(parts[-1]))
        return self.last(torch.cat(parts, 1))


class SPPF(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first, self.last = conv(channels, channels // 2), conv(channels * 2, channels)

    def forward(self, x):
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(nn.functional.max_pool2d(parts[-1], 5, 1, 2))
        return self.last(torch.cat(parts, 1))


class YOLOv8n(nn.Module):
    """The backbone, the neck and the heads of YOLOv8n, by its published description; boxes are decoded by their distributions' means."""

    def __init__(self, classes=80):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 16, 3, 2), conv(16, 32, 3, 2), C2f(32, 32, 1, True), conv(32, 64, 3, 2), C2f(64, 64, 2, True))
        self.middle = nn.Sequential(conv(64, 128, 3, 2), C2f(128, 128, 2, True))
        self.deep = nn.Sequential(conv(128, 256, 3, 2), C2f(256, 256, 1, True), SPPF(256))
        self.up = nn.Upsample(scale_factor=2)
        self.up_blocks = nn.ModuleList([C2f(384, 128, 1, False), C2f(192, 64, 1, False)])
        self.down = nn.ModuleList([conv(64, 64, 3, 2), conv(128, 128, 3, 2)])
        self.down_blocks = nn.ModuleList([C2f(192, 128, 1, False), C2f(384, 256, 1, False)])
        self.boxes = nn.ModuleList([nn.Sequential(conv(c, 64, 3), conv(64, 64, 3), nn.Conv2d(64, 64, 1)) for c in (64, 128, 256)])
        self.scores = nn.ModuleList([nn.Sequential(conv(c, 80, 3), conv(80, 80, 3), nn.Conv2d(80, classes, 1)) for c in (64, 128, 256)])

    def forward(self, x):
        a = self.stem(x)
        b = self.middle(a)
        c = self.deep(b)
        d = self.up_blocks[0](torch.cat([self.up(c), b], 1))
        e = self.up_blocks[1](torch.cat([self.up(d), a], 1))
        f = self.down_blocks[0](torch.cat([self.down[0](e), d], 1))
        g = self.down_blocks[1](torch.cat([self.down[1](f), c], 1))
        boxes = torch.cat([head(level).flatten(2) for head, level in zip(self.boxes, (e, f, g))], 2)
        scores = torch.cat([head(level).flatten(2) for head, level in zip(self.scores, (e, f, g))], 2)
        distances = boxes.unflatten(1, (4, 16)).softmax(2) * torch.arange(16, device=x.device, dtype=x.dtype)[None, None, :, None]
        return distances.sum(2), scores.sigmoid()


class Separator(nn.Module):
    """A block of Conv-TasNet: 1x1, depthwise with dilation, global normalisation, PReLU."""

    def __init__(self, channels, hidden, dilation):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(channels, hidden, 1), nn.PReLU(), nn.GroupNorm(1, hidden, eps=1e-8),
                                  nn.Conv1d(hidden, hidden, 3, padding=dilation, dilation=dilation, groups=hidden), nn.PReLU(), nn.GroupNorm(1, hidden, eps=1e-8))
        self.residual, self.skip = nn.Conv1d(hidden, channels, 1), nn.Conv1d(hidden, channels, 1)

    def forward(self, x):
        y = self.body(x)
        return x + self.residual(y), self.skip(y)


class ConvTasNet(nn.Module):
    """Conv-TasNet: a learned filter bank, masks for each speaker, the transposed filter bank."""

    def __init__(self, filters=64, channels=32, hidden=64, layers=4, repeats=2, speakers=2):
        super().__init__()
        self.speakers = speakers
        self.encoder = nn.Conv1d(1, filters, 16, stride=8, bias=False)
        self.enter = nn.Sequential(nn.GroupNorm(1, filters, eps=1e-8), nn.Conv1d(filters, channels, 1))
        self.blocks = nn.ModuleList([Separator(channels, hidden, 2**i) for _ in range(repeats) for i in range(layers)])
        self.masks = nn.Sequential(nn.PReLU(), nn.Conv1d(channels, speakers * filters, 1), nn.Sigmoid())
        self.decoder = nn.ConvTranspose1d(filters, 1, 16, stride=8, bias=False)

    def forward(self, x):
        bank = self.encoder(x)
        y, total = self.enter(bank), 0
        for block in self.blocks:
            y, skip = block(y)
            total = total + skip
        masked = self.masks(total).unflatten(1, (self.speakers, -1)) * bank[:, None]
        return self.decoder(masked.flatten(0, 1)).view(x.shape[0], self.speakers, -1)


def video():
    from torchvision.models.video import r3d_18
    return r3d_18(weights=None), [torch.randn(1, 3, 4, 32, 32)]


def of_timm(name, size, **options):
    def make():
        import timm
        return timm.create_model(name, pretrained=False, num_classes=10, **options), [torch.randn(2 if size > 100 else 4, 3, size, size)]
    return make


# timm's names and the image's size. Transformers with a fixed size are told it.
TIMM = {"convnext_atto": 64, "deit_tiny_patch16_224": -64, "dla46_c": 64, "edgenext_xx_small": 64, "efficientnet_lite0": 64, "ese_vovnet19b_dw": 64, "ghostnet_100": 64,
        "hardcorenas_a": 64, "lcnet_050": 64, "mixer_s32_224": -64, "mixnet_s": 64, "mobilenetv4_conv_small": 64, "mobilevitv2_050": 64, "poolformer_s12": 64,
        "regnetx_002": 64, "repvgg_a0": 64, "resnest14d": 64, "rexnet_100": 64, "semnasnet_075": 64, "skresnet18": 64, "swin_tiny_patch4_window7_224": -224, "tinynet_e": 64,
        "vit_tiny_patch16_224": -64}

NETWORKS = {
    "unet": lambda: (UNet(), [torch.randn(2, 3, 48, 64)]),
    "yolov8n": lambda: (YOLOv8n(), [torch.randn(2, 3, 96, 96)]),
    "diffusion_block": lambda: (DiffusionBlock(), [torch.randn(2, 32, 16, 16), torch.randn(2, 48), torch.randn(2, 7, 32)]),
    "conv_tasnet": lambda: (ConvTasNet(), [torch.randn(2, 1, 1600)]),
    "r3d_18": video,
    **{name: of_timm(name, abs(size), **({"img_size": -size} if size < 0 else {})) for name, size in TIMM.items()},
}
