# SPDX-License-Identifier: Apache-2.0
"""Parts of models, and placements."""

import gc

import numpy
import pytest

import rynd


@pytest.fixture
def two(tmp_path):
    path = tmp_path / "devices.txt"
    path.write_text("device a cpu threads=1 watts=5\ndevice b cpu threads=1\nlink a b bandwidth=1e12 latency=0\n")
    return path


def image(n):
    return numpy.random.default_rng(0).standard_normal((n, 3, 20, 24), dtype=numpy.float32)


def test_parts_make_the_whole(conv_model):
    model = rynd.load(conv_model)
    first, second = model.part(["x"], ["r"], batch=2), model.part(["r"], ["y"], dims={"n": 2})
    del model
    gc.collect()
    assert [value.name for value in first.outputs] == ["r"] and second.inputs[0].shape == (2, 16, 10, 12)
    numpy.testing.assert_allclose(second(first(image(2))), rynd.load(conv_model)(image(2)), rtol=1e-5, atol=1e-5)
    assert repr(second) == "rynd.Part(r -> y)" and second.plan(weights=False).seconds > 0


def test_what_is_no_part(conv_model):
    model = rynd.load(conv_model)
    with pytest.raises(rynd.NotFoundError, match="'z'"):
        model.part(["x"], ["z"], batch=1)
    with pytest.raises(rynd.ArgumentError, match="'x'"):
        model.part(["r"], ["a"], batch=1)
    with pytest.raises(rynd.ShapeError, match="'n'"):
        model.part(["x"], ["y"])
    with pytest.raises(TypeError):
        model.part([1], ["y"], batch=1)


def test_place(conv_model, two):
    heard = []
    placement = rynd.place(rynd.load(conv_model), two, objective="memory", batch=1, progress=lambda done, everything: heard.append((done, everything)))
    assert placement.objective == "memory" and placement.value == placement.bound == placement.memory and placement.gap == 0
    assert heard and heard[-1][0] < heard[-1][1]
    assert [device.name for device in placement.devices] == ["a", "b"] and placement.devices[0].watts == 5 and placement.devices[1].watts is None
    assert placement.energy is None and placement.complete is True
    assert placement.link("a", "b") == placement.link("b", "a") == (1e12, 0)
    parts = placement.parts
    assert {part.device for part in parts} == {"a", "b"} and parts[0].first == 0 and parts[0].end == parts[1].first
    with pytest.raises(rynd.ArgumentError):
        placement._part(-1)
    assert placement.memory == max(part.memory.total for part in parts)
    assert placement.makespan(1) == pytest.approx(placement.latency)
    assert placement.makespan(4) < 4 * placement.latency
    assert "no meter" in str(placement) and repr(placement) == f"rynd.Placement({len(parts)} parts, memory)"
    del placement
    gc.collect()
    value = image(1)
    for part in parts:
        value = part(value)
    numpy.testing.assert_allclose(value, rynd.load(conv_model)(image(1)), rtol=1e-5, atol=1e-5)


def test_place_several(conv_model, add_model, two):
    placement = rynd.place([rynd.load(conv_model), rynd.load(add_model)], two, batch=1, parts=1)
    assert [part.network for part in placement.parts] == [0, 1]
    assert placement.searched >= 1 and placement.latency > 0 and placement.period > 0


def test_place_refuses(conv_model, two, tmp_path):
    model = rynd.load(conv_model)
    with pytest.raises(rynd.UnsupportedError, match="no meter: device 'b'"):
        rynd.place(model, two, objective="energy", batch=1)
    with pytest.raises(rynd.ArgumentError, match="beauty"):
        rynd.place(model, two, objective="beauty", batch=1)
    with pytest.raises(rynd.ArgumentError, match="parts is 0"):
        rynd.place(model, two, parts=0, batch=1)
    with pytest.raises(rynd.ArgumentError, match="parts is 33"):
        rynd.place(model, two, parts=33, batch=1)
    with pytest.raises(rynd.ShapeError, match="'n'"):
        rynd.place(model, two)
    with pytest.raises(TypeError):
        rynd.place(conv_model, two)
    with pytest.raises(rynd.FileError, match="none.txt"):
        rynd.place(model, tmp_path / "none.txt", batch=1)
    (tmp_path / "bad.txt").write_text("device a\ndevice a\n")
    with pytest.raises(rynd.FormatError, match="line 2"):
        rynd.place(model, tmp_path / "bad.txt", batch=1)
    with pytest.raises(rynd.NotFoundError, match="memory"):
        (tmp_path / "small.txt").write_text("device a memory=1\n")
        rynd.place(model, tmp_path / "small.txt", batch=1)

    def stop(done, everything):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rynd.place(model, two, batch=1, progress=stop)
    placement = rynd.place(model, two, batch=1)
    with pytest.raises(rynd.ArgumentError, match="'c'"):
        placement.link("a", "c")
    with pytest.raises(rynd.ArgumentError):
        placement.makespan(0)
