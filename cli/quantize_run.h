/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of `rynd quantize`, and what its parts share. */
#ifndef CLI_QUANTIZE_RUN_H
#define CLI_QUANTIZE_RUN_H

#include "examples.h"
#include "progress.h"

typedef struct cli_quantize_settings {
    cli_common common;
    const char *data, *validate, *output;
    int calibrate; /* 1 + rynd_calibration; 0: not given */
    double percentile;
    int activations; /* 1: u8, 2: i8; 0: not given */
    bool per_tensor, no_bias_correction, equalise, dry_run;
    int64_t examples, samples; /* 0: not given */
    const char *keep_float;    /* a number, or "auto"; NULL: not given */
    double max_drop, min_snr;
    cli_preprocess preprocess;
} cli_quantize_settings;

typedef struct cli_quantizing {
    const cli_quantize_settings *settings;
    cli_setup setup;
    cli_examples data, validation;
    rynd_quantizer *quantizer;
    rynd_quantized_info info;
    cli_progress progress;
    double top1, float_top1; /* correct fraction of the validation data; NaN: no validation data */
    double bytes, float_bytes; /* sizes of the files; 0: not written */
} cli_quantizing;

/* Part of the validation data whose class has the largest output. */
bool cli_quantize_top1(cli_quantizing *q, const rynd_model *model, double *top1,
                       cli_failure *failure);
/* Finds the least number of layers in float that keeps the accuracy. */
bool cli_quantize_keep_auto(cli_quantizing *q, cli_failure *failure);
/* Prints the layers and the result, or their JSON document. */
bool cli_quantize_report(const cli_quantizing *q, cli_failure *failure);

#endif
