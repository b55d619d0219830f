/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions of 3x3 taps, forward and transposed, in Winograd's form (winograd.cl); igemm.cl
 * multiplies. */
#include "base/integer.h"
#include "kernels/gpu/gpu_choose.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_ends.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/gpu/gpu_texts.h"
#include "kernels/gpu/gpu_tile.h"
#include "kernels/gpu/gpu_window.h"
#include "kernels/packing.h"
#include "problem/window.h"

/* Points of an axis; the product's tile; work-items of a group of the transforms. */
enum { KNOB_POINTS, KNOB_TILE, KNOB_GROUP, KNOBS };
enum { PHASE_INPUT, PHASE_MARK, PHASE_PRODUCT, PHASE_OUTPUT, PHASES };
enum { TAPS = 3, LEAST_ITEMS = 64, ITEMS = 128, MOST_ITEMS = 256 };
enum { WIDEST = 128 }; /* rows of a product's tile */
enum { CHUNK = 64 };   /* channels whose squares an item sums */

static const ry_knob knobs[KNOBS] = {
    [KNOB_POINTS] = {"points", NULL, true, true},
    [KNOB_TILE] = {"tile", ry_gpu_tile_words, true, true},
    [KNOB_GROUP] = {.name = "group"},
};

/* Points of an axis and the best class of accuracy that they hold, as on the CPU. */
static const struct {
    int64_t points;
    ry_accuracy accuracy;
} choices[] = {{4, RY_ACCURACY_strict}, {6, RY_ACCURACY_near32}};
enum { CHOICES = sizeof choices / sizeof *choices };

/* The norm of a tile, over that of a window, that is left to Winograd's form, as on the CPU; a
 * filter's largest weight may exceed the norm of its others twice as many times. */
static int64_t most_contrast(const ry_kernel *kernel)
{
    return kernel->accuracy == RY_ACCURACY_strict ? 4 : 16;
}

static int64_t outputs_of(int64_t points)
{
    return points - TAPS + 1;
}

/* A product for each point, of matrices of work-items' floats. */
static ry_gpu_product product_of(const ry_gpu_window *w, int64_t points)
{
    const int64_t outputs = outputs_of(points);
    return (ry_gpu_product){.batches = points * points,
                            .rows = w->rows,
                            .columns = w->images * ry_ceil_div(w->axis[1].out, outputs) *
                                       ry_ceil_div(w->axis[2].out, outputs),
                            .terms = w->channels,
                            .terms_along = w->x_along_channels,
                            .rows_along = w->y_along_channels,
                            .operands = RY_GPU_F32};
}

/* Floats from a point's matrix to the next one's: an odd number of cache lines, for what reads or
 * writes an element of each would else find them all in one set of the cache. */
static int64_t pitch_of(int64_t floats)
{
    enum { LINE = 16 };
    return (ry_ceil_div(floats, LINE) | 1) * LINE;
}

static int64_t input_pitch(const ry_gpu_product *product)
{
    return pitch_of(product->terms * product->columns);
}

static int64_t output_pitch(const ry_gpu_product *product)
{
    return pitch_of(product->rows * product->columns);
}

/* Where the parts of the workspace begin, in floats: x's tiles are the first. */
typedef struct positions {
    int64_t products, norms, marks, end;
} positions;

static int64_t norms_of(const ry_gpu_window *w)
{
    return ry_ceil_div(w->channels, CHUNK) * w->images * w->axis[1].in * w->axis[2].in;
}

static positions positions_of(const ry_gpu_window *w, const ry_gpu_product *product)
{
    const int64_t products = product->batches * input_pitch(product),
                  norms = products + product->batches * output_pitch(product),
                  marks = norms + norms_of(w);
    return (positions){products, norms, marks, marks + product->columns};
}

/* Are offsets in workspace and packed weights an int's? Norms are fewer than elements of tiles, but
 * for x that no window reads. */
static bool is_narrow(const ry_gpu_window *w, int64_t points)
{
    const ry_gpu_product p = product_of(w, points);
    const double norms = ((double)w->channels / CHUNK + 1) * (double)w->images *
                         (double)w->axis[1].in * (double)w->axis[2].in;
    return (double)p.batches * ((double)(p.terms + p.rows) * (double)p.columns +
                                (double)p.terms * (double)(p.rows + WIDEST)) +
               norms <
           INT32_MAX / 2;
}

static bool applicable(const ry_problem *problem)
{
    if (!ry_gpu_window_takes(problem) || problem->in[0].rank != 4) {
        return false;
    }
    const ry_window window = ry_window_of(problem);
    for (int i = 0; i < window.rank; i++) {
        const ry_window_axis *axis = &window.axis[i];
        if (axis->taps != TAPS || axis->stride != 1 || axis->dilation != 1) {
            return false;
        }
    }
    const ry_gpu_window w = ry_gpu_window_of(problem);
    bool narrow = w.groups == 1;
    for (int i = 0; i < CHOICES; i++) {
        narrow = narrow && is_narrow(&w, choices[i].points);
    }
    return narrow;
}

/* Does its class admit so many points? */
static bool takes_points(const ry_query *query, int choice)
{
    return choices[choice].accuracy <= query->kernel->accuracy;
}

/* What is asked of the product: its sums are not split. */
static ry_form product_form(int64_t tile)
{
    ry_form form = ry_form_free();
    form.value[RY_GPU_KNOB_TILE] = tile;
    form.value[RY_GPU_KNOB_SPLIT] = 1;
    return form;
}

static void values(const ry_query *query, int knob, ry_knob_values *values)
{
    const ry_gpu_window w = ry_gpu_window_of(query->problem);
    const ry_gpu_product product = product_of(&w, choices[0].points);
    if (knob == KNOB_TILE) {
        ry_gpu_tile_values(query, &product, RY_GPU_KNOB_TILE, values);
        return;
    }
    for (int i = 0; knob == KNOB_POINTS && i < CHOICES; i++) {
        if (takes_points(query, i)) {
            ry_knob_values_add(values, choices[i].points);
        }
    }
    if (knob == KNOB_GROUP) {
        ry_gpu_group_add(query, LEAST_ITEMS, MOST_ITEMS, values);
    }
}

/* `floats`: moved by all items; `own`: in an item's registers. */
static void set_transform(ry_prepared *prepared, int phase, int64_t items, int64_t group,
                          double work, double floats, int64_t own)
{
    enum { BASE_REGISTERS = 32 };
    prepared->tasks[phase] = (size_t)ry_ceil_div(items, group);
    prepared->group[phase] = (unsigned)group;
    prepared->work[phase] = (ry_work){work, 0};
    prepared->use[phase] =
        (ry_gpu_use){.registers = BASE_REGISTERS + (unsigned)own, .near = floats * sizeof(float)};
}

static int64_t group_of(const ry_query *query)
{
    const int64_t wanted = ry_form_wanted(query, KNOB_GROUP);
    return wanted != RY_KNOB_FREE ? wanted : ry_gpu_group_most(query->target->machine, ITEMS, 0);
}

/* Seconds of an item that looks twice at the norms of a tile's positions. */
static double mark_seconds(const ry_gpu_window *w, int64_t points, const ry_machine *machine)
{
    const double norms = 2.0 * (double)(points * points * ry_ceil_div(w->channels, CHUNK));
    return ry_gpu_costs_of(machine)->winograd_mark * norms *
               machine->level[RYND_LEVEL_L2].latency.one +
           machine->level[RYND_LEVEL_DRAM].latency.one;
}

/* The points of the form, with the best tile of their products. */
static bool fill(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const ry_gpu_window w = *(const ry_gpu_window *)user;
    const int64_t points = prepared->form.value[KNOB_POINTS];
    const ry_gpu_product product = product_of(&w, points);
    const ry_gpu_costs *cost = ry_gpu_costs_of(query->target->machine);
    const ry_form form = product_form(ry_form_wanted(query, KNOB_TILE));
    const int64_t group = group_of(query), norms = norms_of(&w);
    const double elements = (double)(product.batches * product.columns),
                 in = elements * (double)product.terms, out = elements * (double)product.rows;
    ry_query of_product = *query;
    of_product.form = &form;
    ry_prepared one = *prepared;
    ry_error error;
    one.form = form;
    if (ry_gpu_tile_prepare(&of_product, &product, &one, &error) != RYND_OK) {
        return false;
    }
    const int64_t packed = product.terms * ry_gpu_tile_pitch(&product, &one);
    *prepared = one;
    prepared->form = ry_form_free();
    prepared->form.value[KNOB_POINTS] = points;
    prepared->form.value[KNOB_TILE] = one.form.value[RY_GPU_KNOB_TILE];
    prepared->form.value[KNOB_GROUP] = group;
    prepared->phases = PHASES;
    prepared->tasks[PHASE_PRODUCT] = one.tasks[0];
    prepared->group[PHASE_PRODUCT] = one.group[0];
    prepared->work[PHASE_PRODUCT] = one.work[0];
    prepared->use[PHASE_PRODUCT] = one.use[0];
    set_transform(prepared, PHASE_INPUT, product.terms * product.columns + norms, group,
                  in * (double)points * cost->winograd_input +
                      (double)(norms * ry_min(w.channels, CHUNK)) * cost->winograd_square,
                  2 * in + (double)norms, points * points);
    set_transform(prepared, PHASE_MARK, product.columns, group,
                  elements * (double)ry_ceil_div(w.channels, CHUNK) * cost->winograd_square,
                  2 * elements * (double)ry_ceil_div(w.channels, CHUNK), points * points);
    prepared->use[PHASE_MARK].latency = mark_seconds(&w, points, query->target->machine);
    set_transform(prepared, PHASE_OUTPUT, product.rows * product.columns, group,
                  out * (double)points * cost->winograd_output, 2 * out, points * points);
    prepared->workspace = (size_t)positions_of(&w, &product).end * sizeof(float);
    prepared->counts.bytes +=
        (2 * (in + out) + (double)(2 * norms + 2 * product.columns)) * sizeof(float);
    prepared->packed = (size_t)(product.batches * packed + product.rows) * sizeof(float);
    prepared->pack_tasks = (size_t)(ry_ceil_div(packed, group) + product.rows);
    prepared->pack_group = (unsigned)group;
    return true;
}

static void list_points(const ry_query *query, const void *user, int knob, ry_knob_values *list)
{
    (void)user;
    values(query, knob, list);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    static const ry_form_axis axes[] = {{.knob = KNOB_POINTS}};
    static const ry_gpu_search search = {axes, 1, list_points, fill};
    const ry_gpu_window w = ry_gpu_window_of(query->problem);
    return ry_gpu_choose(&search, query, &w, prepared, error);
}

/* Defines the product's operands and the destination of its sums. */
static void define_product(ry_text *text, const ry_gpu_window *w, const ry_gpu_product *product)
{
    const bool channels = w->x_along_channels, rows = w->y_along_channels;
    const long long terms = product->terms, columns = product->columns,
                    v_point = input_pitch(product), m_point = output_pitch(product);
    ry_gpu_define(text, "CONVOLUTION", 0);
    ry_gpu_define(text, "BATCHES", product->batches);
    ry_gpu_define(text, "N", product->columns);
    ry_gpu_define(text, "TERMS", product->terms);
    ry_gpu_define(text, "B_COLUMN", channels ? terms : 1);
    ry_gpu_define(text, "B_TERM", channels ? 1 : columns);
    ry_gpu_define(text, "M_FIRST", positions_of(w, product).products);
    ry_gpu_define(text, "V_POINT", v_point);
    ry_gpu_define(text, "M_POINT", m_point);
    ry_gpu_define(text, "W_ALONG_K", 0);
    ry_gpu_define(text, "FOURS_X", (channels ? terms : columns) % 4 == 0);
    ry_gpu_define(text, "X_ALONG_K", channels);
    ry_gpu_define(text, "Y_ALONG_M", rows);
    ry_text_add(text, "#define TYPE_B float\n#define MATRIX_B WORKSPACE(float)\n"
                      "#define ARGUMENT_B workspace\n"
                      "#define FETCHED_X float\n#define FOUR_X float4\n#define LOAD_B LOAD_f32\n"
                      "#define STAGE_X(v) (v)\n"
                      "#define AT_1(batch) ((INDEX)(batch) * V_POINT)\n");
}

/* Defines where the product's sums go. */
static void define_sums(ry_text *text, const ry_gpu_window *w, const ry_gpu_product *product,
                        const ry_gpu_tile *tile)
{
    const int64_t row = w->y_along_channels ? 1 : product->columns,
                  column = w->y_along_channels ? product->rows : 1,
                  first = positions_of(w, product).products, point = output_pitch(product);
    ry_text_add(text,
                "#define PRODUCT_AT(batch, m, n) (M_FIRST + (batch) * M_POINT + (m) * %lld + (n) * "
                "%lld)\n#define FINISH_PRODUCT(batch, m, n, sum) "
                "(WORKSPACE(float)[PRODUCT_AT(batch, m, n)] = (sum))\n",
                (long long)row, (long long)column);
    ry_gpu_ends_define_floats(product, row, column, first | point, "WORKSPACE(float)", tile, text);
}

/* What decides about outputs that are summed directly. packed: weights of a point. */
static void define_marks(ry_text *text, const ry_query *query, const ry_gpu_window *w,
                         const ry_gpu_product *product, int64_t packed, int64_t group)
{
    const positions at = positions_of(w, product);
    const int64_t contrast = most_contrast(query->kernel);
    ry_gpu_define(text, "CHUNK", CHUNK);
    ry_gpu_define(text, "CHUNKS", ry_ceil_div(w->channels, CHUNK));
    ry_gpu_define(text, "NORMS_FIRST", at.norms);
    ry_gpu_define(text, "MARKS_FIRST", at.marks);
    ry_gpu_define(text, "FILTERS_FIRST", product->batches * packed);
    ry_gpu_define(text, "PACK_GROUPS", ry_ceil_div(packed, group));
    ry_gpu_define(text, "CONTRAST", contrast * contrast);
    ry_gpu_define(text, "FILTER_CONTRAST", 2 * contrast);
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    const int64_t points = prepared->form.value[KNOB_POINTS], outputs = outputs_of(points),
                  group = prepared->form.value[KNOB_GROUP];
    const ry_gpu_window w = ry_gpu_window_of(query->problem);
    const ry_gpu_product product = product_of(&w, points);
    ry_prepared of_product = *prepared;
    of_product.form = product_form(prepared->form.value[KNOB_TILE]);
    ry_gpu_window_define(query->problem, &w, text);
    ry_gpu_tile_define(&product, &of_product, text);
    ry_gpu_tile_define_packed(&product, &of_product, product.terms, w.x_along_channels, text);
    define_product(text, &w, &product);
    const ry_gpu_tile tile = ry_gpu_tile_fitted(&product, &of_product);
    define_sums(text, &w, &product, &tile);
    ry_gpu_define(text, "GROUP_OF_join", prepared->group[PHASE_PRODUCT]); /* which does not run */
    ry_gpu_tile_add_text(&product, &of_product, text);
    ry_gpu_define(text, "TILE_OUTPUTS", outputs);
    ry_gpu_define(text, "TILE_ROWS", ry_ceil_div(w.axis[1].out, outputs));
    ry_gpu_define(text, "TILE_COLUMNS", ry_ceil_div(w.axis[2].out, outputs));
    define_marks(text, query, &w, &product,
                 product.terms * ry_gpu_tile_pitch(&product, &of_product), group);
    ry_gpu_define(text, "GROUP_ITEMS", group);
    ry_text_add(text, "%s", ry_gpu_text_group);
}

static void packing(const ry_prepared *prepared, ry_text *key)
{
    const int64_t points = prepared->form.value[KNOB_POINTS];
    const ry_gpu_window w = ry_gpu_window_of(prepared->problem);
    const ry_gpu_product product = product_of(&w, points);
    ry_prepared of_product = *prepared;
    of_product.form = product_form(prepared->form.value[KNOB_TILE]);
    RY_PACKING_NUMBERS(key, points);
    ry_gpu_tile_packing(&product, &of_product, &w, key);
}

static const char *const entries[] = {"pack", "transform_input", "mark", "run", "transform_output"};

static const ry_gpu_kernel winograd = {ry_gpu_text_winograd, entries, PHASES + 1, define};

/* The weights are read beside the packed ones by outputs that are summed directly. */
#define ROW(symbol, operator, class)                                                              \
    RY_GPU_KERNEL(symbol, operator, class, .knobs = knobs, .knob_count = KNOBS,                   \
                  .applicable = applicable, .values = values, .prepare = prepare,                 \
                  .runs_on = ry_gpu_tile_runs_floats, .gpu = &winograd, .packed_inputs = 1u << 1, \
                  .kept_inputs = 1u << 1, .packing = packing)

ROW(conv_fwd_f32_winograd_gpu, conv, near32);
ROW(conv_fwd_f32_winograd_strict_gpu, conv, strict);
ROW(convt_fwd_f32_winograd_gpu, convt, near32);
ROW(convt_fwd_f32_winograd_strict_gpu, convt, strict);
