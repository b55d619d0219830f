# SPDX-License-Identifier: Apache-2.0
"""Wisdom from Python: what was measured is taken, shown, shared and forgotten."""

import threading

import numpy
import pytest
import rynd

PROBLEM = "conv c=16 h=12 w=12 k=16 r=3 s=3 pad=1"
KERNEL = "conv_fwd_f32_igemm_generic"


@pytest.fixture
def options(tmp_path):
    return {"threads": 2, "isa": "generic", "wisdom": tmp_path / "wisdom.db"}


@pytest.fixture
def lines(tmp_path, options):
    """A file with a record of PROBLEM that holds here."""
    op = rynd.Op(PROBLEM, settings={"kernel": KERNEL}, **options)
    machine = rynd._rynd.Context(threads=2, isa="generic", wisdom="off").info()["fingerprint"]
    path = tmp_path / "r.jsonl"
    path.write_text(
        f'{{"machine":"{machine}","problem":"{op.step.problem}","constants":0,"threads":2,"kernel":"{KERNEL}","form":"{op.step.knobs}",'
        f'"source":"{op.step.source}","rejected":null,"samples":9,"mean":4.31e-05,"variance":1e-12,"median":4.31e-05,"min":4e-05,"max":5e-05,'
        '"predicted":0,"time":1790000000}\n')
    return path


def test_taken(lines, options, tmp_path):
    assert rynd.wisdom.show(**options) == []
    assert rynd.wisdom.import_(lines, **options) == (1, 1, 0)
    op = rynd.Op(PROBLEM, **options)
    assert op.step.kernel == KERNEL and op.step.reason.startswith("measured 43.1 us (wisdom)")
    assert "wisdom" not in rynd.Op(PROBLEM, **dict(options, wisdom="off")).step.reason
    random = numpy.random.default_rng(0)
    x, w = (random.standard_normal(shape, dtype=numpy.float32) for shape in ((1, 16, 12, 12), (16, 16, 3, 3)))
    other = rynd.Op(PROBLEM, settings={"kernel": "conv_ref"}, **options).run(x, w)
    assert numpy.allclose(op.run(x, w), other, atol=1e-4)
    (record,) = rynd.wisdom.show(kernel="*igemm*", **options)
    assert record.here and record.current and record.median == 4.31e-05 and record.rejected is None
    assert rynd.wisdom.show(kernel="winograd", **options) == []
    assert rynd.wisdom.export(tmp_path / "out.jsonl", **options) == 1
    assert (tmp_path / "out.jsonl").read_text() == lines.read_text()
    assert rynd.wisdom.merge(options["wisdom"], **dict(options, wisdom=tmp_path / "second.db")) == (1, 1, 0)
    (drift,) = rynd.wisdom.check(count=1, seconds=0.005, **options)
    assert drift.record == record and drift.samples >= 5 and drift.ratio == pytest.approx(drift.median / record.median)
    assert rynd.wisdom.clear(problem="conv", **options) == 1
    assert rynd.wisdom.show(**options) == []


def test_plans(conv_model, lines, options):
    rynd.wisdom.import_(lines, **options)
    model = rynd.load(conv_model, **options)
    assert all("wisdom" not in step.reason for step in model.plan(batch=1).steps)


def test_frozen(lines, options):
    with pytest.raises(rynd.ArgumentError, match="frozen"):
        rynd.wisdom.import_(lines, frozen=True, **options)
    assert rynd.device_info()["frozen"] is False and rynd.device_info()["wisdom"] is None
    rynd.wisdom.import_(lines, **options)
    assert "wisdom" in rynd.Op(PROBLEM, **options).step.reason
    assert "wisdom" not in rynd.Op(PROBLEM, frozen=True, **options).step.reason  # frozen: as when its context was created


def test_refused(tmp_path, options):
    with pytest.raises(rynd.MissingFileError, match="none.jsonl"):
        rynd.wisdom.import_(tmp_path / "none.jsonl", **options)
    with pytest.raises(rynd.FileError, match="it is a folder"):
        rynd.wisdom.import_(tmp_path, **options)
    (tmp_path / "bad.jsonl").write_text("[]\n")
    with pytest.raises(rynd.FormatError, match="bad.jsonl: line 1"):
        rynd.wisdom.import_(tmp_path / "bad.jsonl", **options)
    with pytest.raises(rynd.FormatError, match="not a database"):
        rynd.wisdom.merge(tmp_path / "bad.jsonl", **options)
    with pytest.raises(rynd.ArgumentError, match="off"):
        rynd.wisdom.clear(wisdom="off")
    with pytest.raises(rynd.ArgumentError, match="count"):
        rynd.wisdom.check(count=0, **options)
    with pytest.raises(rynd.FileError, match="nowhere"):
        rynd.wisdom.export("/nowhere/x.jsonl", **options)


def test_a_warning_while_others_ask(tmp_path, options, caplog):
    """Python's log is told while threads of Python use the same wisdom: nobody waits for the other."""
    options["wisdom"].write_text("x" * 5000)
    from rynd.context import context
    context(**options)  # one for all
    problems = [f"conv c={c} h=8 w=8 k=4 r=3 s=3" for c in range(1, 9)]
    threads = [threading.Thread(target=lambda p=p: [rynd.Op(p, **options) or rynd.wisdom.show(**options) for _ in range(20)]) for p in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert caplog.text.count("memory only") == 1
