# SPDX-License-Identifier: Apache-2.0
"""rynd run on pictures: every kind of PNG, JPEG, preprocessing against Pillow, and what is refused."""

import struct
import zlib

import numpy as np
import pytest
from conftest import load
from PIL import Image


def chunk(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width, height, bits, colour, rows, *extra, header=b""):
    """A PNG by hand: Pillow does not write all kinds. rows: packed bytes of each row."""
    ihdr = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + b"".join(extra) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def photo(height=9, width=12, channels=3, seed=4):
    """Smooth enough for JPEG, different in every channel."""
    y, x = np.mgrid[0:height, 0:width]
    planes = [127 + 100 * np.sin(y / (7 + c) + seed) * np.cos(x / (5 + c)) for c in range(channels)]
    return np.clip(np.stack(planes, -1), 0, 255).astype("uint8")


def save_png(path, array):
    Image.fromarray(array[..., 0] if array.shape[-1] == 1 else array).save(path)
    return path


@pytest.fixture
def tensor_of(ran, identity, tmp_path):
    """The tensor that a picture becomes, for an input of a shape."""

    def call(picture, *options, shape=("n", 3, "h", "w"), dtype="float32"):
        ran("run", identity(list(shape), dtype), "-i", picture, *options, "-o", tmp_path / "tensor.npy")
        return load(tmp_path / "tensor.npy")

    return call


def chw(array):
    return array.transpose(2, 0, 1)[None].astype("float32")


# Kinds of files


def test_colour_png(tensor_of, tmp_path):
    array = photo()
    np.testing.assert_array_equal(tensor_of(save_png(tmp_path / "p.png", array)), chw(array))


def test_grey_png_for_a_colour_input(tensor_of, tmp_path):
    array = photo(channels=1)
    np.testing.assert_array_equal(tensor_of(save_png(tmp_path / "p.png", array)), np.repeat(chw(array), 3, axis=1))


def test_grey_png_for_a_grey_input(tensor_of, tmp_path):
    array = photo(channels=1)
    np.testing.assert_array_equal(tensor_of(save_png(tmp_path / "p.png", array), shape=(1, 1, 9, 12)), chw(array))


def test_colour_png_for_a_grey_input(tensor_of, tmp_path):
    array = photo()
    luma = (array.astype("float64") @ [0.299, 0.587, 0.114])[None, None]
    np.testing.assert_allclose(tensor_of(save_png(tmp_path / "p.png", array), shape=(1, 1, "h", "w")), luma, atol=1e-3)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_grey_png_of_few_bits(tensor_of, tmp_path, bits):
    per_byte = 8 // bits
    levels = np.arange(16).reshape(2, 8) % (1 << bits)
    rows = [bytes(sum(int(v) << (8 - bits * (i + 1)) for i, v in enumerate(row[k : k + per_byte])) for k in range(0, 8, per_byte)) for row in levels]
    (tmp_path / "p.png").write_bytes(png(8, 2, bits, 0, rows))
    expected = (levels * (255 // ((1 << bits) - 1)))[None, None].astype("float32")
    np.testing.assert_array_equal(tensor_of(tmp_path / "p.png", shape=(1, 1, 2, 8)), expected)


def test_16_bit_png_keeps_its_precision(tensor_of, tmp_path):
    values = np.array([[0, 1, 257, 65535], [300, 40000, 12345, 54321]], ">u2")
    (tmp_path / "p.png").write_bytes(png(4, 2, 16, 0, [row.tobytes() for row in values]))
    np.testing.assert_allclose(tensor_of(tmp_path / "p.png", shape=(1, 1, 2, 4))[0, 0], values / 257.0, rtol=1e-6)
    colours = (np.arange(12).reshape(2, 2, 3) * 5000).astype(">u2")
    (tmp_path / "p.png").write_bytes(png(2, 2, 16, 2, [row.tobytes() for row in colours]))
    np.testing.assert_allclose(tensor_of(tmp_path / "p.png")[0], colours.transpose(2, 0, 1) / 257.0, rtol=1e-6)


def test_palette_png(tensor_of, tmp_path):
    picture = Image.fromarray(photo()).quantize(8)
    picture.save(tmp_path / "p.png")
    assert picture.mode == "P"
    np.testing.assert_array_equal(tensor_of(tmp_path / "p.png"), chw(np.asarray(picture.convert("RGB"))))


def test_interlaced_png(tensor_of, tmp_path):
    """Adam7 of one pixel's height: three passes hold all columns of row 0."""
    row = np.arange(8, dtype="uint8") * 30
    passes = [row[0::8], row[4::8], row[2::4], row[1::2]]  # passes 1, 2, 4 and 6 touch row 0 of an 8x1 picture
    ihdr = struct.pack(">IIBBBBB", 8, 1, 8, 0, 0, 0, 1)
    data = zlib.compress(b"".join(b"\0" + p.tobytes() for p in passes))
    (tmp_path / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + chunk(b"IDAT", data) + chunk(b"IEND", b""))
    np.testing.assert_array_equal(tensor_of(tmp_path / "p.png", shape=(1, 1, 1, 8))[0, 0, 0], row)


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparency_is_dropped_with_a_note(ran, identity, tmp_path, mode):
    array = photo(channels=3 if mode == "RGBA" else 1)
    alpha = np.full(array.shape[:2] + (1,), 100, "uint8")
    Image.fromarray(np.concatenate([array, alpha], -1)).save(tmp_path / "p.png")
    model = identity(["n", array.shape[2], "h", "w"])
    result = ran("run", model, "-i", tmp_path / "p.png", "-o", tmp_path / "t.npy")
    np.testing.assert_array_equal(load(tmp_path / "t.npy"), chw(array))
    assert "p.png" in result.err and "transparency" in result.err
    assert ran("run", model, "-i", tmp_path / "p.png", "--quiet").err == ""


def test_palette_with_transparency(tensor_of, tmp_path):
    palette = chunk(b"PLTE", bytes([10, 20, 30, 200, 100, 50]))
    (tmp_path / "p.png").write_bytes(png(2, 1, 8, 3, [b"\0\1"], palette, chunk(b"tRNS", b"\0")))
    np.testing.assert_array_equal(tensor_of(tmp_path / "p.png")[0, :, 0], [[10, 200], [20, 100], [30, 50]])


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_jpeg(tensor_of, tmp_path, mode):
    array = photo(32, 40, 3 if mode == "RGB" else 1)
    Image.fromarray(array if mode == "RGB" else array[..., 0]).save(tmp_path / "p.jpg", quality=95)
    expected = np.asarray(Image.open(tmp_path / "p.jpg").convert("RGB"))
    got = tensor_of(tmp_path / "p.jpg")
    assert got.shape == (1, 3, 32, 40)
    assert np.abs(got - chw(expected)).max() <= 3  # decoders round differently


def test_content_decides_not_the_extension(tensor_of, tmp_path):
    array = photo()
    Image.fromarray(array).save(tmp_path / "p.jpg", format="png")
    np.testing.assert_array_equal(tensor_of(tmp_path / "p.jpg"), chw(array))


# Preprocessing


@pytest.mark.parametrize("height, width", [(5, 7), (9, 12), (18, 24), (3, 40), (1, 1)])
def test_size_is_pillow_s_bilinear(tensor_of, tmp_path, height, width):
    array = photo(19, 23)
    got = tensor_of(save_png(tmp_path / "p.png", array), "--size", f"{height}x{width}")
    expected = np.stack([np.asarray(Image.fromarray(array[..., c].astype("float32")).resize((width, height), Image.BILINEAR)) for c in range(3)])[None]
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, atol=2e-3)


@pytest.mark.parametrize("shape, expected", [((20, 31), (10, 15)), ((31, 20), (15, 10)), ((20, 20), (10, 10)), ((5, 9), (10, 18))])
def test_size_of_the_shorter_side(tensor_of, tmp_path, shape, expected):
    assert tensor_of(save_png(tmp_path / "p.png", photo(*shape)), "--size", "10").shape[2:] == expected


def test_crop_is_the_middle(tensor_of, tmp_path):
    array = photo(10, 13)
    path = save_png(tmp_path / "p.png", array)
    np.testing.assert_array_equal(tensor_of(path, "--crop", "4x5"), chw(array)[:, :, 3:7, 4:9])
    np.testing.assert_array_equal(tensor_of(path, "--crop", "6"), chw(array)[:, :, 2:8, 4:10])


def test_scale_mean_std(tensor_of, tmp_path):
    array = photo()
    path = save_png(tmp_path / "p.png", array)
    x = chw(array)
    np.testing.assert_allclose(tensor_of(path, "--scale", "1/255"), x / 255, rtol=1e-6)
    np.testing.assert_allclose(tensor_of(path, "--mean", "127.5", "--std", "127.5"), (x - 127.5) / 127.5, atol=1e-6)
    mean, std = np.array([0.1, 0.2, 0.3]).reshape(1, 3, 1, 1), np.array([0.5, 0.25, 2]).reshape(1, 3, 1, 1)
    got = tensor_of(path, "--scale=1/255", "--mean=0.1,0.2,0.3", "--std=0.5,0.25,2")
    np.testing.assert_allclose(got, (x / 255 - mean) / std, atol=1e-5)


def test_bgr(tensor_of, tmp_path):
    array = photo()
    path = save_png(tmp_path / "p.png", array)
    got = tensor_of(path, "--channels", "bgr", "--mean", "1,2,3")
    np.testing.assert_array_equal(got, chw(array)[:, ::-1] - np.array([1, 2, 3], "float32").reshape(1, 3, 1, 1))


def test_preset_imagenet(tensor_of, tmp_path):
    array = photo(300, 400)
    path = save_png(tmp_path / "p.png", array)
    got = tensor_of(path, "--preset", "imagenet")
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    resized = np.stack([np.asarray(Image.fromarray(array[..., c].astype("float32")).resize((341, 256), Image.BILINEAR)) for c in range(3)], -1)
    expected = (resized[16:240, 58:282] / 255 - mean) / std
    np.testing.assert_allclose(got[0], expected.transpose(2, 0, 1), atol=1e-4)
    explicit = ["--size=256", "--crop=224", "--scale=1/255", "--mean=0.485,0.456,0.406", "--std=0.229,0.224,0.225"]
    np.testing.assert_array_equal(got, tensor_of(path, *explicit))
    assert tensor_of(path, "--preset", "imagenet", "--crop", "200").shape == (1, 3, 200, 200)
    swapped = tensor_of(path, "--preset", "imagenet", "--channels", "bgr")
    np.testing.assert_array_equal(swapped, got[:, ::-1])


# Shapes and dtypes of inputs


@pytest.mark.parametrize(
    "shape, expected",
    [
        ((1, 3, 9, 12), lambda x: x),
        (("n", "c", "h", "w"), lambda x: x),
        ((1, 9, 12, 3), lambda x: x.transpose(0, 2, 3, 1)),
        (("n", "h", "w", 3), lambda x: x.transpose(0, 2, 3, 1)),
        ((3, 9, 12), lambda x: x[0]),
        ((9, 12, 3), lambda x: x[0].transpose(1, 2, 0)),
        (None, lambda x: x),
    ],
)
def test_layouts(ran, identity, tmp_path, shape, expected):
    array = photo()
    model = identity(shape and list(shape))
    ran("run", model, "-i", save_png(tmp_path / "p.png", array), "-o", tmp_path / "t.npy")
    np.testing.assert_array_equal(load(tmp_path / "t.npy"), expected(chw(array)))


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float64"])
def test_dtypes(tensor_of, tmp_path, dtype):
    array = photo()
    got = tensor_of(save_png(tmp_path / "p.png", array), dtype=dtype)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, chw(array).astype(dtype))


def test_pictures_become_a_batch(ran, identity, tmp_path):
    first, second = photo(seed=1), photo(seed=2)
    files = ["-i", save_png(tmp_path / "a.png", first), "-i", save_png(tmp_path / "b.png", second)]
    model = identity(["n", 3, "h", "w"])
    ran("run", model, *files, "-o", tmp_path / "t.npy")
    np.testing.assert_array_equal(load(tmp_path / "t.npy"), np.concatenate([chw(first), chw(second)]))
    ran("run", model, *files, "--batch", "2")


def test_batch_needs_as_many_pictures(rynd, identity, tmp_path):
    result = rynd("run", identity(["n", 3, "h", "w"]), "-i", save_png(tmp_path / "p.png", photo()), "--batch", "2")
    result.failed("--batch 2", "'x'", code=2)


def test_pictures_of_one_batch_have_one_size(rynd, identity, tmp_path):
    files = ["-i", save_png(tmp_path / "a.png", photo(9, 12)), "-i", save_png(tmp_path / "b.png", photo(8, 12))]
    rynd("run", identity(["n", 3, "h", "w"]), *files).failed("b.png", "8x12", "9x12", "--size")


def test_what_was_done_is_said(ran, identity, tmp_path):
    out = ran("run", identity(["n", 3, "h", "w"]), "-i", save_png(tmp_path / "p.png", photo(20, 30)), "--size", "10", "--crop", "8").out
    assert "[1, 3, 8, 8]" in out and "resized to 10x15, cropped to 8x8" in out


def test_picture_of_another_size_is_refused_with_advice(rynd, identity, tmp_path):
    path = save_png(tmp_path / "p.png", photo(20, 30))
    result = rynd("run", identity([1, 3, 8, 6]), "-i", path)
    result.failed(path, "20x30", "'x'", "[1, 3, 8, 6]", "--size 8x6", "--crop 8x6")
    rynd("run", identity(["n", 3, "h", "w"]), "--dim", "h=8", "-i", path).failed("20x30", "--size 8x30")


def test_crop_larger_than_the_picture(rynd, identity, tmp_path):
    path = save_png(tmp_path / "p.png", photo(20, 30))
    rynd("run", identity(["n", 3, "h", "w"]), "-i", path, "--crop", "24").failed(path, "24x24", "20x30", "--size")


def test_resized_picture_beyond_all_bounds(rynd, identity, tmp_path):
    path = save_png(tmp_path / "p.png", photo(1, 3000))
    rynd("run", identity(["n", 3, "h", "w"]), "-i", path, "--size", "60").failed(path, "--size HxW")


def test_input_that_is_no_picture(rynd, identity, tmp_path):
    path = save_png(tmp_path / "p.png", photo())
    rynd("run", identity([1, 7, 9, 12]), "-i", path).failed(path, "'x'", "[1, 7, 9, 12]", ".npy")
    rynd("run", identity([5]), "-i", path).failed(path, "'x'")


# Damaged pictures


def test_broken_jpegs(rynd, identity, tmp_path):
    path = tmp_path / "p.jpg"
    Image.fromarray(photo(64, 64)).save(path)
    good = path.read_bytes()
    model = identity(["n", 3, "h", "w"])
    for content in (good[: len(good) // 2], good[:2], good[:30], good[:2] + b"\0" * 100, good[:-40]):
        path.write_bytes(content)
        rynd("run", model, "-i", path).failed(path, "JPEG")


def test_cmyk_jpeg(rynd, identity, tmp_path):
    path = tmp_path / "p.jpg"
    Image.fromarray(photo()).convert("CMYK").save(path)
    rynd("run", identity(["n", 3, "h", "w"]), "-i", path).failed(path, "CMYK", "RGB")


def test_broken_pngs(rynd, identity, tmp_path):
    path = tmp_path / "p.png"
    save_png(path, photo(64, 64))
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 0x55
    huge = good[:16] + struct.pack(">II", 60000, 60000) + good[24:29]
    huge += struct.pack(">I", zlib.crc32(huge[12:29])) + good[33:]
    model = identity(["n", 3, "h", "w"])
    for content in (good[: len(good) // 2], good[:8], good[:20], bytes(flipped), huge):
        path.write_bytes(content)
        rynd("run", model, "-i", path).failed(path)


@pytest.mark.parametrize("name", ["p.png", "p.jpg"])
def test_files_that_are_no_pictures(rynd, identity, tmp_path, name):
    model = identity(["n", 3, "h", "w"])
    path = tmp_path / name
    rynd("run", model, "-i", path).failed(path, "No such file")
    path.write_bytes(b"")
    rynd("run", model, "-i", path).failed(path, "empty")
    path.write_text("hello")
    rynd("run", model, "-i", path).failed(path, "neither a PNG nor a JPEG")
    path.unlink()
    path.mkdir()
    rynd("run", model, "-i", path).failed(path, "folder")
