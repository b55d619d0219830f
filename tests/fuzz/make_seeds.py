# SPDX-License-Identifier: Apache-2.0
"""Makes the seed corpora of the fuzzers: make_seeds.py FOLDER

FOLDER/<fuzzer>/ gets the seeds. FOLDER/<fuzzer>.list names them and the fuzzer's regressions, in one order on every file system,
for libFuzzer's -seed_inputs=@FOLDER/<fuzzer>.list."""
import gzip
import io
import pathlib
import sys

import numpy
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "onnx_suite"))
import suite  # noqa: E402  (found by the line above)

REGRESSIONS = pathlib.Path(__file__).resolve().parent / "regressions"
LARGEST = 4096  # bytes of a seed: small ones are mutated faster
PROBLEMS = """conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1 stride=1 dilation=1 groups=1 dtype=f32 layout=nchw dir=fwd
conv c=3 h=225 w=225 k=32 r=3 s=3 pad=1,2,3,4 act=relu bias=1
convt c=64 h=56 w=56 k=32 r=2 s=2 stride=2
conv c=64 d=8 h=56 w=56 k=64 t=3 r=3 s=3 pad=1
conv c=512 w=512 k=512 s=3 pad=1 dir=bwd_data
conv c=32 h=112 w=112 k=32 r=3 s=3 pad=1 groups=32 layout=nhwc residual=1
maxpool x0=1x64x112x112:f32 y0=1x64x56x56:f32 kernel=3,3 stride=2,2 pad=1,1,1,1
matmul x0=8x16:f32 x1=16x4:f32 y0=8x4:f32
softmax x0=1x1000:f16:nhwc y0=1x1000:f16 axis=-1
"""


def small_files(pattern, limit):
    suite.folder("node")
    files = sorted(path for root in (suite.MADE, suite.PACKAGED) for path in root.glob(pattern) if 0 < path.stat().st_size <= LARGEST)
    step = max(1, len(files) // limit)
    return [path.read_bytes() for path in files[::step]]


def problem():
    return [line.encode() for line in PROBLEMS.splitlines()]


def saved(save, *arguments, **options):
    stream = io.BytesIO()
    save(stream, *arguments, **options)
    return stream.getvalue()


def arrays():
    base = numpy.arange(24).reshape(2, 3, 4)
    return [base.astype(dtype) for dtype in ("<f4", ">f4", "<f2", "<f8", "<i1", "<i8", ">u2", "?")] + [
        numpy.asfortranarray(base.astype("<f4")), numpy.zeros((0, 3), "<f4"), numpy.array(1.5), base.astype("<f4")[:, ::2]]


def npy():
    return [saved(numpy.save, array) for array in arrays()]


def npz():
    return [saved(numpy.savez, x=array, y=arrays()[0]) for array in arrays()] + [saved(numpy.savez_compressed, x=array) for array in arrays()]


def pictures():
    pixels = numpy.random.default_rng(0).integers(0, 256, (9, 13, 4), numpy.uint8)
    colour = Image.fromarray(pixels, "RGBA")
    return {mode: colour.convert(mode) for mode in ("1", "L", "LA", "P", "RGB", "RGBA")} | {
        "I;16": Image.fromarray(pixels[:, :, 0].astype(numpy.uint16) * 257)}


def png():
    return [saved(picture.save, format="PNG") for picture in pictures().values()]


def bmp():
    """Palettes, colours, 32 bits, and rows from the top."""
    kinds = [saved(picture.save, format="BMP") for mode, picture in pictures().items() if mode in ("L", "P", "RGB", "RGBA")]
    return kinds + [kinds[2][:22] + (-9).to_bytes(4, "little", signed=True) + kinds[2][26:]]


def jpeg():
    kinds = pictures()
    return [saved(kinds[mode].save, format="JPEG", progressive=progressive) for mode in ("L", "RGB") for progressive in (False, True)] + [
        saved(kinds["RGB"].convert("CMYK").save, format="JPEG")]


def idx():
    """Pictures and classes, whole, cut and packed."""
    plain = [bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3]) + bytes(range(12)), bytes([0, 0, 8, 1, 0, 0, 0, 4, 1, 2, 3, 4]),
             bytes([0, 0, 8, 4, *[0, 0, 0, 2] * 4]) + bytes(16), bytes([0, 0, 13, 1, 0, 0, 0, 1, 0, 0, 0, 0])]
    return plain + [seed[:-2] for seed in plain] + [gzip.compress(seed, mtime=0) for seed in plain]


def models():
    """Choices at random: each seed is a model of up to twelve nodes."""
    random = numpy.random.default_rng(0)
    return [random.bytes(512) for _ in range(300)]


def wisdom():
    """Lines as `wisdom export` writes them, and other legal spellings."""
    line = ('{"machine":"m","problem":"conv n=1 c=2","constants":2,"threads":2,"kernel":"conv_ref","form":"mr=1","source":"0123456789abcdef",'
            '"rejected":null,"samples":3,"mean":0.001,"variance":1e-12,"median":0.001,"min":0.0009,"max":0.002,"predicted":0,"time":1790000000}')
    rejected = line.replace("null", '"wrong: \\"by\\" \\u0033\\\\"')
    return [text.encode() for text in (line, f"{line}\n{rejected}\n", line.replace(",", " ,\t"), line.replace('"time"', '"later":false,"time"'), "{}")]


def devices():
    """A list of devices with every key, and each line alone."""
    lines = ["# all", "device here cpu threads=2 memory=1e9 watts=15", "device gpu opencl:0", "device far machine=far.txt threads=16",
             "link here gpu bandwidth=8e9 latency=1e-5", "link far here bandwidth=125e6 latency=0.0001 # slow"]
    return [text.encode() for text in ("\n".join(lines), *lines, "\n".join(lines[1:3]))]


SEEDS = {
    "onnx": lambda: small_files("*/*/model.onnx", 400),
    "tensor": lambda: small_files("*/*/test_data_set_*/*.pb", 100),
    "problem": problem,
    "wisdom": wisdom,
    "devices": devices,
    "models": models,
    "npy": npy,
    "npz": npz,
    "png": png,
    "jpeg": jpeg,
    "bmp": bmp,
    "idx": idx,
}


def main():
    for name, make in SEEDS.items():
        folder = pathlib.Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        seeds = make()
        paths = [folder / f"{index:04}" for index in range(len(seeds))]
        for path, seed in zip(paths, seeds):
            path.write_bytes(seed)
        regressions = sorted((REGRESSIONS / name).glob("*"))
        folder.with_suffix(".list").write_text(",".join(str(path) for path in paths + regressions))
        print(f"{name}: {len(seeds)} seeds, {len(regressions)} regressions")


if __name__ == "__main__":
    sys.exit(main())
