/* SPDX-License-Identifier: Apache-2.0 */
/* The outputs of a run, kept and compared. */
#include "case_compare.h"

#include "graph/graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const rynd_tensor *tensor)
{
    return (size_t)rynd_tensor_elements(tensor) * rynd_dtype_size(tensor->dtype);
}

bool case_outputs_take(const rynd_session *session, const rynd_model *model, case_outputs *outputs)
{
    outputs->count = 0;
    for (size_t i = 0; i < rynd_model_output_count(model) && i < GRAMMAR_VALUES; i++) {
        rynd_tensor *tensor = &outputs->tensor[i];
        if (rynd_session_get_output(session, i, tensor) != RYND_OK) {
            return false;
        }
        void *copy = malloc(bytes_of(tensor) + 1);
        if (!copy) {
            abort();
        }
        if (bytes_of(tensor)) {
            memcpy(copy, tensor->data, bytes_of(tensor));
        }
        tensor->data = copy;
        outputs->count++;
    }
    return true;
}

void case_outputs_free(case_outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++) {
        free(outputs->tensor[i].data);
    }
    outputs->count = 0;
}

static bool same_shape(const rynd_tensor *a, const rynd_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

bool case_outputs_same(const case_outputs *a, const case_outputs *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!same_shape(&a->tensor[i], &b->tensor[i]) ||
            memcmp(a->tensor[i].data, b->tensor[i].data, bytes_of(&a->tensor[i])) != 0) {
            return false;
        }
    }
    return true;
}

/* Classifies a number: finite, +infinity, -infinity, NaN. */
static int kind_of(double number)
{
    return isnan(number) ? 3 : isinf(number) ? (number > 0 ? 1 : 2) : 0;
}

/* One output with its reference values. */
typedef struct sample {
    const rynd_tensor *got;
    rynd_tensor expected, noisy[CASE_NOISY_RUNS];
    int runs;
    reference_level level;
    bool sixteen_bits;
} sample;

static double get(const rynd_tensor *tensor, int64_t i)
{
    return ry_get_f64((ry_dtype)tensor->dtype, tensor->data, i);
}

/* Where noise makes another kind of number, nothing is expected. */
static bool is_firm(const sample *s, int64_t i)
{
    const int kind = kind_of(get(&s->expected, i));
    for (int run = 0; run < s->runs; run++) {
        if (kind_of(get(&s->noisy[run], i)) != kind) {
            return false;
        }
    }
    return true;
}

/* The most that noise moves an element. */
static double spread_of(const sample *s, int64_t i)
{
    double spread = 0;
    for (int run = 0; run < s->runs; run++) {
        spread = fmax(spread, fabs(get(&s->noisy[run], i) - get(&s->expected, i)));
    }
    return spread;
}

/* Multiple of the spread that is allowed. */
static const double SPREADS = 12;

/* Some times what the noise does to this tensor, and a little of its largest number. */
static double allowance(const sample *s)
{
    double spread = 0, largest = 0;
    for (int64_t i = 0; i < rynd_tensor_elements(&s->expected); i++) {
        const double number = get(&s->expected, i);
        if (!is_firm(s, i) || !isfinite(number)) {
            continue;
        }
        largest = fmax(largest, fabs(number));
        spread = fmax(spread, spread_of(s, i));
    }
    if (s->level == LEVEL_STEP) {
        return 1 + (spread > 1 ? SPREADS * spread : spread);
    }
    return SPREADS * spread +
           2 * reference_noise((ry_dtype)s->expected.dtype, s->sixteen_bits) * largest + 1e-37;
}

static bool same_number(ry_dtype dtype, const rynd_tensor *a, const rynd_tensor *b, int64_t i)
{
    if (!ry_dtype_is_float(dtype)) {
        return ry_get_i64(dtype, a->data, i) == ry_get_i64(dtype, b->data, i);
    }
    const double x = get(a, i), y = get(b, i);
    return x == y || (isnan(x) && isnan(y));
}

/* Is it infinite where noise moves the number by about itself? So are 1 / x and log(x) beside 0. */
static bool is_pole(const sample *s, int64_t i)
{
    return isinf(get(s->got, i)) && fabs(get(&s->expected, i)) < SPREADS * spread_of(s, i);
}

/* The first element that is off; -1: none. */
static int64_t find_difference(const sample *s, double allowed)
{
    const ry_dtype dtype = (ry_dtype)s->expected.dtype;
    for (int64_t i = 0; i < rynd_tensor_elements(&s->expected); i++) {
        if (same_number(dtype, s->got, &s->expected, i)) {
            continue;
        }
        const double got = get(s->got, i), expected = get(&s->expected, i);
        const bool off = kind_of(got) != kind_of(expected)
                             ? !is_pole(s, i)
                             : isfinite(expected) && fabs(got - expected) > allowed;
        if (s->level == LEVEL_EXACT || (is_firm(s, i) && off)) {
            return i;
        }
    }
    return -1;
}

/* False where a run with noise has another shape. */
static bool take_sample(const case_outputs *outputs, const case_expected *e, size_t output,
                        sample *s)
{
    const ry_value_id id = e->reference->graph->outputs[output];
    *s = (sample){.got = &outputs->tensor[output],
                  .expected = ry_graph_tensor(e->reference->graph, id),
                  .runs = e->runs,
                  .level = e->reference->level[id],
                  .sixteen_bits = e->sixteen_bits};
    bool comparable = s->level != LEVEL_LOOSE;
    for (int run = 0; run < e->runs; run++) {
        s->noisy[run] = ry_graph_tensor(e->noisy[run].graph, id);
        comparable =
            comparable && e->noisy[run].certain && same_shape(&s->expected, &s->noisy[run]);
    }
    return comparable;
}

int case_outputs_agree(const case_outputs *outputs, const case_expected *expected, char *difference,
                       size_t size)
{
    int compared = 0;
    for (size_t i = 0; i < outputs->count; i++) {
        sample s;
        const bool comparable = take_sample(outputs, expected, i, &s);
        const char *name =
            expected->reference->graph->values[expected->reference->graph->outputs[i]].name;
        if (!same_shape(s.got, &s.expected)) {
            snprintf(difference, size, "output '%s': its type or shape", name);
            return -1;
        }
        if (!comparable) {
            continue;
        }
        const double allowed = s.level == LEVEL_EXACT ? 0 : allowance(&s);
        const int64_t at = find_difference(&s, allowed);
        if (at >= 0) {
            snprintf(difference, size,
                     "output '%s', element %" PRId64 " of %" PRId64 ": %.9g, not %.9g +- %.3g",
                     name, at, rynd_tensor_elements(&s.expected), get(s.got, at),
                     get(&s.expected, at), allowed);
            return -1;
        }
        compared++;
    }
    return compared;
}
