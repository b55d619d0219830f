# SPDX-License-Identifier: Apache-2.0
"""Metadata of models: read, set and written again."""

import numpy as np
import onnx
import pytest
import rynd
from onnx import helper, numpy_helper


@pytest.fixture
def model(tmp_path):
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, ["n", 2])],
                              [helper.make_tensor_value_info("y", 1, ["n", 2])], [numpy_helper.from_array(np.eye(2, dtype="float32"), "w")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    for key, value in (("author", "somebody"), ("stride", "32"), ("note", "für")):
        entry = made.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.save(made, tmp_path / "m.onnx")
    return rynd.load(tmp_path / "m.onnx")


def written(model, path):
    model.save(path)
    return {entry.key: entry.value for entry in onnx.load(path).metadata_props}


def test_read_set_and_written(model, tmp_path):
    assert model.metadata == {"author": "somebody", "stride": "32", "note": "für"}
    assert written(model, tmp_path / "a.onnx") == model.metadata
    model.set_metadata("stride", None)
    model.set_metadata("author", "somebody else")
    model.set_metadata("names", "{0: 'cat'}")
    assert model.metadata == {"note": "für", "author": "somebody else", "names": "{0: 'cat'}"}
    assert written(model, tmp_path / "b.onnx") == model.metadata == rynd.load(tmp_path / "b.onnx").metadata
    x = np.ones((3, 2), "float32")
    assert np.array_equal(np.asarray(rynd.load(tmp_path / "b.onnx")(x)), x)


def test_all_removed(model, tmp_path):
    for key in model.metadata:
        model.set_metadata(key, None)
    assert written(model, tmp_path / "c.onnx") == {}


def test_in_what_a_trainer_writes(model, tmp_path):
    model.set_metadata("names", "{0: 'a', 1: 'b'}")
    x, y = np.ones((4, 2), "float32"), np.zeros((4, 2), "float32")
    trainer = rynd.Trainer(model, loss="mse", batch=4)
    trainer.step(x, y, 0.1)
    trainer.save(tmp_path / "t.onnx")
    assert rynd.load(tmp_path / "t.onnx").metadata["names"] == "{0: 'a', 1: 'b'}"


def test_damaged_entry(model, tmp_path):
    content = model.save()
    for broken in (b"\x72\x02\x0a\x09", b"\x72\x00", b"\x72\x03\x0a\x01\xff"):
        assert isinstance(rynd.load(content + broken).metadata, dict)
