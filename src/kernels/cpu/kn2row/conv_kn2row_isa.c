/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution to few output channels, products first. */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/igemm/igemm.h"
#include "kernels/cpu/kn2row/kn2row_prepare.h"
#include "kernels/cpu/kn2row/kn2row_sum.h"
#include "kernels/cpu/parts/conv_kernel.h"
#include "kernels/cpu/parts/out_rows.h"
#include "kernels/cpu/simd/simd.h"

/* Products that are at hand. */
typedef struct at_hand {
    const float *at; /* the group's first tap and output channel */
    int64_t first;   /* first pixel of x */
} at_hand;

/* What the taps of a phase add to row `row` of the rows; returns the number of those that are
 * there. */
static int64_t find_sources(const kn2row_plan *plan, const out_rows *rows, const at_hand *products,
                            const ry_conv_phase *p, int64_t row, kn2row_source *source)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *taps = (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps);
    const int64_t q[2] = {rows->slice, rows->row + row};
    int64_t count = 0;
    for (int64_t t = p->first_tap; t < p->first_tap + p->taps; t++) {
        const ry_conv_tap *tap = &taps[t];
        if (q[0] >= tap->first[0] && q[0] < tap->end[0] && q[1] >= tap->first[1] &&
            q[1] < tap->end[1] && tap->first[2] < tap->end[2]) {
            const int64_t pixel = ((q[0] + tap->at[0]) * g->in[1] + q[1] + tap->at[1]) * g->in[2] +
                                  tap->at[2] - products->first;
            source[count++] =
                (kn2row_source){products->at + t * g->channels_out * plan->pixels + pixel,
                                tap->first[2], tap->end[2]};
        }
    }
    return count;
}

/* A vector of outputs from `column` on, of `channels` output channels whose products are stored
 * `step` floats apart and whose sums do `to_step`. */
RY_INLINE void sum_vector(const kn2row_source *source, int64_t sources, int64_t column,
                          int64_t step, const float *bias, float *to, int64_t to_step,
                          const int channels)
{
    ry_vf sum[KN2ROW_TOGETHER];
#pragma GCC unroll 4
    for (int k = 0; k < channels; k++) {
        sum[k] = ry_vf_set(bias[k]);
    }
    for (const kn2row_source *s = source; s < source + sources; s++) {
        const float *from = s->at + column;
        if (column >= s->first && column + RY_W <= s->end) {
#pragma GCC unroll 4
            for (int k = 0; k < channels; k++) {
                sum[k] = ry_vf_add(sum[k], ry_vf_load(from + k * step));
            }
        } else if (column < s->end && column + RY_W > s->first) {
            const int64_t first = ry_max(s->first - column, 0), end = ry_min(s->end - column, RY_W);
            const ry_vm m = ry_vm_bits((1u << end) - (1u << first));
#pragma GCC unroll 4
            for (int k = 0; k < channels; k++) {
                sum[k] = ry_vf_add(sum[k], ry_vf_load_m(from + k * step, m));
            }
        }
    }
#pragma GCC unroll 4
    for (int k = 0; k < channels; k++) {
        ry_vf_store(to + k * to_step, sum[k]);
    }
}

/* `bias` and `to`: of output channel number `channel`. */
static void sum_row(const kn2row_plan *plan, const kn2row_source *source, int64_t sources,
                    int64_t channel, const float *bias, float *to)
{
    const int64_t step = plan->pixels, to_step = plan->positions,
                  channels = plan->geometry.channels_out - channel;
    for (int64_t column = 0; column < plan->pitch; column += RY_W) {
        switch (channels) {
        case 1: sum_vector(source, sources, column, step, bias, to + column, to_step, 1); break;
        case 2: sum_vector(source, sources, column, step, bias, to + column, to_step, 2); break;
        case 3: sum_vector(source, sources, column, step, bias, to + column, to_step, 3); break;
        default:
            sum_vector(source, sources, column, step, bias, to + column, to_step, KN2ROW_TOGETHER);
            break;
        }
    }
}

/* `rows`: where in y. */
static void sum_rows(const kn2row_plan *plan, out_rows *rows, const at_hand *products,
                     char *scratch)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *phase =
        (const ry_conv_phase *)(const void *)((const char *)plan + plan->phases);
    kn2row_source *source = RY_AT(kn2row_source, scratch, plan->sources);
    rows->geometry = g;
    rows->images = 1;
    rows->column = 0;
    rows->length = INT64_MAX;
    rows->image_rows = rows->rows;
    rows->pitch = plan->pitch;
    rows->columns = rows->rows * plan->pitch;
    rows->positions = plan->positions;
    rows->interleave = plan->interleave;
    rows->sums = RY_AT(float, scratch, plan->sums);
    rows->interleaved_row = RY_AT(float, scratch, plan->interleaved_row);
    rows->bias = RY_AT(float, scratch, plan->bias);
    rows->run = RY_AT(epilogue_run, scratch, plan->runs);
    for (int64_t p = 0; p < g->phases; p++) {
        RY_ISA_SYMBOL(out_rows_read_bias)(rows, &phase[p], p);
        for (int64_t row = 0; row < rows->rows; row++) {
            const int64_t sources = find_sources(plan, rows, products, &phase[p], row, source);
            for (int64_t k = 0; k < g->channels_out; k += KN2ROW_TOGETHER) {
                const int64_t at = p * g->channels_out + k;
                sum_row(plan, source, sources, k, rows->bias + at,
                        rows->sums + at * plan->positions + row * plan->pitch);
                for (int64_t i = 0; i < sources; i++) {
                    source[i].at += KN2ROW_TOGETHER * plan->pixels;
                }
            }
        }
    }
    for (int64_t p = 0; p < g->phases; p += plan->interleave) {
        RY_ISA_SYMBOL(out_rows_epilogue)(rows, &phase[p], p);
    }
}

/* The matrix product's problem as a launch of its own. */
typedef struct multiply {
    kn2row_product product;
    const void *in[1];
    void *out[1];
    ry_cpu_launch launch;
} multiply;

static void start_multiply(const ry_cpu_launch *launch, const void *x, void *products, void *shared,
                           multiply *m)
{
    ry_kn2row_product_of(launch->problem, launch->state, &m->product);
    m->in[0] = x;
    m->out[0] = products;
    m->launch = *launch;
    m->launch.problem = &m->product.problem;
    m->launch.in = m->in;
    m->launch.out = m->out;
    m->launch.workspace = shared;
}

/* A task of a phase before the sums. */
static void run_product(const ry_cpu_launch *launch, int64_t task, char *scratch)
{
    const kn2row_plan *plan = launch->state;
    const igemm_plan *product = kn2row_product_plan(plan);
    void *shared = (char *)launch->workspace + plan->products;
    multiply m;
    start_multiply(launch, launch->in[0], launch->workspace, shared, &m);
    if (launch->phase == 0 && igemm_has_gathering(product)) {
        RY_ISA_SYMBOL(igemm_share)(product, &m.launch, NULL, shared, task, scratch);
    } else {
        RY_ISA_SYMBOL(igemm_run)(product, &m.launch, NULL, launch->packed, shared, task, scratch);
    }
}

/* A task of sums. */
static void run_sums(const ry_cpu_launch *launch, size_t task, char *scratch)
{
    const kn2row_plan *plan = launch->state;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks, task, range);
    out_rows rows = {.launch = launch,
                     .image = range[0].first,
                     .group = range[1].first,
                     .slice = range[2].first,
                     .row = range[3].first,
                     .rows = range[3].count};
    const int64_t plane = rows.image * plan->geometry.groups + rows.group;
    const at_hand products = {(const float *)launch->workspace +
                                  plane * kn2row_columns(&plan->geometry) * plan->pixels,
                              0};
    sum_rows(plan, &rows, &products, scratch);
}

/* A task of a row block: products, then sums. */
static void run_row_block(const ry_cpu_launch *launch, size_t task, char *scratch)
{
    const kn2row_plan *plan = launch->state;
    const igemm_plan *product = kn2row_product_plan(plan);
    const ry_conv_geometry *g = &plan->geometry;
    const kn2row_row_block *row_block = &plan->row_block;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks, task, range);
    const int64_t image = range[0].first, group = range[1].first, q = range[2].first,
                  end = range[2].end;
    const int64_t first =
        ry_min(ry_max(q + row_block->low, 0), g->in[row_block->axis] - row_block->in); /* row of x
                                                                                        */
    const int64_t at = image * g->x_batch + group * g->channels_in * g->x_channel +
                       first * g->x_step[row_block->axis];
    float *to = RY_AT(float, scratch, plan->row_block_products);
    void *shared = scratch + plan->row_block_shared;
    multiply m;
    start_multiply(launch,
                   (const char *)launch->in[0] +
                       at * (int64_t)ry_dtype_size(ry_type_of(&launch->problem->in[0])),
                   to, shared, &m);
    for (int64_t i = 0; i < product->gathers; i++) {
        RY_ISA_SYMBOL(igemm_share)(product, &m.launch, NULL, shared, i, scratch + plan->multiply);
    }
    for (int64_t i = 0; i < product->tasks; i++) {
        RY_ISA_SYMBOL(igemm_run)
        (product, &m.launch, NULL, (const float *)launch->packed + group * product->packed_group,
         shared, i, scratch + plan->multiply);
    }
    const at_hand products = {to, first * (row_block->axis == 0 ? g->in[1] : 1) * g->in[2]};
    const int64_t slice_end = row_block->axis == 0 ? end : 1,
                  row_end = row_block->axis == 1 ? end : plan->grid[1];
    for (int64_t slice = row_block->axis == 0 ? q : 0; slice < slice_end; slice++) {
        for (int64_t row = row_block->axis == 1 ? q : 0; row < row_end; row += plan->rows) {
            out_rows rows = {.launch = launch,
                             .group = group,
                             .image = image,
                             .slice = slice,
                             .row = row,
                             .rows = ry_min(plan->rows, row_end - row)};
            sum_rows(plan, &rows, &products, scratch);
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const kn2row_plan *plan = launch->state;
    char *scratch = launch->scratch;
    if (plan->row_block.out > 0) {
        run_row_block(launch, task, scratch);
    } else if (launch->phase == launch->prepared->phases - 1) {
        run_sums(launch, task, scratch);
    } else {
        run_product(launch, (int64_t)task, scratch);
    }
}

/* An oc block of the product's columns, as igemm_pack orders those of a 1x1 kernel. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    const kn2row_plan *plan = launch->state;
    const igemm_plan *product = kn2row_product_plan(plan);
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps);
    const ry_dtype dtype = ry_type_of(&launch->problem->in[1]);
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->packs, task, range);
    const int64_t group = range[0].first, oc_block = range[1].first;
    const int64_t first = igemm_oc_block_first(product, oc_block),
                  count = igemm_oc_block_count(product, oc_block);
    const int64_t step = product->mode == IGEMM_PIXELS ? count : ry_round_up(count, RY_W);
    float *to =
        (float *)launch->packed_out + group * product->packed_group + first * g->channels_in;
    for (int64_t c = 0; c < g->channels_in; c++) {
        for (int64_t i = 0; i < step; i++) {
            const int64_t t = (first + i) / g->channels_out, k = (first + i) % g->channels_out;
            const int64_t from = group * g->w_group + c * g->w_in + k * g->w_out;
            *to++ = i < count ? (float)ry_get_f64(dtype, launch->in[1], from + tap[t].weight) : 0;
        }
    }
}

RY_CONV_KERNELS(kn2row, .applicable = ry_kn2row_is_possible, .knobs = ry_kn2row_knobs,
                .knob_count = KN2ROW_KNOBS, .values = ry_kn2row_values,
                .prepare = ry_kn2row_prepare, .initialise = ry_kn2row_initialise, .pack = pack,
                .run = run, .packed_inputs = 1u << 1, .packing = ry_kn2row_packing);
