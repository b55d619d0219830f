/* SPDX-License-Identifier: Apache-2.0 */
/* Quantizers: the choice of ranges. */
#include "api/quantizer.h"

#include <math.h>

/* Part of the noise that may remain where channels have shares. The estimate is rough: more shares
 * lost 9 dB of SqueezeNet's outputs, and gain 2 dB of YuNet's. So larger parts are tried. */
static const double NOISE_PARTS[] = {0.35, 0.7, 1};

/* More shares divide more tensors: they must gain so many dB, and may cost so much of the time. */
static const double LEAST_GAIN = 0.25, MOST_TIME = 1.02;

typedef struct trial {
    ry_quant_choice how;
    double snr, seconds; /* mean of the outputs; predicted */
} trial;

static rynd_status try_choice(rynd_quantizer *quantizer, trial *t, ry_error *error)
{
    ry_output_errors errors;
    RY_TRY(ry_quantize_choose(&quantizer->q, &t->how, error));
    RY_TRY(ry_quantizer_compare(quantizer, &errors, &t->seconds, error));
    t->snr = errors.mean;
    return RYND_OK;
}

/* Chooses ranges by each method, then more shares, and keeps those with the least error at the
 * outputs. */
static rynd_status choose_by_outputs(rynd_quantizer *quantizer, ry_error *error)
{
    static const rynd_calibration methods[] = {RYND_CALIBRATION_MSE, RYND_CALIBRATION_MINMAX,
                                               RYND_CALIBRATION_PERCENTILE};
    trial best = {.snr = -INFINITY};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        trial t = {.how = {methods[i], quantizer->options.percentile, NOISE_PARTS[0]}};
        RY_TRY(try_choice(quantizer, &t, error));
        best = t.snr > best.snr ? t : best;
    }
    const trial few = best;
    for (size_t i = 1; i < sizeof NOISE_PARTS / sizeof *NOISE_PARTS; i++) {
        trial t = few;
        t.how.noise_part = NOISE_PARTS[i];
        RY_TRY(try_choice(quantizer, &t, error));
        const bool pays = t.snr > few.snr + LEAST_GAIN && t.seconds < few.seconds * MOST_TIME;
        best = pays && t.snr > best.snr ? t : best;
    }
    return ry_quantize_choose(&quantizer->q, &best.how, error);
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
               : ry_quantize_choose(&quantizer->q,
                                    &(ry_quant_choice){o->calibrate, o->percentile, NOISE_PARTS[0]},
                                    error));
    quantizer->chosen = true;
    return RYND_OK;
}
