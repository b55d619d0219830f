# SPDX-License-Identifier: Apache-2.0
"""Quantisation: models in 8 bits, by examples of their inputs (docs/quantisation.md)."""

import math
import os
from collections import namedtuple

from . import _rynd
from .errors import ArgumentError
from .table import seconds_text, table

QuantizedLayer = namedtuple("QuantizedLayer", "name op weights is_float snr output_snr seconds float_seconds")
QuantizedLayer.__doc__ = """A layer of a Quantizer: node name, ONNX operator, number of weights, whether it stays in float32; signal to noise ratio in
dB of its own output and of the model's outputs when it alone is quantised (nan: not measured), and predicted seconds in 8 bits and in float32."""
QuantizedInfo = namedtuple("QuantizedInfo", "layers float_layers observed output_snr seconds float_seconds")
QuantizedInfo.__doc__ = """The present choice of a Quantizer: numbers of layers, of layers in float32 and of observed examples, signal to noise ratio of
the outputs in dB, predicted seconds of a run in 8 bits and in float32."""


class Quantizer(_rynd.Quantizer):
    """Quantises a model to 8 bits by examples of its inputs.

        quantizer = rynd.Quantizer(model, batch=1)
        for x in examples:
            quantizer.observe(x)
        quantizer.measure()                  # optional: the error of each layer alone
        quantizer.keep_float(2)              # optional: the two worst layers stay in float32
        quantizer.save("int8.onnx")

    model: a Model of float32 on the CPU. calibrate: "auto", "mse", "minmax", "percentile" or "entropy". percentile: of the values inside the range.
    activations: "u8" or "i8". per_tensor: one scale for all weights of a layer. bias_correction: biases make up for the mean error of rounded
    weights. equalise: first balances channels between neighbouring convolutions. samples: examples that errors are measured on.
    batch, dims: sizes of open dimensions, as Model.plan has them. progress: called with (done, all) while layers are measured.

    Raises UnsupportedError (quantised already; no layer to quantise; a node that opset 13 lacks), ShapeError (a dimension is open),
    ArgumentError. One thread at a time.
    """

    def __new__(cls, model, calibrate="auto", percentile=99.999, activations="u8", per_tensor=False, bias_correction=True, equalise=False,
                samples=4, batch=None, dims=None, progress=None):
        if activations not in ("u8", "i8"):
            raise ArgumentError(f"activations {activations!r}: give 'u8' or 'i8'")
        if samples < 1:
            raise ArgumentError(f"samples {samples}: give at least 1")
        return super().__new__(cls, model._first(), calibrate, float(percentile), activations, per_tensor, bias_correction, samples, equalise,
                               list((dims or {}).items()), batch or 0, progress)

    def observe(self, *inputs):
        """Runs the float32 model on one example, an array per input, and notes the range of each tensor.

        Raises ShapeError (other shapes; NaN or infinite values), ArgumentError (ranges are chosen: something was measured or saved)."""
        self._observe(list(inputs))

    def measure(self):
        """Quantises each layer alone, and measures the errors on the kept examples."""
        self._measure()

    @property
    def layers(self):
        """The layers, a list of QuantizedLayer in the order of the nodes."""
        return [QuantizedLayer(*layer) for layer in self._layers()]

    def set_float(self, index, is_float=True):
        """Keeps the layer of that index in float32, or quantises it."""
        self._set_float(index, is_float)

    def keep_float(self, count):
        """Keeps the `count` worst layers in float32 and quantises the others; after measure()."""
        self._keep_float(count)

    @property
    def info(self):
        """The present choice, run on the kept examples: a QuantizedInfo."""
        return QuantizedInfo(*self._info())

    def save(self, path=None):
        """Writes the quantised model; with path None returns its bytes for rynd.load."""
        return self._save_memory() if path is None else self._save(os.fspath(path))

    def __repr__(self):
        return f"rynd.Quantizer({len(self._layers())} layers)"

    def __str__(self):
        rows = [[layer.name, layer.op, layer.weights, "f32" if layer.is_float else "int8", *(f"{x:.1f}" if math.isfinite(x) else "-" for x in (layer.snr, layer.output_snr)),
                 *(seconds_text(x) if x else "-" for x in (layer.float_seconds, layer.seconds))] for layer in self.layers]
        return table(["layer", "op", "weights", "type", "dB", "dB out", "f32", "int8"], rows)


def quantize(model, examples, path=None, keep_float=0, min_snr=None, **options):
    """Quantises a model by examples, and writes it to `path`, or returns its bytes.

    examples: an iterable of arrays, or of tuples with an array per input. keep_float: number of worst layers that stay in float32, or "auto": as
    few as keep the outputs' signal to noise ratio at `min_snr` dB (default 30). options: of Quantizer.
    """
    quantizer = Quantizer(model, **options)
    for example in examples:
        quantizer.observe(*(example if isinstance(example, (tuple, list)) else (example,)))
    if keep_float == "auto":
        quantizer.measure()
        _keep_enough(quantizer, 30 if min_snr is None else min_snr)
    elif keep_float:
        quantizer.measure()
        quantizer.keep_float(keep_float)
    return quantizer.save(path)


def _keep_enough(quantizer, least):
    def enough(count):
        quantizer.keep_float(count)
        return quantizer.info.output_snr >= least

    few, many, layers = -1, 0, len(quantizer.layers)
    while many < layers and not enough(many):
        few, many = many, min(max(2 * many, 1), layers)
    while many > few + 1:
        middle = (few + many) // 2
        if enough(middle):
            many = middle
        else:
            few = middle
    quantizer.keep_float(many)
