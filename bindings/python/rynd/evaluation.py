# SPDX-License-Identifier: Apache-2.0
"""Figures of a model on data with known answers (docs/tasks.md). `rynd.tasks` has these names. Needs numpy for the confusion matrix."""

import os
import tempfile
from collections import namedtuple

from . import _rynd
from .command import command_results
from .errors import ArgumentError
from .table import seconds_text, table

TASKS = ("classify", "detect", "segment", "image")

Object = namedtuple("Object", "left top width height label area crowd", defaults=(-1.0, False))
Object.__doc__ = """A true object of a picture: its box in pixels, class index, area (below 0: that of the box), whether it is a crowd."""
ClassFigures = namedtuple("ClassFigures", "label name count found recall precision iou ap ap50")
ClassFigures.__doc__ = """Numbers of a class: index, name or None, true ones, found ones, and shares from 0 to 1. NaN (by evaluate(): None) if the task has no
such number, or there was nothing to count."""
Speed = namedtuple("Speed", "pictures_per_second median quantile90")
Speed.__doc__ = """How fast a model ran: pictures a second, and the median and the 90% quantile of the seconds of a picture."""


class Evaluation:
    """Collects answers and truths picture by picture, for a loop of your own; rynd/eval.h in C.

        evaluation = rynd.tasks.Evaluation("classify", classes=10)
        for picture, label in data:
            evaluation.add(rynd.tasks.classify(model, picture), label)
        evaluation.figures                                   # {"top1": 0.93, "top5": 0.99, "recall": 0.92, "precision": 0.93}

    task: "classify", "detect", "segment" or "image". classes: their number (not for image). range: of an image's values. One thread at a time
    uses an evaluation."""

    def __init__(self, task, classes=0, range=255):
        if task not in TASKS:
            raise ArgumentError(f"task {task!r}: give one of {', '.join(TASKS)}")
        self.task, self._classes = task, classes
        self._native = _rynd.Evaluation(TASKS.index(task), classes, range)

    def add(self, found, truth, ignore=255):
        """Adds a picture.

        classify: a list of Class or of class indices, best first, and the true index. detect: lists of Box and of Object. segment: arrays
        [height, width] of integers; pixels whose truth is `ignore` are left out (-1: none). image: arrays [height, width, 1 or 3].
        Raises ArgumentError (a class is outside the classes), ShapeError."""
        if self.task == "classify":
            self._native.add_label([getattr(each, "label", each) for each in found], truth)
        elif self.task == "detect":
            objects = [(o.left, o.top, o.width, o.height, o.area, o.label, o.crowd) for o in truth]
            self._native.add_boxes([(*box[:6], list(box.keypoints)) for box in found], objects)
        elif self.task == "segment":
            self._native.add_map(found, truth, ignore)
        else:
            self._native.add_picture(found, truth)

    @property
    def figures(self):
        """Numbers by name; NaN where there is nothing to count."""
        return {name: value for name, _, _, value in self._native.figures()}

    @property
    def about(self):
        """What each figure is, by name."""
        return {name: about for name, about, _, _ in self._native.figures()}

    @property
    def classes(self):
        """A list of ClassFigures, one per class."""
        return [] if self.task == "image" else [ClassFigures(i, None, *row) for i, row in enumerate(self._native.classes())]

    @property
    def confusion(self):
        """The confusion matrix [true, found] of classify and segment, a copy as int64. Raises ArgumentError for other tasks."""
        import numpy
        return numpy.frombuffer(self._native.confusion(), "int64").reshape(self._classes, self._classes).copy()

    def __repr__(self):
        return f"rynd.tasks.Evaluation({self.task!r}, {', '.join(f'{name}={value:.4f}' for name, value in self.figures.items())})"


class Evaluated:
    """What `rynd eval` found: `name` of the model, `pictures` (their number), `figures` by name, `speed` (a Speed), `classes` (a list of
    ClassFigures), `confusion` (counts by (true, found), without zeros), `agreement` with the first model, or None. Prints as a
    table."""

    def __init__(self, result):
        self.name, self.pictures, self.figures = result["name"], result["pictures"], result["figures"]
        self.speed, self.agreement = Speed(**result["speed"]), result.get("agreement")
        self.classes = [ClassFigures(*(row.get(field) for field in ClassFigures._fields)) for row in result.get("classes", [])]
        self.confusion = {(cell["true"], cell["found"]): cell["count"] for cell in result.get("confusion", [])}

    def __repr__(self):
        return f"rynd.tasks.Evaluated({os.path.basename(self.name)!r}, {self.pictures} pictures)"

    def __str__(self):
        rows = [[name, "-" if value is None else f"{value:.4f}"] for name, value in self.figures.items()]
        rows += [["pictures/s", f"{self.speed.pictures_per_second:.1f}"], ["median time", seconds_text(self.speed.median)]]
        return table(["figure", os.path.basename(self.name)], rows)


def _file_of(model, folder, name):
    """The path of a model; one of memory is written into the folder."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    path = os.path.join(folder, name)
    model.save(path)
    return path


def _words(options):
    """Options as the command takes them: scale=1/255, mean=(1, 2, 3), against_accuracy="bf16"."""
    for name, value in options.items():
        if value is not None:
            text = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else os.fspath(value) if isinstance(value, os.PathLike) else value
            yield f"--{name.replace('_', '-')}={text}"


def evaluate(model, data, boxes=None, against=None, **options):
    """Measures a model on data with known answers, by the command `rynd eval`: an Evaluated, or with another model a pair of them.

        rynd.tasks.evaluate("classifier.onnx", "photos").figures["top1"]
        rynd.tasks.evaluate("yolov8n.onnx", "val2017", boxes="instances_val2017.json")
        first, second = rynd.tasks.evaluate("classifier.onnx", "photos", against="int8.onnx")

    model, against: paths, or rynd.Model. data: a folder or an .npz. options: those of the command by their names (docs/commands.md), such as
    against_accuracy="bf16", labels="names.txt", scale=1/255, mean=(0.5, 0.5, 0.5), batch=8, threads=2, examples=100.
    Raises ArgumentError, MissingFileError (no command), Error (also for an unreadable picture)."""
    with tempfile.TemporaryDirectory() as folder:
        other = None if against is None else _file_of(against, folder, "against.onnx")
        words = [*_words({"data": data, "boxes": boxes, "against": other, **options}), "--", _file_of(model, folder, "model.onnx")]
        found = [Evaluated(result) for result in command_results("eval", words)]
    return found[0] if len(found) == 1 else tuple(found)
