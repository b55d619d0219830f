/* SPDX-License-Identifier: Apache-2.0 */
/* Group normalisation (instance normalisation where each channel is a group), f32, NCHW and NHWC, in two phases: moments of parts, then their joining
 * and the result. Parts are fixed by the shape alone, and are joined in their order. */
#include "kernels/cpu/common/dense_lanes.h"
#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/norm/moments.h"

#include <math.h>

/* NCHW: a part is some channels' rows of one group, or a piece of one row; NHWC: some positions of one image, all groups. */
typedef struct state {
    bool last;                                        /* NHWC */
    int64_t images, groups, channels, spatial, width; /* width: channels of a group */
    int64_t parts, step;                              /* of a group (of an image, NHWC) and the elements (positions) of each */
} state;

/* Parts a group: enough for many cores, few enough that joining them costs nothing. */
enum { MOST_PARTS = 32 };

static void describe(const ry_problem *problem, state *s)
{
    const ry_tensor *x = &problem->in[0];
    int64_t groups = problem->attrs.group_norm.groups;
    *s = (state){.last = !ry_tensor_is_row_major(x), .images = x->dim[0], .groups = groups, .channels = x->dim[1], .spatial = 1};
    for (int i = 2; i < x->rank; i++) {
        s->spatial *= x->dim[i];
    }
    s->width = s->channels / groups;
    int64_t length = s->last ? s->spatial : s->width * s->spatial, bytes = s->last ? 4 * s->channels : 4;
    s->step = ry_lanes_per_task(length, bytes);
    int64_t least = (length + MOST_PARTS - 1) / MOST_PARTS;
    s->step = s->step > least ? s->step : least;
    s->parts = (length + s->step - 1) / s->step;
}

static bool applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0];
    for (int i = 0; i < 3; i++) {
        if (!ry_problem_has_input(problem, i) || problem->in[i].dtype != RYND_DTYPE_F32 ||
            (i > 0 && (problem->in[i].rank != 1 || !ry_tensor_is_row_major(&problem->in[i])))) {
            return false;
        }
    }
    return ry_problem_has_output(problem, 0) && problem->out[0].dtype == RYND_DTYPE_F32 && x->rank >= 2 && ry_tensor_count(x) > 0 &&
           ry_lanes_alike(x, &problem->out[0]) && (ry_tensor_is_row_major(x) || ry_tensor_is_channels_last(x)) &&
           problem->attrs.group_norm.groups > 0 && x->dim[1] % problem->attrs.group_norm.groups == 0;
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    state s;
    describe(problem, &s);
    prepared->phases = 2;
    prepared->tasks[0] = prepared->tasks[1] = (size_t)(s.images * s.parts * (s.last ? 1 : s.groups));
    prepared->state = sizeof s;
    prepared->workspace = (size_t)(s.images * s.groups * s.parts) * sizeof(ry_moments);
    prepared->scratch = s.last ? (size_t)(4 * s.channels + 15) / 16 * 64 : 0;
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *memory)
{
    (void)prepared;
    describe(problem, memory);
}

/* NHWC: sums for each channel of differences from the first position's values, then groups. */
static void moments_last(const state *s, const float *x, int64_t count, float *scratch, ry_moments *out)
{
    const int64_t channels = s->channels;
    float *restrict sum = scratch, *restrict squares = scratch + channels;
    memset(scratch, 0, (size_t)(2 * channels) * sizeof *scratch);
    for (int64_t i = 0; i < count; i++) {
        const float *restrict row = x + i * channels;
        for (int64_t c = 0; c < channels; c++) {
            float d = row[c] - x[c];
            sum[c] += d;
            squares[c] += d * d;
        }
    }
    double n = (double)count;
    for (int64_t g = 0; g < s->groups; g++) {
        ry_moments all = {0};
        for (int64_t c = g * s->width; c < (g + 1) * s->width; c++) {
            double t = (double)sum[c];
            all = ry_moments_join(all, (ry_moments){n, (double)x[c] + t / n, (double)squares[c] - t * t / n});
        }
        out[g * s->parts] = all;
    }
}

static ry_moments join_parts(const state *s, const ry_moments *parts)
{
    ry_moments all = {0};
    for (int64_t i = 0; i < s->parts; i++) {
        all = ry_moments_join(all, parts[i]);
    }
    return all;
}

static void apply_last(const ry_cpu_launch *launch, const state *s, const ry_moments *moments, int64_t at, int64_t count, float *scratch)
{
    const int64_t channels = s->channels;
    const float *bias = launch->in[2];
    float *restrict mean = scratch, *restrict rest = mean + channels, *restrict factor = rest + channels;
    for (int64_t g = 0; g < s->groups; g++) {
        ry_moments m = join_parts(s, moments + g * s->parts);
        double inverse = 1 / sqrt(m.squares / m.count + launch->problem->attrs.group_norm.epsilon);
        for (int64_t c = g * s->width; c < (g + 1) * s->width; c++) {
            mean[c] = (float)m.mean;
            rest[c] = (float)(m.mean - (double)mean[c]);
            factor[c] = (float)(inverse * (double)((const float *)launch->in[1])[c]);
        }
    }
    for (int64_t i = 0; i < count; i++) {
        const float *restrict x = (const float *)launch->in[0] + at + i * channels;
        float *restrict y = (float *)launch->out[0] + at + i * channels;
        for (int64_t c = 0; c < channels; c++) {
            y[c] = ((x[c] - mean[c]) - rest[c]) * factor[c] + bias[c];
        }
    }
}

/* Elements [from, to) of group g, channel after channel. */
static void apply_first(const ry_cpu_launch *launch, const state *s, ry_moments m, int64_t group, int64_t from, int64_t to)
{
    const float *scale = launch->in[1], *bias = launch->in[2];
    double inverse = 1 / sqrt(m.squares / m.count + launch->problem->attrs.group_norm.epsilon);
    int64_t base = group * s->width * s->spatial;
    while (from < to) {
        int64_t in_group = from / s->spatial, c = group % s->groups * s->width + in_group;
        int64_t end = (in_group + 1) * s->spatial < to ? (in_group + 1) * s->spatial : to;
        float mean = (float)m.mean;
        ry_row_apply((float *)launch->out[0] + base + from, (const float *)launch->in[0] + base + from, end - from, mean,
                     (float)(m.mean - (double)mean), (float)(inverse * (double)scale[c]), bias[c]);
        from = end;
    }
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    const state *s = launch->state;
    int64_t part = (int64_t)task % s->parts, unit = (int64_t)task / s->parts, from = part * s->step; /* unit: image, or image and group */
    int64_t length = s->last ? s->spatial : s->width * s->spatial, to = from + s->step < length ? from + s->step : length;
    ry_moments *moments = launch->workspace;
    moments += unit * s->parts * (s->last ? s->groups : 1);
    float *scratch = (float *)(void *)(launch->scratch + worker * launch->prepared->scratch);
    if (s->last) {
        int64_t at = (unit * s->spatial + from) * s->channels;
        if (phase == 0) {
            moments_last(s, (const float *)launch->in[0] + at, to - from, scratch, moments + part);
        } else {
            apply_last(launch, s, moments, at, to - from, scratch);
        }
    } else if (phase == 0) {
        moments[part] = ry_row_moments((const float *)launch->in[0] + unit * length + from, to - from);
    } else {
        apply_first(launch, s, join_parts(s, moments), unit, from, to);
    }
}

const ry_kernel RY_ISA_SYMBOL(group_norm_f32) = {
    .name = "group_norm_f32_" RY_ISA_TEXT,
    .op = RY_OP_group_norm,
    .device = "cpu",
    .isa = RY_ISA_ID,
    .accuracy = RY_ACCURACY_strict,
    .rank = 20 + RY_ISA_ID,
    .applicable = applicable,
    .prepare = prepare,
    .initialise = initialise,
    .run = run,
};
