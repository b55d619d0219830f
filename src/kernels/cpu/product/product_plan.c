/* SPDX-License-Identifier: Apache-2.0 */
/* Which products of any type the kernels take, their tasks and what they cost. */
#include "kernels/cpu/product/product_plan.h"

#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/conv_geometry.h"
#include "kernels/packing.h"

#include <math.h>

/* What a task is cut for: tasks a core, and times of taking a task. Elements between the rows of a
 * panel, so that they do not meet in one set of a cache. */
enum { TASKS_EACH = 4, TASK_TIMES = 16, PANEL_GAP = 16 };

/* Without packing: rows at most, whose tiles find the matrix in the first level; elements that the
 * columns are a multiple of, a full vector of any machine; and steps of a k block, whose rows of the
 * matrix fit the first level's table of pages. */
enum { DIRECT_ROWS = 32, DIRECT_LANES = 16, DIRECT_K_BLOCK = 48 };

static product_finish finish_of(const ry_problem *p)
{
    product_finish f = {.alpha = 1, .beta = 1, .low = -INFINITY, .high = INFINITY};
    if (p->op == RY_OP_matmul) {
        const ry_matmul_attrs *a = &p->attrs.matmul;
        f.alpha = a->alpha, f.beta = a->beta, f.activation = a->activation;
        f.act_alpha = a->act_alpha, f.act_beta = a->act_beta;
    } else if (p->op == RY_OP_convt) {
        f.activation = p->attrs.convt.activation;
        f.act_alpha = p->attrs.convt.act_alpha, f.act_beta = p->attrs.convt.act_beta;
    } else if (p->attrs.conv.dir == RY_direction_fwd) {
        f.activation = p->attrs.conv.activation;
        f.act_alpha = p->attrs.conv.act_alpha, f.act_beta = p->attrs.conv.act_beta;
    }
    const bool clips = f.activation == RY_activation_clip,
               bounds = clips || f.activation == RY_activation_relu;
    f.low = clips ? f.act_alpha : bounds ? 0 : f.low;
    f.high = clips ? f.act_beta : f.high;
    f.plain = f.alpha == 1 && f.beta == 1 &&
              (f.activation == RY_activation_none ||
               (bounds && ry_dtype_is_float((ry_dtype)p->out[0].dtype)));
    return f;
}

/* Do factors or activations read sums of integers? */
static bool is_wide(const ry_problem *problem)
{
    return !ry_dtype_is_float(ry_type_of(&problem->out[0])) && !finish_of(problem).plain;
}

/* Bytes of the type that is multiplied. */
static int64_t size_of(const ry_problem *problem)
{
    return ry_dtype_size(ry_type_of(&problem->out[0])) == 8 || is_wide(problem) ? 8 : 4;
}

static bool one_type(const ry_problem *problem)
{
    const ry_dtype dtype = ry_type_of(&problem->out[0]);
    for (int i = 0; i < problem->inputs + problem->outputs; i++) {
        const ry_tensor *t =
            i < problem->inputs ? &problem->in[i] : &problem->out[i - problem->inputs];
        if (ry_tensor_present(t) && ry_type_of(t) != dtype) {
            return false;
        }
    }
    return dtype != RY_bool;
}

static bool has_ranks(const ry_problem *problem)
{
    const int least = problem->op == RY_OP_matmul ? 1 : 2;
    return problem->in[0].rank >= least && problem->in[1].rank >= least;
}

/* Do kernels of floats of 32 and 16 bits take the problem? They do, but for sums over nothing, and
 * for windows of more taps or phases than their tables have. */
static bool others_take(const ry_problem *problem)
{
    const bool window = problem->op == RY_OP_convt ||
                        (problem->op == RY_OP_conv && problem->attrs.conv.dir == RY_direction_fwd);
    return ry_product_depth(problem) > 0 && (!window || ry_conv_takes_floats(problem));
}

bool ry_product_takes(const ry_problem *problem)
{
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_input(problem, 1) ||
        !ry_problem_has_output(problem, 0) || !one_type(problem) || !has_ranks(problem) ||
        ry_tensor_count(&problem->out[0]) == 0) {
        return false;
    }
    const int64_t elements = ry_product(ry_tensor_count(&problem->in[1]), 2 * size_of(problem));
    if (elements == INT64_MAX || ry_conv_takes_i32(problem)) {
        return false;
    }
    const ry_dtype dtype = ry_type_of(&problem->out[0]);
    return dtype == RY_f64 || !ry_dtype_is_float(dtype) || !others_take(problem);
}

/* Steps of w's list and of the depth where w lies. */
static const product_dim *only_dim(const product_list *list)
{
    static const product_dim one = {.count = 1};
    return list->rank == 0 ? &one : list->rank == 1 ? &list->dim[0] : NULL;
}

bool ry_product_takes_direct(const ry_problem *problem)
{
    if (problem->op != RY_OP_matmul || !ry_product_takes(problem) ||
        size_of(problem) != (int64_t)ry_dtype_size(ry_type_of(&problem->out[0]))) {
        return false;
    }
    product_nest nest;
    ry_product_nest(problem, -1, &nest);
    const product_dim *w = only_dim(&nest.list[PRODUCT_WS]);
    return w && only_dim(&nest.list[PRODUCT_DEPTH]) && w->step[PRODUCT_W] == 1 &&
           w->step[PRODUCT_Y] == 1 && w->count % DIRECT_LANES == 0 &&
           ry_product_count(&nest.list[PRODUCT_XS]) <= DIRECT_ROWS;
}

/* Is y contiguous along w, or has x too little for vectors? */
static bool is_w_along_vectors(const product_nest *nest, int64_t lanes)
{
    const product_list *x = &nest->list[PRODUCT_XS], *w = &nest->list[PRODUCT_WS];
    const int64_t xs = ry_product_count(x), ws = ry_product_count(w);
    if (ws < lanes || xs < lanes) {
        return ws > xs;
    }
    return w->dim[w->rank - 1].step[PRODUCT_Y] < x->dim[x->rank - 1].step[PRODUCT_Y];
}

static product_tiling tiling_of(const ry_query *query, bool columns, int64_t count, int64_t lanes)
{
    const ry_simd *simd = &query->kernel->simd;
    const product_tiling like = {columns, 0, 0, lanes,
                                 columns ? lanes * simd->vectors : simd->rows};
    return product_cut(&like, count);
}

/* Cuts x and w until cores have tasks enough. */
static void cut_tasks(const ry_query *query, const product_nest *nest, product_plan *plan)
{
    const ry_machine *machine = query->target->machine;
    const int64_t size = size_of(query->problem), xs = ry_product_count(&nest->list[PRODUCT_XS]);
    const int64_t phases = ry_product_phases(query->problem);
    const int64_t half = ry_machine_core_bytes(machine, RYND_LEVEL_L2) / 4;
    const int64_t depth = ry_max(ry_ceil_div(plan->depth, phases), 1);
    const int64_t x_fit = half / size / plan->k_block / plan->x.width * plan->x.width;
    int64_t x_block =
        ry_min(ry_clamp(x_fit, plan->x.width, PRODUCT_MAX_BLOCK), ry_round_up(xs, plan->x.width));
    int64_t w_tiles = ry_clamp(half / size / x_block / plan->w.width, 1, plan->w.tiles);
    int64_t groups = 1;
    const double least = (double)ry_machine_task_products(machine, TASK_TIMES) / (double)size * 4,
                 wanted = (double)(TASKS_EACH * (int64_t)machine->cores);
    for (;;) {
        const double products = (double)x_block * (double)(w_tiles * plan->w.width) * (double)depth;
        const double tasks = (double)phases * (double)plan->groups *
                             (double)ry_ceil_div(xs, x_block) *
                             (double)ry_ceil_div(plan->w.tiles, w_tiles);
        if (tasks >= wanted || products < 2 * least) {
            groups = ry_clamp((int64_t)(least / products), 1, plan->groups);
            break;
        }
        if (x_block > 2 * plan->x.width) {
            x_block = ry_round_up(x_block / 2, plan->x.width);
        } else if (w_tiles > 1) {
            w_tiles = (w_tiles + 1) / 2;
        } else {
            break;
        }
    }
    plan->x = product_cut(&plan->x, x_block);
    plan->tasks = (ry_task_cut){
        {{phases, 1}, {plan->groups, groups}, {xs, x_block}, {plan->w.tiles, w_tiles}}};
    plan->packs = (ry_task_cut){{{phases, 1}, {plan->groups, groups}, {plan->w.tiles, w_tiles}}};
}

static void lay_out(const ry_problem *problem, product_plan *plan)
{
    const size_t size = (size_t)size_of(problem),
                 point = (size_t)problem->in[0].rank * sizeof(int64_t);
    const int64_t w_block = plan->tasks.axis[3].part * plan->w.width,
                  x_block = ry_round_up(plan->x.count, plan->x.width);
    const int64_t rows = plan->w.columns ? x_block : w_block;
    const size_t walk = (size_t)ry_max(plan->k_block, x_block);
    plan->panel_step = x_block + PANEL_GAP;
    size_t at = ry_aligned((size_t)(plan->panel_step * plan->k_block) * size);
    plan->sums = at, at += ry_aligned((size_t)(x_block * w_block) * size);
    plan->bias = at, at += ry_aligned((size_t)w_block * size);
    plan->offsets = at, at += ry_aligned((size_t)rows * PRODUCT_OPERANDS * sizeof(int64_t));
    plan->points = at, at += ry_aligned(walk * point);
    plan->run_points = at, at += ry_aligned(walk * point);
    plan->runs = at, at += ry_aligned(walk * sizeof(product_run));
    plan->scratch = at;
}

void ry_product_initialise(const ry_query *query, void *state)
{
    const ry_problem *problem = query->problem;
    product_plan *plan = state;
    product_nest nest;
    ry_product_nest(problem, -1, &nest);
    const int64_t lanes = query->kernel->simd.width * 4 / size_of(problem);
    const bool direct = query->kernel->packed_inputs == 0,
               w_columns = direct || is_w_along_vectors(&nest, lanes);
    *plan = (product_plan){
        .finish = finish_of(problem),
        .wide = is_wide(problem),
        .w = tiling_of(query, w_columns, ry_product_count(&nest.list[PRODUCT_WS]), lanes),
        .x = tiling_of(query, !w_columns, ry_product_count(&nest.list[PRODUCT_XS]), lanes),
        .channels_last = nest.channels_last,
        .direct = direct,
        .w_step = direct ? only_dim(&nest.list[PRODUCT_DEPTH])->step[PRODUCT_W] : 0,
        .depth = ry_product_depth(problem),
        .groups = ry_product_count(&nest.list[PRODUCT_GROUPS])};
    const int64_t near = ry_machine_core_bytes(query->target->machine, RYND_LEVEL_L1);
    plan->k_block =
        ry_clamp(near / 2 / (query->kernel->simd.vectors * query->kernel->simd.width * 4) / 8 * 8,
                 64, PRODUCT_MAX_K_BLOCK);
    plan->k_block = direct ? DIRECT_K_BLOCK : plan->k_block;
    plan->k_block = ry_clamp(plan->k_block, 1, ry_max(plan->depth, 1));
    cut_tasks(query, &nest, plan);
    lay_out(problem, plan);
}

/* Vector multiply-adds, and moves that take as long. */
static void count(const ry_query *query, const product_plan *plan, ry_prepared *prepared)
{
    const struct ry_product_costs *cost = &ry_costs_asked(query)->product;
    const ry_problem *problem = query->problem;
    const int64_t width = query->kernel->simd.width;
    const bool is_long = !ry_dtype_is_float(ry_type_of(&problem->out[0])) && size_of(problem) == 8;
    const double phases = (double)plan->tasks.axis[0].extent, groups = (double)plan->groups;
    const double xs = (double)plan->tasks.axis[2].extent * groups,
                 ws = (double)product_padded(&plan->w), depth = (double)plan->depth;
    const double w_ranges = (double)ry_cut_parts(&plan->tasks.axis[3]);
    const double lanes = (double)plan->w.lanes;
    const double multiply = cost->multiply * (is_long ? cost->multiply_long : 1);
    /* vectors are never shorter than full, and short rows of tiles wait for their sums */
    const double rows = (double)ry_max(plan->w.columns ? plan->x.width : plan->w.count, 1);
    const double waits = rows < 4 ? 4 / rows : 1;
    const double reads = plan->direct ? groups * ws * depth * cost->pack / 2 : 0;
    const double all = reads + xs * ws * depth / lanes * multiply * waits +
                       xs * depth * w_ranges * cost->gather + xs * phases * ws * cost->store +
                       (double)ry_cut_tasks(&plan->tasks) * cost->task;
    prepared->work[0] = ry_work_of_cycles((ry_work){all, 0}, width);
    prepared->pack_work = plan->direct ? 0 : groups * ws * depth * cost->pack * 2 * (double)width;
}

rynd_status ry_product_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    product_plan plan;
    (void)error;
    ry_product_initialise(query, &plan);
    *prepared = (ry_prepared){
        .phases = 1,
        .tasks = {(size_t)ry_cut_tasks(&plan.tasks)},
        .state_size = ry_aligned(sizeof plan),
        .packed = plan.direct
                      ? 0
                      : ry_aligned((size_t)(plan.groups * plan.depth * product_padded(&plan.w) *
                                            size_of(query->problem))),
        .pack_tasks = plan.depth > 0 && !plan.direct ? (size_t)ry_cut_tasks(&plan.packs) : 0,
        .scratch = plan.scratch};
    count(query, &plan, prepared);
    return RYND_OK;
}

void ry_product_packing(const ry_prepared *prepared, ry_text *key)
{
    const product_plan *plan = prepared->state;
    RY_PACKING_NUMBERS(key, plan->tasks.axis[0].extent, plan->groups, plan->depth, plan->k_block,
                       plan->channels_last, plan->w.columns, plan->w.count, plan->w.lanes,
                       plan->w.width);
}
