/* SPDX-License-Identifier: Apache-2.0 */
/* Reads convolutions into axes and residues, and defines them. */
#include "kernels/gpu/gpu_window.h"

#include "kernels/gpu/expr_text.h"
#include "kernels/gpu/gpu_define.h"
#include "problem/window.h"

/* The step of our axis i in a tensor whose spatial dims begin at dim `first`; 0 of one element. */
static int64_t step_of(const ry_tensor *tensor, int rank, int i, int first)
{
    const int at = i - (RY_GPU_AXES - rank);
    return at < 0 || tensor->dim[first + at] == 1 ? 0 : tensor->stride[first + at];
}

static bool is_empty(const ry_tensor *tensor)
{
    for (int i = 0; i < tensor->rank; i++) {
        if (tensor->dim[i] < 1) {
            return true;
        }
    }
    return false;
}

static void fill_forward(const ry_window_axis *from, ry_gpu_axis *axis)
{
    axis->in = from->in;
    axis->out = from->out;
    axis->stride = from->stride;
    axis->step = from->dilation;
    axis->first[0] = -from->pad;
    axis->count[0] = from->taps;
    axis->residues = axis->spread = axis->tap_step = 1;
}

/* `out` of a transposed convolution's window is what it reads. */
static void fill_transposed(const ry_window_axis *from, ry_gpu_axis *axis)
{
    axis->in = from->out;
    axis->out = from->in;
    axis->stride = 1;
    axis->spread = from->stride;
    axis->residues = ry_min(from->stride, from->in);
    for (int64_t r = 0; r < axis->residues; r++) {
        const ry_window_readers readers = ry_window_phase(from, r);
        axis->first[r] = readers.out;
        axis->tap[r] = readers.tap;
        axis->count[r] = readers.count;
        axis->step = readers.out_step;
        axis->tap_step = readers.tap_step;
    }
}

/* Positions along the axis whose residue is r. */
static int64_t grid_of(const ry_gpu_axis *axis, int64_t r)
{
    return ry_ceil_div(axis->out - r, axis->spread);
}

static bool reads_outside(const ry_gpu_axis *axis)
{
    bool outside = false;
    for (int64_t r = 0; r < axis->residues; r++) {
        const int64_t field = (axis->count[r] - 1) * axis->step,
                      last = (grid_of(axis, r) - 1) * axis->stride + axis->first[r];
        outside = outside || (axis->count[r] > 0 && (axis->first[r] + ry_min(field, 0) < 0 ||
                                                     last + ry_max(field, 0) >= axis->in));
    }
    return outside;
}

static ry_gpu_axis axis_of(const ry_problem *problem, const ry_window *window, int i)
{
    const int at = i - (RY_GPU_AXES - window->rank);
    const ry_window_axis from = at < 0 ? RY_WINDOW_UNIT : window->axis[at];
    ry_gpu_axis axis = {.taps = from.taps,
                        .x_step = step_of(&problem->in[0], window->rank, i, 2),
                        .w_step = step_of(&problem->in[1], window->rank, i, 2)};
    if (problem->op != RY_OP_convt) {
        fill_forward(&from, &axis);
    } else {
        fill_transposed(&from, &axis);
    }
    axis.masked = reads_outside(&axis);
    return axis;
}

static bool has_quantised_types(const ry_problem *problem)
{
    static const ry_dtype types[] = {RY_u8, RY_i8, RY_i32, RY_u8, RY_f32};
    const ry_dtype y = (ry_dtype)problem->out[0].dtype;
    bool has = y == RY_u8 || y == RY_f32 || y == RY_i32;
    for (int i = 0; i < problem->inputs; i++) {
        has = has &&
              (!ry_problem_has_input(problem, i) || (ry_dtype)problem->in[i].dtype == types[i]);
    }
    return has;
}

static bool has_types(const ry_problem *problem)
{
    if (problem->op == RY_OP_qconv) {
        return has_quantised_types(problem);
    }
    bool has = ry_gpu_is_float(&problem->out[0]);
    for (int i = 0; i < 4; i++) {
        has = has && (!ry_problem_has_input(problem, i) || ry_gpu_is_float(&problem->in[i]));
    }
    return has;
}

/* Positions and steps over padding must be an int's. */
static bool is_narrow(const ry_problem *problem)
{
    const ry_window window = ry_window_of(problem);
    const int64_t most = INT32_MAX / 4;
    int64_t taps = 1, outputs = problem->out[0].dim[0];
    for (int i = 0; i < window.rank; i++) {
        const ry_window_axis *axis = &window.axis[i];
        taps *= axis->taps;
        outputs *= problem->out[0].dim[i + 2];
        if (ry_window_field(axis) > most || axis->in > most || axis->out > most ||
            axis->pad > most || axis->pad < -most ||
            (axis->out - 1) * axis->stride + ry_window_field(axis) > most) {
            return false;
        }
    }
    return outputs <= most && taps * problem->in[0].dim[1] <= most &&
           problem->out[0].dim[1] <= most;
}

/* Padding that reaches far beyond x takes its offsets out of an int. */
static bool is_wide(const ry_problem *problem, const ry_gpu_window *w)
{
    double field = 0;
    for (int i = 0; i < RY_GPU_AXES; i++) {
        const ry_gpu_axis *axis = &w->axis[i];
        field += ((double)axis->out * (double)axis->stride +
                  (double)axis->taps * (double)(axis->step < 0 ? -axis->step : axis->step) +
                  (double)(axis->first[0] < 0 ? -axis->first[0] : axis->first[0])) *
                 (double)axis->x_step;
    }
    const double packed = (double)(w->groups * w->channels * w->window) * (double)(w->rows + 256);
    return ry_gpu_is_wide(problem) || field > INT32_MAX / 2 || packed > INT32_MAX / 2;
}

bool ry_gpu_window_takes(const ry_problem *problem)
{
    const int rank = problem->in[0].rank;
    if ((problem->op == RY_OP_conv && problem->attrs.conv.dir != RY_direction_fwd) || rank < 3 ||
        rank > 2 + RY_GPU_AXES || is_empty(&problem->in[0]) || is_empty(&problem->in[1]) ||
        is_empty(&problem->out[0]) || !has_types(problem)) {
        return false;
    }
    const ry_window window = ry_window_of(problem);
    for (int i = 0; problem->op == RY_OP_convt && i < window.rank; i++) {
        if (window.axis[i].stride > RY_GPU_RESIDUES) {
            return false;
        }
    }
    return is_narrow(problem);
}

static int64_t groups_of(const ry_problem *problem)
{
    return problem->op == RY_OP_conv    ? problem->attrs.conv.groups
           : problem->op == RY_OP_convt ? problem->attrs.convt.groups
                                        : problem->attrs.qconv.groups;
}

ry_gpu_window ry_gpu_window_of(const ry_problem *problem)
{
    return ry_gpu_window_of_lanes(problem, 1);
}

ry_gpu_window ry_gpu_window_of_lanes(const ry_problem *problem, int64_t lanes)
{
    const ry_window window = ry_window_of(problem);
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    ry_gpu_window w = {.lanes = lanes,
                       .images = x->dim[0],
                       .groups = groups_of(problem),
                       .window = 1,
                       .phases = 1,
                       .terms = 1,
                       .x_along_channels = ry_gpu_is_along_channels(x),
                       .y_along_channels = ry_gpu_is_along_channels(y)};
    w.channels = ry_ceil_div(x->dim[1] / w.groups, lanes);
    w.rows = y->dim[1] / w.groups;
    w.x_group = x->dim[1] / w.groups * x->stride[1];
    w.terms = w.channels;
    w.columns = w.images;
    for (int i = 0; i < RY_GPU_AXES; i++) {
        w.axis[i] = axis_of(problem, &window, i);
        int64_t most = 0;
        for (int64_t r = 0; r < w.axis[i].residues; r++) {
            most = ry_max(most, w.axis[i].count[r]);
        }
        w.window *= w.axis[i].taps;
        w.phases *= w.axis[i].residues;
        w.terms *= most;
        w.columns *= grid_of(&w.axis[i], 0);
    }
    w.wide = is_wide(problem, &w);
    return w;
}

/* A number for each residue: FIRST_1(r). */
static void define_of_residue(ry_text *text, const char *name, int axis, int64_t residues,
                              const int64_t *numbers)
{
    if (residues == 1) {
        ry_text_add(text, "#define %s_%d(r) (%lld)\n", name, axis, (long long)numbers[0]);
        return;
    }
    ry_text_add(text, "CONSTANT int %s_of_%d[] = {", name, axis);
    ry_text_numbers(text, (int)residues, numbers);
    ry_text_add(text, "};\n#define %s_%d(r) (%s_of_%d[r])\n", name, axis, name, axis);
}

static void define_axis(ry_text *text, const ry_gpu_axis *axis, int i)
{
    const struct {
        const char *name;
        int64_t number;
    } lines[] = {{"IN", axis->in},         {"OUT", axis->out},
                 {"WINDOW", axis->taps},   {"RESIDUES", axis->residues},
                 {"SPREAD", axis->spread}, {"STRIDE", axis->stride},
                 {"STEP", axis->step},     {"TAP_STEP", axis->tap_step},
                 {"MASK", axis->masked},   {"X_STEP", axis->x_step},
                 {"W_STEP", axis->w_step}};
    for (size_t l = 0; l < sizeof lines / sizeof *lines; l++) {
        ry_text_add(text, "#define %s_%d (%lld)\n", lines[l].name, i, (long long)lines[l].number);
    }
    define_of_residue(text, "FIRST", i, axis->residues, axis->first);
    define_of_residue(text, "TAP", i, axis->residues, axis->tap);
    define_of_residue(text, "COUNT", i, axis->residues, axis->count);
    ry_text_add(text, "#define GRID_%d(r) ((OUT_%d - (r) + SPREAD_%d - 1) / SPREAD_%d)\n", i, i, i,
                i);
}

void ry_gpu_window_add_offset(const ry_tensor *tensor, ry_text *text)
{
    const int rank = tensor->rank - 2;
    ry_text_add(text, "(INDEX)(image) * %lld + (INDEX)(channel) * %lld",
                (long long)tensor->stride[0], (long long)tensor->stride[1]);
    for (int i = RY_GPU_AXES - rank; i < RY_GPU_AXES; i++) {
        ry_text_add(text, " + (o%d) * %lld", i, (long long)step_of(tensor, rank, i, 2));
    }
}

/* Offsets of an element beside the sums: of y, the bias and the residual. */
static void define_offsets(ry_text *text, const ry_problem *problem)
{
    ry_text_add(text, "#define Y_AT(image, channel, o0, o1, o2) (");
    ry_gpu_window_add_offset(&problem->out[0], text);
    ry_text_add(text, ")\n");
    if (ry_problem_has_input(problem, 2)) {
        const ry_tensor *bias = &problem->in[2];
        ry_text_add(text, "#define BIAS_AT(channel, r0, r1, r2) ((INDEX)(channel) * %lld",
                    (long long)bias->stride[0]);
        for (int i = RY_GPU_AXES - (bias->rank - 1); i < RY_GPU_AXES; i++) {
            ry_text_add(text, " + (r%d) * %lld", i, (long long)step_of(bias, bias->rank - 1, i, 1));
        }
        ry_text_add(text, ")\n");
    }
    if (ry_problem_has_input(problem, 3)) {
        ry_text_add(text, "#define RESIDUAL_AT(image, channel, o0, o1, o2) (");
        ry_gpu_window_add_offset(&problem->in[3], text);
        ry_text_add(text, ")\n");
    }
}

static void define_end(ry_text *text, const ry_problem *problem)
{
    define_offsets(text, problem);
    ry_text_add(text, "#define ADD_BIAS(y, channel, r0, r1, r2) ((y)%s)\n",
                ry_problem_has_input(problem, 2)
                    ? " + LOAD_2(IN(TYPE_2, 2), BIAS_AT(channel, r0, r1, r2))"
                    : "");
    ry_text_add(text, "#define ADD_RESIDUAL(y, image, channel, o0, o1, o2) ((y)%s)\n",
                ry_problem_has_input(problem, 3)
                    ? " + LOAD_3(IN(TYPE_3, 3), RESIDUAL_AT(image, channel, o0, o1, o2))"
                    : "");
    ry_text_add(text, "#define STORE_Y(image, channel, o0, o1, o2, v) STORE(OUT(TYPE_Y, 0), "
                      "Y_AT(image, channel, o0, o1, o2), v)\n"
                      "#define FINISH_SUM(sum, image, channel, o0, o1, o2, r0, r1, r2) "
                      "STORE_Y(image, channel, o0, o1, o2, activate(ADD_RESIDUAL(ADD_BIAS(sum, "
                      "channel, r0, r1, r2), image, channel, o0, o1, o2)))\n");
    if (problem->op == RY_OP_conv) {
        const ry_conv_attrs *a = &problem->attrs.conv;
        ry_gpu_activation(text, a->activation, (float)a->act_alpha, (float)a->act_beta);
    } else {
        const ry_convt_attrs *a = &problem->attrs.convt;
        ry_gpu_activation(text, a->activation, (float)a->act_alpha, (float)a->act_beta);
    }
}

/* Are a phase's taps the window's, in their order? */
static bool reads_all_taps(const ry_gpu_window *w)
{
    bool all = w->phases == 1;
    for (int i = 0; i < RY_GPU_AXES; i++) {
        const ry_gpu_axis *axis = &w->axis[i];
        all = all && axis->tap[0] == 0 && axis->tap_step == 1 && axis->count[0] == axis->taps;
    }
    return all;
}

void ry_gpu_window_define(const ry_problem *problem, const ry_gpu_window *w, ry_text *text)
{
    const ry_tensor *weights = &problem->in[1];
    const bool forward = problem->op != RY_OP_convt;
    ry_gpu_define_types(text, problem, w->wide);
    ry_gpu_define(text, "IMAGES", w->images);
    ry_gpu_define(text, "CHANNELS", w->channels);
    ry_gpu_define(text, "ROWS", w->rows);
    ry_gpu_define(text, "WINDOW", w->window);
    ry_gpu_define(text, "PHASES", w->phases);
    ry_gpu_define(text, "ALL_TAPS", reads_all_taps(w));
    ry_gpu_define(text, "X_IMAGE", problem->in[0].stride[0]);
    ry_gpu_define(text, "X_CHANNEL", problem->in[0].stride[1] * w->lanes);
    ry_gpu_define(text, "X_GROUP", w->x_group);
    ry_gpu_define(text, "W_OUT", weights->stride[forward ? 0 : 1]);
    ry_gpu_define(text, "W_IN", weights->stride[forward ? 1 : 0] * w->lanes);
    ry_gpu_define(text, "W_GROUP", weights->stride[0] * (forward ? w->rows : w->channels));
    for (int i = 0; i < RY_GPU_AXES; i++) {
        define_axis(text, &w->axis[i], i);
    }
    if (problem->op != RY_OP_qconv) {
        define_end(text, problem);
    }
}
