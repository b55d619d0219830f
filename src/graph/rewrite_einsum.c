/* SPDX-License-Identifier: Apache-2.0 */
/* Einstein summations become transposes, products, sums and expressions. Operands are contracted
 * pair by pair in the order of the fewest multiplications, which dynamic programming over sets of
 * operands finds (Smith and Gray, "opt_einsum", JOSS 3(26), 753, 2018). */
#include "graph/emitter.h"
#include "graph/rewrite.h"
#include "problem/einsum.h"

#include <math.h>
#include <string.h>

/* More operands are contracted from the left until so many remain: sets of them are numbered. */
enum { MOST = 8 };

typedef uint64_t label_set;

/* A tensor in row-major order whose dims, from the outermost, are these labels. The value's own
 * shape may join several dims. */
typedef struct factor {
    ry_value_id value;
    int count;
    uint8_t label[RY_EINSUM_LABELS];
} factor;

typedef struct contraction {
    ry_emitter emitter;
    int64_t dim[RY_EINSUM_LABELS];
    int count;
    factor *factor;
    ry_einsum_term output;
    /* for each set of factors: labels of its product, multiplications, the part on the left */
    label_set labels[1 << MOST];
    double work[1 << MOST];
    uint8_t part[1 << MOST];
} contraction;

static label_set set_of(const factor *f)
{
    label_set set = 0;
    for (int d = 0; d < f->count; d++) {
        set |= (label_set)1 << f->label[d];
    }
    return set;
}

static int64_t extent(const contraction *c, const factor *f, int from, int to)
{
    int64_t product = 1;
    for (int d = from; d < to; d++) {
        product *= c->dim[f->label[d]];
    }
    return product;
}

static double extent_of_set(const contraction *c, label_set set)
{
    double product = 1;
    for (int label = 0; set; label++, set >>= 1) {
        product *= set & 1 ? (double)c->dim[label] : 1;
    }
    return product;
}

/* Appends the factor's labels that are in the set. */
static void append(factor *to, const factor *from, label_set set)
{
    for (int d = 0; d < from->count; d++) {
        if (set >> from->label[d] & 1) {
            to->label[to->count++] = from->label[d];
        }
    }
}

static bool same_order(const factor *a, const factor *b)
{
    return a->count == b->count && memcmp(a->label, b->label, (size_t)a->count) == 0;
}

/* Moves the dim at `from` forward to `to`. */
static void move_dim(contraction *c, factor *f, int to, int from)
{
    const ry_ints perm = {.count = 4, .at = {0, 2, 1, 3}};
    const ry_shape split = {.rank = 4,
                            .dim = {extent(c, f, 0, to), extent(c, f, to, from),
                                    extent(c, f, from, from + 1),
                                    extent(c, f, from + 1, f->count)}};
    const uint8_t label = f->label[from];
    if (to < from) {
        f->value =
            ry_emit_transpose(&c->emitter, ry_emit_reshape(&c->emitter, f->value, &split), &perm);
        memmove(f->label + to + 1, f->label + to, (size_t)(from - to));
        f->label[to] = label;
    }
}

/* The dims in `order`, cut where neighbours were not neighbours before: where each run was. */
typedef struct runs {
    int count;
    int from[RY_EINSUM_LABELS], length[RY_EINSUM_LABELS];
} runs;

static runs find_runs(const factor *f, const uint8_t *order)
{
    runs r = {.count = 0};
    for (int d = 0; d < f->count; d++) {
        const int at =
            (int)((const uint8_t *)memchr(f->label, order[d], (size_t)f->count) - f->label);
        const int last = r.count - 1;
        if (last >= 0 && at == r.from[last] + r.length[last]) {
            r.length[last]++;
        } else {
            r.from[r.count] = at;
            r.length[r.count++] = 1;
        }
    }
    return r;
}

/* One transpose of as many dims as there are runs. */
static void permute_runs(contraction *c, factor *f, const runs *r, const uint8_t *order)
{
    ry_shape split = {.rank = r->count};
    ry_ints perm = {.count = r->count};
    for (int i = 0; i < r->count; i++) {
        int before = 0;
        for (int j = 0; j < r->count; j++) {
            before += r->from[j] < r->from[i];
        }
        perm.at[i] = before;
        split.dim[before] = extent(c, f, r->from[i], r->from[i] + r->length[i]);
    }
    f->value =
        ry_emit_transpose(&c->emitter, ry_emit_reshape(&c->emitter, f->value, &split), &perm);
    memcpy(f->label, order, (size_t)f->count);
}

/* Brings the dims into an order of the same labels. */
static void permute(contraction *c, factor *f, const uint8_t *order)
{
    runs r = find_runs(f, order);
    for (int done = 0; r.count > RY_MAX_RANK; r = find_runs(f, order)) {
        while (f->label[done] == order[done]) {
            done++;
        }
        const uint8_t *at = memchr(f->label, order[done], (size_t)f->count);
        move_dim(c, f, done, (int)(at - f->label));
    }
    if (r.count > 1) {
        permute_runs(c, f, &r, order);
    }
}

/* Dims p < q have one label: their diagonal takes the place of p. */
static void take_diagonal(contraction *c, factor *f, int p, int q)
{
    const int64_t n = c->dim[f->label[p]];
    move_dim(c, f, p + 1, q);
    const ry_shape rows = {.rank = 3,
                           .dim = {extent(c, f, 0, p), n * n, extent(c, f, p + 2, f->count)}};
    ry_attrs attrs = ry_attrs_default(RY_OP_slice);
    attrs.slice.axes = (ry_ints){.count = 1, .at = {1}};
    attrs.slice.starts = (ry_ints){.count = 1, .at = {0}};
    attrs.slice.ends = (ry_ints){.count = 1, .at = {n * n}};
    attrs.slice.steps = (ry_ints){.count = 1, .at = {n + 1}};
    const ry_value_id square = ry_emit_reshape(&c->emitter, f->value, &rows);
    f->value = ry_emit(&c->emitter, RY_OP_slice, &attrs, 1, &square);
    f->count--;
    memmove(f->label + p + 1, f->label + p + 2, (size_t)(f->count - p - 1));
}

static void take_diagonals(contraction *c, factor *f)
{
    for (int q = 1; q < f->count; q++) {
        const uint8_t *p = memchr(f->label, f->label[q], (size_t)q);
        if (p) {
            take_diagonal(c, f, (int)(p - f->label), q);
            q--;
        }
    }
}

/* Sums over the labels outside the set. */
static void sum_outside(contraction *c, factor *f, label_set kept)
{
    ry_shape split = {.rank = 0};
    ry_ints axes = {.count = 0};
    bool sums = false;
    for (int d = 0; d < f->count; d++) {
        const bool summed = !(kept >> f->label[d] & 1);
        if (split.rank == 0 || summed != sums) {
            if (summed) {
                axes.at[axes.count++] = split.rank;
            }
            split.dim[split.rank++] = 1;
        }
        sums = summed;
        split.dim[split.rank - 1] *= c->dim[f->label[d]];
    }
    if (axes.count > 0) {
        const ry_value_id in = ry_emit_reshape(&c->emitter, f->value, &split);
        const factor whole = *f;
        f->value = ry_emit_reduce(&c->emitter, "sum(x0)", &axes, false, 1, &in);
        f->count = 0;
        append(f, &whole, kept);
    }
}

/* Brings a side into the order of `part`, or, without a copy, leaves it in [batch, part 2, part 1];
 * gives whether it is left so. Labels of both sides are in the order of `lead`. */
static bool arrange(contraction *c, factor *f, const factor *lead, const label_set part[3])
{
    static const int turned[] = {0, 2, 1};
    factor order = {.count = 0}, transposed = {.count = 0};
    for (int i = 0; i < 3; i++) {
        const label_set straight = part[i], other = part[turned[i]];
        append(&order, straight & set_of(lead) ? lead : f, straight);
        append(&transposed, other & set_of(lead) ? lead : f, other);
    }
    if (part[1] && part[2] && same_order(f, &transposed)) {
        return true;
    }
    permute(c, f, order.label);
    return false;
}

/* The value with a dim for each part; no dim for an empty batch. */
static ry_value_id in_parts(contraction *c, const factor *f, const label_set part[3], bool turned)
{
    ry_shape shape = {.rank = 0};
    if (part[0]) {
        shape.dim[shape.rank++] = (int64_t)extent_of_set(c, part[0]);
    }
    shape.dim[shape.rank++] = (int64_t)extent_of_set(c, part[turned ? 2 : 1]);
    shape.dim[shape.rank++] = (int64_t)extent_of_set(c, part[turned ? 1 : 2]);
    return ry_emit_reshape(&c->emitter, f->value, &shape);
}

/* Does the output have the right side's own labels before the left side's? */
static bool right_comes_first(const contraction *c, label_set left, label_set right)
{
    for (int d = 0; d < c->output.count; d++) {
        const label_set label = (label_set)1 << c->output.label[d];
        if (label & (left ^ right)) {
            return label & right;
        }
    }
    return false;
}

/* Sums the product of two factors over the labels that are in both and not kept. */
static factor multiply(contraction *c, factor a, factor b, label_set kept)
{
    if (right_comes_first(c, set_of(&a), set_of(&b))) {
        const factor swap = a;
        a = b;
        b = swap;
    }
    const label_set both = set_of(&a) & set_of(&b), batch = both & kept, summed = both & ~kept;
    const label_set left[] = {batch, set_of(&a) & ~both, summed};
    const label_set right[] = {batch, summed, set_of(&b) & ~both};
    const factor *larger = extent_of_set(c, set_of(&a)) < extent_of_set(c, set_of(&b)) ? &b : &a,
                 lead = *larger;
    const bool trans_a = arrange(c, &a, &lead, left), trans_b = arrange(c, &b, &lead, right);
    factor y = {.count = 0};
    append(&y, &a, batch);
    append(&y, &a, left[1]);
    append(&y, &b, right[2]);
    if (summed && !left[1] && !right[2]) { /* rows by rows */
        const ry_value_id in[] = {in_parts(c, &a, left, false), in_parts(c, &b, left, false)};
        const ry_ints axes = {.count = 1, .at = {batch ? 2 : 1}};
        y.value = ry_emit_reduce(&c->emitter, "sum(x0 * x1)", &axes, false, 2, in);
        return y;
    }
    const ry_value_id in[] = {in_parts(c, &a, left, trans_a), in_parts(c, &b, right, trans_b)};
    ry_attrs attrs = ry_attrs_default(RY_OP_matmul);
    attrs.matmul.trans_a = trans_a;
    attrs.matmul.trans_b = trans_b;
    y.value = summed ? ry_emit(&c->emitter, RY_OP_matmul, &attrs, 2, in)
                     : ry_emit_expr(&c->emitter, "x0 * x1", 2, in);
    return y;
}

/* The labels that the output or factors outside the set have. */
static label_set labels_outside(const contraction *c, unsigned set)
{
    label_set outside = 0;
    for (int d = 0; d < c->output.count; d++) {
        outside |= (label_set)1 << c->output.label[d];
    }
    for (int i = 0; i < c->count; i++) {
        outside |= i < MOST && set >> i & 1 ? 0 : set_of(&c->factor[i]);
    }
    return outside;
}

/* The least work of contracting each set of factors, from smaller sets to larger ones. */
static void find_order(contraction *c)
{
    for (unsigned set = 1; set < 1u << c->count; set++) {
        c->work[set] = set & (set - 1) ? INFINITY : 0;
        c->labels[set] = 0;
        for (int i = 0; i < c->count; i++) {
            c->labels[set] |= set >> i & 1 ? set_of(&c->factor[i]) : 0;
        }
        c->labels[set] &= labels_outside(c, set);
        for (unsigned part = (set - 1) & set; part > (set ^ part); part = (part - 1) & set) {
            const unsigned rest = set ^ part;
            const double work =
                c->work[part] + c->work[rest] + extent_of_set(c, c->labels[part] | c->labels[rest]);
            if (work < c->work[set]) {
                c->work[set] = work;
                c->part[set] = (uint8_t)part;
            }
        }
    }
}

static factor contract(contraction *c, unsigned set)
{
    if (!(set & (set - 1))) {
        int i = 0;
        while (!(set >> i & 1)) {
            i++;
        }
        sum_outside(c, &c->factor[i], labels_outside(c, set));
        return c->factor[i];
    }
    const factor a = contract(c, c->part[set]), b = contract(c, set ^ c->part[set]);
    return multiply(c, a, b, labels_outside(c, set));
}

/* An operand without its dims of extent 1, which broadcast, and with each label once. */
static factor read_operand(contraction *c, ry_value_id value, const ry_einsum_term *term)
{
    const ry_shape shape = ry_emit_shape(&c->emitter, value);
    factor f = {.value = value};
    for (int d = 0; d < term->count; d++) {
        if (shape.dim[d] != 1) {
            f.label[f.count++] = term->label[d];
        }
    }
    take_diagonals(c, &f);
    return f;
}

/* Reads the equation and the labels' extents; inference has accepted both. False where a set does
 * not hold all labels: an ellipsis covers more than 12 dims. */
static bool read_terms(contraction *c, const ry_node *node, ry_einsum_term *terms)
{
    ry_einsum_reader reader = ry_einsum_begin(node->attrs.einsum.equation);
    for (int label = 0; label < RY_EINSUM_LABELS; label++) {
        c->dim[label] = 1;
    }
    for (int i = 0; i < node->inputs; i++) {
        const ry_shape shape = ry_emit_shape(&c->emitter, node->in[i]);
        if (!ry_einsum_operand(&reader, shape.rank, &terms[i])) {
            return false;
        }
        for (int d = 0; d < shape.rank; d++) {
            int64_t *dim = &c->dim[terms[i].label[d]];
            *dim = shape.dim[d] == 1 ? *dim : shape.dim[d];
        }
    }
    return ry_einsum_output(&reader, &c->output) &&
           RY_EINSUM_LETTERS + reader.ellipsis <= (int)(8 * sizeof(label_set));
}

/* Multiplies from the left until find_order can take the rest. */
static void shorten(contraction *c)
{
    while (c->count > MOST) {
        sum_outside(c, &c->factor[0], labels_outside(c, 1));
        sum_outside(c, &c->factor[1], labels_outside(c, 2));
        c->factor[0] = multiply(c, c->factor[0], c->factor[1], labels_outside(c, 3));
        c->count--;
        memmove(c->factor + 1, c->factor + 2, (size_t)(c->count - 1) * sizeof *c->factor);
    }
}

/* The output's labels in its order, from a product that has all of them. */
static ry_value_id finish(contraction *c, factor *f)
{
    factor order = {.count = 0};
    for (int d = 0; d < c->output.count; d++) {
        if (c->dim[c->output.label[d]] != 1) {
            order.label[order.count++] = c->output.label[d];
        }
    }
    permute(c, f, order.label);
    return f->value;
}

static ry_value_id contract_all(contraction *c, const ry_node *node, const ry_einsum_term *terms)
{
    for (c->count = 0; c->count < node->inputs; c->count++) {
        c->factor[c->count] = read_operand(c, node->in[c->count], &terms[c->count]);
    }
    shorten(c);
    find_order(c);
    factor y = contract(c, (1u << c->count) - 1);
    return finish(c, &y);
}

static rynd_status rewrite_node(ry_graph *graph, ry_node_id id, ry_arena *scratch, bool *changed,
                                ry_error *error)
{
    const ry_node node = graph->nodes[id];
    const ry_node_id first = (ry_node_id)graph->node_count;
    contraction *c = RY_TAKE(scratch, contraction, 1);
    ry_einsum_term *terms = RY_TAKE(scratch, ry_einsum_term, node.inputs);
    const char *name = ry_arena_format(&graph->arena, "%s/einsum", graph->values[node.out[0]].name);
    if (!c || !terms || !name || !(c->factor = RY_TAKE(scratch, factor, node.inputs))) {
        return ry_fail_memory(error);
    }
    c->emitter = (ry_emitter){.graph = graph, .name = name, .error = error};
    if (!read_terms(c, &node, terms)) {
        return RYND_OK;
    }
    const ry_value_id y = contract_all(c, &node, terms);
    RY_TRY(c->emitter.status);
    ry_rewrite_replace(graph, id, first, y);
    *changed = true;
    return RYND_OK;
}

rynd_status ry_rewrite_einsum(ry_graph *graph, bool *changed, ry_error *error)
{
    const size_t count = graph->node_count;
    for (ry_node_id n = 0; n < count; n++) {
        if (graph->nodes[n].op != RY_OP_einsum) {
            continue;
        }
        ry_arena scratch;
        ry_arena_init(&scratch, graph->arena.allocator);
        const rynd_status status = rewrite_node(graph, n, &scratch, changed, error);
        ry_arena_free(&scratch);
        RY_TRY(status);
    }
    return RYND_OK;
}
