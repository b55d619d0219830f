/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a graph by its reference kernels. */
#include "reference.h"

#include "choices.h"
#include "every_kernel.h"
#include "expr/expr.h"
#include "graph/infer.h"
#include "plan/fold.h"
#include "reference_rules.h"

#include <math.h>
#include <string.h>

/* Beyond them products come near the largest float or below the smallest, and where they overflow
 * or vanish depends on their order. */
static const double LARGE = 1e12, SMALL = 1e-18;

double reference_noise(ry_dtype dtype, bool sixteen_bits)
{
    switch (dtype) {
    case RY_f16: return sixteen_bits ? 0x1p-8 : 0x1p-10;
    case RY_bf16: return 0x1p-7;
    case RY_f64: return 0x1p-48;
    default: return sixteen_bits ? 0x1p-8 : 0x1p-19; /* near32: 1e-5 against float64 */
    }
}

/* The reference kernel, or the only kernel of an operator that moves data: last in the list. */
static const ry_kernel *find_kernel(const ry_problem *problem)
{
    const ry_kernel *last = NULL;
    for (size_t i = 0; i < ry_kernel_count; i++) {
        if (ry_kernel_takes(ry_kernels[i], problem, every_kernel_target(RY_ISA_generic))) {
            last = ry_kernels[i];
        }
    }
    return last;
}

static bool is_rounding(const ry_graph *graph, const ry_node *node, rule_kind kind)
{
    bool floats = false;
    for (int i = 0; i < node->outputs; i++) {
        floats = floats || (node->out[i] != RY_NO_VALUE &&
                            ry_dtype_is_float(graph->values[node->out[i]].dtype));
    }
    return kind == RULE_SUM && floats;
}

static double largest_of(ry_dtype dtype, const void *data, int64_t count)
{
    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        const double size = fabs(ry_get_f64(dtype, data, i));
        largest = isfinite(size) && size > largest ? size : largest;
    }
    return largest;
}

/* Each element gets the noise of its own size and of `size`. */
static void disturb(const reference_options *options, generator *n, ry_dtype dtype, void *data,
                    int64_t count, double size)
{
    const double noise = reference_noise(dtype, options->sixteen_bits);
    for (int64_t i = 0; i < count; i++) {
        const double sign = generator_next(n) & 1 ? 1 : -1, number = ry_get_f64(dtype, data, i);
        ry_set_f64(dtype, data, i, number + sign * noise * (fabs(number) + size));
    }
}

/* near32 takes these to within a part of their input, not of their result (docs/accuracy.md). */
static bool rounds_by_input(const ry_expr *program)
{
    bool gate = false;
    for (int i = 0; i < program->count; i++) {
        const ry_expr_code code = program->code[i].code;
        gate = gate || code == RY_EXPR_silu || code == RY_EXPR_gelu || code == RY_EXPR_gelu_tanh;
    }
    return gate;
}

/* Returns the size whose noise every element of an output gets. A sum may be off by a part of the
 * largest one, however small it is itself. LRN's power multiplies the error of its base. */
static double common_size(const ry_graph *graph, const ry_node *node, const ry_value *output)
{
    const ry_expr *program = node->op == RY_OP_expr ? node->attrs.expr.program : NULL;
    const ry_value *x = program && rounds_by_input(program) ? &graph->values[node->in[0]] : NULL;
    double size = x ? largest_of(x->dtype, x->constant, ry_shape_elements(&x->shape)) : 0;
    if (!program || program->reduces) {
        const int64_t count = ry_shape_elements(&output->shape);
        const double part = node->op == RY_OP_lrn ? fmax(0.125, fabs(node->attrs.lrn.beta)) : 0.125;
        size += part * largest_of(output->dtype, output->constant, count);
    }
    return size;
}

/* A float input of a rounding node with noise, in scratch memory. */
static const void *disturbed_input(const reference_options *options, generator *n,
                                   const ry_value *value, ry_arena *scratch)
{
    const int64_t count = ry_shape_elements(&value->shape);
    void *copy = ry_arena_take(scratch, (size_t)count, ry_dtype_size(value->dtype));
    if (copy) {
        memcpy(copy, value->constant, (size_t)count * ry_dtype_size(value->dtype));
        disturb(options, n, value->dtype, copy, count, 0);
    }
    return copy;
}

/* The power of its inputs whose square a node sums. */
static double power_of(const ry_node *node)
{
    const bool lp = node->op == RY_OP_pool && node->attrs.pool.kind == RY_pool_kind_lp;
    return lp ? (double)node->attrs.pool.p / 2 : 1;
}

/* Are the powers of all floats between SMALL and LARGE, or zero, or, unless `finite`, not finite?
 */
static bool all_within(const ry_value *value, double power, bool finite)
{
    const int64_t count = ry_dtype_is_float(value->dtype) ? ry_shape_elements(&value->shape) : 0;
    for (int64_t i = 0; i < count; i++) {
        const double number = ry_get_f64(value->dtype, value->constant, i),
                     size = pow(fabs(number), power);
        if (isfinite(number) ? number != 0 && (size > LARGE || size < SMALL) : finite) {
            return false;
        }
    }
    return true;
}

static bool has_overflow(const ry_value *value)
{
    const int64_t count =
        value->dtype == RY_f16 || value->dtype == RY_bf16 ? ry_shape_elements(&value->shape) : 0;
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(ry_get_f64(value->dtype, value->constant, i))) {
            return true;
        }
    }
    return false;
}

/* Interpolated integers are rounded once: a sum near halfway goes up or down by the order of its
 * terms. */
static bool interpolates_integers(const ry_graph *graph, const ry_node *node)
{
    const bool sums =
        (node->op == RY_OP_resize && node->attrs.resize.mode != RY_resize_mode_nearest) ||
        (node->op == RY_OP_grid_sample && node->attrs.grid_sample.mode != RY_grid_mode_nearest);
    return sums && !ry_dtype_is_float(graph->values[node->in[0]].dtype);
}

/* Sets the levels of a node's outputs; false if the node must not run because an input that steers
 * it is inexact. */
static bool give_levels(const ry_graph *graph, const ry_node *node, rule r, reference_level *level)
{
    const bool rounds = is_rounding(graph, node, r.kind);
    reference_level most = interpolates_integers(graph, node) ? LEVEL_LOOSE : LEVEL_EXACT;
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] == RY_NO_VALUE) {
            continue;
        }
        const ry_value *value = &graph->values[node->in[i]];
        reference_level own = node->op == RY_OP_shape ? LEVEL_EXACT : level[node->in[i]];
        if (own != LEVEL_EXACT && r.steering >> i & 1u) {
            return false;
        }
        /* Noise is for floats: rounded integers, and sums that may overflow, are not followed
         * further. */
        const bool followed = ry_dtype_is_float(value->dtype) &&
                              (!rounds || all_within(value, power_of(node), r.finite >> i & 1u));
        own = own == LEVEL_STEP || (own == LEVEL_ROUNDED && !followed) ? LEVEL_LOOSE
              : rounds && !followed && ry_dtype_is_float(value->dtype) ? LEVEL_LOOSE
                                                                       : own;
        most = own > most ? own : most;
    }
    const reference_level decided =
        most == LEVEL_ROUNDED && strcmp(node->source, "QuantizeLinear") == 0 ? LEVEL_STEP
                                                                             : LEVEL_LOOSE;
    for (int i = 0; i < node->outputs; i++) {
        if (node->out[i] != RY_NO_VALUE) {
            const bool decides = r.kind == RULE_DECIDE || r.deciding >> i & 1u;
            level[node->out[i]] = most == LEVEL_EXACT ? rounds ? LEVEL_ROUNDED : LEVEL_EXACT
                                  : decides           ? decided
                                                      : most;
        }
    }
    return true;
}

/* Kernels read aligned elements; a file may hold its weights anywhere. */
static const void *aligned_input(const ry_value *value, ry_arena *scratch)
{
    if ((uintptr_t)value->constant % ry_dtype_size(value->dtype) == 0) {
        return value->constant;
    }
    const size_t bytes = (size_t)ry_shape_bytes(&value->shape, value->dtype);
    void *copy = ry_arena_take(scratch, bytes, 1);
    if (copy) {
        memcpy(copy, value->constant, bytes);
    }
    return copy;
}

static rynd_status gather_inputs(const ry_graph *graph, const ry_node *node,
                                 const reference_options *options, bool rounds, generator *n,
                                 ry_arena *scratch, const void **in, ry_error *error)
{
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] == RY_NO_VALUE) {
            continue;
        }
        const ry_value *value = &graph->values[node->in[i]];
        const bool disturbed = rounds && options->seed && ry_dtype_is_float(value->dtype);
        in[i] =
            disturbed ? disturbed_input(options, n, value, scratch) : aligned_input(value, scratch);
        if (!in[i]) {
            return ry_fail_memory(error);
        }
    }
    return RYND_OK;
}

static size_t output_bytes(const ry_problem *problem)
{
    size_t bytes = 0;
    for (int i = 0; i < problem->outputs; i++) {
        bytes += ry_tensor_present(&problem->out[i]) ? ry_tensor_bytes(&problem->out[i]) : 0;
    }
    return bytes;
}

static rynd_status compute(ry_graph *graph, const ry_node *node, const ry_problem *problem,
                           const reference_options *options, bool rounds, generator *n,
                           ry_arena *scratch, ry_error *error)
{
    const ry_kernel *kernel = find_kernel(problem);
    if (!kernel) {
        return ry_plan_fail_kernel(node, problem, error);
    }
    const void **in = RY_TAKE(scratch, const void *, node->inputs);
    void **out = RY_TAKE(scratch, void *, node->outputs);
    int64_t(*actual)[RY_MAX_RANK] = ry_arena_take(scratch, (size_t)node->outputs, sizeof *actual);
    if (!in || !out || !actual) {
        return ry_fail_memory(error);
    }
    RY_TRY(gather_inputs(graph, node, options, rounds, n, scratch, in, error));
    for (int i = 0; i < node->outputs; i++) {
        if (node->out[i] != RY_NO_VALUE) {
            out[i] =
                ry_arena_take(&graph->arena, ry_tensor_bytes(&problem->out[i]) + RY_ALIGNMENT, 1);
            if (!out[i]) {
                return ry_fail_memory(error);
            }
        }
    }
    RY_TRY(every_kernel_execute(kernel, problem, in, out, actual, &ry_system_allocator, error));
    for (int i = 0; i < node->outputs; i++) {
        if (node->out[i] == RY_NO_VALUE) {
            continue;
        }
        ry_value *value = &graph->values[node->out[i]];
        if (value->bounded) {
            memcpy(value->shape.dim, actual[i], sizeof actual[i]);
            value->bounded = false;
        }
        value->constant = out[i];
        if (rounds && options->seed && ry_dtype_is_float(value->dtype)) {
            disturb(options, n, value->dtype, out[i], ry_shape_elements(&value->shape),
                    common_size(graph, node, value));
        }
    }
    return RYND_OK;
}

/* Sixteen bits overflow early, and an engine may keep more of them between nodes. */
static void doubt_overflows(const ry_graph *graph, const ry_node *node, reference_level *level)
{
    for (int i = 0; i < node->outputs; i++) {
        if (node->out[i] != RY_NO_VALUE && level[node->out[i]] == LEVEL_ROUNDED &&
            has_overflow(&graph->values[node->out[i]])) {
            level[node->out[i]] = LEVEL_LOOSE;
        }
    }
}

static bool shapes_known(const ry_graph *graph, const ry_node *node)
{
    for (int i = 0; i < node->outputs; i++) {
        if (node->out[i] != RY_NO_VALUE && ry_shape_bytes(&graph->values[node->out[i]].shape,
                                                          graph->values[node->out[i]].dtype) < 0) {
            return false;
        }
    }
    return true;
}

static rynd_status run_node(ry_graph *graph, ry_node *node, const reference_options *options,
                            reference_run *run, generator *n, ry_error *error)
{
    const rule r = reference_rule(graph, node);
    rynd_status status = RYND_OK;
    if (!give_levels(graph, node, r, run->level)) {
        run->certain = false;
        return RYND_OK;
    }
    const ry_infer_result result = ry_infer_node(graph, node, error, &status);
    if (result == RY_INFER_FAILED) {
        return status;
    }
    if (result == RY_INFER_LATER || !shapes_known(graph, node)) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "node '%s' (%s): its shape is not known though all its inputs are",
                       node->name, node->source);
    }
    ry_arena scratch;
    ry_arena_init(&scratch, &ry_system_allocator);
    ry_problem problem;
    status = ry_plan_problem(graph, node, RY_ACCURACY_strict, NULL, 0, &scratch, &problem, error);
    if (status == RYND_OK) {
        run->flop += ry_problem_flop(&problem) + ry_problem_bytes(&problem);
        run->too_large = run->flop > options->flop_limit ||
                         graph->arena.total + output_bytes(&problem) > options->memory_limit;
    }
    if (status == RYND_OK && !run->too_large) {
        if (ry_op_get_class(node->op) == RY_CLASS_VIEW) {
            graph->values[node->out[0]].constant = graph->values[node->in[0]].constant;
        } else {
            status = compute(graph, node, &problem, options, is_rounding(graph, node, r.kind), n,
                             &scratch, error);
        }
    }
    if (status == RYND_OK && !run->too_large) {
        doubt_overflows(graph, node, run->level);
    }
    ry_arena_free(&scratch);
    return status;
}

rynd_status reference_execute(ry_graph *graph, const reference_options *options, reference_run *run,
                              ry_error *error)
{
    generator n = {options->seed};
    *run = (reference_run){.graph = graph, .certain = true};
    run->level = RY_TAKE(&graph->arena, reference_level, graph->value_count);
    if (!run->level) {
        return ry_fail_memory(error);
    }
    for (ry_node_id id = 0; id < graph->node_count && run->certain && !run->too_large; id++) {
        if (graph->nodes[id].op != RY_OP_dead) {
            RY_TRY(run_node(graph, &graph->nodes[id], options, run, &n, error));
        }
    }
    return RYND_OK;
}
