# SPDX-License-Identifier: Apache-2.0
"""Cards whose machines are built in: plans and predictions for devices that are not here."""

import pytest

CONV = "conv n=16 c=64 h=56 w=56 k=64 r=3 s=3 pad=1"


def test_list(ran):
    cards = {card["card"]: card for card in ran("devices", "--cards", "--json").results}
    assert {"v100", "a100", "h100", "rtx3090", "rtx4090", "rtx5090", "mi210", "mi300x", "rx7900xtx", "arc-a770", "iris-xe"} <= set(cards)
    # floats a second, as the makers publish them
    for card, peak in (("v100", 15.7e12), ("a100", 19.5e12), ("h100", 66.9e12), ("rtx4090", 82.6e12), ("mi210", 22.6e12), ("rx7900xtx", 61.4e12), ("arc-a770", 17.2e12)):
        assert cards[card]["f32"] == pytest.approx(peak, rel=0.01), card
    # bytes a second, of which kernels reach 85%
    for card, rate in (("v100", 900e9), ("a100", 1555e9), ("h100", 3350e9), ("rtx4090", 1008e9), ("mi300x", 5300e9)):
        assert cards[card]["memory"] == pytest.approx(0.85 * rate, rel=0.01), card
    assert cards["a100"]["matrix_units"] == pytest.approx(312e12, rel=0.01) and cards["v100"]["matrix_units"] == 0
    text = ran("devices", "--cards").out
    assert all(len(line) <= 100 for line in text.splitlines()) and len(text.splitlines()) == len(cards) + 1


def test_predictions(ran, tmp_path):
    """Every card plans a convolution; faster cards are predicted faster; the exported file says the same."""
    times = {}
    for card in ran("devices", "--cards", "--json").results:
        (result,) = ran("predict", CONV, "--device", card["device"], "--machine", card["card"], "--json").results
        times[card["card"]] = result["time"]["median"]
    assert times["h100"] < times["a100"] < times["t4"] and times["rtx4090"] < times["rtx4060"] and times["mi300x"] < times["mi210"]
    ran("devices", "--device", "cuda", "--machine", "h100", "--export", tmp_path / "h100.txt")
    (result,) = ran("predict", CONV, "--device", "cuda", "--machine", tmp_path / "h100.txt", "--json").results
    assert result["time"]["median"] == pytest.approx(times["h100"], rel=1e-3)


def test_mistakes(rynd, ran, monkeypatch, tmp_path):
    rynd("predict", CONV, "--device", "cuda", "--machine", "h1000").failed("h1000: there is no such file, and no card of that name for cuda: v100, t4")
    rynd("predict", CONV, "--machine", "h100").failed("h100: it is of a GPU (NVIDIA H100 SXM5, cuda)", "--device")
    rynd("predict", CONV, "--device", "opencl", "--machine", "h100").failed("h100: it is of cuda (NVIDIA H100 SXM5), and the device is of opencl: give --device cuda")
    rynd("predict", CONV, "--machine", "none.txt").failed("none.txt: cannot read the machine")
    monkeypatch.chdir(tmp_path)
    ran("devices", "--export", "h100")  # a file counts before a card
    assert ran("predict", CONV, "--machine", "h100", "--json").results
