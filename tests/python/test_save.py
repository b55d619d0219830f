# SPDX-License-Identifier: Apache-2.0
"""Models written by rynd, beside onnx, its checker and ONNX Runtime; and random numbers."""

import os
import pathlib

import numpy
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import rynd

MODELS = pathlib.Path(os.environ.get("RYND_MODELS", pathlib.Path(__file__).parents[3] / "shared/models"))
TRAINED = ["deeplab_v3/deeplab_v3_1_default_1", "fns_style/candy", "mnist_8/model", "squeezenet_fp16/SqueezeNet_fp16", "super_resolution_10/model",
           "ultraface/version-RFB-320", "unet_sed/unet", "waifu2x_upconv7/scale2.0x_model", "yolox_nano/yolox_nano", "yunet/yunet_n_320_320"]
RUN = {"mnist_8/model", "squeezenet_fp16/SqueezeNet_fp16", "super_resolution_10/model", "ultraface/version-RFB-320"}


def run(content, seed=1):
    """All outputs in ONNX Runtime, of random inputs."""
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    random = numpy.random.default_rng(seed)
    inputs = {}
    for value in session.get_inputs():
        shape = [extent if isinstance(extent, int) else 1 for extent in value.shape]
        inputs[value.name] = random.random(shape).astype("float16" if "float16" in value.type else "float32")
    return session.run(None, inputs)


def halved(model):
    """Other values for every float initializer: by name."""
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    return {name: (value * 0.5).astype(value.dtype) for name, value in values.items() if value.dtype.kind == "f" and value.size}


def rest(model):
    """The model without the data of its initializers."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        name, documentation = tensor.name, tensor.doc_string
        tensor.Clear()
        tensor.name, tensor.doc_string = name, documentation
    return copy.SerializeToString(deterministic=True)


def complaint(content):
    """The message of onnx's checker, or None. One model breaks a rule of its IR version."""
    try:
        onnx.checker.check_model(content)
    except onnx.checker.ValidationError as error:
        return str(error)
    return None


@pytest.mark.parametrize("name", TRAINED)
def test_trained_models_with_other_weights(name):
    path = MODELS / f"{name}.onnx"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    before = onnx.load(path)
    model = rynd.load(str(path))
    same = model.save()
    assert onnx.ModelProto.FromString(same) == before
    # what rynd does not use it does not know as a constant
    other = {}
    for tensor, value in halved(before).items():
        try:
            model.save(None, {tensor: value})
            other[tensor] = value
        except rynd.NotFoundError:
            assert not any(tensor in node.input for node in before.graph.node), tensor
    assert other
    content = model.save(None, other)
    after = onnx.ModelProto.FromString(content)
    assert rest(after) == rest(before)
    for old, new in zip(before.graph.initializer, after.graph.initializer):
        numpy.testing.assert_array_equal(numpy_helper.to_array(new), other.get(old.name, numpy_helper.to_array(old)))
    assert complaint(content) == complaint(before.SerializeToString())
    if name in RUN:
        for old in before.graph.initializer:
            if old.name in other:
                old.CopyFrom(numpy_helper.from_array(other[old.name], old.name))
        for mine, theirs in zip(run(content), run(before.SerializeToString())):
            numpy.testing.assert_array_equal(mine, theirs)


def test_weights_of_other_files_come_inside(tmp_path, conv_model):
    proto = onnx.load(conv_model)
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    (tmp_path / "out").mkdir()
    model = rynd.load(tmp_path / "m.onnx")
    model.save(tmp_path / "out" / "m.onnx")
    model.save(str(tmp_path / "out" / "v.onnx"), {"v": numpy.zeros((8, 16, 1, 1), numpy.float32)})
    saved = onnx.load(tmp_path / "out" / "m.onnx", load_external_data=False)
    onnx.checker.check_model(saved)
    for old, new in zip(onnx.load(conv_model).graph.initializer, saved.graph.initializer):
        assert not new.external_data
        numpy.testing.assert_array_equal(numpy_helper.to_array(new), numpy_helper.to_array(old))
    assert not numpy.any(rynd.load(tmp_path / "out" / "v.onnx")(numpy.ones((1, 3, 20, 24), numpy.float32)))


def test_constants_of_nodes_and_every_type(tmp_path):
    values = {dtype: numpy.arange(6).reshape(2, 3).astype(dtype) for dtype in ("float32", "float16", "float64", "int8", "uint8", "int32", "int64")}
    nodes = [helper.make_node("Constant", [], ["c"], value_floats=[1.0, 2.0])] + [
        helper.make_node("Identity", [dtype], [f"y{dtype}"]) for dtype in values] + [helper.make_node("Neg", ["c"], ["n"])]
    types = {dtype: helper.np_dtype_to_tensor_dtype(numpy.dtype(dtype)) for dtype in values}
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info(f"y{dtype}", types[dtype], [2, 3]) for dtype in values]
                              + [helper.make_tensor_value_info("n", TensorProto.FLOAT, [2])],
                              [numpy_helper.from_array(value, dtype) for dtype, value in values.items()])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    model = rynd.load(proto.SerializeToString())
    other = {dtype: value[::-1] for dtype, value in values.items()} | {"c": numpy.array([3, 4], "float32")}
    content = model.save(tensors=other)
    onnx.checker.check_model(content)
    *outputs, negated = run(content)
    for (dtype, value), output in zip(values.items(), outputs):
        numpy.testing.assert_array_equal(output, value[::-1])
    assert negated.tolist() == [-3, -4]


def test_what_is_refused(conv_model, tmp_path):
    model = rynd.load(conv_model)
    with pytest.raises(rynd.NotFoundError, match="no constant 'u'"):
        model.save(tmp_path / "m.onnx", {"u": numpy.zeros(3, numpy.float32)})
    with pytest.raises(rynd.ShapeError, match="constant 'b' is f32 of shape 16"):
        model.save(tmp_path / "m.onnx", {"b": numpy.zeros(3, numpy.float32)})
    with pytest.raises(rynd.FileError, match="make the folder first"):
        model.save(tmp_path / "none" / "m.onnx")
    with pytest.raises(TypeError):
        model.save(tmp_path / "m.onnx", {"b": 1})
    assert not list(tmp_path.iterdir())


def test_random_numbers():
    whole = numpy.asarray(rynd.random.uniform(1000, seed=5, stream=2, step=3))
    part = numpy.asarray(rynd.random.uniform(10, seed=5, stream=2, step=3, first=77))
    numpy.testing.assert_array_equal(part, whole[77:87])
    assert whole.dtype == numpy.float32 and 0 <= whole.min() and whole.max() < 1 and abs(whole.mean() - 0.5) < 0.05
    normal = numpy.asarray(rynd.random.normal(100000, seed=5))
    assert abs(normal.mean()) < 0.02 and abs(normal.std() - 1) < 0.02
    order = numpy.asarray(rynd.random.permutation(100, seed=1))
    assert sorted(order.tolist()) == list(range(100)) and order.tolist() != list(range(100))
    assert rynd.random.permutation(0).shape == (0,)
    with pytest.raises(ValueError, match="seed is -1"):
        rynd.random.uniform(1, seed=-1)
