/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of a large weight, and its update. A piece has as much as a matrix that kernels are
 * efficient for, and stays in the last cache of many machines until it is read. */
#include "plan/product_rows.h"

#include "base/integer.h"
#include "expr/expr.h"
#include "plan/fold.h"
#include "plan/in_place.h"

#include <string.h>

enum {
    MIN_ROWS = 16,
    MATRIX = 2,
    MAX_PIECES = 1 << 12 /* each is a step: a larger product stays whole */
};

typedef struct cutting {
    ry_plan_builder *b;
    ry_value_uses uses;
    ry_error *error;
} cutting;

static bool is_product(const cutting *c, size_t step)
{
    const ry_graph *graph = c->b->graph;
    const ry_node *node = ry_plan_node(c->b, step);
    if (node->op != RY_OP_matmul || node->inputs < 2 || node->outputs != 1) {
        return false;
    }
    for (int i = 0; i < node->inputs; i++) {
        if (i < 2 ? node->in[i] == RY_NO_VALUE || graph->values[node->in[i]].constant ||
                        graph->values[node->in[i]].shape.rank != MATRIX
                  : node->in[i] != RY_NO_VALUE) {
            return false;
        }
    }
    return graph->values[node->out[0]].uses == 1 && graph->values[node->out[0]].outputs == 0;
}

static bool like_product(const ry_graph *graph, ry_value_id v, ry_value_id product)
{
    return ry_shape_equal(&graph->values[v].shape, &graph->values[product].shape);
}

/* Does each row depend on that row alone, and on what all rows share? */
static bool is_by_row(const cutting *c, const ry_node *node, ry_value_id product)
{
    const ry_graph *graph = c->b->graph;
    bool reads = false;
    for (int i = 0; i < node->inputs; i++) {
        const ry_value_id v = node->in[i];
        if (v != RY_NO_VALUE && !like_product(graph, v, product) &&
            graph->values[v].shape.rank == MATRIX && graph->values[v].shape.dim[0] != 1) {
            return false;
        }
        reads |= v == product;
    }
    return reads;
}

/* May the product's next rows be computed when these rows of the state have changed? */
static bool is_read_by(const cutting *c, const ry_node *node, ry_value_id state)
{
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] != RY_NO_VALUE && c->uses.root[node->in[i]] == state) {
            return true;
        }
    }
    return false;
}

static bool changes_state(const cutting *c, size_t product_step, ry_value_id next)
{
    const ry_graph *graph = c->b->graph;
    for (size_t i = 0; i < graph->state_count; i++) {
        const ry_value_id old = graph->inputs[graph->states[i].input];
        if (c->uses.root[graph->outputs[graph->states[i].output]] == next) {
            return !is_read_by(c, ry_plan_node(c->b, product_step), old) &&
                   ry_plan_writes_in_place(c->b, &c->uses, old, next);
        }
    }
    return false;
}

static bool is_update(const cutting *c, size_t step, ry_value_id product)
{
    const ry_graph *graph = c->b->graph;
    const ry_node *node = ry_plan_node(c->b, step);
    if (node->op != RY_OP_expr || node->attrs.expr.program->reduces ||
        !is_by_row(c, node, product)) {
        return false;
    }
    for (int o = 0; o < node->outputs; o++) {
        if (node->out[o] == RY_NO_VALUE || !like_product(graph, node->out[o], product) ||
            !changes_state(c, step - 1, node->out[o])) {
            return false;
        }
    }
    return true;
}

/* The fewest equal pieces that are small enough; 1: it is not cut. */
static int64_t pieces_of(const ry_plan_builder *b, ry_value_id product)
{
    const int64_t rows = b->graph->values[product].shape.dim[0];
    const size_t bytes = ry_plan_value_bytes(b->graph, product);
    const size_t fewest = bytes / RY_PRODUCT_BYTES;
    const int64_t most = ry_min(rows / MIN_ROWS, MAX_PIECES);
    for (int64_t pieces = fewest > 2 ? (int64_t)fewest : 2;
         bytes > RY_PRODUCT_BYTES && pieces <= most; pieces++) {
        if (rows % pieces == 0 && bytes / (size_t)pieces <= RY_PRODUCT_BYTES) {
            return pieces;
        }
    }
    return 1;
}

/* Chooses the pieces of the product at a step and of the step after it. */
static int64_t choose_pieces(const cutting *c, size_t step)
{
    const ry_plan_builder *b = c->b;
    if (step + 1 >= b->plan->step_count || !is_product(c, step) ||
        ry_plan_batch_split_of(b->plan, step)->micro_batches != 1 ||
        ry_plan_batch_split_of(b->plan, step + 1)->micro_batches != 1) {
        return 1;
    }
    const ry_value_id product = ry_plan_node(c->b, step)->out[0];
    return is_update(c, step + 1, product) ? pieces_of(b, product) : 1;
}

/* A copy of a problem's descriptions, to be changed. */
static ry_tensor *copy_operands(ry_plan_builder *b, int count, const ry_tensor *from)
{
    ry_tensor *copy = RY_TAKE(&b->plan->arena, ry_tensor, count);
    if (copy) {
        memcpy(copy, from, (size_t)count * sizeof *copy);
    }
    return copy;
}

/* Makes a step for `rows` of the rows: of a product those of its left factor, else those of
 * everything that has the product's. */
static rynd_status make_piece(const cutting *c, size_t s, int64_t rows)
{
    ry_plan_builder *b = c->b;
    ry_step *step = &b->steps[s];
    const ry_node *node = ry_plan_node(c->b, s);
    const int64_t all = b->graph->values[node->out[0]].shape.dim[0];
    RY_TRY(ry_plan_problem(b->graph, node, b->options->accuracy, &b->layouts, 0, &b->plan->arena,
                           &step->problem, c->error));
    ry_tensor *in = copy_operands(b, node->inputs, step->problem.in),
              *out = copy_operands(b, node->outputs, step->problem.out);
    if (!in || !out) {
        return ry_fail_memory(c->error);
    }
    if (node->op == RY_OP_matmul) {
        in[0].dim[node->attrs.matmul.trans_a ? 1 : 0] = rows;
    }
    for (int i = 0; i < node->inputs && node->op == RY_OP_expr; i++) {
        in[i].dim[0] = in[i].rank == MATRIX && in[i].dim[0] == all ? rows : in[i].dim[0];
    }
    for (int o = 0; o < node->outputs; o++) {
        out[o].dim[0] = rows;
    }
    step->problem.in = in;
    step->problem.out = out;
    return ry_plan_make_step_of_problem(b, node, step, c->error);
}

static rynd_status cut(cutting *c, ry_batch_split *splits, size_t *count)
{
    ry_plan_builder *b = c->b;
    for (size_t s = 0; s < b->plan->step_count;) {
        const ry_batch_split *own = ry_plan_batch_split_of(b->plan, s);
        const int64_t pieces = choose_pieces(c, s);
        if (pieces == 1) {
            const bool goes_on = *count > 0 && !splits[*count - 1].rows && s > own->first;
            *count += !goes_on;
            splits[*count - 1] = (ry_batch_split){goes_on ? splits[*count - 1].first : s, s + 1,
                                                  own->micro_batches, false};
            s++;
            continue;
        }
        const int64_t rows = b->graph->values[ry_plan_node(c->b, s)->out[0]].shape.dim[0] / pieces;
        RY_TRY(make_piece(c, s, rows));
        RY_TRY(make_piece(c, s + 1, rows));
        splits[(*count)++] = (ry_batch_split){s, s + 2, pieces, true};
        s += 2;
    }
    return RYND_OK;
}

rynd_status ry_plan_cut_products(ry_plan_builder *b, ry_error *error)
{
    cutting c = {.b = b, .error = error};
    size_t count = 0;
    if (b->plan->state_count == 0 || b->plan->device->table->kind != RY_DEVICE_cpu) {
        return RYND_OK;
    }
    ry_batch_split *splits = RY_TAKE(&b->plan->arena, ry_batch_split, b->plan->step_count);
    if (!splits) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_plan_find_uses(b, &c.uses, error));
    RY_TRY(cut(&c, splits, &count));
    ry_plan_set_batch_splits(b, splits, count);
    return RYND_OK;
}
