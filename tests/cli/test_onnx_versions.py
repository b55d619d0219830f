# SPDX-License-Identifier: Apache-2.0
"""What newer releases of ONNX brought: versions, types by name, functions with defaults and overloads, new forms of operators."""

import math

import numpy as np
import onnx
import pytest
from conftest import save
from onnx import TensorProto, helper, numpy_helper

NEW_TYPES = {
    name: number
    for name, number in TensorProto.DataType.items()
    if number > TensorProto.BFLOAT16 or name in ("STRING", "COMPLEX64", "COMPLEX128")
}


def tensor(name, shape=(2, 3), dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def write(tmp_path, nodes, initializers=(), functions=(), x=None, **options):
    graph = helper.make_graph(nodes, "new", [x or tensor("x")], [tensor("y", None)], list(initializers))
    path = tmp_path / "new.onnx"
    onnx.save(helper.make_model(graph, functions=list(functions), **options), str(path))
    return path


def run(ran, tmp_path, path, inputs):
    """The output y."""
    files = []
    for name, array in inputs.items():
        np.save(tmp_path / f"{name}.npy", array)
        files += ["-i", f"{name}={tmp_path / name}.npy"]
    ran("run", path, *files, "-o", tmp_path / "y.npy")
    return np.load(tmp_path / "y.npy")


def test_what_the_helper_writes_by_default(ran, tmp_path):
    path = write(tmp_path, [helper.make_node("Relu", ["x"], ["y"])])
    x = np.float32([[-1, 0, 2], [3, -4, 5]])
    assert np.array_equal(run(ran, tmp_path, path, {"x": x}), np.maximum(x, 0))
    model = onnx.load(str(path))
    assert (model.ir_version, model.opset_import[0].version) == (onnx.IR_VERSION, onnx.defs.onnx_opset_version())


def test_versions_after_the_newest(rynd, tmp_path):
    relu = [helper.make_node("Relu", ["x"], ["y"])]
    path = write(tmp_path, relu, ir_version=onnx.IR_VERSION + 1)
    rynd("inspect", path).failed(path, f"IR version {onnx.IR_VERSION + 1}", f"the newest that rynd knows is {onnx.IR_VERSION}")
    newest = onnx.defs.onnx_opset_version()
    path = write(tmp_path, relu, opset_imports=[helper.make_opsetid("", newest + 1)])
    rynd("inspect", path).failed(path, f"opset {newest + 1}", f"the newest that rynd knows is {newest}")


@pytest.mark.parametrize("name", NEW_TYPES)
def test_types_that_rynd_does_not_have_are_named(rynd, tmp_path, name):
    number = NEW_TYPES[name]
    said = f"the ONNX data type {number} ({name}), which rynd does not compute with"
    weights = TensorProto(name="w", data_type=number, dims=[2, 3], raw_data=bytes(48))
    path = write(tmp_path, [helper.make_node("Add", ["x", "w"], ["y"])], [weights])
    rynd("inspect", path).failed(path, "tensor 'w'", said)
    path = write(tmp_path, [helper.make_node("Identity", ["x"], ["y"])], x=tensor("x", dtype=number))
    rynd("inspect", path).failed(path, "value 'x'", said)
    path = write(tmp_path, [helper.make_node("Cast", ["x"], ["y"], name="c", to=number)])
    rynd("inspect", path).failed(path, "node 'c' (Cast)", "'to'", said)


def test_a_type_of_the_future(rynd, tmp_path):
    path = write(tmp_path, [helper.make_node("Identity", ["x"], ["y"])], x=tensor("x", dtype=77))
    rynd("inspect", path).failed(path, "value 'x'", "data type 77 (not in the ONNX that rynd knows)")


OPSETS = [helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)]


def leaky(name="F", overload="", **presets):
    """F(a) = LeakyRelu(a), its alpha the function's attribute of that name."""
    node = helper.make_node("LeakyRelu", ["a"], ["b"])
    node.attribute.append(onnx.AttributeProto(name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope"))
    defaults = [helper.make_attribute(key, value) for key, value in presets.items()]
    return helper.make_function("mine", name, ["a"], ["b"], [node], OPSETS, [] if presets else ["slope"], defaults, overload=overload)


@pytest.mark.parametrize(
    "function, stated, slope",
    [(leaky(slope=0.5), {}, 0.5), (leaky(slope=0.5), {"slope": 0.25}, 0.25), (leaky(), {}, 0.01), (leaky(), {"slope": 0.25}, 0.25)],
)
def test_attributes_of_functions_have_defaults(ran, tmp_path, function, stated, slope):
    call = helper.make_node("F", ["x"], ["y"], domain="mine", **stated)
    path = write(tmp_path, [call], functions=[function], opset_imports=OPSETS)
    x = np.float32([[-1, 0, 2], [3, -4, 5]])
    assert np.allclose(run(ran, tmp_path, path, {"x": x}), np.where(x < 0, x * slope, x))


def test_a_default_reaches_the_functions_inside(ran, tmp_path):
    inner = helper.make_node("F", ["a"], ["b"], domain="mine")
    inner.attribute.append(onnx.AttributeProto(name="slope", type=onnx.AttributeProto.FLOAT, ref_attr_name="steepness"))
    outer = helper.make_function("mine", "G", ["a"], ["b"], [inner], OPSETS, [], [helper.make_attribute("steepness", 0.75)])
    path = write(tmp_path, [helper.make_node("G", ["x"], ["y"], domain="mine")], functions=[leaky(slope=0.5), outer], opset_imports=OPSETS)
    x = np.float32([[-1, 0, 2], [3, -4, 5]])
    assert np.allclose(run(ran, tmp_path, path, {"x": x}), np.where(x < 0, x * 0.75, x))


@pytest.mark.parametrize("overload, slope", [("", 0.5), ("steep", 0.9)])
def test_functions_with_overloads(ran, rynd, tmp_path, overload, slope):
    functions = [leaky(slope=0.5), leaky(slope=0.9, overload="steep")]
    call = helper.make_node("F", ["x"], ["y"], domain="mine", name="call", overload=overload)
    path = write(tmp_path, [call], functions=functions, opset_imports=OPSETS)
    x = np.float32([[-1, 0, 2], [3, -4, 5]])
    assert np.allclose(run(ran, tmp_path, path, {"x": x}), np.where(x < 0, x * slope, x))
    call.overload = "missing"
    path = write(tmp_path, [call], functions=functions, opset_imports=OPSETS)
    rynd("inspect", path).failed(path, "node 'call'", "domain 'mine'")


def one_node(tmp_path, node, opset, arrays, dtype):
    ends = [(name, array.dtype, array.shape) for name, array in arrays.items()]
    return save(tmp_path / "one.onnx", [node], ends, [("y", dtype, None)], opset=opset)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts(ran, tmp_path, dtype, direction):
    """Shifts every type by every amount, also beyond the type's bits. Right shifts of signed types keep the sign."""
    bits, signed = 8 * np.dtype(dtype).itemsize, dtype[0] == "i"
    limits = np.iinfo(dtype)
    x = np.array([limits.min, limits.max, 0, 1, 2, limits.max // 3] + ([-1, -2, limits.min // 3] if signed else []), dtype)[:, None]
    s = np.array([0, 1, 2, bits - 1, bits, bits + 1, limits.max] + ([-1, limits.min] if signed else []), dtype)[None]
    inside = lambda by: 0 <= by < bits
    left = lambda a, by: a << by if inside(by) else 0
    right = lambda a, by: a >> by if inside(by) else -(a < 0)
    exact = [[(left if direction == "LEFT" else right)(int(a), int(by)) for by in s[0]] for a in x[:, 0]]
    wrapped = np.array([[value % 2**bits for value in row] for row in exact], f"uint{bits}").astype(dtype)
    node = helper.make_node("BitShift", ["x", "s"], ["y"], direction=direction)
    path = one_node(tmp_path, node, 28, {"x": x, "s": s}, dtype)
    assert np.array_equal(run(ran, tmp_path, path, {"x": x, "s": s}), wrapped)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_mod_of_floats_has_the_divisors_sign(ran, tmp_path, dtype):
    """With the special cases of the text, signs of zeros included."""
    a, b = (grid.ravel() for grid in np.meshgrid(np.array([0.0, -0.0, 5.5, -5.5, np.inf, -np.inf, np.nan, 1e-3], dtype),
                                                 np.array([0.0, -0.0, 3, -3, np.inf, -np.inf, np.nan], dtype)))

    def modulo(x, y):
        if math.isnan(x) or math.isnan(y) or math.isinf(x) or y == 0:
            return math.nan
        if x == 0:
            return math.copysign(0, y)
        if math.isinf(y):
            return x if (x < 0) == (y < 0) else y
        return x % y

    expected = np.array([modulo(float(x), float(y)) for x, y in zip(a, b)], dtype)
    path = one_node(tmp_path, helper.make_node("Mod", ["a", "b"], ["y"], fmod=0), 28, {"a": a, "b": b}, dtype)
    got = run(ran, tmp_path, path, {"a": a, "b": b})
    assert np.array_equal(got, expected, equal_nan=True)
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64"])
def test_cumulative_product(ran, tmp_path, dtype, exclusive, reverse):
    x = np.random.default_rng(0).integers(1, 5, (3, 7, 2)).astype(dtype)
    turned = x[:, ::-1] if reverse else x
    expected = np.cumprod(turned, 1, dtype)
    if exclusive:
        expected = np.concatenate([np.ones((3, 1, 2), dtype), expected[:, :-1]], 1)
    node = helper.make_node("CumProd", ["x", "axis"], ["y"], exclusive=exclusive, reverse=reverse)
    path = save(tmp_path / "one.onnx", [node], [("x", dtype, x.shape)], [("y", dtype, x.shape)], {"axis": np.int64(1)}, opset=26)
    assert np.array_equal(run(ran, tmp_path, path, {"x": x}), expected[:, ::-1] if reverse else expected)


@pytest.mark.parametrize("alpha", [None, 1.702])
def test_swiglu(ran, tmp_path, alpha):
    a, b = np.random.default_rng(0).standard_normal((2, 4, 33)).astype("float32")
    node = helper.make_node("SwiGLU", ["a", "b"], ["y"], **({"alpha": alpha} if alpha else {}))
    path = one_node(tmp_path, node, 28, {"a": a, "b": b}, "float32")
    assert np.allclose(run(ran, tmp_path, path, {"a": a, "b": b}), a / (1 + np.exp(-(alpha or 1) * a)) * b, 1e-5, 1e-6)


@pytest.mark.parametrize("mode", [None, "DCR", "CRD"])
@pytest.mark.parametrize("block", [1, 2, 3])
def test_space_to_depth_is_depth_to_space_backwards(ran, tmp_path, mode, block):
    options = {"mode": mode} if mode else {}
    nodes = [helper.make_node("SpaceToDepth", ["x"], ["t"], blocksize=block, **options), helper.make_node("DepthToSpace", ["t"], ["y"], blocksize=block, **options)]
    x = np.arange(2 * 3 * 6 * 12, dtype="float32").reshape(2, 3, 6, 12)
    path = save(tmp_path / "both.onnx", nodes, [("x", "float32", x.shape)], [("y", "float32", x.shape)], opset=28)
    assert np.array_equal(run(ran, tmp_path, path, {"x": x}), x)
    path = save(tmp_path / "half.onnx", nodes[:1], [("x", "float32", x.shape)], [("t", "float32", None)], opset=28)
    blocks = x.reshape(2, 3, 6 // block, block, 12 // block, block)
    order = (0, 1, 3, 5, 2, 4) if mode == "CRD" else (0, 3, 5, 1, 2, 4)
    assert np.array_equal(run(ran, tmp_path, path, {"x": x}), blocks.transpose(order).reshape(2, 3 * block**2, 6 // block, 12 // block))


def test_attributes_of_later_opsets_are_refused(rynd, tmp_path):
    node = helper.make_node("SpaceToDepth", ["x"], ["y"], name="s", blocksize=2, mode="CRD")
    path = save(tmp_path / "old.onnx", [node], [("x", "float32", [1, 1, 2, 2])], [("y", "float32", None)], opset=27)
    rynd("inspect", path).failed(path, "node 's' (SpaceToDepth)", "'mode'", "opset 27")
    node = helper.make_node("Range", ["a", "b", "c"], ["y"], name="r", stash_type=1)
    ends = [(name, "float32", []) for name in "abc"]
    path = save(tmp_path / "old.onnx", [node], ends, [("y", "float32", None)], opset=26)
    rynd("inspect", path).failed(path, "node 'r' (Range)", "'stash_type'", "opset 26")


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("opset", [1, 22])
def test_lp_norm_of_zeros_is_zero(ran, tmp_path, p, opset):
    x = np.float32([[0, 0, 0], [3, -4, 0], [0, np.nan, 1]])
    path = one_node(tmp_path, helper.make_node("LpNormalization", ["x"], ["y"], p=p), opset, {"x": x}, "float32")
    length = np.array([7, 5])[p - 1]
    assert np.allclose(run(ran, tmp_path, path, {"x": x}), [[0, 0, 0], [3 / length, -4 / length, 0], [np.nan] * 3], equal_nan=True)


@pytest.mark.parametrize("equation", ["aA,AB->aB", "bA,AB", "Zz,zZa"])
def test_einsum_tells_capital_letters_apart(ran, tmp_path, equation):
    rng = np.random.default_rng(0)
    sizes = {letter: size for size, letter in enumerate(sorted(set(equation) - set(",->")), 2)}
    terms = equation.split("->")[0].split(",")
    arrays = {name: rng.standard_normal([sizes[letter] for letter in term]).astype("float32") for name, term in zip("pq", terms)}
    path = one_node(tmp_path, helper.make_node("Einsum", ["p", "q"], ["y"], equation=equation), 28, arrays, "float32")
    letters = [letter for letter in sorted(set("".join(terms))) if "".join(terms).count(letter) == 1]
    full = equation if "->" in equation else f"{equation}->{''.join(letters)}"
    assert np.allclose(run(ran, tmp_path, path, arrays), np.einsum(full, *arrays.values()), 1e-5, 1e-5)


def test_range_of_half_floats_does_not_stick(ran, tmp_path):
    """Each number is start + i * delta, not the sum of many roundings."""
    node = helper.make_node("Range", ["a", "b", "c"], ["y"], stash_type=1)
    constants = {"a": np.float16(2040), "b": np.float16(2060), "c": np.float16(1)}
    path = save(tmp_path / "range.onnx", [helper.make_node("Cast", ["x"], ["a"], to=TensorProto.FLOAT16), node],
                [("x", "float32", [])], [("y", "float16", None)], {name: constants[name] for name in "bc"}, opset=27)
    assert np.array_equal(run(ran, tmp_path, path, {"x": np.float32(2040)}), np.arange(2040, 2060, dtype="float32").astype("float16"))
