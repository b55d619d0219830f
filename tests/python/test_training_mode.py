# SPDX-License-Identifier: Apache-2.0
"""Models that PyTorch exported with TrainingMode.TRAINING: they train as PyTorch does, and are saved for inference."""

import io
import warnings

import numpy as np
import onnx
import pytest
import rynd

torch = pytest.importorskip("torch")
functional = torch.nn.functional

BATCH, STEPS, CLASSES = 4, 4, 5


class Network(torch.nn.Module):
    """Batch normalisations of several momentums, of pictures and of rows; a residual; a dropout."""

    def __init__(self, drop=0.0):
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = torch.nn.BatchNorm2d(8, momentum=0.3, eps=1e-3)
        self.second = torch.nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.beside = torch.nn.BatchNorm2d(8)
        self.rows = torch.nn.BatchNorm1d(8, momentum=0.01)
        self.drop = torch.nn.Dropout(drop)
        self.last = torch.nn.Linear(8, CLASSES)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = torch.relu(x + self.beside(self.second(x)))
        return self.last(self.drop(self.rows(x.mean((2, 3)))))


def exported(network, opset, open_batch=True):
    """The file's bytes; the network gets the running statistics that are in it."""
    file = io.BytesIO()
    axes = {"x": {0: "batch"}, "y": {0: "batch"}} if open_batch else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, torch.randn(BATCH, 3, 9, 9), file, opset_version=opset, input_names=["x"], output_names=["y"],
                          training=torch.onnx.TrainingMode.TRAINING, do_constant_folding=False, dynamic_axes=axes)
    weights = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load_from_string(file.getvalue()).graph.initializer}
    with torch.no_grad():
        for name, value in network.state_dict().items():
            if name in weights:
                value.copy_(torch.from_numpy(weights[name].copy()))
    return file.getvalue()


def batches(count=STEPS):
    rng = np.random.default_rng(5)
    for _ in range(count):
        yield rng.standard_normal((BATCH, 3, 9, 9), dtype=np.float32), rng.integers(0, CLASSES, BATCH)


def network_of(seed=0, **options):
    torch.manual_seed(seed)
    network = Network(**options).train()
    with torch.no_grad():
        network.norm.running_mean.normal_(0, 0.1)
    return network


@pytest.mark.parametrize("opset", [9, 13, 14])
def test_trains_as_pytorch_and_is_saved_for_inference(opset, tmp_path):
    network = network_of()
    trainer = rynd.Trainer(rynd.load(exported(network, opset)), momentum=0.9, batch=BATCH, keep_gradients=True)
    optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
    for x, labels in batches():
        optimizer.zero_grad()
        loss = functional.cross_entropy(network(torch.from_numpy(x)), torch.from_numpy(labels))
        loss.backward()
        assert trainer.step(x, labels, 0.1) == pytest.approx(loss.item(), rel=1e-4)
        gradient = network.first.weight.grad.numpy()
        assert np.abs(np.asarray(trainer.gradient("first.weight")) - gradient).max() <= 1e-3 * np.abs(gradient).max()
        optimizer.step()
    for name, value in network.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            assert np.abs(np.asarray(trainer.read(name)) - value.numpy()).max() <= 1e-4, name
    x, labels = next(batches())
    network.eval()
    wanted = network(torch.from_numpy(x)).detach().numpy()
    trainer.evaluate(x, labels)
    assert np.abs(np.asarray(trainer.output) - wanted).max() <= 1e-4
    trainer.save(tmp_path / "out.onnx")
    assert (tmp_path / "out.onnx").read_bytes() == trainer.save()
    onnx.checker.check_model(onnx.load(tmp_path / "out.onnx"))
    saved = rynd.load(tmp_path / "out.onnx")
    assert np.abs(np.asarray(saved(x[:1])) - wanted[:1]).max() <= 1e-4  # a batch of one has no statistics of its own


@pytest.mark.parametrize("opset", [9, 13, 14])
@pytest.mark.parametrize("open_batch", [False, True])
def test_dropout_of_training_mode(opset, open_batch):
    """It drops in training, and nothing in what is saved, also where the file leaves the batch open."""
    network = network_of(drop=0.5)
    model = rynd.load(exported(network, opset, open_batch))
    trainer = rynd.Trainer(model, batch=BATCH)
    plain = rynd.Trainer(model, batch=BATCH, dropout="off")
    x, labels = next(batches())
    wanted = functional.cross_entropy(Network.forward(network_of(drop=0.0), torch.from_numpy(x)), torch.from_numpy(labels)).item()
    assert plain.step(x, labels, 0.0) == pytest.approx(wanted, rel=1e-4)
    assert trainer.step(x, labels, 0.0) != pytest.approx(wanted, rel=1e-4)
    saved = rynd.load(trainer.save())
    network = network.eval()
    with torch.no_grad():
        for name in ("norm.running_mean", "norm.running_var", "beside.running_mean", "beside.running_var", "rows.running_mean", "rows.running_var"):
            network.state_dict()[name].copy_(torch.from_numpy(np.array(trainer.read(name))))
    assert np.abs(np.asarray(saved(x)) - network(torch.from_numpy(x)).detach().numpy()).max() <= 1e-4
    rynd.Trainer(saved, batch=BATCH).step(x, labels, 0.0)  # it can be trained on


def test_dropout_of_an_open_batch_runs():
    """As ONNX has it, it drops when the model runs as well: by the same mask in every run."""
    node = onnx.helper.make_node("Dropout", ["x", "ratio", "mode"], ["y", "mask"])
    values = [onnx.helper.make_tensor_value_info(name, kind, ["n", 300]) for name, kind in
              (("x", onnx.TensorProto.FLOAT), ("y", onnx.TensorProto.FLOAT), ("mask", onnx.TensorProto.BOOL))]
    constants = [onnx.numpy_helper.from_array(np.float32(0.25), "ratio"), onnx.numpy_helper.from_array(np.bool_(True), "mode")]
    graph = onnx.helper.make_graph([node], "g", values[:1], values[1:], constants)
    model = rynd.load(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 13)], ir_version=8).SerializeToString())
    x = np.random.default_rng(0).standard_normal((4, 300), dtype=np.float32)
    y, mask = (np.asarray(output) for output in model(x))
    assert 0.65 < mask.mean() < 0.85
    assert np.allclose(y, np.where(mask, x / 0.75, 0), rtol=1e-6)
    assert np.array_equal(np.asarray(model(x)[0]), y)


def test_running_statistics_that_somebody_reads():
    """Outputs of the running statistics are no hindrance; they stay in what is saved."""
    network = network_of()
    proto = onnx.load_from_string(exported(network, 14))
    first = next(node for node in proto.graph.node if node.op_type == "BatchNormalization")
    proto.graph.output.append(onnx.helper.make_tensor_value_info(first.output[1], onnx.TensorProto.FLOAT, [8]))
    trainer = rynd.Trainer(rynd.load(proto.SerializeToString()), batch=BATCH)
    x, labels = next(batches())
    loss = functional.cross_entropy(network(torch.from_numpy(x)), torch.from_numpy(labels)).item()
    assert trainer.step(x, labels, 0.0) == pytest.approx(loss, rel=1e-4)
    assert np.abs(np.asarray(trainer.read("norm.running_mean")) - network.norm.running_mean.numpy()).max() <= 1e-5
    nodes = [node for node in onnx.load_from_string(trainer.save()).graph.node if node.op_type == "BatchNormalization"]
    assert [len(node.output) for node in nodes] == [3, 1, 1]
