/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizers: the choice of ranges. */
#include "api/quantizer.h"

/* Chooses ranges by each method, and keeps those with the least error at the outputs. */
static rynd_status choose_by_outputs(rynd_quantizer *quantizer, ry_error *error)
{
    static const rynd_calibration methods[] = {RYND_CALIBRATION_MSE, RYND_CALIBRATION_MINMAX,
                                               RYND_CALIBRATION_PERCENTILE};
    const double percentile = quantizer->options.percentile;
    size_t best = 0;
    double most = 0;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        ry_output_errors errors;
        RY_TRY(ry_quantize_choose(&quantizer->q, methods[i], percentile, error));
        RY_TRY(ry_quantizer_compare(quantizer, &errors, NULL, error));
        if (i == 0 || errors.mean > most) {
            most = errors.mean;
            best = i;
        }
    }
    return ry_quantize_choose(&quantizer->q, methods[best], percentile, error);
}

rynd_status ry_quantizer_choose(rynd_quantizer *quantizer, ry_error *error)
{
    if (quantizer->chosen) {
        return RYND_OK;
    }
    if (quantizer->observed == 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "no example was observed: call rynd_quantizer_observe first");
    }
    const rynd_quantize_options *o = &quantizer->options;
    RY_TRY(o->calibrate == RYND_CALIBRATION_AUTO
               ? choose_by_outputs(quantizer, error)
               : ry_quantize_choose(&quantizer->q, o->calibrate, o->percentile, error));
    quantizer->chosen = true;
    return RYND_OK;
}
