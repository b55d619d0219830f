/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow without control flow: the branch of a known condition, or both and a selection; the
 * body of a loop once a turn. */
#include "onnx/operators.h"

#include <inttypes.h>
#include <string.h>

/* A loop whose trip count is not known ends by its condition, if that is known in every turn. */
enum { MOST_TURNS = 1 << 14 };

static ry_value_id *take_values(ry_import *import, int count)
{
    ry_value_id *values = RY_TAKE(import->reader->source.arena, ry_value_id, count);
    if (!values && !ry_import_failed(import)) {
        import->status = ry_fail_memory(import->reader->error);
    }
    return values;
}

static bool same_kind(const ry_import *import, ry_value_id a, ry_value_id b)
{
    const ry_value *x = ry_import_value(import, a), *y = ry_import_value(import, b);
    return x->dtype == y->dtype && x->shape.rank >= 0 && ry_shape_equal(&x->shape, &y->shape);
}

/* Both branches run, and the condition selects: they must give the same shape. */
static void select_output(ry_import *import, ry_value_id condition, ry_value_id yes, ry_value_id no,
                          int output)
{
    if (ry_import_failed(import) || !ry_import_wants(import, output)) {
        return;
    }
    if (!same_kind(import, yes, no)) {
        char a[128], b[128];
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "its condition is not known when the model is loaded, and its branches give "
                       "output %d other shapes or types (%s of %s, %s of %s): make the condition a "
                       "constant, for example by exporting with fixed dims",
                       output, ry_dtype_name(ry_import_dtype(import, yes)),
                       ry_shape_text(import->graph, &import->graph->values[yes].shape, a, sizeof a),
                       ry_dtype_name(ry_import_dtype(import, no)),
                       ry_shape_text(import->graph, &import->graph->values[no].shape, b, sizeof b));
        return;
    }
    const ry_value_id in[] = {condition, yes, no};
    ry_onnx_emit_expr(import, "select(x0, x1, x2)", NULL, 0, NULL, 3, in,
                      ry_import_out(import, output));
}

void ry_import_if(ry_import *import)
{
    static const char *const branches[] = {"else_branch", "then_branch"};
    const int outputs = import->node->outputs;
    ry_value_id *out[2] = {take_values(import, outputs), take_values(import, outputs)};
    ry_value_id condition = ry_import_in(import, 0);
    double known = 0;
    const bool decided = ry_import_evaluate(import, condition, 0, &known);
    for (int branch = 0; branch < 2 && !ry_import_failed(import); branch++) {
        if (!decided || branch == (known != 0)) {
            ry_import_body(import, branches[branch], 0, NULL, outputs, out[branch]);
        }
    }
    if (!decided && !ry_import_failed(import)) {
        condition = ry_onnx_emit_reshape(import, condition, 0, (int64_t[]){0});
    }
    for (int i = 0; i < outputs && !ry_import_failed(import); i++) {
        if (decided) {
            ry_onnx_emit_identity(import, out[known != 0][i], i);
        } else {
            select_output(import, condition, out[1][i], out[0][i], i);
        }
    }
}

/* A value along a new axis, or the values of all turns along it. */
static void join_turns(ry_import *import, int count, const ry_value_id *turn, int64_t axis,
                       int output)
{
    if (!ry_import_wants(import, output)) {
        return;
    }
    if (!count) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "it runs no turn, so that the shape of output %d is not known", output);
        return;
    }
    ry_value_id *wide = take_values(import, count);
    ry_attrs attrs = ry_attrs_default(RY_OP_unsqueeze);
    attrs.unsqueeze.axes = (ry_ints){.count = 1, .at = {axis}};
    for (int i = 0; i < count && !ry_import_failed(import); i++) {
        wide[i] = ry_onnx_emit(import, RY_OP_unsqueeze, &attrs, 1, &turn[i], RY_NO_VALUE);
    }
    attrs = ry_attrs_default(RY_OP_concat);
    attrs.concat.axis = axis;
    if (!ry_import_failed(import)) {
        ry_onnx_emit(import, RY_OP_concat, &attrs, count, wide, ry_import_out(import, output));
    }
}

/* A loop being unrolled: values that turns pass on, and what each turn gives besides. */
typedef struct loop {
    ry_import *import;
    int passed, listed;
    ry_value_id *in, *out; /* the body's inputs and outputs */
    ry_value_id *list;     /* outputs to be joined: turn by turn, `listed` each */
    size_t turns, capacity;
} loop;

/* Adds a turn's outputs behind `skip` values and the passed ones to the lists. */
static void note_turn(loop *l, int skip)
{
    ry_import *import = l->import;
    const size_t room = (l->turns + 1) * (size_t)l->listed;
    while (!ry_import_failed(import) && l->capacity < room) {
        l->list = ry_arena_grow(import->reader->source.arena, l->list, l->capacity, &l->capacity,
                                sizeof *l->list);
        if (!l->list) {
            import->status = ry_fail_memory(import->reader->error);
        }
    }
    for (int i = 0; i < l->listed && !ry_import_failed(import); i++) {
        l->list[l->turns * (size_t)l->listed + (size_t)i] = l->out[skip + l->passed + i];
    }
    l->turns++;
}

static void give_passed(loop *l, const ry_value_id *values)
{
    for (int i = 0; i < l->passed && !ry_import_failed(l->import); i++) {
        ry_onnx_emit_identity(l->import, values[i], i);
    }
}

static void give_list(loop *l, int which, int64_t axis, bool backwards)
{
    ry_import *import = l->import;
    ry_value_id *turn = take_values(import, (int)l->turns);
    for (size_t t = 0; t < l->turns && !ry_import_failed(import); t++) {
        turn[backwards ? l->turns - 1 - t : t] = l->list[t * (size_t)l->listed + (size_t)which];
    }
    if (!ry_import_failed(import)) {
        join_turns(import, (int)l->turns, turn, axis, l->passed + which);
    }
}

/* Whether the loop's condition lets another turn begin. */
static bool goes_on(ry_import *import, ry_value_id condition)
{
    double known = 1;
    if (condition != RY_NO_VALUE && !ry_import_evaluate(import, condition, 0, &known)) {
        ry_import_fail(
            import, RYND_ERROR_UNSUPPORTED,
            "its condition depends on data, so that its trip count is not known when the "
            "model is loaded");
    }
    return known != 0 && !ry_import_failed(import);
}

static double trip_count(ry_import *import)
{
    double count = MOST_TURNS + 1;
    if (ry_import_has(import, 0) &&
        !ry_import_evaluate(import, ry_import_in(import, 0), 0, &count)) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "its trip count is not known when the model is loaded: it must follow from "
                       "constants and from dims that the model states as numbers");
    }
    return count;
}

void ry_import_loop(ry_import *import)
{
    loop l = {.import = import, .passed = import->node->inputs - 2};
    l.listed = import->node->outputs - l.passed;
    if (l.listed < 0) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "it has fewer outputs than values to pass on");
        return;
    }
    l.in = take_values(import, l.passed + 2);
    l.out = take_values(import, l.passed + 1 + l.listed);
    ry_value_id condition = ry_import_in(import, 1);
    const double trips = trip_count(import);
    for (int i = 0; i < l.passed && !ry_import_failed(import); i++) {
        l.in[2 + i] = import->in[2 + i];
    }
    while (!ry_import_failed(import) && (double)l.turns < trips && goes_on(import, condition)) {
        if (l.turns >= MOST_TURNS) {
            ry_import_fail(import, RYND_ERROR_UNSUPPORTED, "it runs more than %d turns",
                           MOST_TURNS);
            break;
        }
        l.in[0] = ry_onnx_emit_scalar(import, RY_i64, (double)l.turns);
        l.in[1] = ry_onnx_emit_scalar(import, RY_bool, 1);
        ry_import_body(import, "body", l.passed + 2, l.in, l.passed + 1 + l.listed, l.out);
        note_turn(&l, 1);
        condition = l.out[0];
        memcpy(l.in + 2, l.out + 1, (size_t)l.passed * sizeof *l.in);
    }
    if (!ry_import_failed(import)) {
        give_passed(&l, l.in + 2);
    }
    for (int i = 0; i < l.listed && !ry_import_failed(import); i++) {
        give_list(&l, i, 0, false);
    }
}

static int64_t number_of(const ry_ints *list, int i)
{
    return i < list->count ? list->at[i] : 0;
}

/* The parts of a scanned input, one a turn, in `part`. */
static void cut_scanned(ry_import *import, ry_value_id x, int64_t axis, int64_t length,
                        ry_value_id *part)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_split), squeeze = ry_attrs_default(RY_OP_squeeze);
    attrs.split.axis = axis;
    attrs.split.num_outputs = length;
    squeeze.squeeze.axes = (ry_ints){.count = 1, .at = {axis}};
    for (int64_t t = 0; t < length && !ry_import_failed(import); t++) {
        part[t] = ry_onnx_emit_temporary(import);
    }
    ry_onnx_emit_many(import, RY_OP_split, &attrs, 1, &x, (int)length, part);
    for (int64_t t = 0; t < length && !ry_import_failed(import); t++) {
        part[t] = ry_onnx_emit(import, RY_OP_squeeze, &squeeze, 1, &part[t], RY_NO_VALUE);
    }
}

static int64_t scan_length(ry_import *import, int first, int scanned, const ry_ints *axes)
{
    int64_t length = -1;
    for (int i = 0; i < scanned && !ry_import_failed(import); i++) {
        const ry_value_id x = import->in[first + i];
        const int axis = ry_axis(number_of(axes, i), ry_import_rank(import, x));
        const int64_t dim = axis < 0 ? -1 : ry_import_dim(import, x, axis);
        if (!ry_import_failed(import) && (axis < 0 || (length >= 0 && dim != length))) {
            ry_import_fail(import, RYND_ERROR_SHAPE,
                           axis < 0 ? "the axis of scanned input %d does not exist"
                                    : "scanned input %d has another length than those before it",
                           i);
        }
        length = dim;
    }
    if (!ry_import_failed(import) && (length < 1 || length > MOST_TURNS)) {
        ry_import_fail(import, RYND_ERROR_UNSUPPORTED,
                       "it scans %" PRId64 " elements; 1 to %d are possible", length, MOST_TURNS);
    }
    return length;
}

void ry_import_scan(ry_import *import)
{
    const int64_t scanned = ry_import_int(import, "num_scan_inputs");
    const ry_ints axes = ry_import_ints(import, "scan_input_axes"),
                  to = ry_import_ints(import, "scan_output_axes"),
                  turned = ry_import_ints(import, "scan_input_directions"),
                  back = ry_import_ints(import, "scan_output_directions");
    if (scanned < 1 || scanned > import->node->inputs || scanned > RY_MAX_INTS) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "its num_scan_inputs is %" PRId64, scanned);
        return;
    }
    const int passed = import->node->inputs - (int)scanned;
    loop l = {.import = import, .passed = passed, .listed = import->node->outputs - passed};
    if (l.listed < 0) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "it has fewer outputs than states");
        return;
    }
    const int64_t length = scan_length(import, passed, (int)scanned, &axes);
    l.in = take_values(import, import->node->inputs);
    l.out = take_values(import, import->node->outputs);
    ry_value_id *part[RY_MAX_INTS];
    for (int i = 0; i < scanned && !ry_import_failed(import); i++) {
        const ry_value_id x = import->in[passed + i];
        part[i] = take_values(import, (int)length);
        cut_scanned(import, x, ry_axis(number_of(&axes, i), ry_import_rank(import, x)), length,
                    part[i]);
    }
    for (int i = 0; i < passed && !ry_import_failed(import); i++) {
        l.in[i] = import->in[i];
    }
    for (int64_t t = 0; t < length && !ry_import_failed(import); t++) {
        for (int i = 0; i < scanned; i++) {
            l.in[passed + i] = part[i][number_of(&turned, i) ? length - 1 - t : t];
        }
        ry_import_body(import, "body", import->node->inputs, l.in, import->node->outputs, l.out);
        note_turn(&l, 0);
        memcpy(l.in, l.out, (size_t)passed * sizeof *l.in);
    }
    if (!ry_import_failed(import)) {
        give_passed(&l, l.in);
    }
    for (int i = 0; i < l.listed && !ry_import_failed(import); i++) {
        give_list(&l, i, number_of(&to, i), number_of(&back, i) != 0);
    }
}
