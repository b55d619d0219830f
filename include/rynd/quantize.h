/* SPDX-License-Identifier: Apache-2.0 */
/** @file quantize.h
 *  @brief Experimental (see <rynd/rynd.h>): quantises a model to 8 bits by example inputs.
 *
 *      rynd_quantizer_create(model, NULL, &quantizer);
 *      for (each example) rynd_quantizer_observe(quantizer, inputs);
 *      rynd_quantizer_measure(quantizer);             error of each layer alone; optional
 *      rynd_quantizer_keep_float(quantizer, 2);       the two worst layers stay in float32
 *      rynd_quantizer_save(quantizer, "int8.onnx");
 *
 * docs/quantisation.md explains what becomes 8 bits, and how ranges are chosen. */
#ifndef RYND_QUANTIZE_H
#define RYND_QUANTIZE_H

#include <rynd/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. One thread at a time. */
typedef struct rynd_quantizer rynd_quantizer;

/** How the range of a tensor's values is chosen. Values outside are clipped. */
typedef enum rynd_calibration {
    RYND_CALIBRATION_AUTO = 0,   /**< MSE, MINMAX or PERCENTILE: the least error at the outputs, on
                                  * the kept examples */
    RYND_CALIBRATION_MSE,        /**< least mean squared error of rounding and clipping */
    RYND_CALIBRATION_MINMAX,     /**< all observed values */
    RYND_CALIBRATION_PERCENTILE, /**< all but the outermost values, equally many at either end */
    RYND_CALIBRATION_ENTROPY, /**< least Kullback-Leibler divergence: Migacz, "8-bit inference with
                               * TensorRT", GTC 2017 */
} rynd_calibration;

/** Options of rynd_quantizer_create. */
typedef struct rynd_quantize_options {
    size_t size;
    rynd_calibration calibrate;
    double percentile;      /**< percent of the values inside, for PERCENTILE; 0: 99.999 */
    rynd_dtype activations; /**< U8 or I8; NONE: U8. Weights are always I8 */
    int per_tensor;         /**< 1: one scale for all of a layer's weights, as opset 10 needs */
    int no_bias_correction; /**< 1: biases do not make up for the mean error of rounded weights */
    /** 1: scales channels between neighbouring layers, so that their weights have equal ranges:
     * Nagel et al., "Data-free quantization through weight equalization and bias correction", ICCV
     * 2019. The network computes the same up to rounding. */
    int equalise;
    size_t samples;              /**< examples that are kept to measure errors; 0: 4 */
    const struct rynd_dim *dims; /**< as rynd_plan_options.dims; every open dim needs its size */
    size_t dim_count;
    int64_t batch; /**< as rynd_plan_options.batch */
    /** Hears how far rynd_quantizer_measure is. NULL: none. */
    rynd_progress_function progress;
    void *progress_user;
} rynd_quantize_options;

/** Makes a quantizer; the caller destroys it, and the model must outlive it. options NULL: all
 * defaults. Makes a copy of the model in which operators have the words of opset 13 (10 with
 * per_tensor), and batch normalisations are part of the convolutions before them.
 *
 * Fails with UNSUPPORTED (a part of a model; a model with functions; a model that is quantised
 * already; no layer to quantise; a node that opset 13 has no words for), SHAPE (an open dim),
 * OUT_OF_MEMORY. */
RYND_API rynd_status rynd_quantizer_create(const rynd_model *model,
                                           const rynd_quantize_options *options,
                                           rynd_quantizer **quantizer);

/** Frees a quantizer. */
RYND_API void rynd_quantizer_destroy(rynd_quantizer *quantizer);

/** Runs the model on one example and notes the range of each tensor. `inputs` has a tensor for each
 * of the model's inputs, with its dtype and planned shape, and any strides. Fails with SHAPE (naming
 * input and shapes; or a tensor with NaN or infinite values), OUT_OF_MEMORY, and with ARGUMENT after
 * ranges were chosen: rynd_quantizer_measure and everything below does that. */
RYND_API rynd_status rynd_quantizer_observe(rynd_quantizer *quantizer, const rynd_tensor *inputs);

/** Quantises each layer alone, and measures the errors on the kept examples. Fails with ARGUMENT
 * (no example was observed), OUT_OF_MEMORY, CANCELLED. */
RYND_API rynd_status rynd_quantizer_measure(rynd_quantizer *quantizer);

/** A layer: an operator that computes with 8-bit numbers. */
typedef struct rynd_quantized_layer {
    size_t size;
    const char *name; /**< the node's name, or its output's */
    const char *op;   /**< the ONNX operator: "Conv" */
    int64_t weights;  /**< elements of its weights; 0: it has none */
    int is_float;     /**< 1: it stays in float32 */
    /** Signal to quantisation noise of its own output, and of the model's outputs, when this layer
     * alone is quantised: 10 * log10(sum y^2 / sum (y - float y)^2), in dB; INFINITY: no error, NAN:
     * not measured. Of several outputs the worst counts. */
    double snr, output_snr;
    double seconds, float_seconds; /**< predicted time of its step, quantised and in float32; 0: not
                                    * measured */
} rynd_quantized_layer;

/** Number of layers. */
RYND_API size_t rynd_quantizer_layer_count(const rynd_quantizer *quantizer);

/** Describes a layer, in the order of the nodes. */
RYND_API rynd_status rynd_quantizer_get_layer(const rynd_quantizer *quantizer, size_t index,
                                              rynd_quantized_layer *layer);

/** is_float 1: keeps the layer in float32; 0: quantises it. */
RYND_API rynd_status rynd_quantizer_set_float(rynd_quantizer *quantizer, size_t index,
                                              int is_float);

/** Keeps the `count` worst layers in float32 and quantises the others. The worst layers add most
 * noise to the outputs for each second that they save. Fails with ARGUMENT if nothing was
 * measured. */
RYND_API rynd_status rynd_quantizer_keep_float(rynd_quantizer *quantizer, size_t count);

/** The present choice as a whole. */
typedef struct rynd_quantized_info {
    size_t size;
    size_t layers, float_layers;
    size_t observed;               /**< examples */
    double output_snr;             /**< dB on the kept examples, as in rynd_quantized_layer */
    double seconds, float_seconds; /**< predicted time of a run, quantised and in float32 */
} rynd_quantized_info;

/** Describes the present choice: runs it on the kept examples. Fails with ARGUMENT (no example was
 * observed), OUT_OF_MEMORY. */
RYND_API rynd_status rynd_quantizer_get_info(rynd_quantizer *quantizer, rynd_quantized_info *info);

/** Writes the quantised model: DequantizeLinear before and QuantizeLinear behind the layers (QDQ),
 * in opset 13 or the model's newer one (10 with per_tensor). The file appears as rynd_model_save's
 * does. Fails with ARGUMENT (no example was observed), IO, OUT_OF_MEMORY. */
RYND_API rynd_status rynd_quantizer_save(rynd_quantizer *quantizer, const char *path);

/** Like rynd_quantizer_save, into new memory, which the caller frees by rynd_memory_free with the
 * model's context. On failure *data is NULL and *size 0. */
RYND_API rynd_status rynd_quantizer_save_memory(rynd_quantizer *quantizer, void **data,
                                                size_t *size);

/** How a model is quantised. A layer is a convolution or matrix product. */
typedef struct rynd_quantization {
    size_t size;
    const char *form; /**< "QDQ" (DequantizeLinear before layers), "QOperator" (QLinearConv and the
                       * like), "integer" (ConvInteger, MatMulInteger), "mixed"; "": not quantised */
    size_t layers;    /**< all layers */
    size_t quantized; /**< layers with quantised weights */
    size_t per_channel;              /**< quantised layers with a scale for each output channel */
    rynd_dtype weights, activations; /**< types of quantised layers; NONE: float32, or several */
} rynd_quantization;

/** Describes how any model is quantised, by rynd or by other programs. Any thread. */
RYND_API rynd_status rynd_model_get_quantization(const rynd_model *model, rynd_quantization *info);

/** The word of a calibration in the command and in Python: "auto", "mse", "minmax", "percentile",
 * "entropy". NULL: no such number. Any thread. */
RYND_API const char *rynd_calibration_text(rynd_calibration calibration);

#ifdef __cplusplus
}
#endif
#endif
