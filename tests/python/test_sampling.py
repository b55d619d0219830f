# SPDX-License-Identifier: Apache-2.0
"""Resize, Upsample and GridSample in every mode, beside ONNX Runtime, PyTorch and formulas in numpy (docs/operators.md tells where these differ)."""

import itertools

import numpy
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import rynd

torch = pytest.importorskip("torch")
COORDINATES = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn"]
NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
RANDOM = numpy.random.default_rng(5)
SESSION = onnxruntime.SessionOptions()
SESSION.intra_op_num_threads, SESSION.log_severity_level = 1, 3


def one_node(op, arrays, opset=19, **attributes):
    """A model with one node. arrays: its inputs, None if absent; all but the first become constants."""
    names = ["" if array is None else f"x{i}" for i, array in enumerate(arrays)]
    x = helper.make_tensor_value_info("x0", helper.np_dtype_to_tensor_dtype(arrays[0].dtype), arrays[0].shape)
    y = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(arrays[0].dtype), [None] * arrays[0].ndim)
    weights = [numpy_helper.from_array(array, name) for name, array in zip(names[1:], arrays[1:]) if array is not None]
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **attributes)], "graph", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9 if opset > 10 else 4).SerializeToString()


def resize(x, scales=None, sizes=None, roi=None, **attributes):
    lists = [(roi, numpy.float32), (scales, numpy.float32), (sizes, numpy.int64)]
    return one_node("Resize", [x] + [None if given is None else numpy.array(given, dtype) for given, dtype in lists], **attributes)


def computed(model, *inputs, **options):
    return numpy.asarray(rynd.Model(model, threads=1, **options)(*inputs))


def peer(model, x):
    return onnxruntime.InferenceSession(model, SESSION, providers=["CPUExecutionProvider"]).run(None, {"x0": x})[0]


def image(*dims):
    return RANDOM.standard_normal(dims).astype(numpy.float32)


# --- formulas: one axis as a matrix [out, in], in float64 ---

def positions(coordinates, n, size, scale):
    o = numpy.arange(size, dtype=numpy.float64)
    return {"half_pixel": (o + 0.5) / scale - 0.5,
            "half_pixel_symmetric": n / 2 * (1 - size / (scale * n)) + (o + 0.5) / scale - 0.5,
            "pytorch_half_pixel": (o + 0.5) / scale - 0.5 if size > 1 else 0 * o,
            "align_corners": o * (n - 1) / (size - 1) if size > 1 else 0 * o,
            "asymmetric": o / scale,
            "tf_half_pixel_for_nn": (o + 0.5) / scale if scale != 1 else o}[coordinates]


def weight_of(mode, distance, a=-0.75):
    d = numpy.abs(distance)
    if mode == "linear":
        return numpy.maximum(1 - d, 0)
    return numpy.where(d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1, numpy.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0))


def axis_matrix(coordinates, n, size, scale, mode, antialias=0, exclude_outside=0):
    stretch = min(scale, 1) if antialias else 1
    matrix = numpy.zeros((size, n))
    for o, x in enumerate(positions(coordinates, n, size, scale)):
        taps = numpy.arange(numpy.floor(x - 2 / stretch) - 1, numpy.ceil(x + 2 / stretch) + 2)
        weights = weight_of(mode, (taps - x) * stretch)
        if exclude_outside:
            weights[(taps < 0) | (taps >= n)] = 0
        if antialias or exclude_outside:
            weights /= weights.sum()
        numpy.add.at(matrix[o], numpy.clip(taps, 0, n - 1).astype(int), weights)
    return matrix


def resized(x, rows, columns):
    return numpy.einsum("oh,pw,nchw->ncop", rows, columns, x.astype(numpy.float64))


# --- nearest ---

@pytest.mark.parametrize("coordinates", COORDINATES)
def test_nearest_by_scales_is_computed_in_float32(coordinates):
    x = image(1, 1, 14, 20)
    for nearest, scale in itertools.product(NEAREST, (0.3, 0.43, 0.6, 0.7, 0.9, 1 / 7, 1.1, 1.3, 1.7, 1.9, 2.1, 2.7, 3.3, 5 / 3)):
        model = resize(x, scales=[1, 1, scale, 1.7], mode="nearest", nearest_mode=nearest, coordinate_transformation_mode=coordinates)
        numpy.testing.assert_array_equal(computed(model, x), peer(model, x), f"{nearest} {scale}")


@pytest.mark.parametrize("coordinates, nearest, place", [
    ("asymmetric", "floor", lambda o, n, size: o * n // size),
    ("asymmetric", "ceil", lambda o, n, size: -(-o * n // size)),
    ("half_pixel", "round_prefer_floor", lambda o, n, size: -(-(2 * o + 1) * n // (2 * size)) - 1),
    ("half_pixel", "round_prefer_ceil", lambda o, n, size: (2 * o + 1) * n // (2 * size)),
    ("align_corners", "floor", lambda o, n, size: o * (n - 1) // max(size - 1, 1))])
def test_nearest_by_sizes_is_exact(coordinates, nearest, place):
    for n, size in itertools.product((7, 14, 20, 26, 49), (1, 2, 3, 4, 6, 7, 15, 16, 29, 64, 65)):
        x = numpy.arange(n, dtype=numpy.int32)
        expected = numpy.clip([place(o, n, size) for o in range(size)], 0, n - 1)
        model = resize(x, sizes=[size], mode="nearest", nearest_mode=nearest, coordinate_transformation_mode=coordinates)
        numpy.testing.assert_array_equal(computed(model, x), expected, f"{n} -> {size}")


def test_sizes_come_from_scales_in_float32():
    for n, scale in itertools.product((3, 7, 10, 12, 35, 100, 250, 1000), (0.07, 0.29, 0.3, 0.57, 0.58, 0.7, 1.1, 1.15, 1.7, 2.3, 2.9)):
        x = numpy.zeros(n, numpy.float32)
        size = int(numpy.float32(n) * numpy.float32(scale))
        assert computed(resize(x, scales=[scale], mode="nearest"), x).shape == (size,), (n, scale)


def test_crop_and_resize_beside_onnx_runtime():
    for n, size, start, end in itertools.product((2, 7, 30), (1, 4, 11), (-0.2, 0.0, 0.1, 0.37), (0.63, 0.9, 1.0, 1.2)):
        x = image(1, 1, 5, n)
        for mode, nearest in (("nearest", "floor"), ("nearest", "round_prefer_floor"), ("linear", "floor")):
            model = resize(x, sizes=[1, 1, 3, size], roi=[0, 0, 0.1, start, 1, 1, 0.9, end], mode=mode, nearest_mode=nearest,
                           coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=-9.0)
            numpy.testing.assert_allclose(computed(model, x), peer(model, x), rtol=0, atol=2e-5, err_msg=f"{mode} {n} {size} {start} {end}")


# --- linear and cubic ---

@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode, antialias, exclude_outside", [("linear", 0, 0), ("linear", 1, 0), ("linear", 1, 1), ("cubic", 0, 0), ("cubic", 0, 1),
                                                              ("cubic", 1, 0), ("cubic", 1, 1)])
def test_linear_and_cubic(coordinates, mode, antialias, exclude_outside):
    x = image(1, 2, 9, 22)
    last = numpy.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    for scale, by_size in itertools.product((0.43, 0.6, 1.1, 1.7, 2.0), (False, True)):
        size = [int(numpy.float32(n) * numpy.float32(scale)) for n in (9, 22)]
        scales = [s / n if by_size else float(numpy.float32(scale)) for s, n in zip(size, (9, 22))]
        rows, columns = [axis_matrix(coordinates, n, s, 1 if antialias and n == s else factor, mode, antialias, exclude_outside)
                         for n, s, factor in zip((9, 22), size, scales)]
        how = {"sizes": size} if by_size else {"scales": [scale, scale]}
        model = resize(x, axes=[2, 3], mode=mode, antialias=antialias, exclude_outside=exclude_outside, coordinate_transformation_mode=coordinates, **how)
        for given, isa in ((x, None), (last, None), (x, "generic")):
            numpy.testing.assert_allclose(computed(model, given, isa=isa), resized(x, rows, columns), rtol=0, atol=3e-6, err_msg=f"{how} {isa}")


@pytest.mark.parametrize("policy", ["not_larger", "not_smaller"])
def test_one_scale_for_all_axes(policy):
    for dims, sizes in itertools.product(((7, 30), (23, 30), (20, 39)), ((11, 36), (46, 44), (5, 3), (60, 13))):
        x = image(1, 1, *dims)
        model = resize(x, sizes=sizes, axes=[2, 3], keep_aspect_ratio_policy=policy, mode="linear")
        numpy.testing.assert_allclose(computed(model, x), peer(model, x), rtol=0, atol=2e-5)


@pytest.mark.parametrize("op, opset", [("Upsample", 7), ("Upsample", 9), ("Resize", 10)])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_old_operators(op, opset, mode):
    x = image(1, 2, 11, 17)
    for scales in ((1.1, 1.9), (1.3, 2.0), (1.7, 1.7), (2.3, 1.1), (2.5, 3.0)) + (((0.43, 0.6), (0.7, 1.7), (1 / 3, 2.3)) if op == "Resize" else ()):
        scales = [1, 1, *scales]
        model = (one_node(op, [x], opset, mode=mode, scales=[float(scale) for scale in scales]) if opset == 7
                 else one_node(op, [x, numpy.array(scales, numpy.float32)], opset, mode=mode))
        numpy.testing.assert_allclose(computed(model, x), peer(model, x), rtol=0, atol=1e-5, err_msg=f"{scales}")


@pytest.mark.parametrize("mode, antialias", [("nearest", 0), ("linear", 0), ("linear", 1), ("cubic", 1)])
def test_a_size_that_stays_keeps_its_elements(mode, antialias):
    x = image(1, 2, 9, 8)
    assert numpy.array_equal(computed(resize(x, scales=[1, 1, 1.1, 1.05], mode=mode, antialias=antialias), x), x)
    model = resize(x, scales=[1, 1, 1.1, 1.7], mode=mode, antialias=antialias)  # antialiased: the height still stays
    numpy.testing.assert_allclose(computed(model, x), peer(model, x), rtol=0, atol=2e-5)


# --- integers ---

@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("mode, antialias", [("linear", 0), ("linear", 1), ("cubic", 0), ("cubic", 1)])
def test_integers_are_rounded_and_saturated(dtype, mode, antialias):
    limits = numpy.iinfo(dtype)
    low, high = max(limits.min, -2**40), min(limits.max, 2**40)
    x = RANDOM.integers(low, high, (1, 2, 12, 16), dtype, endpoint=True)
    x[:, 0] = numpy.where(x[:, 0] > low // 2 + high // 2, high, low)  # cubic passes these
    for coordinates, sizes in itertools.product(("half_pixel", "align_corners", "asymmetric"), ((5, 7), (24, 32), (15, 33), (12, 9))):
        rows, columns = [axis_matrix(coordinates, n, size, size / n, mode, antialias) for n, size in zip((12, 16), sizes)]
        exact = resized(x, rows, columns)
        got = computed(resize(x, sizes=[1, 2, *sizes], mode=mode, antialias=antialias, coordinate_transformation_mode=coordinates), x)
        assert got.dtype == dtype
        wanted = numpy.clip(exact, limits.min, limits.max)
        assert numpy.abs(got - wanted).max() <= 0.5 + 1e-14 * high, (coordinates, sizes)


def test_halves_round_to_even():
    x = numpy.array([0, 1, 2, 5, -5, -2], numpy.int8)
    model = resize(x, scales=[2], mode="linear", coordinate_transformation_mode="asymmetric")
    assert computed(model, x).tolist() == [0, 0, 1, 2, 2, 4, 5, 0, -5, -4, -2, -2]


# --- GridSample ---

def grid_model(x, grid, opset, **attributes):
    values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape) for name, array in (("x", x), ("grid", grid))]
    y = helper.make_tensor_value_info("y", helper.np_dtype_to_tensor_dtype(x.dtype), [None] * x.ndim)
    graph = helper.make_graph([helper.make_node("GridSample", ["x", "grid"], ["y"], **attributes)], "graph", values, [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9).SerializeToString()


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode, theirs, opset", [("nearest", "nearest", 20), ("linear", "bilinear", 20), ("cubic", "bicubic", 20), ("bilinear", "bilinear", 16),
                                                 ("bicubic", "bicubic", 16)])
def test_grids_beside_pytorch(padding, mode, theirs, opset):
    shapes = [(2, 3, 4, 4), (1, 2, 1, 5), (1, 1, 7, 3)] + ([(1, 2, 4, 5, 6), (1, 2, 2, 1, 3)] if mode in ("nearest", "linear") else [])
    for shape, align_corners, dtype in itertools.product(shapes, (0, 1), (numpy.float32, numpy.float64)):
        spatial = len(shape) - 2
        x, grid = RANDOM.standard_normal(shape).astype(dtype), RANDOM.uniform(-2.5, 2.5, (shape[0], *[5] * spatial, spatial)).astype(dtype)
        expected = torch.nn.functional.grid_sample(torch.from_numpy(x), torch.from_numpy(grid), theirs, padding, bool(align_corners)).numpy()
        got = computed(grid_model(x, grid, opset, mode=mode, padding_mode=padding, align_corners=align_corners), x, grid)
        numpy.testing.assert_allclose(got, expected, rtol=0, atol=2e-5 if dtype is numpy.float32 else 1e-10, err_msg=f"{shape} {align_corners}")


@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_cubic_grids_of_any_rank_are_separable(align_corners, padding):
    """PyTorch has two spatial dims only: one and three are built from its results."""
    x, at = RANDOM.standard_normal((1, 1, 5, 4, 6)), RANDOM.uniform(-1.6, 1.6, (8, 3))
    grid = at.reshape(1, 2, 2, 2, 3)

    def along(axis_first, positions_of):  # [n, length] at a position for each row
        grids = numpy.stack([positions_of, numpy.zeros_like(positions_of)], -1).reshape(len(axis_first), 1, 1, 2)
        images = torch.from_numpy(axis_first.copy()).reshape(len(axis_first), 1, 1, -1)
        return torch.nn.functional.grid_sample(images, torch.from_numpy(grids), "bicubic", padding, bool(align_corners)).numpy().ravel()

    expected = []
    for w, h, d in at:
        rows = along(x[0, 0].reshape(-1, 6), numpy.full(20, w)).reshape(5, 4)
        expected.append(along(along(rows, numpy.full(5, h))[None], numpy.array([d]))[0])
    options = {"mode": "cubic", "padding_mode": padding, "align_corners": align_corners}
    numpy.testing.assert_allclose(computed(grid_model(x, grid, 20, **options), x, grid).ravel(), expected, rtol=0, atol=1e-9)
    line, places = x[:, :, 0, 0], at[:, :1].reshape(1, 8, 1)
    got = computed(grid_model(line, places, 20, **options), line, places).ravel()
    numpy.testing.assert_allclose(got, along(numpy.repeat(line[0], 8, 0), at[:, 0]), rtol=0, atol=1e-9)


def test_grids_of_integers():
    big = numpy.array([[[2**62 + 1, 7, 250, 3]]], numpy.int64)
    grid = numpy.array([-0.75, 0.75, 5, 0.25], numpy.float32).reshape(1, 4, 1)
    assert computed(grid_model(big, grid, 20, mode="nearest"), big, grid).tolist() == [[[2**62 + 1, 3, 0, 250]]]
    small = big.clip(0, 250).astype(numpy.uint8)
    between = numpy.array([-0.5, 0.5, 0.05, -0.2], numpy.float32).reshape(1, 4, 1)
    assert computed(grid_model(small, between, 20, mode="linear"), small, between).tolist() == [[[128, 126, 153, 31]]]
    edge, around = numpy.array([[[0, 0, 255, 255]]], numpy.uint8), numpy.array([-0.5, 0.5], numpy.float32).reshape(1, 2, 1)
    overshoots = computed(grid_model(edge, around, 20, mode="cubic", padding_mode="border"), edge, around)
    assert overshoots.tolist() == [[[0, 255]]]
