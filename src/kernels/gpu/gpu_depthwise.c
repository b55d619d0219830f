/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions whose groups have few input channels (depthwise.cl; on processors depthwise_vectors.cl). */
#include "base/integer.h"
#include "kernels/gpu/gpu_choose.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_depthwise_vectors.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_qconv.h"
#include "kernels/gpu/gpu_texts.h"
#include "kernels/gpu/gpu_window.h"
#include "kernels/packing.h"

enum { ITEMS = 128, MOST_CHANNELS = 4, MOST_ROWS = 4, MOST_REACH = 16 };

enum { KNOB_ROWS, KNOBS };
static const ry_knob knobs[KNOBS] = {{"rows", NULL, true, false}};

static bool applicable(const ry_problem *problem)
{
    return ry_gpu_window_takes(problem) && ry_gpu_window_of(problem).channels <= MOST_CHANNELS;
}

/* Elements of a column of x that so many outputs read. */
static int64_t field_of(const ry_gpu_axis *axis, int64_t rows)
{
    return (rows - 1) * axis->stride + (axis->taps - 1) * axis->step + 1;
}

/* Can an item's outputs, in `rows` successive rows, share the inputs of overlapping windows? */
static bool shares(const ry_gpu_window *w, int64_t rows)
{
    const ry_gpu_axis *axis = &w->axis[1];
    return rows == 1 || (axis->spread == 1 && axis->step == 1 && axis->stride < axis->taps &&
                         axis->out > rows / 2 && field_of(axis, rows) <= MOST_REACH);
}

/* Do all but the channels of a tensor lie at multiples of four elements? */
static bool has_fours(const ry_tensor *t)
{
    bool has = ry_gpu_is_float(t) && t->stride[1] == 1 && t->dim[1] % 4 == 0;
    for (int i = 0; i < t->rank; i++) {
        has = has && (i == 1 || t->stride[i] % 4 == 0);
    }
    return has;
}

/* Outputs of neighbouring channels that an item sums: four where they are read and stored at once. */
static int64_t lanes_of(const ry_query *query, const ry_gpu_window *w)
{
    enum { MOST_TAPS = 7 };
    const ry_problem *problem = query->problem;
    const bool four = query->target->machine->step_items > 1 && problem->op == RY_OP_conv &&
                      w->channels == 1 && w->rows == 1 && w->axis[1].step == 1 &&
                      w->axis[1].taps <= MOST_TAPS && has_fours(&problem->in[0]) &&
                      has_fours(&problem->out[0]) &&
                      (!ry_problem_has_input(problem, 3) || has_fours(&problem->in[3]));
    return four ? 4 : 1;
}

static void list_rows(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const ry_gpu_window *w = user;
    (void)knob;
    if (ry_gpu_vectors_take(query, w)) {
        ry_gpu_vectors_rows(query, w, values);
        return;
    }
    for (int64_t rows = 1; rows <= MOST_ROWS; rows *= 2) {
        if (shares(w, rows)) {
            ry_knob_values_add(values, rows);
        }
    }
}

static void values(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_gpu_window w = ry_gpu_window_of(query->problem);
    list_rows(query, &w, knob, values);
}

static int64_t items_of(const ry_gpu_window *w, int64_t rows)
{
    return w->images * w->groups * w->rows * w->axis[0].out * ry_ceil_div(w->axis[1].out, rows) *
           w->axis[2].out;
}

static double work_of(const ry_gpu_window *w, const ry_gpu_costs *cost, int64_t rows, int64_t group,
                      int64_t lanes)
{
    const double column = (double)w->axis[1].taps, columns = (double)w->terms / column;
    const double loads = rows == 1 ? column : (double)field_of(&w->axis[1], rows);
    return (double)ry_round_up(items_of(w, rows) / lanes, group) *
           (columns * (loads * cost->depthwise_load + column * cost->depthwise_weight +
                       cost->depthwise_product * column * (double)(rows * lanes)) +
            cost->depthwise_output * (double)rows);
}

static bool fill(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const ry_gpu_window *w = user;
    const ry_machine *machine = query->target->machine;
    const int64_t group = ry_gpu_group_most(machine, ITEMS, 0),
                  rows = prepared->form.value[KNOB_ROWS],
                  packed = w->groups * w->rows * w->channels * w->window,
                  lanes = lanes_of(query, w);
    prepared->phases = 1;
    prepared->pack_group = (unsigned)group;
    prepared->packed =
        (size_t)packed * (query->problem->op == RY_OP_qconv ? sizeof(int8_t) : sizeof(float));
    prepared->pack_tasks = (size_t)ry_ceil_div(packed, group);
    if (ry_gpu_vectors_take(query, w)) {
        return ry_gpu_vectors_fill(query, w, rows, prepared);
    }
    prepared->tasks[0] = (size_t)ry_ceil_div(items_of(w, rows) / lanes, group);
    prepared->work[0] = (ry_work){work_of(w, ry_gpu_costs_of(machine), rows, group, lanes), 0};
    prepared->group[0] = (unsigned)group;
    return shares(w, rows);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    static const ry_form_axis axes[] = {{.knob = KNOB_ROWS}};
    static const ry_gpu_search search = {axes, 1, list_rows, fill};
    const ry_gpu_window w = ry_gpu_window_of(query->problem);
    RY_TRY(ry_gpu_choose(&search, query, &w, prepared, error));
    return prepared->tasks[0] > (size_t)INT32_MAX ? ry_form_fail(query, error) : RYND_OK;
}

/* How depthwise_fours.cl reads and writes four elements. */
static void define_fours(const ry_problem *problem, ry_text *text)
{
    const bool residual = ry_problem_has_input(problem, 3);
    ry_text_add(text,
                "#define READ_FOUR_X ALIGNED_LOAD4_%s\n#define WRITE_FOUR ALIGNED_STORE4_%s\n",
                ry_dtype_name((ry_dtype)problem->in[0].dtype),
                ry_dtype_name((ry_dtype)problem->out[0].dtype));
    if (residual) {
        ry_text_add(text, "#define READ_FOUR_RESIDUAL ALIGNED_LOAD4_%s\n",
                    ry_dtype_name((ry_dtype)problem->in[3].dtype));
    }
    ry_text_add(text, "#define FOUR_ADDRESSES ((ulong)IN(TYPE_0, 0) | (ulong)OUT(TYPE_Y, 0)%s)\n",
                residual ? " | (ulong)IN(TYPE_3, 3)" : "");
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    enum { UNROLLED = 128 };
    const ry_gpu_window w = ry_gpu_window_of(query->problem);
    const bool fours = lanes_of(query, &w) == 4;
    ry_gpu_window_define(query->problem, &w, text);
    if (query->problem->op == RY_OP_qconv) {
        ry_gpu_qconv_define(query->problem, &w, text);
        ry_text_add(text, "#define SUM int\n#define WEIGHT int8_t\n");
    } else {
        ry_text_add(text, "#define SUM float\n#define WEIGHT float\n#define LOAD_X LOAD_0\n");
    }
    ry_gpu_define(text, "BATCHES", w.groups);
    ry_gpu_define(text, "PACK_ITEMS", prepared->pack_group);
    ry_gpu_define(text, "GROUP_ITEMS", prepared->group[0]);
    ry_gpu_define(text, "OUTPUT_ROWS", prepared->form.value[KNOB_ROWS]);
    ry_gpu_define(text, "Y_ALONG_M", w.y_along_channels);
    ry_text_add(text, "#define UNROLL_WINDOW %s\n",
                w.phases == 1 && w.axis[1].taps * w.axis[2].taps <= UNROLLED ? "UNROLL" : "");
    ry_gpu_define(text, "FOURS", fours);
    if (fours) {
        define_fours(query->problem, text);
    }
    const bool vectors = ry_gpu_vectors_take(query, &w);
    ry_gpu_define(text, "VECTORS", vectors);
    ry_text_add(text, "%s", ry_gpu_text_depthwise);
    if (vectors) {
        ry_gpu_vectors_define(query, &w, prepared, text);
    }
}

static void packing(const ry_prepared *prepared, ry_text *key)
{
    const ry_gpu_window w = ry_gpu_window_of(prepared->problem);
    RY_PACKING_NUMBERS(key, w.groups, w.rows, w.channels, w.window, w.axis[0].taps, w.axis[1].taps,
                       w.axis[2].taps);
}

static const char *const entries[] = {"pack", "run"};
static const ry_gpu_kernel depthwise = {ry_gpu_text_depthwise_fours, entries, 2, define};

#define ROW(symbol, operator)                                                     \
    RY_GPU_KERNEL(symbol, operator, strict, .knobs = knobs, .knob_count = KNOBS,  \
                  .applicable = applicable, .values = values, .prepare = prepare, \
                  .gpu = &depthwise, .packed_inputs = 1u << 1, .packing = packing)

ROW(conv_fwd_f32_depthwise_gpu, conv);
ROW(convt_fwd_f32_depthwise_gpu, convt);
ROW(qconv_depthwise_gpu, qconv);
