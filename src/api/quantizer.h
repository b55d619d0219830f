/* SPDX-License-Identifier: Apache-2.0 */
/* The quantizer's handle, runners and shared functions. */
#ifndef RY_API_QUANTIZER_H
#define RY_API_QUANTIZER_H

#include "api/saving.h"
#include "quantize/quantize.h"

/* An example: a tensor per input, and the float32 model's outputs for it. */
typedef struct ry_example {
    ry_tensor *inputs, *outputs;
} ry_example;

/* Results of rynd_quantizer_measure. */
typedef struct ry_layer_errors {
    double snr, output_snr, seconds, float_seconds;
} ry_layer_errors;

/* A model to be run: a plan with its session. */
typedef struct ry_runner {
    rynd_model *part;
    rynd_plan *plan;
    rynd_session *session;
} ry_runner;

struct rynd_quantizer {
    rynd_context *context;
    ry_arena arena;
    rynd_quantize_options options;
    void *bytes;      /* base, as a file in memory */
    rynd_model *base; /* the float32 model that is quantised */
    ry_net net;       /* nodes and constants read from base */
    ry_quantization q;
    bool *on;             /* per layer: it is quantised */
    const char **inputs;  /* names of the model's inputs */
    const char **watched; /* names of the part's outputs: the model's, then the tensors wanted */
    size_t output_count, watched_count;
    ry_runner observer;
    ry_example *examples;
    size_t example_count, observed;
    bool chosen, measured;
    ry_layer_errors *errors; /* per layer */
};

/* Makes a runner of the values `names` of a model; empty on failure. These three keep the message
 * for rynd_last_error themselves. */
rynd_status ry_runner_create(const rynd_quantizer *quantizer, const rynd_model *model,
                             const char *const *names, size_t count, ry_runner *runner);
rynd_status ry_runner_run(const ry_runner *runner, const ry_tensor *inputs, size_t count);
void ry_runner_destroy(ry_runner *runner);

/* Chooses ranges once. ARGUMENT: nothing was observed. */
rynd_status ry_quantizer_choose(rynd_quantizer *quantizer, ry_error *error);

/* Errors at the model's outputs on the kept examples, in dB. */
typedef struct ry_output_errors {
    double worst, mean;
} ry_output_errors;

/* Runs the model with the present layers and ranges. seconds: its predicted time; NULL: unknown. */
rynd_status ry_quantizer_compare(const rynd_quantizer *quantizer, ry_output_errors *errors,
                                 double *seconds, ry_error *error);

/* The same for each layer alone; ranges are chosen. */
rynd_status ry_quantizer_measure(rynd_quantizer *quantizer, ry_arena *scratch, ry_error *error);
/* Predicts the float32 model. */
rynd_status ry_quantizer_float_seconds(const rynd_quantizer *quantizer, double *seconds,
                                       ry_error *error);
const char *ry_quantizer_node_name(const ry_net_node *node);

/* Writes the model with the layers on[layer] quantised. */
rynd_status ry_quantizer_write(const rynd_quantizer *quantizer, const bool *on,
                               const ry_api_file *to, ry_error *error);

#endif
