/* SPDX-License-Identifier: Apache-2.0 */
/* Compares outputs with samples of the truth. */
#include "tune/reference_samples.h"

#include <math.h>
#include <stdio.h>

enum { VALUE = 8 };

/* What the classes of docs/accuracy.md promise of the relative RMS error, with room for where the
 * terms of a sum cancel: a mistake is not of this size, for one element in some hundred that is
 * wrong by its own size is 0.05. */
static const double class_bound[] = {
    [RY_ACCURACY_strict] = 2e-5, [RY_ACCURACY_near32] = 5e-5, [RY_ACCURACY_tf32] = 0x1p-8,
    [RY_ACCURACY_bf16] = 0x1p-5, [RY_ACCURACY_int8] = 0x1p-3,
};

/* A single element may be worse than the root of the mean square by so much. */
static const double SINGLE = 64;

/* Half a step of an output's type, beside its value. */
static double rounding_of(ry_dtype dtype)
{
    return dtype == RY_bf16 ? 0x1p-8 : dtype == RY_f16 ? 0x1p-11 : 0;
}

/* The sums over one output's samples. */
typedef struct comparison {
    double difference, truth, largest; /* squares; a magnitude */
    double worst;                      /* difference */
    size_t worst_at;
    bool other_kind; /* one is NaN or infinite and the other is not, or integers differ */
} comparison;

/* Rounding to eight bits what was computed in floating point may go either way. */
static bool same_integer(ry_dtype dtype, double got, double expected)
{
    return fabs(got - expected) <= (ry_dtype_size(dtype) == 1 && dtype != RY_bool ? 1 : 0);
}

static void add(comparison *c, ry_dtype dtype, double got, double expected, size_t at)
{
    const double difference = fabs(got - expected);
    if (!ry_dtype_is_float(dtype) ? !same_integer(dtype, got, expected)
        : isnan(expected)         ? !isnan(got)
        : isinf(expected)         ? got != expected
                                  : !isfinite(got)) {
        c->worst_at = c->other_kind ? c->worst_at : at;
        c->other_kind = true;
    } else if (ry_dtype_is_float(dtype) && isfinite(expected)) {
        const double own = fmax(0, difference - rounding_of(dtype) * fabs(expected));
        c->difference += own * own;
        c->truth += expected * expected;
        c->largest = fmax(c->largest, fabs(expected));
        if (!c->other_kind && own > c->worst) {
            c->worst = own;
            c->worst_at = at;
        }
    }
}

static bool is_true(const comparison *c, ry_accuracy accuracy)
{
    const double bound = class_bound[accuracy];
    return !c->other_kind && c->difference <= bound * bound * c->truth &&
           c->worst <= SINGLE * bound * c->largest;
}

rynd_status ry_reference_samples_compare(const ry_reference_samples *truth, ry_operands *operands,
                                         ry_accuracy accuracy, char doubt[RY_DOUBT_LENGTH],
                                         ry_error *error)
{
    doubt[0] = 0;
    for (size_t i = 0; i < truth->count && !doubt[0];) {
        const int output = truth->samples[i].output;
        const ry_dtype dtype = (ry_dtype)truth->problem->out[output].dtype;
        comparison c = {0};
        const void *data;
        RY_TRY(ry_operands_output(operands, output, &data, error));
        for (; i < truth->count && truth->samples[i].output == output; i++) {
            add(&c, dtype, ry_get_f64(dtype, data, (int64_t)truth->samples[i].element),
                ry_get_f64(dtype, truth->values + i * VALUE, 0), i);
        }
        if (!is_true(&c, accuracy)) {
            const size_t element = truth->samples[c.worst_at].element;
            snprintf(doubt, RY_DOUBT_LENGTH,
                     "wrong: output %d, element %zu is %.9g, and the reference's is %.9g", output,
                     element, ry_get_f64(dtype, data, (int64_t)element),
                     ry_get_f64(dtype, truth->values + c.worst_at * VALUE, 0));
        }
    }
    return RYND_OK;
}
