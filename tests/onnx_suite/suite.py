# SPDX-License-Identifier: Apache-2.0
"""ONNX's backend tests as files, and the list of those that rynd must pass:

    build/venv/bin/python tests/onnx_suite/suite.py > tests/onnx_suite/tests.txt

A test is listed when it uses only operators of src/onnx/operators.inc and types that rynd computes with, and its data is as ONNX's text says. The onnx package has three of the suite's
kinds as files. The fourth, node, it makes when it is asked: folder() writes those into build/ once, in the form of the others and with a fixed seed.
"""
import functools
import os
import pathlib
import re
import shutil
import sys
import tempfile
import warnings

import numpy
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGED = pathlib.Path(onnx.__file__).parent / "backend/test/data"
MADE = ROOT / f"build/onnx_suite/onnx-{onnx.__version__}-numpy-{numpy.__version__}"
PINNED = re.search("^onnx==(.*)$", (ROOT / "tests/requirements.txt").read_text(), re.MULTILINE)[1]
if onnx.__version__ != PINNED:
    sys.exit(f"this is onnx {onnx.__version__}, and tests/requirements.txt asks for {PINNED}: tools/make_venv installs it")
KINDS = ("node", "pytorch-converted", "pytorch-operator", "simple")
TYPES = {getattr(TensorProto, name) for name in ("FLOAT FLOAT16 BFLOAT16 DOUBLE INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64 BOOL").split()}

# Their data divides by a fractional length, against ONNX's own text; ONNX Runtime and PyTorch follow the text (docs/operators.md).
AGAINST_THE_TEXT = {"node/test_resize_downsample_scales_cubic_align_corners", "node/test_resize_downsample_scales_linear_align_corners"}

# Trip counts, or conditions whose branches have other shapes, that inputs decide; Scan of opset 8 (docs/operators.md).
DECIDED_BY_DATA = {f"node/test_{name}" for name in
                   ("loop11", "scan_sum", "affine_grid_3d_align_corners_expanded", "range_bfloat16_type_positive_delta_expanded",
                    "range_float16_type_positive_delta_expanded", "range_float_type_positive_delta_expanded", "range_int32_type_negative_delta_expanded")}


def write_tensors(folder, kind, values, declared):
    for index, (value, declaration) in enumerate(zip(values, declared)):
        tensor = value if isinstance(value, TensorProto) else numpy_helper.from_array(numpy.asarray(value), declaration.name)
        (folder / f"{kind}_{index}.pb").write_bytes(tensor.SerializeToString())


def is_of_tensors(graph):
    return all(value.type.HasField("tensor_type") for value in (*graph.input, *graph.output))


def write_node_tests(folder):
    # The suite's inputs are random: with a seed, every run has the same ones.
    numpy.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_node_model_tests
        tests = load_node_model_tests()
    for test in tests:
        if not is_of_tensors(test.model.graph):
            continue
        (folder / test.name).mkdir()
        (folder / test.name / "model.onnx").write_bytes(test.model.SerializeToString())
        for number, (inputs, outputs) in enumerate(test.data_sets):
            data = folder / test.name / f"test_data_set_{number}"
            data.mkdir()
            write_tensors(data, "input", inputs, test.model.graph.input)
            write_tensors(data, "output", outputs, test.model.graph.output)


@functools.cache
def folder(kind):
    """Where the tests of a kind lie, each in a folder of its name: model.onnx, test_data_set_*/input_*.pb and output_*.pb."""
    if kind != "node":
        return PACKAGED / kind
    made = MADE / kind
    if not made.exists():
        MADE.mkdir(parents=True, exist_ok=True)
        new = pathlib.Path(tempfile.mkdtemp(dir=MADE))
        write_node_tests(new)
        try:
            new.rename(made)
        except OSError:  # another process has made it meanwhile
            shutil.rmtree(new)
    return made


def path(test):
    """The folder of a test "kind/name"."""
    kind, name = test.split("/")
    return folder(kind) / name


def operators():
    return set(re.findall(r"^RY_OPERATOR\((\w+),", (ROOT / "src/onnx/operators.inc").read_text(), re.MULTILINE))


def is_known(model, known):
    functions = {(function.domain, function.name) for function in model.functions}
    for node in [*model.graph.node, *(node for function in model.functions for node in function.node)]:
        if (node.domain, node.op_type) not in functions and (node.domain not in ("", "ai.onnx") or node.op_type not in known):
            return False
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR and attribute.t.data_type not in TYPES:
                return False
    graph = model.graph
    types = {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output, *graph.value_info)}
    types |= {tensor.data_type for tensor in graph.initializer}
    return is_of_tensors(graph) and not graph.sparse_initializer and types <= TYPES


def expected():
    """The tests that rynd must pass, by kind and name."""
    known = operators()
    return [f"{kind}/{test.name}" for kind in KINDS for test in sorted(folder(kind).glob("test_*"))
            if f"{kind}/{test.name}" not in AGAINST_THE_TEXT | DECIDED_BY_DATA and is_known(onnx.load(test / "model.onnx", load_external_data=False), known)]


if __name__ == "__main__":
    print("\n".join(expected()))
