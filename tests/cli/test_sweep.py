# SPDX-License-Identifier: Apache-2.0
"""sweep: values, cliffs, the picture; JSON keys are a contract. No test decides by what was measured."""

import math
import os
import xml.etree.ElementTree as xml

import pytest

CONV = "conv c=3 h=23 w=23 k=8 r=3 s=3 stride=2"
QUICK = ["--measure", "--seconds", "0", "--rounds", "6"]
SVG = "{http://www.w3.org/2000/svg}"


def swept(ran, *args):
    (result,) = ran("sweep", *args, "--json").results
    assert set(result) == {"name", "points", "dominance", "excess"}
    assert set(result["dominance"]) == {"predicted", "measured"}
    for point in result["points"]:
        assert set(point) == {"values", "problem", "kernel", "knobs", "time", "measured", "dominance"}
    return result


def test_points(ran):
    result = swept(ran, CONV, "pad=0..8")
    assert result["name"] == CONV
    assert [point["values"] for point in result["points"]] == [{"pad": pad} for pad in range(9)]
    for pad, point in enumerate(result["points"]):
        assert point["problem"] == f"{CONV} pad={pad}"
        (predicted,) = ran("predict", point["problem"], "--json").results
        assert point["time"] == predicted["time"] and point["measured"] is None
        assert predicted["nodes"][0]["kernel"] == point["kernel"] and predicted["nodes"][0]["knobs"] == point["knobs"]


def test_several_ranges(ran):
    """The first runs fastest; a word that the problem has is replaced; words with '+' have one value."""
    points = swept(ran, CONV, "pad=0,2", "h+w=20..24:4", "layout=nhwc,nchw")["points"]
    assert [tuple(point["values"].values()) for point in points] == [
        (pad, side, side, layout) for layout in ("nhwc", "nchw") for side in (20, 24) for pad in (0, 2)]
    assert points[1]["problem"] == "conv c=3 h=20 w=20 k=8 r=3 s=3 stride=2 pad=2 layout=nhwc"


def test_dominance(ran):
    """Each point's time over the least of all that contain it: more padding, more channels, in the same layout."""
    points = swept(ran, CONV, "pad=0..3", "c=1..5", "layout=nchw,nhwc")["points"]
    for point in points:
        pad, c, layout = point["values"].values()
        containing = [other["time"]["median"] for other in points
                      if other is not point and other["values"]["pad"] >= pad and other["values"]["c"] >= c and other["values"]["layout"] == layout]
        if containing:
            assert point["dominance"]["predicted"] == pytest.approx(point["time"]["median"] / min(containing))
        else:
            assert point["dominance"]["predicted"] is None
        assert point["dominance"]["measured"] is None
    result = swept(ran, CONV, "pad=0..3", "c=1..5")
    assert result["dominance"] == {"predicted": max(p["dominance"]["predicted"] or 0 for p in result["points"]), "measured": None}


def test_nothing_contains(ran):
    """Windows, strides and words of other operators contain nothing."""
    for args in (CONV, "r=1..3"), (CONV, "dtype=f32,f16"), (CONV, "groups=1"), ("softmax x0=8x16:f32 y0=8x16:f32", "axis=0,1"):
        result = swept(ran, *args)
        assert result["dominance"]["predicted"] is None
    assert swept(ran, "conv h=9 w=9 r=3 s=3", "c+k+groups=1..4")["dominance"]["predicted"] > 0


# Tiles of 6x6 outputs: one of a 6x6 image, four of a 7x7 one.
TILES = ("conv n=4 c=64 k=64 r=3 s=3 pad=1", "h+w=6,7", "--set", "kernel=conv_fwd_f32_winograd_generic", "--set", "points_h=8", "--set", "points_w=8")


def test_excess(ran):
    """The slower over the faster, over the ratio of their work where that excuses it."""
    result = swept(ran, *TILES)
    six, seven = result["points"]
    (step,) = result["excess"]
    assert step == {"from": {"h": 6, "w": 6}, "to": {"h": 7, "w": 7}, "predicted": step["predicted"], "measured": None, "measured_low": None,
                    "cliff": True}
    ratio = seven["time"]["median"] / six["time"]["median"]
    counts = [ran("bench", point["problem"], "--min-time", "0", "--rounds", "1", "--warmup", "0", "--json").results[0] for point in (six, seven)]
    work = counts[1]["flop"] / counts[0]["flop"]
    assert step["predicted"] == pytest.approx(ratio / max(1, work)) and step["predicted"] > 1.5
    lines = ran("sweep", *TILES).out.splitlines()
    assert f"E {step['predicted']:.2f}" in lines[2]
    assert lines[-1] == f"E {step['predicted']:.2f} predicted from h+w=6 to h+w=7: a cliff"
    assert swept(ran, *TILES[:2])["excess"] == []


def test_a_cliff_is_drawn(ran, tmp_path):
    root = picture(ran, tmp_path, *TILES)
    (step,) = swept(ran, *TILES)["excess"]
    assert f"E {step['predicted']:.2f}" in texts(root)
    assert [node.get("class") for node in root.iter(f"{SVG}rect")].count("c") == 1


def test_any_operator(ran):
    """Strides that no kernel takes directly, and ranges of the dims of operators with a text of their own."""
    eight, nine = swept(ran, "convt c=16 h=28 w=28 k=16 r=3 s=3 pad=1", "stride=8,9")["points"]
    assert "_ref" not in eight["kernel"] + nine["kernel"] and " + " in nine["kernel"]


def test_places_in_dims(ran):
    """A range of a dim, and of dims that depend on it."""
    points = swept(ran, "resize x0=1x8x{n}x{n}:f32 y0=1x8x{n*2}x{n*2}:f32 mode=linear scales=1,1,2,2", "n=4..6")["points"]
    assert [point["problem"].split()[2] for point in points] == ["y0=1x8x8x8:f32", "y0=1x8x10x10:f32", "y0=1x8x12x12:f32"]
    assert [point["values"] for point in points] == [{"n": 4}, {"n": 5}, {"n": 6}]
    (point,) = swept(ran, "slice x0=8x{w}:f32 y0=8x{w-1}:f32 starts=0,1 steps=1,1", "w=9")["points"]
    assert point["problem"] == "slice x0=8x9:f32 y0=8x8:f32 starts=0,1 steps=1,1"
    assert len(swept(ran, "softmax x0=8x{n}:{t} y0=8x{n}:{t} axis=1", "n=100,101", "t=f32,f16")["points"]) == 4


def test_measure(ran):
    result = swept(ran, CONV, "pad=0..2", "c=3,4", *QUICK)
    for point in result["points"]:
        measured = point["measured"]
        assert set(measured) == {"n", "median", "min", "max", "mean", "variance"} and measured["n"] == 6
        assert 0 < measured["min"] <= measured["median"] <= measured["max"] and measured["variance"] >= 0
    medians = {tuple(p["values"].values()): p["measured"]["median"] for p in result["points"]}
    for point in result["points"]:
        pad, c = point["values"].values()
        containing = [t for (p, q), t in medians.items() if p >= pad and q >= c and (p, q) != (pad, c)]
        assert point["dominance"]["measured"] == (pytest.approx(medians[pad, c] / min(containing)) if containing else None)
    assert result["dominance"]["measured"] == max(p["dominance"]["measured"] or 0 for p in result["points"])


def test_measured_excess(ran):
    (step,) = swept(ran, *TILES, *QUICK)["excess"]
    assert step["measured"] > 0 and 0 < step["measured_low"] <= step["measured"] * 2
    (step,) = swept(ran, *TILES, "--measure", "--seconds", "0", "--rounds", "1")["excess"]
    assert step["measured"] > 0 and step["measured_low"] is None and step["cliff"] is False  # one round shows nothing


def test_text(ran):
    lines = ran("sweep", CONV, "pad=0..2").out.splitlines()
    assert lines[0].split()[:3] == ["pad", "predicted", "90%"]
    assert [line.split()[0] for line in lines[1:4]] == ["0", "1", "2"]
    assert all("\u2588" in line for line in lines[1:4])
    assert any(line.startswith("D_max ") for line in lines[4:])
    assert "no step with E above" in lines[-1]
    head = ran("sweep", CONV, "pad=0..2", *QUICK).out.splitlines()[0].split()
    assert {"n", "measured", "min", "ratio"} <= set(head)


def test_bars(ran):
    """The longest time has the longest bar, 24 blocks; the others' are in proportion."""
    points = swept(ran, CONV, "k=8,64,512")["points"]
    lines = ran("sweep", CONV, "k=8,64,512").out.splitlines()[1:4]
    eighths = [sum(8 - (ord(c) - 0x2588) for c in line if "\u2588" <= c <= "\u258f") for line in lines]
    longest = max(point["time"]["median"] for point in points)
    assert eighths == [math.floor(point["time"]["median"] / longest * 24 * 8 + 0.5) for point in points]


def picture(ran, tmp_path, *args):
    file = tmp_path / "picture.svg"
    ran("sweep", *args, "-o", file)
    return xml.parse(file).getroot()


def texts(root):
    return ["".join(node.itertext()) for node in root.iter(f"{SVG}text")]


def test_picture(ran, tmp_path):
    root = picture(ran, tmp_path, CONV, "pad=0..8", "k=8,16")
    points = swept(ran, CONV, "pad=0..8", "k=8,16")["points"]
    notes = [node.text for node in root.iter(f"{SVG}title")]
    shown = texts(root)
    assert notes[0] == CONV and CONV in shown and "pad" in shown and "k=8" in shown and "k=16" in shown
    for point in points:
        assert sum(note.startswith(f"pad={point['values']['pad']} k={point['values']['k']}: predicted") for note in notes) == 1
        assert point["kernel"] in shown
    for circle in root.iter(f"{SVG}circle"):
        assert 0 < float(circle.get("cx")) < 900 and 0 < float(circle.get("cy")) < float(root.get("height"))


def test_picture_of_measured_times(ran, tmp_path):
    root = picture(ran, tmp_path, CONV, "layout=nchw,nhwc", *QUICK)
    shown = texts(root)
    assert "predicted" in shown and {"nchw", "nhwc"} <= set(shown)
    assert any(text.startswith("measured on cpu") for text in shown)


def test_picture_of_hostile_names(ran, tmp_path):
    """What a problem's text may hold is text in the picture."""
    problem = "expr x0=4x4:f32 y0=4x4:bool program='(x0 < 3) & (x0 > 1)'"
    root = picture(ran, tmp_path, problem, "accuracy=strict,near32")
    assert problem in texts(root)
    assert [node.tag for node in root.iter()].count(f"{SVG}svg") == 1


def test_picture_is_the_same_every_time(ran, tmp_path):
    pictures = []
    for name in "a.svg", "b.svg":
        ran("sweep", CONV, "pad=0..8", "-o", tmp_path / name)
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1]


def test_no_file_without_output(ran, tmp_path):
    ran("sweep", CONV, "pad=0..1", cwd=tmp_path)
    assert os.listdir(tmp_path) == []


REFUSED = [
    (["pad"], "'pad' is no range"),
    (["pad=8..0"], "must ascend"),
    (["pad=0..8", "h+pad=1,2"], "'pad' is in two ranges"),
    (["pad=0..10000"], "more than 10000 values"),
    (["pad=0..999", "c=1..11"], "more than 10000 points"),
    (["a=1", "b=1", "c=1", "d=1", "e=1", "f=1", "g=1"], "more than 6 ranges"),
    (["pad=0..1", "-o", "picture.png"], ".svg"),
]


@pytest.mark.parametrize("args, part", REFUSED)
def test_refuses_usage(rynd, args, part):
    rynd("sweep", CONV, *args).failed(part, code=2)


def test_refuses(rynd, small_net, tmp_path):
    rynd("sweep", CONV).failed("WORD=RANGE", code=2)
    rynd("sweep", small_net, "pad=0..1").failed("is no problem", code=2)
    rynd("sweep", CONV, "depth=1..2").failed("depth=1", "depth")
    rynd("sweep", CONV, "c=-1..2").failed("c=-1")
    rynd("sweep", CONV, "groups=1..2").failed("groups=2")
    rynd("sweep", "conv c=1 h=400 w=400 k=64 n=1", "n=2000..9000", "--measure", "--seconds", "0").failed("the machine has")
    rynd("sweep", CONV, "pad=0..1", "-o", tmp_path / "no" / "a.svg").failed("a.svg", "make the folder first")
    assert not (tmp_path / "no").exists()
