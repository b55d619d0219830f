# SPDX-License-Identifier: Apache-2.0
"""Trainers on arrays."""
import numpy
import pytest
from conftest import save
from onnx import TensorProto, helper, numpy_helper

import rynd


def batch(n=4):
    random = numpy.random.default_rng(2)
    return random.standard_normal((n, 3, 20, 24), dtype=numpy.float32), random.standard_normal((n, 8, 10, 12), dtype=numpy.float32)


def test_losses_fall(conv_model):
    x, target = batch()
    trainer = rynd.Trainer(conv_model, loss="mse", optimizer="adam", batch=4)
    assert trainer.target == ("f32", (4, 8, 10, 12))
    losses = [trainer.step(x, target, 0.01) for _ in range(20)]
    assert losses[-1] < 0.9 * losses[0]
    assert trainer.evaluate({"x": x}, target) < losses[-1]
    assert trainer.output.shape == (4, 8, 10, 12)
    assert trainer.memory > 0 and trainer.predict().median > 0
    parts = [trainer.predict(step).median for step in trainer.steps]
    assert all(part > 0 for part in parts) and trainer.predict(0).median == parts[0] and sum(parts) > 0.5 * trainer.predict().median
    with pytest.raises(rynd.ArgumentError):
        trainer.predict(len(parts))
    assert any("dir=bwd_weights" in step.problem for step in trainer.steps)


def test_loosest_arithmetic_is_for_gradients_too(folder):
    """Forward and both gradients take kernels of bfloat16 where they alone would; what comes out is near."""
    random = numpy.random.default_rng(3)
    weights = [(name, (0.05 * random.standard_normal((64, 64, 3, 3))).astype(numpy.float32)) for name in ("w", "v")]
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["a"], ["r"]),
             helper.make_node("Conv", ["r", "v"], ["y"], pads=[1, 1, 1, 1])]
    model = save(folder / "wide.onnx", nodes, [("x", TensorProto.FLOAT, ["n", 64, 28, 28])], [("y", TensorProto.FLOAT, ["n", 64, 28, 28])], weights)
    x, target = (random.standard_normal((8, 64, 28, 28), dtype=numpy.float32) for _ in range(2))
    losses = {}
    for accuracy in ("strict", "bf16"):
        trainer = rynd.Trainer(model, loss="mse", batch=8, accuracy=accuracy)
        losses[accuracy] = [trainer.step(x, target, 0.01) for _ in range(5)]
        products = [step for step in trainer.steps if step.problem.split()[0] in ("conv", "convt")]
        assert len(products) == 5  # two forward, two of weights, one of data
        assert all(("bf16" in step.kernel) <= (accuracy == "bf16") for step in products)
        assert any("dir=bwd_weights" in step.problem for step in products)
    gradient = "conv n=8 c=64 h=28 w=28 k=64 r=3 s=3 pad=1 dir=bwd_weights"
    alone = rynd.Op(gradient, accuracy="bf16").step.kernel
    assert [step.kernel for step in products if "dir=bwd_weights" in step.problem] == 2 * [alone]
    assert losses["bf16"] == pytest.approx(losses["strict"], rel=1e-2)
    if "bf16" in alone:
        assert losses["bf16"] != losses["strict"]


def test_first_step_is_the_gradient(conv_model):
    x, target = batch()
    trainer = rynd.Trainer(rynd.load(conv_model), loss="mse", keep_gradients=True, batch=4)
    before = numpy.array(trainer.read("w"))
    trainer.step([x], target, 0.5)
    assert numpy.allclose(numpy.array(trainer.read("w")), before - 0.5 * numpy.array(trainer.gradient("w")), atol=1e-6)


def test_states_go_from_one_trainer_to_another(conv_model):
    x, target = batch()
    one, other = (rynd.Trainer(conv_model, loss="l1", momentum=0.9, batch=4) for _ in range(2))
    kinds = {state.name: state.kind for state in one.states}
    assert kinds == {"train/step": "optimizer", "w": "parameter", "w/momentum": "optimizer", "b": "parameter", "b/momentum": "optimizer",
                     "v": "parameter", "v/momentum": "optimizer"}
    for _ in range(3):
        one.step(x, target, 0.1)
    for state in one.states:
        other.write(state.name, one.read(state.name))
    assert one.step(x, target, 0.1) == other.step(x, target, 0.1)


def test_a_profile_has_all_steps_and_leaves_parameters(conv_model):
    x, target = batch()
    trainer = rynd.Trainer(conv_model, loss="mse", batch=4)
    before = numpy.array(trainer.read("w"))
    profile = trainer.profile(x, target, rounds=2)
    assert [step.name for step, _ in profile.steps] == [step.name for step in trainer.steps]
    assert all(seconds >= 0 for _, seconds in profile.steps) and profile.seconds > 0
    assert "bwd_weights" in " ".join(step.problem for step, _ in profile.steps) and "2 runs: median" in str(profile)
    assert (numpy.array(trainer.read("w")) == before).all()
    assert numpy.array(trainer.read("train/step")) == 2


def test_trains_on_a_device(conv_model):
    device = next((name for name in rynd.devices() if name != "cpu"), None)
    if device is None:
        pytest.skip("there is no device beside the CPU")
    x, target = batch()

    def train(device):
        trainer = rynd.Trainer(rynd.load(conv_model, device=device), loss="mse", optimizer="adam", batch=4)
        losses = [trainer.step(x, target, 0.01) for _ in range(3)] + [trainer.evaluate(x, target)]
        return trainer, losses, {state.name: numpy.array(trainer.read(state.name)) for state in trainer.states}

    trainer, there, states = train(device)
    _, by_cpu, expected = train("cpu")
    assert numpy.allclose(there, by_cpu, rtol=1e-5) and train(device)[1] == there
    assert all(numpy.allclose(states[name], expected[name], atol=1e-4) for name in expected)
    assert all(step.kernel.endswith("_gpu") for step in trainer.steps)
    trainer.write("w", expected["w"])
    assert (numpy.array(trainer.read("w")) == expected["w"]).all()


def test_frozen_parameters_are_no_states(conv_model):
    trainer = rynd.Trainer(conv_model, loss="mse", freeze="[wb]", batch=4)
    assert [state.name for state in trainer.states if state.kind == "parameter"] == ["v"]


def test_fresh_parameters(conv_model):
    def made(**options):
        trainer = rynd.Trainer(conv_model, loss="mse", batch=4, **options)
        return {state.name: numpy.array(trainer.read(state.name)) for state in trainer.states if state.kind == "parameter"}

    own, one, same, other = made(), made(init="he", init_seed=3), made(init="he", init_seed=3), made(init="he")
    fan = int(numpy.prod(own["w"].shape[1:]))
    assert (one["w"] == same["w"]).all() and (one["w"] != other["w"]).any() and (one["w"] != own["w"]).any()
    assert (one["b"] == 0).all() and 0.5 < one["w"].std() / (2 / fan) ** 0.5 < 2
    assert 0 < numpy.abs(made(init="uniform")["b"]).max() <= fan**-0.5
    with pytest.raises(rynd.ArgumentError, match="no 'xavier', only model, he, uniform"):
        made(init="xavier")
    with pytest.raises((TypeError, ValueError, OverflowError)):
        made(init="he", init_seed="one")


def test_dropout(tmp_path):
    """An element stays where rynd's own number is at least the ratio; evaluation drops nothing."""
    nodes = [helper.make_node("Dropout", ["x"], ["d"], ratio=0.25), helper.make_node("MatMul", ["d", "w"], ["y"])]
    values = [helper.make_tensor_value_info(name, 1, [4, 8]) for name in "xy"]
    w = numpy_helper.from_array(numpy.eye(8, dtype="float32"), "w")
    model = helper.make_model(helper.make_graph(nodes, "drops", values[:1], values[1:], [w]), opset_imports=[helper.make_opsetid("", 10)], ir_version=8)
    x = numpy.ones((4, 8), "float32")

    def outputs(**options):
        trainer = rynd.Trainer(model.SerializeToString(), loss="mse", **options)
        given = []
        for _ in range(2):
            trainer.step(x, x, 0.0)
            given.append(numpy.array(trainer.output))
        trainer.evaluate(x, x)
        assert (numpy.array(trainer.output) == 1).all()
        return given

    for step, y in enumerate(outputs(dropout_seed=3)):
        numbers = numpy.array(rynd.random.uniform(32, seed=3, stream=0x64726f70, step=step)).reshape(4, 8)
        assert (y == numpy.where(numbers < 0.25, 0, numpy.float32(1 / 0.75))).all()
    assert all((y == 1).all() for y in outputs(dropout="off"))
    with pytest.raises(rynd.ArgumentError, match="dropout: there is no 'on', only model, off"):
        outputs(dropout="on")


def test_mistakes_are_told(conv_model):
    x, target = batch()
    trainer = rynd.Trainer(conv_model, loss="mse", batch=4)
    with pytest.raises(rynd.ShapeError, match="input 'x'"):
        trainer.step(x[:2], target, 0.1)
    with pytest.raises(rynd.NotFoundError, match="no state 'z'"):
        trainer.read("z")
    with pytest.raises(rynd.ArgumentError, match="keep_gradients"):
        trainer.step(x, target, 0.1)
        trainer.gradient("w")
    with pytest.raises(rynd.ArgumentError, match="no 'hinge'"):
        rynd.Trainer(conv_model, loss="hinge", batch=4)
    with pytest.raises(rynd.ShapeError):
        rynd.Trainer(conv_model, loss="mse")
    with pytest.raises(rynd.ArgumentError, match="'x' is missing"):
        trainer.step({"y": x}, target, 0.1)


def test_micro_batches_make_one_update(conv_model):
    x, target = batch(4)
    whole = rynd.Trainer(conv_model, loss="mse", momentum=0.9, batch=4)
    parts = rynd.Trainer(conv_model, loss="mse", momentum=0.9, batch=2, accumulate=2, keep_gradients=True)
    before = numpy.array(parts.read("w"))
    for _ in range(3):
        loss = whole.step(x, target, 0.1)
        first = parts.step(x[:2], target[:2], 0.1)
        if before is not None:
            assert (numpy.array(parts.read("w")) == before).all()
            before = None
        assert abs((first + parts.step(x[2:], target[2:], 0.1)) / 2 - loss) < 1e-5
    assert numpy.allclose(numpy.array(parts.read("w")), numpy.array(whole.read("w")), atol=1e-5)
    assert numpy.array(parts.gradient("w")).shape == numpy.array(parts.read("w")).shape
    with pytest.raises(rynd.Error, match="accumulate is -1"):
        rynd.Trainer(conv_model, loss="mse", batch=2, accumulate=-1)


@pytest.fixture
def deep_model(folder):
    """24 convolutions with relus between them: x [n, 4, 32, 32] -> y of its shape."""
    random = numpy.random.default_rng(2)
    weights = [(f"w{i}", 0.3 * random.standard_normal((4, 4, 3, 3), dtype=numpy.float32)) for i in range(24)]
    nodes, x = [], "x"
    for name, _ in weights:
        nodes += [helper.make_node("Conv", [x, name], [f"p{name}"], pads=[1] * 4), helper.make_node("Relu", [f"p{name}"], [f"r{name}"])]
        x = nodes[-1].output[0]
    nodes[-2:] = [helper.make_node("Conv", nodes[-2].input, ["y"], pads=[1, 1, 1, 1])]
    return save(folder / "deep.onnx", nodes, [("x", TensorProto.FLOAT, ["n", 4, 32, 32])], [("y", TensorProto.FLOAT, ["n", 4, 32, 32])], weights)


def test_activations_as_bf16(deep_model):
    x = numpy.random.default_rng(5).standard_normal((8, 4, 32, 32), numpy.float32)
    exact, rounded = (rynd.Trainer(deep_model, loss="mse", batch=8, storage=storage) for storage in ("f32", "bf16"))
    assert rounded.memory < 0.75 * exact.memory
    losses = numpy.array([[trainer.step(x, x, 1e-4) for _ in range(3)] for trainer in (exact, rounded)])
    assert numpy.isclose(losses[0, 0], losses[1, 0], rtol=1e-6) and losses[0, 2] != losses[1, 2] and numpy.allclose(losses[0], losses[1], rtol=1e-2)
    with pytest.raises(ValueError, match="storage: there is no 'f16', only f32, bf16"):
        rynd.Trainer(deep_model, storage="f16")


def test_a_limit_of_memory(conv_model):
    x, target = batch()
    free = rynd.Trainer(conv_model, loss="mse", batch=4)
    limited = rynd.Trainer(conv_model, loss="mse", batch=4, memory_limit=free.memory)
    assert limited.memory <= free.memory
    assert [limited.step(x, target, 0.1) for _ in range(3)] == [free.step(x, target, 0.1) for _ in range(3)]
    with pytest.raises(MemoryError, match="a memory limit of 1000 bytes is not possible: it takes at least"):
        rynd.Trainer(conv_model, loss="mse", batch=4, memory_limit=1000)
    with pytest.raises(ValueError, match="memory_limit"):
        rynd.Trainer(conv_model, loss="mse", batch=4, memory_limit=-1)


def test_identity(conv_model):
    """Equal trainers have equal ones; what decides about bits is a word of its own."""
    one, other = (rynd.Trainer(conv_model, loss="l1", batch=4).identity for _ in range(2))
    assert one == other and len(one["kernels"]) == 32
    for option, value, word in (("accuracy", "strict", "accuracy"), ("momentum", 0.5, "momentum"), ("freeze", "v", "constants"), ("storage", "bf16", "storage"),
                                ("batch", 8, "kernels"), ("dropout_seed", 3, "dropout_seed")):
        changed = rynd.Trainer(conv_model, loss="l1", **{"batch": 4, option: value}).identity
        assert changed[word] != one[word], option
    assert rynd.Trainer(conv_model, loss="l1", batch=4, memory_limit=2**30).identity == one


def test_parts_that_are_trained(conv_model):
    def parameters(**options):
        return {state.name for state in rynd.Trainer(conv_model, loss="l1", batch=4, **options).states if state.kind == "parameter"}

    everything = parameters()
    assert everything == {"w", "b", "v"}
    assert parameters(train_last=1) < everything and parameters(train_last=1)
    assert parameters(train_only="v") == parameters(train_only=["v"]) == parameters(freeze=("w", "b")) == {"v"}
    with pytest.raises(rynd.NotFoundError, match="'w'"):
        parameters(train_only="none*")
    with pytest.raises(rynd.ArgumentError, match="train_last is 0"):
        parameters(train_last=0)
    with pytest.raises(rynd.ArgumentError, match="last 9 layers"):
        parameters(train_last=9)


@pytest.mark.parametrize("ignored", [255, -1, 0])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_ignored_positions_count_nowhere(folder, ignored, smoothing):
    """Loss and gradient of the positions that count, as numpy has them; a number of no class is an error unless it is ignored."""
    random = numpy.random.default_rng(5)
    w, x = random.standard_normal((4, 3, 1, 1), dtype=numpy.float32), random.standard_normal((2, 3, 5, 6), dtype=numpy.float32)
    model = save(folder / "masks.onnx", [helper.make_node("Conv", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, ["n", 3, 5, 6])],
                 [("y", TensorProto.FLOAT, ["n", 4, 5, 6])], [("w", w)])
    target = random.integers(0, 4, (2, 5, 6))
    target[random.random(target.shape) < 0.3] = ignored
    counted = target != ignored
    trainer = rynd.Trainer(model, batch=2, ignore_label=ignored, label_smoothing=smoothing, keep_gradients=True)
    y = numpy.einsum("ki,nihw->nkhw", w[:, :, 0, 0].astype(float), x)
    logs = y - numpy.log(numpy.exp(y).sum(1, keepdims=True))
    shares = (numpy.arange(4)[:, None, None] == target[:, None]) * (1 - smoothing) + smoothing / 4
    loss = -(shares * logs).sum(1)[counted].sum() / counted.sum()
    gradient = numpy.einsum("nkhw,nihw->ki", (numpy.exp(logs) - shares) * counted[:, None], x) / counted.sum()
    assert trainer.evaluate(x, target) == pytest.approx(loss, rel=1e-5)
    assert trainer.step(x, target, 0.0) == pytest.approx(loss, rel=1e-5)
    numpy.testing.assert_allclose(numpy.array(trainer.gradient("w"))[:, :, 0, 0], gradient, rtol=1e-4, atol=1e-6)
    assert trainer.step(x, numpy.full_like(target, ignored), 1.0) == 0 and not numpy.array(trainer.gradient("w")).any()
    if ignored:
        with pytest.raises(rynd.ShapeError, match=f"class number {ignored}"):
            rynd.Trainer(model, batch=2).step(x, target, 0.1)
    with pytest.raises(rynd.UnsupportedError, match="ignore_label"):
        rynd.Trainer(model, loss="mse", batch=2, ignore_label=ignored)
