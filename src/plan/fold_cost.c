/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and operations of nodes of constants, against the graph's allowance. */
#include "plan/fold_cost.h"

#include "expr/expr.h"
#include "problem/window.h"

/* A value that is larger than this, and than this share of the model's constants, and than twice
 * what it is made from stays a node: it would only take memory. The share lets a transformer's
 * positions be looked up once, and not in each run. */
static const int64_t MIN_GROWN = 1 << 20, GROWN_SHARE = 32;

/* No value is folded that is larger, unless it is a constant of the model in another form: of twice
 * its size at most, as float16 in float32. */
static const int64_t MAX_VALUE = 64 * (1 << 20);

/* What decides a shape is smaller: it is always folded, and there are no more such nodes than the
 * file has. */
static const int64_t SMALL_BYTES = 4096;
static const double SMALL_WORK = 1e6;

/* Allowance of a graph without constants, and what each of their bytes adds. */
static const int64_t MIN_BYTES = 256 * (1 << 20), BYTES_EACH = 4;
static const double MIN_WORK = 1 << 29, WORK_EACH = 16;

typedef struct sizes {
    int64_t in, out;         /* bytes of all */
    int64_t largest;         /* output */
    int64_t largest_of_file; /* input that is no folded value */
} sizes;

static int64_t bytes_of(const ry_graph *graph, ry_value_id id)
{
    return id == RY_NO_VALUE ? 0
                             : ry_shape_bytes(&graph->values[id].shape, graph->values[id].dtype);
}

static int64_t add(int64_t a, int64_t b)
{
    int64_t sum;
    return b < 0 || __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

static sizes sizes_of(const ry_graph *graph, const ry_node *node)
{
    sizes s = {0};
    for (int i = 0; i < node->inputs; i++) {
        const int64_t bytes = bytes_of(graph, node->in[i]);
        s.in = add(s.in, bytes);
        if (node->in[i] != RY_NO_VALUE && !graph->values[node->in[i]].folded &&
            bytes > s.largest_of_file) {
            s.largest_of_file = bytes;
        }
    }
    for (int i = 0; i < node->outputs; i++) {
        const int64_t bytes = bytes_of(graph, node->out[i]);
        s.out = add(s.out, bytes);
        s.largest = bytes < 0 ? INT64_MAX : bytes > s.largest ? bytes : s.largest;
    }
    return s;
}

static double elements_of(const ry_graph *graph, ry_value_id id)
{
    return id == RY_NO_VALUE ? 0 : (double)ry_shape_elements(&graph->values[id].shape);
}

/* Every instruction once for each element of the broadcast of all operands, also where a reduction
 * leaves few. */
static double expr_work(const ry_graph *graph, const ry_node *node)
{
    ry_shape all = {.rank = 0};
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] != RY_NO_VALUE &&
            !ry_shape_broadcast(&all, &graph->values[node->in[i]].shape, &all)) {
            break; /* the axes of a reduction */
        }
    }
    const int64_t elements = ry_shape_elements(&all);
    return elements < 0 ? INFINITY : (double)elements * (double)node->attrs.expr.program->count;
}

static double product_work(const ry_graph *graph, const ry_node *node)
{
    enum { OPERANDS = 8 };
    ry_tensor in[OPERANDS], out = ry_graph_tensor(graph, node->out[0]);
    if (node->inputs > OPERANDS) {
        return INFINITY;
    }
    for (int i = 0; i < node->inputs; i++) {
        in[i] = ry_graph_tensor(graph, node->in[i]);
    }
    const ry_problem problem = {.op = node->op,
                                .attrs = node->attrs,
                                .inputs = node->inputs,
                                .outputs = 1,
                                .in = in,
                                .out = &out};
    return ry_problem_flop(&problem);
}

static double window_work(const ry_graph *graph, const ry_node *node)
{
    const ry_shape *x = &graph->values[node->in[0]].shape, *y = &graph->values[node->out[0]].shape;
    const ry_window w =
        ry_window_of_attrs(node->op, &node->attrs, x->rank - 2, x->dim + 2, y->dim + 2, NULL);
    double window = 1;
    for (int i = 0; i < w.rank; i++) {
        window *= (double)w.axis[i].taps;
    }
    return window * elements_of(graph, node->out[0]);
}

/* Operations beside a few for each element that is read or written. */
static double own_work(const ry_graph *graph, const ry_node *node)
{
    switch (node->op) {
    case RY_OP_expr: return expr_work(graph, node);
    case RY_OP_conv:
    case RY_OP_convt:
    case RY_OP_deform_conv:
    case RY_OP_matmul:
    case RY_OP_einsum: return product_work(graph, node);
    case RY_OP_pool: return window_work(graph, node);
    case RY_OP_lrn: return (double)node->attrs.lrn.size * elements_of(graph, node->out[0]);
    case RY_OP_nms:
        /* each box beside each */
        return elements_of(graph, node->in[0]) * elements_of(graph, node->in[1]);
    case RY_OP_roi_align: return INFINITY; /* as much as the regions' content says */
    default: return 0;
    }
}

void ry_plan_give_allowance(ry_graph *graph)
{
    if (graph->allowance.given) {
        return;
    }
    int64_t bytes = 0;
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        bytes = graph->values[v].constant ? add(bytes, bytes_of(graph, v)) : bytes;
    }
    graph->allowance = (ry_allowance){
        .given = true,
        .bytes = add(MIN_BYTES, bytes > INT64_MAX / BYTES_EACH ? INT64_MAX : bytes * BYTES_EACH),
        .grown = bytes / GROWN_SHARE > MIN_GROWN ? bytes / GROWN_SHARE : MIN_GROWN,
        .work = MIN_WORK + WORK_EACH * (double)bytes,
    };
}

bool ry_plan_affords_fold(ry_graph *graph, const ry_node *node)
{
    const sizes s = sizes_of(graph, node);
    if (ry_op_get_class(node->op) == RY_CLASS_VIEW) {
        return true;
    }
    const int64_t in = node->op == RY_OP_shape ? 0 : s.in; /* what it does not read */
    const double work = own_work(graph, node) + (double)in + (double)s.out;
    if (s.out <= SMALL_BYTES && work <= SMALL_WORK) {
        return true;
    }
    if ((s.out > graph->allowance.grown && s.out / 2 > s.in) ||
        (s.largest > MAX_VALUE && s.largest / 2 > s.largest_of_file) ||
        work > graph->allowance.work || !ry_graph_spend(graph, s.out)) {
        return false;
    }
    graph->allowance.work -= work;
    return true;
}
