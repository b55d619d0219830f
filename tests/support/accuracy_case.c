/* SPDX-License-Identifier: Apache-2.0 */
/* Hard data, models of direct sums, and the judgement of errors. */
#include "accuracy_case.h"

#include "kernels/cpu/parts/conv_geometry.h"
#include "number_format.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char *const accuracy_data_names[ACCURACY_DATA] = {
    [ACCURACY_ORDINARY] = "ordinary",
    [ACCURACY_SIGNED] = "signed",
    [ACCURACY_CHANNELS] = "channels",
    [ACCURACY_PIXELS] = "pixels",
    [ACCURACY_CANCELLING] = "cancelling",
    [ACCURACY_SUBNORMAL] = "subnormal",
    [ACCURACY_TINY] = "tiny",
    [ACCURACY_HUGE] = "huge",
    [ACCURACY_NONFINITE] = "non-finite x",
    [ACCURACY_WEIGHTS] = "non-finite w",
};

const char *const accuracy_problems[] = {
    "conv c=64 h=15 w=17 k=40 r=3 s=3 pad=1",
    "conv n=2 c=33 h=14 w=14 k=32 r=3 s=3 pad=1 bias=1",
    "conv c=512 h=8 w=7 k=16 r=3 s=3 pad=1",
    "conv c=256 h=12 w=13 k=24",
    "conv c=3 h=40 w=38 k=24 r=7 s=7 stride=2 pad=3",
    "conv c=32 h=14 w=15 k=24 r=5 s=5 pad=2",
    "conv c=64 w=101 k=32 s=3 pad=1",
    "conv c=24 h=20 w=23 k=24 r=3 s=3 pad=1 stride=2",
    "conv c=72 h=18 w=19 k=72 r=3 s=3 pad=1 groups=72",
    "conv c=40 h=17 w=18 k=40 r=5 s=5 pad=2 stride=2 groups=40",
    "conv c=64 h=15 w=16 k=64 r=3 s=3 pad=1 groups=16",
    "convt c=64 h=9 w=10 k=24 r=4 s=4 stride=2 pad=1",
    "convt c=56 h=11 w=13 k=24 r=3 s=3 stride=2 pad=1 opad=1",
    "convt n=17 c=6 h=3 w=4 k=5 r=3 s=3 stride=2 pad=1",
    "conv c=48 h=13 w=14 k=24 r=4 s=4 pad=1",
    "conv c=56 h=21 w=19 k=24 r=7 s=5 pad=3,2 stride=2",
    "conv c=24 h=14 w=13 k=20 r=6 s=2 pad=2",
    "conv c=48 h=12 w=11 k=24 r=3 s=3 pad=1", /* eight points of Winograd's form on both axes */
    /* weights of 24 bits, and streams, are for 2 MiB and more */
    "convt c=48 h=12 w=11 k=24 r=3 s=3 pad=1",
    "convt c=6 h=12 w=11 k=18 r=3 s=3 pad=1",
    "convt c=24 h=12 w=11 k=24 r=4 s=4 pad=1 groups=24",
    "convt c=48 h=12 w=11 k=5 r=4 s=4 stride=2 pad=1",
    "matmul x0=33x300:f32 x1=300x50:f32 y0=33x50:f32",
    "matmul x0=33x300:f32 x1=50x300:f32 y0=33x50:f32 trans_b=1",
    "matmul x0=1x1000:f32 x1=64x1000:f32 y0=1x64:f32 trans_b=1",
    "matmul x0=1x1000:f32 x1=1000x64:f32 y0=1x64:f32",
    "matmul x0=2x1030:f32 x1=511x1030:f32 y0=2x511:f32 trans_b=1",
    "matmul x0=6x1030:f32 x1=511x1030:f32 y0=6x511:f32 trans_b=1",
    NULL,
};

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014), as a number in [0, 1). */
static double random_unit(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* Box and Muller. */
static double random_normal(uint64_t *state)
{
    const double radius = sqrt(-2 * log(1 - random_unit(state)));
    return radius * cos(2 * 3.14159265358979323846 * random_unit(state));
}

/* Where an operand's element stands: index of its channel in the reduction, or of the row of a
 * product. */
typedef struct reduction {
    int64_t channels, inside; /* the channel of element i is i / inside % channels */
} reduction;

static reduction reduction_of(const accuracy_case *c, int operand)
{
    const ry_tensor *t = &c->kernel.in[operand];
    if (c->kernel.op == RY_OP_matmul) {
        const bool turned =
            operand == 0 ? c->kernel.attrs.matmul.trans_a : c->kernel.attrs.matmul.trans_b;
        const int axis = (operand == 0) != turned ? t->rank - 1 : t->rank - 2;
        return (reduction){t->dim[axis], axis == t->rank - 1 ? 1 : t->dim[t->rank - 1]};
    }
    const int axis = operand == 1 && c->kernel.op == RY_OP_convt ? 0 : 1;
    reduction r = {t->dim[axis], 1};
    for (int i = axis + 1; i < t->rank; i++) {
        r.inside *= t->dim[i];
    }
    return r;
}

static double terms_of(const accuracy_case *c)
{
    const ry_tensor *w = &c->kernel.in[1];
    const double outputs = (double)c->kernel.out[0].dim[1];
    return (double)ry_tensor_count(w) / outputs;
}

static double scale_of_channel(uint64_t channel)
{
    uint64_t state = channel + 77;
    return exp2(32 * random_unit(&state) - 16);
}

/* The channels of the second half are those of the first, nearly: terms cancel half a sum later. An
 * odd channel at the end has no partner. */
static void cancel(float *data, int64_t count, reduction r, int operand, uint64_t *state)
{
    const int64_t half = r.channels / 2;
    for (int64_t i = 0; i < count && half > 0; i++) {
        const int64_t channel = i / r.inside % r.channels;
        if (channel >= 2 * half) {
            data[i] *= operand == 0 ? 1e-4f : 1.0f;
        } else if (channel >= half) {
            const float partner = data[i - half * r.inside];
            data[i] =
                operand == 1 ? -partner : (float)(partner * (1 + 1e-4 * random_normal(state)));
        }
    }
}

/* Data of one operand; 0: x, 1: the weights. */
static void fill(accuracy_case *c, int operand)
{
    float *to = c->kernel.in[operand].data;
    const int64_t count = ry_tensor_count(&c->kernel.in[operand]);
    const reduction r = reduction_of(c, operand);
    const double fan = operand == 1 ? 1 / sqrt(terms_of(c)) : 1;
    uint64_t state = (uint64_t)operand + 1;
    for (int64_t i = 0; i < count; i++) {
        const double normal = random_normal(&state) * fan, unit = 2 * random_unit(&state) - 1;
        const int64_t channel = i / r.inside % r.channels;
        double value = normal;
        switch (c->data) {
        case ACCURACY_SIGNED: value = unit; break;
        case ACCURACY_CHANNELS:
            value = operand == 0 ? normal * scale_of_channel((uint64_t)channel) : normal;
            break;
        case ACCURACY_PIXELS: value = operand == 0 ? normal * exp2(12 * unit) : normal; break;
        case ACCURACY_SUBNORMAL: value = operand == 0 ? normal * 0x1p-130 : normal; break;
        case ACCURACY_TINY: value = operand == 0 ? normal * 0x1p-72 : normal * 0x1p-62; break;
        case ACCURACY_HUGE: value = operand == 0 ? normal * 0x1p60 : normal * 0x1p55; break;
        case ACCURACY_CANCELLING: break;
        default: value = operand == 0 && normal < 0 ? 0 : normal; break;
        }
        to[i] = (float)value;
    }
    if (c->data == ACCURACY_CANCELLING) {
        cancel(to, count, r, operand, &state);
    }
}

/* A few elements that are no numbers, far from each other. */
static void poison(const accuracy_case *c)
{
    const float what[] = {INFINITY, NAN, -INFINITY};
    const int operand = c->data == ACCURACY_NONFINITE ? 0 : c->data == ACCURACY_WEIGHTS ? 1 : -1;
    if (operand >= 0) {
        float *data = c->kernel.in[operand].data;
        const int64_t count = ry_tensor_count(&c->kernel.in[operand]);
        for (int64_t i = 0; i < 3; i++) {
            data[count * (2 * i + 1) / 7] = what[i];
        }
    }
}

typedef struct model {
    float (*rounding)(float); /* rounds operands; NULL: exact */
    bool padded;
} model;

static float to_bf16(float x)
{
    return ry_bf16_to_f32(ry_f32_to_bf16(x));
}

static float to_tf32(float x)
{
    return (float)nearest_tf32(x);
}

static float flush(float x)
{
    return fabsf(x) < FLT_MIN ? 0.0f : x;
}

static float add_product(float sum, float x, float w, model how)
{
    if (how.rounding) {
        const float a = flush(how.rounding(x)), b = flush(how.rounding(w));
        return flush(sum + flush(a * b));
    }
    volatile float product = x * w; /* rounded, also where the compiler would fuse */
    return sum + product;
}

static void model_matmul(const accuracy_case *c, model how, float *y)
{
    const ry_matmul_attrs *a = &c->kernel.attrs.matmul;
    const ry_tensor *x = &c->kernel.in[0], *w = &c->kernel.in[1], *out = &c->kernel.out[0];
    const int64_t depth = a->trans_a ? x->dim[0] : x->dim[1];
    for (int64_t m = 0; m < out->dim[0]; m++) {
        for (int64_t n = 0; n < out->dim[1]; n++) {
            float sum = 0;
            for (int64_t k = 0; k < depth; k++) {
                sum = add_product(
                    sum,
                    ((const float *)x->data)[a->trans_a ? k * x->dim[1] + m : m * x->dim[1] + k],
                    ((const float *)w->data)[a->trans_b ? n * w->dim[1] + k : k * w->dim[1] + n],
                    how);
            }
            y[m * out->dim[1] + n] = sum;
        }
    }
}

static bool inside(const ry_conv_tap *tap, const int64_t q[RY_SPACE])
{
    for (int i = 0; i < RY_SPACE; i++) {
        if (q[i] < tap->first[i] || q[i] >= tap->end[i]) {
            return false;
        }
    }
    return true;
}

/* One output: x and w are the first elements of its image's and group's channels, and of its own
 * weights. */
static float model_output(const ry_conv_geometry *g, const ry_conv_phase *p, const ry_conv_tap *tap,
                          const int64_t q[RY_SPACE], const float *x, const float *w, float sum,
                          model how)
{
    int64_t at = 0;
    for (int i = 0; i < RY_SPACE; i++) {
        at += q[i] * g->stride[i] * g->x_step[i];
    }
    for (int64_t c = 0; c < g->channels_in; c++) {
        for (int64_t t = 0; t < p->taps; t++) {
            const bool reads = inside(&tap[t], q);
            if (reads || how.padded) {
                sum = add_product(sum, reads ? x[c * g->x_channel + at + tap[t].offset] : 0.0f,
                                  w[c * g->w_in + tap[t].weight], how);
            }
        }
    }
    return sum;
}

static void model_conv(const accuracy_case *c, model how, float *y)
{
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const ry_problem problem = kernel_case_problem(&c->kernel, CASE_NCHW, in, out);
    ry_conv_geometry g;
    ry_conv_geometry_of(&problem, &g, NULL, NULL);
    ry_conv_phase *phases = calloc((size_t)g.phases, sizeof *phases);
    ry_conv_tap *taps = calloc((size_t)g.taps, sizeof *taps);
    assert_true(phases && taps);
    ry_conv_geometry_of(&problem, &g, phases, taps);
    const float *x = c->kernel.in[0].data, *w = c->kernel.in[1].data, *bias = c->kernel.in[2].data;
    const int64_t channels = g.groups * g.channels_out;
    for (int64_t i = 0; i < g.phases * g.batch * channels; i++) {
        const ry_conv_phase *p = &phases[i / (g.batch * channels)];
        const int64_t n = i / channels % g.batch, k = i % channels, group = k / g.channels_out;
        const float *from = x + n * g.x_batch + group * g.channels_in * g.x_channel;
        const float *weights = w + group * g.w_group + k % g.channels_out * g.w_out;
        float *to = y + n * g.y_batch + k * g.y_channel + p->y_offset;
        for (int64_t at = 0; at < p->pixels; at++) {
            const int64_t q[RY_SPACE] = {at / (p->grid[1] * p->grid[2]),
                                         at / p->grid[2] % p->grid[1], at % p->grid[2]};
            to[q[0] * p->y_step[0] + q[1] * p->y_step[1] + q[2] * p->y_step[2]] = model_output(
                &g, p, taps + p->first_tap, q, from, weights, bias ? bias[k] : 0.0f, how);
        }
    }
    free(phases);
    free(taps);
}

static float *make_model(const accuracy_case *c, model how)
{
    float *y = calloc((size_t)c->outputs + 1, sizeof *y);
    assert_non_null(y);
    if (c->kernel.op == RY_OP_matmul) {
        model_matmul(c, how, y);
    } else {
        model_conv(c, how, y);
    }
    return y;
}

/* By the reference, with float64 outputs. */
static void find_truth(accuracy_case *c)
{
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    ry_problem problem = kernel_case_problem(&c->kernel, CASE_NCHW, in, out);
    out[0].dtype = RYND_DTYPE_F64;
    char name[64];
    snprintf(name, sizeof name, "%s_ref", ry_op_name(c->kernel.op));
    const ry_kernel *reference = every_kernel_find(name);
    assert_non_null(reference);
    assert_true(reference->applicable(&problem));
    const void *data[CASE_OPERANDS];
    for (int i = 0; i < c->kernel.inputs; i++) {
        data[i] = c->kernel.in[i].data;
    }
    void *to[1] = {c->truth};
    ry_error error = {0};
    if (every_kernel_execute(reference, &problem, data, to, NULL, &ry_system_allocator, &error) !=
        RYND_OK) {
        fail_msg("%s: %s", c->kernel.text, error.text);
    }
}

static accuracy_error rounded_error(const accuracy_case *c, float (*rounding)(float))
{
    float *rounded = make_model(c, (model){.rounding = rounding});
    const accuracy_error error = accuracy_case_compare(c, rounded);
    free(rounded);
    return error;
}

void accuracy_case_begin(accuracy_case *c, const char *problem, accuracy_data data)
{
    *c = (accuracy_case){.data = data};
    kernel_case_parse(&c->kernel, problem);
    fill(c, 0);
    fill(c, 1);
    poison(c);
    c->outputs = ry_tensor_count(&c->kernel.out[0]);
    c->truth = calloc((size_t)c->outputs + 1, sizeof *c->truth);
    c->result = calloc((size_t)c->outputs + 1, sizeof *c->result);
    assert_true(c->truth && c->result);
    find_truth(c);
    c->direct = make_model(c, (model){0});
    c->padded = make_model(c, (model){.padded = true});
    c->direct_error = accuracy_case_compare(c, c->direct);
    c->tf32_error = rounded_error(c, to_tf32);
    c->bf16_error = rounded_error(c, to_bf16);
}

void accuracy_case_end(accuracy_case *c)
{
    free(c->truth);
    free(c->direct);
    free(c->padded);
    free(c->result);
    kernel_case_end(&c->kernel);
    *c = (accuracy_case){0};
}

/* Weight gradients are sums over a batch, of which there is no model here: test_wgrad.c. */
bool accuracy_is_measured(const ry_kernel *kernel)
{
    const bool sums = (kernel->op == RY_OP_conv && !strstr(kernel->name, "_bwd_weights_")) ||
                      kernel->op == RY_OP_convt || kernel->op == RY_OP_matmul;
    return sums && kernel->device == RY_DEVICE_cpu && kernel_case_machine_has(kernel->isa) &&
           (strstr(kernel->name, "_f32_") || strstr(kernel->name, "_bf16_"));
}

bool accuracy_case_applicable(accuracy_case *c, const ry_kernel *kernel, case_layout layout)
{
    c->kernel.accuracy = kernel->accuracy;
    return kernel_case_applicable(&c->kernel, kernel, layout);
}

accuracy_error accuracy_case_measure(accuracy_case *c, const ry_kernel *kernel, case_layout layout)
{
    c->kernel.accuracy = kernel->accuracy;
    kernel_case_run(&c->kernel, kernel, layout);
    memcpy(c->result, c->kernel.out[0].data, (size_t)c->outputs * sizeof *c->result);
    return accuracy_case_compare(c, c->result);
}

static bool same_kind(float a, float b)
{
    return isnan(a) ? isnan(b) : isinf(a) ? a == b : isfinite(b);
}

accuracy_error accuracy_case_compare(const accuracy_case *c, const float *result)
{
    accuracy_error error = {.first_misplaced = -1};
    double errors = 0, exact = 0;
    for (int64_t i = 0; i < c->outputs; i++) {
        if (!same_kind(result[i], c->direct[i]) && !same_kind(result[i], c->padded[i])) {
            error.first_misplaced = error.misplaced++ == 0 ? i : error.first_misplaced;
        } else if (isfinite(result[i]) && isfinite(c->truth[i])) {
            const double e = (double)result[i] - c->truth[i];
            errors += e * e;
            exact += c->truth[i] * c->truth[i];
            error.largest = fmax(error.largest, fabs(e));
        }
    }
    const double scale = sqrt(exact);
    error.rms = errors > 0 ? sqrt(errors) / scale : 0;
    error.largest = error.largest > 0 ? error.largest / (scale / sqrt((double)c->outputs)) : 0;
    return error;
}

double accuracy_case_allowed(const accuracy_case *c, ry_accuracy accuracy)
{
    /* rounding of the result itself, if the direct sum happens to be exact */
    const double rounding = 0x1p-24;
    /* where results are no more than steps of 2^-149, a transform multiplies a step by the largest
     * of its factors */
    const double near = c->data == ACCURACY_SUBNORMAL || c->data == ACCURACY_TINY ? 256 : 32;
    switch (accuracy) {
    case RY_ACCURACY_strict: return fmax(2 * c->direct_error.rms, rounding);
    case RY_ACCURACY_near32: return fmax(near * c->direct_error.rms, 1e-5);
    case RY_ACCURACY_tf32:
        /* what rounding two operands to eleven digits makes of a product at worst */
        return fmax(2 * c->tf32_error.rms, 0x1p-10);
    default:
        /* what rounding two operands to eight digits makes of a product at worst */
        return fmax(2 * c->bf16_error.rms, 0x1p-7);
    }
}

bool accuracy_case_judge(const accuracy_case *c, ry_accuracy accuracy, accuracy_error error,
                         char *message, size_t size)
{
    const double allowed = accuracy_case_allowed(c, accuracy);
    const bool exact = accuracy <= RY_ACCURACY_near32; /* operands are float32 */
    const double largest =
        exact ? fmax(10 * allowed, 4 * c->direct_error.largest)
              : fmax(allowed, 4 * (accuracy == RY_ACCURACY_tf32 ? c->tf32_error.largest
                                                                : c->bf16_error.largest));
    message[0] = 0;
    if (error.misplaced) {
        const int64_t i = error.first_misplaced;
        snprintf(message, size,
                 "%lld outputs of another kind than the direct sum's; the first is output %lld: "
                 "%g, not %g",
                 (long long)error.misplaced, (long long)i, (double)c->result[i],
                 (double)c->direct[i]);
    } else if (!(error.rms <= allowed)) {
        snprintf(message, size, "relative RMS error %.3g, allowed %.3g (direct sum: %.3g)",
                 error.rms, allowed, c->direct_error.rms);
    } else if (!(error.largest <= largest)) {
        snprintf(message, size, "largest error %.3g of the outputs' RMS, allowed %.3g",
                 error.largest, largest);
    }
    return !message[0];
}
