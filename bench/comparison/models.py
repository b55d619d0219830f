# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX files that the engines run: models.py FOLDER JSON, a list of [file, problem, batch] (layers) and [file, network, batch] (networks).

Networks are exported by tests/networks/export.py, under Debian's Python (its PyTorch has the exporter), with an open batch, which is fixed here."""
import json
import pathlib
import subprocess
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from subjects import parse

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXPORTED = ROOT / "build/networks"


def write_layer(path, text):
    p = parse(text)
    rng = numpy.random.default_rng(0)
    fan = numpy.prod(p.weight_shape[1:]) if p.kind == "conv" else numpy.prod((p.c // p.groups,) + p.window)
    weights = (rng.standard_normal(p.weight_shape) / numpy.sqrt(fan)).astype(numpy.float32)
    bias = rng.standard_normal(p.k).astype(numpy.float32)
    rank = len(p.space)
    node = helper.make_node("Conv" if p.kind == "conv" else "ConvTranspose", ["x", "w", "b"], ["y"], kernel_shape=p.window,
                            pads=[p.pad] * 2 * rank, strides=[p.stride] * rank, dilations=[p.dilation] * rank, group=p.groups)
    ends = [[helper.make_tensor_value_info(name, TensorProto.FLOAT, (p.n, channels) + shape)]
            for name, channels, shape in (("x", p.c, p.space), ("y", p.k, p.out))]
    graph = helper.make_graph([node], "layer", *ends, [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def write_network(path, name, batch):
    subprocess.run(["/usr/bin/python3", ROOT / "tests/networks/export.py", EXPORTED, name], check=True)
    model = onnx.load(EXPORTED / f"{name}.onnx")
    for value in [*model.graph.input, *model.graph.output]:
        value.type.tensor_type.shape.dim[0].dim_value = batch
    save(model, path)


def save(model, path):
    """Writes to a temporary name and renames: an interrupted file is written again next time."""
    part = path.with_suffix(".part")
    onnx.save(model, part)
    part.rename(path)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file, what, batch in json.loads(sys.argv[2]):
        if (folder / file).exists():
            continue
        if " " in what:
            write_layer(folder / file, what)
        else:
            write_network(folder / file, what, batch)


if __name__ == "__main__":
    main()
