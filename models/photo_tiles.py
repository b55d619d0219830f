#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cut photos into pairs of tiles for `rynd train`: OUT/high/NAME.png and, half as large, OUT/low/NAME.png.

    models/photo_tiles.py FOLDER OUT

Each photo (*.jpg, *.png) is taken at two sizes, where it is so large, and as it is and turned by 90 degrees. JPEG's blocks are averaged away: such a photo
is at least halved first. The small picture is Pillow's antialiased bicubic of the whole photo, rounded to 8 bits. Needs Pillow (Debian: python3-pil).
"""
import glob
import math
import os
import sys

import PIL.Image

SIDE = 96  # side of a large tile in pixels; small tiles have half of it
SIZES = (1.2e6, 0.3e6)  # pixels of a photo


def cut(large, name, out):
    """Tiles that do not overlap; what is left over on all sides is the same."""
    small = large.resize((large.width // 2, large.height // 2), PIL.Image.BICUBIC)
    columns, rows = large.width // SIDE, large.height // SIDE
    left, top = (large.width - columns * SIDE) // 4, (large.height - rows * SIDE) // 4
    for row in range(rows):
        for column in range(columns):
            x, y, side = left + column * SIDE // 2, top + row * SIDE // 2, SIDE // 2
            file = f"{name}-{row}-{column}.png"
            small.crop((x, y, x + side, y + side)).save(os.path.join(out, "low", file), compress_level=1)
            large.crop((2 * x, 2 * y, 2 * (x + side), 2 * (y + side))).save(os.path.join(out, "high", file), compress_level=1)
    return rows * columns


def sizes(photo, least):
    """Yields width and height of a photo, shrunk at least `least` times."""
    for pixels in SIZES:
        shrink = max(least, math.sqrt(photo.width * photo.height / pixels))
        yield int(photo.width / shrink) // 2 * 2, int(photo.height / shrink) // 2 * 2


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, out = sys.argv[1:]
    paths = sorted(path for end in ("*.jpg", "*.png") for path in glob.glob(os.path.join(folder, end)))
    if not paths:
        sys.exit(f"{folder}: there are no photos, *.jpg or *.png")
    for name in ("low", "high"):
        os.makedirs(os.path.join(out, name), exist_ok=True)
    tiles = 0
    for path in paths:
        photo = PIL.Image.open(path).convert("RGB")
        for number, size in enumerate(sorted(set(sizes(photo, 2.0 if path.endswith(".jpg") else 1.0)))):
            large = photo.resize(size, PIL.Image.LANCZOS)
            name = f"{os.path.splitext(os.path.basename(path))[0]}-{number}"
            tiles += cut(large, name, out) + cut(large.transpose(PIL.Image.ROTATE_90), f"{name}-turned", out)
    print(f"{out}: {tiles} pairs of tiles from {len(paths)} photos")


if __name__ == "__main__":
    main()
