# SPDX-License-Identifier: Apache-2.0
"""If, Loop and Scan compared with ONNX Runtime: branches are chosen or selected, loops are unrolled when the model is loaded."""
import numpy
import onnxruntime
import pytest
from onnx import AttributeProto, TensorProto, helper, numpy_helper

import rynd

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def tensor(name, array):
    return numpy_helper.from_array(numpy.asarray(array), name)


def info(name, dtype=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, dtype, shape)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(" "), outputs.split(" "), **attributes)


def body(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "body", inputs, outputs, constants)


def model_of(nodes, inputs, outputs, constants=(), functions=(), opset=17):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("own", 1)] if functions else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=functions)
    return model.SerializeToString()


def check(model, **inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    expected = session.run(names, inputs)
    found = rynd.load(model)(inputs)
    found = [array.numpy() for array in (found if isinstance(found, tuple) else (found,))]
    assert len(found) == len(expected)
    for have, want in zip(found, expected):
        assert have.shape == want.shape and have.dtype == want.dtype
        numpy.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


X = numpy.arange(12, dtype=numpy.float32).reshape(3, 4) - 5


def branch(op, *constants):
    return body([node(op, "x" + "".join(f" {c.name}" for c in constants), "b")], [], [info("b")], constants)


@pytest.mark.parametrize("condition", [True, False])
def test_if_of_a_constant(condition):
    model = model_of([node("If", "c", "y", then_branch=branch("Relu"), else_branch=branch("ReduceSum", tensor("axes", [1])))],
                     [info("x", shape=[3, 4])], [info("y")], [tensor("c", condition)])
    check(model, x=X)


@pytest.mark.parametrize("rows", [1, 3])
def test_if_of_a_shape(rows):
    """What PyTorch writes for squeeze(0)."""
    nodes = [node("Shape", "x", "s"), node("Gather", "s zero", "d"), node("Equal", "d one", "c"),
             node("If", "c", "y", then_branch=branch("Squeeze", tensor("axes", [0])), else_branch=branch("Identity"))]
    model = model_of(nodes, [info("x", shape=[rows, 4])], [info("y")], [tensor("zero", 0), tensor("one", 1)])
    assert (rynd.load(model)(X[:rows]).numpy() == (X[0] if rows == 1 else X)).all()  # ONNX Runtime refuses the branch that is not taken


@pytest.mark.parametrize("condition", [True, False])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_if_of_an_input(condition, shape):
    model = model_of([node("If", "c", "y", then_branch=branch("Relu"), else_branch=branch("Neg"))],
                     [info("x", shape=["n", 4]), info("c", BOOL, shape)], [info("y")])
    check(model, x=X, c=numpy.full(shape, condition))


def test_if_of_an_input_and_other_shapes():
    model = model_of([node("If", "c", "y", then_branch=branch("Relu"), else_branch=branch("ReduceSum", tensor("axes", [1])))],
                     [info("x", shape=[3, 4]), info("c", BOOL, [])], [info("y")])
    with pytest.raises(rynd.Error, match=r"node 'y' \(If\): its condition is not known.*f32 3x4, f32 3x1|3x4.*3x1"):
        rynd.load(model)


def loop_body(last=(), outputs=(), condition=("Identity", "go")):
    nodes = [node(condition[0], condition[1], "go_on"), node("Cast", "i", "step", to=FLOAT), node("Mul", "v x", "scaled"), node("Add", "scaled step", "next"), *last]
    return body(nodes, [info("i", INT, []), info("go", BOOL, []), info("v")], [info("go_on", BOOL, []), info("next"), *outputs])


@pytest.mark.parametrize("turns", [0, 1, 5])
def test_loop_that_passes_a_value_on(turns):
    model = model_of([node("Loop", "m c x", "y", body=loop_body())], [info("x", shape=[3, 4])], [info("y")], [tensor("m", turns), tensor("c", True)])
    check(model, x=X / 5)


def test_loop_that_lists_values():
    last = [node("ReduceMax", "next", "top", axes=[1], keepdims=0)]
    model = model_of([node("Loop", "m  x", "y tops", body=loop_body(last, [info("top")])), ], [info("x", shape=[3, 4])], [info("y"), info("tops")],
                     [tensor("m", 4)])
    check(model, x=X / 5)


def test_loop_of_a_dim_and_a_condition():
    """The trip count is a dim; the condition ends the loop after turn 2."""
    nodes = [node("Shape", "x", "s"), node("Gather", "s one", "m"), node("Loop", "m c x", "y", body=body(
        [node("Less", "i two", "go_on"), node("Add", "v x", "next")],
        [info("i", INT, []), info("go", BOOL, []), info("v")], [info("go_on", BOOL, []), info("next")], [tensor("two", 2)]))]
    check(model_of(nodes, [info("x", shape=[3, 4])], [info("y")], [tensor("one", 1), tensor("c", True)]), x=X)


def test_loop_in_a_loop():
    inner = node("Loop", "three go v", "w", body=body(
        [node("Identity", "g", "gg"), node("Add", "u x", "t"), node("Cast", "i", "f", to=FLOAT), node("Sub", "t f", "n")],
        [info("j", INT, []), info("g", BOOL, []), info("u")], [info("gg", BOOL, []), info("n")]))
    outer = body([inner, node("Identity", "go", "go_on")], [info("i", INT, []), info("go", BOOL, []), info("v")],
                 [info("go_on", BOOL, []), info("w")], [tensor("three", 3)])
    check(model_of([node("Loop", "m c x", "y", body=outer)], [info("x", shape=[3, 4])], [info("y")], [tensor("m", 2), tensor("c", True)]), x=X)


def test_loop_of_an_unknown_count():
    model = model_of([node("Loop", "m c x", "y", body=loop_body())], [info("x", shape=[3, 4]), info("m", INT, [])], [info("y")], [tensor("c", True)])
    with pytest.raises(rynd.Error, match=r"node 'y' \(Loop\): its trip count is not known"):
        rynd.load(model)


def test_loop_of_a_condition_of_data():
    last = [node("ReduceMax", "next", "top", keepdims=0), node("Less", "top limit", "go_on")]
    nodes = loop_body(last).node[1:]
    own = body(list(nodes), [info("i", INT, []), info("go", BOOL, []), info("v")], [info("go_on", BOOL, []), info("next")], [tensor("limit", numpy.float32(9))])
    model = model_of([node("Loop", "m c x", "y", body=own)], [info("x", shape=[3, 4])], [info("y")], [tensor("m", 4), tensor("c", True)])
    with pytest.raises(rynd.Error, match="its condition depends on data"):
        rynd.load(model)


def test_loop_without_end():
    model = model_of([node("Loop", " c x", "y", body=loop_body())], [info("x", shape=[3, 4])], [info("y")], [tensor("c", True)])
    with pytest.raises(rynd.Error, match="grow to more than 32768 nodes"):
        rynd.load(model)


@pytest.mark.parametrize("directions", [[0, 0], [1, 0]])
@pytest.mark.parametrize("back", [0, 1])
def test_scan(directions, back):
    own = body([node("MatMul", "h w", "r"), node("Add", "r a", "s"), node("Add", "s b", "t"), node("Tanh", "t", "n"), node("Identity", "n", "out")],
               [info("h"), info("a"), info("b")], [info("n"), info("out")])
    scan = node("Scan", "h0 xs zs", "last all", body=own, num_scan_inputs=2, scan_input_axes=[0, 1], scan_input_directions=directions,
                scan_output_axes=[1], scan_output_directions=[back])
    draw = numpy.random.default_rng(3)
    model = model_of([scan], [info("h0", shape=[2, 4]), info("xs", shape=[5, 2, 4]), info("zs", shape=[2, 5, 4])], [info("last"), info("all")],
                     [tensor("w", draw.standard_normal((4, 4), numpy.float32))])
    check(model, h0=draw.standard_normal((2, 4), numpy.float32), xs=draw.standard_normal((5, 2, 4), numpy.float32),
          zs=draw.standard_normal((2, 5, 4), numpy.float32))


def test_if_in_a_function():
    """The branches read the function's names and attributes, which another call gives other values."""
    leaky = node("LeakyRelu", "a", "b")
    leaky.attribute.append(AttributeProto(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT))
    function = helper.make_function("own", "Step", ["a", "c"], ["r"],
                                    [node("If", "c", "r", then_branch=body([leaky], [], [info("b")]), else_branch=body([node("Neg", "a", "b")], [], [info("b")]))],
                                    [helper.make_opsetid("", 17)], ["slope"])
    nodes = [helper.make_node("Step", ["x", "c"], ["h"], domain="own", slope=0.5), helper.make_node("Step", ["h", "n"], ["g"], domain="own", slope=0.1),
             helper.make_node("Step", ["g", "c"], ["y"], domain="own", slope=0.25)]
    check(model_of(nodes, [info("x", shape=[3, 4])], [info("y")], [tensor("c", True), tensor("n", False)], [function]), x=X)


def test_a_name_that_is_missing_inside():
    graph = helper.make_graph([node("If", "c", "y", then_branch=body([node("Relu", "nowhere", "b")], [], [info("b")]), else_branch=branch("Neg"))], "graph",
                              [info("x", shape=[3, 4])], [info("y")], [tensor("c", True)])
    with pytest.raises(rynd.Error, match="'nowhere' is missing"):
        rynd.load(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
