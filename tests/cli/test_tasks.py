# SPDX-License-Identifier: Apache-2.0
"""rynd run --task segment, classify and image: results in the photo's own pixels."""

import numpy as np
import pytest
from conftest import load, save
from onnx import helper
from PIL import Image, ImageOps
from test_trained_models import model as trained

RNG = np.random.default_rng(3)


def photo(path, height, width):
    """A picture whose left half is dark and whose right half is bright."""
    pixels = np.full((height, width, 3), 20, "uint8")
    pixels[:, width // 2 :] = 220
    Image.fromarray(pixels).save(path)
    return path


def halves(path, size=64, last=False):
    """Class 2 where the picture is bright, class 0 elsewhere; scores of 4 classes."""
    w, b = np.zeros((4, 3, 1, 1), "float32"), np.array([0, -9, 0, -9], "float32")
    w[2] = 1
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["y"])]
    ends = [("x", "float32", [1, 3, size, size])], [("y", "float32", [1, 4, size, size])]
    if last:
        nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 3, 1, 2]), helper.make_node("Conv", ["t", "w", "b"], ["u"]),
                 helper.make_node("Transpose", ["u"], ["y"], perm=[0, 2, 3, 1])]
        ends = [("x", "float32", [1, size, size, 3])], [("y", "float32", [1, size, size, 4])]
    return save(path, nodes, *ends, {"w": w, "b": b})


@pytest.mark.parametrize("last", [False, True])
def test_segment(last, ran, tmp_path):
    path, picture = halves(tmp_path / "m.onnx", last=last), photo(tmp_path / "p.png", 90, 128)
    (result,) = ran("run", path, "-i", picture, "--task", "segment", "--json", "-o", tmp_path / "map.npy").results
    classes = load(tmp_path / "map.npy")
    assert classes.shape == (90, 128) and set(np.unique(classes)) == {0, 2}
    assert abs((classes == 2).mean() - 0.5) < 0.02 and (classes[:, 70:] == 2).all()
    assert [c["label"] for c in result["classes"]] == [0, 2]
    assert sum(c["pixels"] for c in result["classes"]) == 90 * 128
    out = ran("run", path, "-i", picture, "--task", "segment", "-o", f"{tmp_path}/out/", "--opacity", "1").out
    assert "p.png" in out
    drawn, grey = (np.asarray(Image.open(tmp_path / "out" / n)) for n in ("p.png", "p_classes.png"))
    assert (drawn[:, :60] == 20).all() and (drawn[:, 70:] == drawn[0, 100]).all() and drawn[0, 100].tolist() != [220] * 3
    np.testing.assert_array_equal(grey, classes)


def test_classify(ran, rynd, tmp_path):
    """The default is ImageNet's preparation; each option about values replaces all of it."""
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["p"]), helper.make_node("Flatten", ["p"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [("x", "float32", [1, 3, 32, 32])], [("y", "float32", [1, 3])])
    Image.new("RGB", (60, 40), (255, 128, 0)).save(tmp_path / "p.png")
    (tmp_path / "names.txt").write_text("red\ngreen\nblue\n")

    def classes(*options):
        (result,) = ran("run", path, "-i", tmp_path / "p.png", "--task", "classify", "--labels", tmp_path / "names.txt", "--json", *options).results
        return {c["name"]: c["score"] for c in result["classes"]}

    def probabilities(logits):
        e = np.exp(logits - np.max(logits))
        return dict(zip(["red", "green", "blue"], e / e.sum()))

    pixel = np.array([255, 128, 0]) / 255
    expected = {
        (): (pixel - [0.485, 0.456, 0.406]) / [0.229, 0.224, 0.225],
        ("--scale", "1/255"): pixel,
        ("--scale", "1/255", "--channels", "bgr"): pixel[::-1],
        ("--scale", "1/255", "--std", "0.5"): pixel / 0.5,
    }
    for options, logits in expected.items():
        found = classes(*options)
        wanted = probabilities(logits)
        assert found.keys() == wanted.keys() and all(abs(found[k] - wanted[k]) < 1e-4 for k in found), options
    assert list(classes("--top", "1")) == ["red"]
    assert "red" in ran("run", path, "-i", tmp_path / "p.png", "--task", "classify", "--labels", tmp_path / "names.txt").out
    rynd("run", path, "-i", tmp_path / "p.png", "--task", "classify", "-o", tmp_path / "x.png").failed("writes no file", code=2)


def enlarge(path, channels, size, margin=0):
    """Repeats each pixel twice along both sides, without `margin` pixels at each edge."""
    kernel = np.zeros((channels, channels, 2, 2), "float32")
    kernel[range(channels), range(channels)] = 1
    nodes = [helper.make_node("Slice", ["x", "begin", "end", "axes"], ["inner"]), helper.make_node("ConvTranspose", ["inner", "w"], ["y"], strides=[2, 2])]
    out = 2 * (size - 2 * margin)
    values = {"w": kernel, "begin": np.array([margin] * 2), "end": np.array([size - margin] * 2), "axes": np.array([2, 3])}
    return save(path, nodes, [("x", "float32", [1, channels, size, size])], [("y", "float32", [1, channels, out, out])], values)


@pytest.mark.parametrize("margin", [0, 3])
@pytest.mark.parametrize("shape", [(16, 16), (50, 37), (9, 40), (16, 17)])
def test_tiles(margin, shape, ran, rynd, tmp_path):
    pixels = RNG.integers(0, 255, (*shape, 3), "uint8")
    Image.fromarray(pixels).save(tmp_path / "p.png")
    path = enlarge(tmp_path / "m.onnx", 3, 16, margin)
    command = ["run", path, "-i", tmp_path / "p.png", "--task", "image", "-o", tmp_path / "o.png"]
    ran(*command, "--tile", "4")
    found = np.asarray(Image.open(tmp_path / "o.png"))
    if shape != (16, 16) or margin == 0:
        np.testing.assert_array_equal(found, pixels.repeat(2, 0).repeat(2, 1))
    if shape != (16, 16):
        rynd(*command).failed(f"{shape[0]}x{shape[1]}", "--tile", "--fit stretch")
    rynd(*command, "--tile", "99").failed("--tile 99" if shape != (16, 16) else "", code=2) if shape != (16, 16) else None


def test_colours_through_one_channel(ran, tmp_path):
    pixels = np.zeros((16, 16, 3), "uint8")
    pixels[:] = (200, 100, 50)
    Image.fromarray(pixels).save(tmp_path / "p.png")
    path = enlarge(tmp_path / "m.onnx", 1, 16)
    ran("run", path, "-i", tmp_path / "p.png", "--task", "image", "--scale", "1/255", "-o", tmp_path / "o.png")
    found = np.asarray(Image.open(tmp_path / "o.png"))
    assert found.shape == (32, 32, 3) and np.abs(found.astype(int) - pixels[0, 0]).max() <= 1


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("order", ["little", "big"])
def test_exif_orientation(orientation, order, ran, tmp_path):
    """A JPEG is turned as Pillow's exif_transpose turns it."""
    pixels = RNG.integers(0, 255, (4, 6, 3), "uint8").repeat(8, 0).repeat(8, 1)
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = orientation, "a camera"
    exif.endian = "<" if order == "little" else ">"
    Image.fromarray(pixels).save(tmp_path / "p.jpg", quality=95, subsampling=0, exif=exif.tobytes())
    path = save(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", "float32", [1, 3, "h", "w"])], [("y", "float32", [1, 3, "h", "w"])])
    ran("run", path, "-i", tmp_path / "p.jpg", "--task", "image", "-o", tmp_path / "o.png")
    upright = np.asarray(ImageOps.exif_transpose(Image.open(tmp_path / "p.jpg")), int)
    assert np.abs(np.asarray(Image.open(tmp_path / "o.png"), int) - upright).max() <= 2


@pytest.mark.parametrize("mode", ["RGB", "L", "P", "RGBA", "1"])
@pytest.mark.parametrize("kind", ["bmp", "webp", "tiff", "png"])
def test_kinds_of_pictures(kind, mode, ran, rynd, tmp_path):
    """Every kind is read as Pillow reads it; a file that ends early is refused."""
    if kind == "webp" and mode == "1" or kind == "bmp" and mode == "1":
        pytest.skip("not a kind that is written, or read")
    picture = Image.fromarray(RNG.integers(0, 255, (11, 13, 3), "uint8")).convert(mode)
    if mode == "RGBA":
        picture.putalpha(255)
    options = {"webp": {"lossless": True}, "tiff": {"compression": "tiff_lzw"} if mode != "1" else {}}.get(kind, {})
    file = tmp_path / f"p.{kind}"
    picture.save(file, **options)
    path = save(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", "float32", [1, 3, "h", "w"])], [("y", "float32", [1, 3, "h", "w"])])
    command = ["run", path, "-i", file, "--task", "image", "-o", tmp_path / "o.png"]
    done = rynd(*command)
    if "was built without" in done.err:
        pytest.skip(done.err)
    assert done.code == 0, done.err
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "o.png").convert("RGB")), np.asarray(Image.open(file).convert("RGB")))
    whole = file.read_bytes()
    for size in (3, 13, 60, len(whole) // 2):
        file.write_bytes(whole[:size])
        rynd(*command).failed(file)


def test_broken_exif(ran, tmp_path):
    """A damaged segment means upright."""
    Image.new("RGB", (16, 8)).save(tmp_path / "p.jpg", exif=b"Exif\0\0" + b"MM\0*\xff\xff\xff\xf0" + b"\x01" * 40)
    path = save(tmp_path / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])], [("x", "float32", [1, 3, "h", "w"])], [("y", "float32", [1, 3, "h", "w"])])
    ran("run", path, "-i", tmp_path / "p.jpg", "--task", "image", "-o", tmp_path / "o.png")
    assert Image.open(tmp_path / "o.png").size == (16, 8)


def test_numbers_are_no_picture(rynd, tmp_path):
    shapes = {"detect": [1, 6, 84], "classify": [1, 10], "segment": [1, 5, 8, 8]}
    photo(tmp_path / "p.png", 64, 64)
    for task, shape in shapes.items():
        nodes = [helper.make_node("ReduceMean", ["x"], ["m"], axes=[0, 1, 2, 3], keepdims=0), helper.make_node("Add", ["m", "c"], ["y"])]
        path = save(tmp_path / f"{task}.onnx", nodes, [("x", "float32", [1, 3, 64, 64])], [("y", "float32", shape)],
                    {"c": np.zeros(shape, "float32")})
        rynd("run", path, "-i", tmp_path / "p.png", "-o", tmp_path / "o.png").failed("is not a picture", f"--task {task}")
        assert not (tmp_path / "o.png").exists()


def test_deeplab_masks_a_cat(ran, tmp_path):
    path = trained("deeplab_v3", "deeplab_v3_1_default_1.onnx")
    kitten = trained("squeezenet_fp16", "kitten_224.png")
    (result,) = ran("run", path, "-i", kitten, "--task", "segment", "--json", "-o", tmp_path / "map.npy").results
    shares = {c["name"]: c["share"] for c in result["classes"]}
    assert shares["cat"] > 0.25 and shares["cat"] + shares["background"] > 0.99
    onnxruntime = pytest.importorskip("onnxruntime")
    small = Image.open(kitten).convert("RGB").resize((257, 257), Image.BILINEAR)
    session = onnxruntime.InferenceSession(str(path))
    scores = session.run(None, {session.get_inputs()[0].name: (np.asarray(small, "float32") / 127.5 - 1)[None]})[0][0]
    peer = Image.fromarray(scores.argmax(-1).astype("uint8")).resize((224, 224), Image.NEAREST)
    assert (np.asarray(peer) == load(tmp_path / "map.npy")).mean() > 0.98


def test_squeezenet_names_a_cat(ran):
    path = trained("squeezenet_fp16", "SqueezeNet_fp16.onnx")
    options = ["--task", "classify", "--scale", "1", "--labels", path.parent / "Labels.txt"]
    (result,) = ran("run", path, "-i", path.parent / "kitten_224.png", *options, "--json").results
    assert "tabby" in result["classes"][0]["name"]


def test_tiny_input(ran, tmp_path):
    """An input of at most 32 elements: the plan is for its shape, not for its content."""
    nodes = [helper.make_node("GlobalAveragePool", ["x"], ["p"]), helper.make_node("Flatten", ["p"], ["y"])]
    path = save(tmp_path / "m.onnx", nodes, [("x", "float32", [1, 3, 3, 3])], [("y", "float32", [1, 3])])
    for i, colour in enumerate([(250, 0, 0), (0, 250, 0), (0, 0, 250)]):
        Image.new("RGB", (9, 9), colour).save(tmp_path / f"{i}.png")
    results = ran("run", path, *(word for i in range(3) for word in ("-i", tmp_path / f"{i}.png")), "--task", "classify", "--json").results
    assert [result["classes"][0]["label"] for result in results] == [0, 1, 2]
