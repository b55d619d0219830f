# SPDX-License-Identifier: Apache-2.0
"""Compares trained models, run by librynd, with their golden outputs, or with ONNX Runtime's where they have none:

    build/venv/bin/python tests/networks/models.py [CASE...]

The models lie in ../shared/models, or where RYND_MODELS says; they are not part of the repository, and what is absent is skipped."""
import os
import pathlib
import sys

import cases
import numpy
import onnx
import onnxruntime
from onnx import numpy_helper
from PIL import Image

FOLDER = pathlib.Path(os.environ.get("RYND_MODELS", cases.ROOT.parent / "shared/models"))
# Both compute in float32 and round each layer to float16: a few units in the last place (2^-11) of the largest output.
FLOAT16_TOLERANCE = 4e-3
TABBY = 281


def image(name, size=None, mode="RGB"):
    """An image as float32, [1, channels, height, width], 0 to 255."""
    picture = Image.open(FOLDER / name).convert(mode)
    if size:
        picture = picture.resize(size, Image.BILINEAR)
    pixels = numpy.asarray(picture, numpy.float32).reshape(picture.height, picture.width, -1)
    return numpy.ascontiguousarray(pixels.transpose(2, 0, 1)[None])


def noise(*shape):
    return numpy.random.default_rng(0).standard_normal(shape).astype(numpy.float32)


def golden(folder):
    """(inputs, outputs) of each test_data_set of a folder."""
    def read(data, kind):
        return [numpy_helper.to_array(onnx.load_tensor(data / f"{kind}_{i}.pb")) for i in range(len(list(data.glob(f"{kind}_*.pb"))))]

    return [(read(data, "input"), read(data, "output")) for data in sorted((FOLDER / folder).glob("test_data_set_*"))]


def by_onnxruntime(name, *inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(FOLDER / name), options, providers=["CPUExecutionProvider"])
    return [(list(inputs), session.run(None, dict(zip([value.name for value in session.get_inputs()], inputs))))]


def kitten():
    values = numpy.fromstring((FOLDER / "squeezenet_fp16/kitten_224.csv").read_text().strip().strip(","), numpy.float32, sep=",")
    return values.reshape(1, 3, 224, 224).astype(numpy.float16)


# model: where inputs and expected outputs come from
CASES = {
    "mnist_8/model.onnx": lambda name: golden("mnist_8"),
    "super_resolution_10/model.onnx": lambda name: golden("super_resolution_10"),
    "ultraface/version-RFB-320.onnx": lambda name: by_onnxruntime(name, (image("ultraface/1.jpg", (320, 240)) - 127) / 128),
    "yunet/yunet_n_320_320.onnx": lambda name: by_onnxruntime(name, image("ultraface/1.jpg", (320, 320))),
    "yolox_nano/yolox_nano.onnx": lambda name: by_onnxruntime(name, image("yolox_nano/000000000139.jpg", (416, 416))),
    "squeezenet_fp16/SqueezeNet_fp16.onnx": lambda name: by_onnxruntime(name, kitten()),
    "waifu2x_upconv7/scale2.0x_model.onnx": lambda name: by_onnxruntime(name, image("waifu2x_upconv7/f113.png", (156, 156)) / 255),
    "waifu2x_upconv7/noise1_scale2.0x_model.onnx": lambda name: by_onnxruntime(name, image("waifu2x_upconv7/f113.png", (156, 156)) / 255),
    "deeplab_v3/deeplab_v3_1_default_1.onnx": lambda name: by_onnxruntime(name, numpy.tanh(noise(1, 257, 257, 3))),
    "unet_sed/unet.onnx": lambda name: by_onnxruntime(name, image("unet_sed/input_file01_00050.png", mode="L") / 255),
    "fns_style/candy.onnx": None,
}


def compare_picture(context, rynd, name):
    """candy.onnx: operators that no other runtime here knows, so the picture in its folder is the reference."""
    photo = Image.open(FOLDER / "fns_style/Input.jpg").convert("RGB")
    side = min(photo.size)
    left, top = (photo.width - side) // 2, (photo.height - side) // 2
    photo = photo.crop((left, top, left + side, top + side)).resize((720, 720), Image.BICUBIC)
    pixels = numpy.ascontiguousarray(numpy.asarray(photo, numpy.float32)[:, :, ::-1].transpose(2, 0, 1)[None])
    output = numpy.clip(rynd.run(context, FOLDER / name, [pixels])[0][0], 0, 255)
    expected = numpy.asarray(Image.open(FOLDER / "fns_style/Output.jpg").convert("RGB"), numpy.float32)[:, :, ::-1].transpose(2, 0, 1)
    psnr = 10 * numpy.log10(255**2 / numpy.mean((output - expected) ** 2))
    assert psnr >= CANDY_PSNR, f"PSNR {psnr:.1f} dB, expected at least {CANDY_PSNR}"
    print(f"PSNR {psnr:.1f} dB to the picture in its folder")


# The picture was resampled and compressed by another program: what remains of it is a likeness.
CANDY_PSNR = 20


def compare(name):
    import rynd_ctypes as rynd

    if not (FOLDER / name).exists():
        print(f"skipped: {FOLDER / name} is not there")
        return 77
    context = rynd.Context()
    if CASES[name] is None:
        compare_picture(context, rynd, name)
        return 0
    worst = 0.0
    tolerance = cases.TOLERANCE
    for inputs, expected in CASES[name](name):
        outputs = rynd.run(context, FOLDER / name, inputs, with_data=False)
        assert len(outputs) == len(expected), f"{len(outputs)} outputs, expected {len(expected)}"
        worst = max(worst, *[cases.relative_difference(got, wanted) for got, wanted in zip(outputs, expected)])
        if expected[0].dtype == numpy.float16:
            tolerance = FLOAT16_TOLERANCE
        if name.startswith("squeezenet"):
            assert outputs[0].reshape(-1).argmax() == TABBY, f"the kitten is of class {outputs[0].reshape(-1).argmax()}, expected {TABBY}"
    assert worst <= tolerance, f"{worst:.1e} of the largest output, at most {tolerance:.0e} is expected"
    print(f"{worst:.1e} of the largest output")
    return 0


def main():
    if sys.argv[1:2] == ["--one"]:
        return compare(sys.argv[2])
    return cases.run_cases(__file__, sys.argv[1:] or list(CASES))


if __name__ == "__main__":
    sys.exit(main())
