/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are lists of moves (move/move_describe.h) on a GPU. The text is made for the
 * problem: an entry for each phase, in it a branch for each move, whose work-groups copy runs of
 * the box's elements in the order in which they are written, so that neighbouring items write
 * neighbouring memory. Where other elements are neighbours in the source, a group moves a square of both
 * through local memory: neighbouring items read neighbouring memory, too. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/move/move_describe.h"

#include <inttypes.h>

enum { ITEMS = 4 };   /* elements of a work-item */
enum { SQUARE = 32 }; /* elements of a side of a square */
enum { WORTH = 8 };   /* neighbours that are worth a square */

/* The moves of a query, in memory that the caller gives back. NULL: there is none. */
static ry_move *list_moves(const ry_query *query, ry_move_list *list)
{
    *list = ry_move_list_start(query, NULL);
    ry_moves_describe(query->problem, list);
    ry_move *moves = ry_allocate_array(&ry_system_allocator, list->count + 1, sizeof *moves);
    if (moves) {
        *list = ry_move_list_start(query, moves);
        ry_moves_describe(query->problem, list);
    }
    return moves;
}

static int64_t elements_of(const ry_box *box)
{
    int64_t elements = 1;
    for (int i = 0; i < box->rank; i++) {
        elements *= box->dim[i];
    }
    return elements;
}

/* Bytes of the widest access that all of a move's elements are at multiples of. */
static int64_t access_of(const ry_move *move)
{
    const ry_box *box = &move->box;
    int64_t bits = (int64_t)box->size | 16;
    bits |= move->src_offset * (int64_t)move->size | move->dst_offset * (int64_t)move->size;
    for (int i = 0; i < box->rank; i++) {
        bits |= box->src[i] | box->dst[i];
    }
    return bits & -bits;
}

/* The dim whose elements are neighbours in the source, where they are not in the destination and squares
 * are worth while; else -1. A processor's caches do without. */
static int square_of(const ry_move *move, const ry_machine *machine)
{
    const ry_box *box = &move->box;
    const int last = box->rank - 1;
    int inner = -1;
    for (int i = 0; i < last; i++) {
        inner = box->src[i] == (int64_t)box->size && box->dim[i] >= WORTH ? i : inner;
    }
    const bool room = (!machine->group_items || machine->group_items >= 2 * SQUARE) &&
                      (!machine->local_bytes || machine->local_bytes >= SQUARE * (SQUARE + 1) * 16);
    const bool worth = machine->step_items > 1 && room && access_of(move) == (int64_t)box->size &&
                       move->from != RY_MOVE_VALUE && inner >= 0 &&
                       box->dst[last] == (int64_t)box->size && box->dim[last] >= WORTH &&
                       box->src[last] != (int64_t)box->size;
    return worth ? inner : -1;
}

static int64_t groups_of(const ry_move *move, int64_t group, const ry_machine *machine)
{
    const ry_box *box = &move->box;
    const int inner = square_of(move, machine);
    if (inner < 0) {
        return ry_ceil_div(elements_of(box), group * ITEMS);
    }
    const int64_t side = box->dim[inner], end = box->dim[box->rank - 1];
    return elements_of(box) / (side * end) * ry_ceil_div(side, SQUARE) * ry_ceil_div(end, SQUARE);
}

static int first_of(const ry_move_list *list, int phase)
{
    return phase ? (int)list->phase_end[0] : 0;
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    ry_move_list list;
    ry_move *moves = list_moves(query, &list);
    if (!moves) {
        return ry_fail_memory(error);
    }
    const int64_t group = ry_gpu_group_size(query, 256);
    double elements = 0;
    prepared->form.value[RY_GPU_GROUP_KNOB] = group;
    prepared->phases = list.phases + 1;
    for (int phase = 0; phase < prepared->phases; phase++) {
        for (int i = first_of(&list, phase); i < (int)list.phase_end[phase]; i++) {
            prepared->tasks[phase] += (size_t)groups_of(&moves[i], group, query->target->machine);
            elements += (double)elements_of(&moves[i].box);
        }
        prepared->group[phase] = (unsigned)group;
    }
    prepared->workspace = list.phases > 0 ? ry_tensor_bytes(&query->problem->in[0]) : 0;
    ry_count_work(elements * ry_gpu_costs_of(query->target->machine)->move_element, list.moved,
                  prepared);
    ry_release(&ry_system_allocator, moves);
    return RYND_OK;
}

static void add_operand(ry_text *text, int operand, bool is_output)
{
    if (operand == RY_MOVE_WORKSPACE) {
        ry_text_add(text, "AT(uchar, workspace)");
    } else {
        ry_text_add(text, "AT(uchar, %s%d)", is_output ? "out" : "in", operand);
    }
}

static void add_offset(ry_text *text, const ry_box *box, const int64_t *stride, int64_t offset)
{
    ry_text_add(text, " + (%" PRId64 ")", offset);
    for (int i = 0; i < box->rank; i++) {
        ry_text_add(text, " + i%d * (%" PRId64 ")", i, stride[i]);
    }
}

static const char *const types[] = {
    [1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong", [16] = "uint4"};

/* Adds the text that copies one element from the source, or stores the move's value. */
static void add_copy(ry_text *text, const ry_move *move)
{
    const ry_box *box = &move->box;
    const int64_t access = access_of(move);
    const char *type = types[access];
    ry_text_add(text, "      GLOBAL %s *d = (GLOBAL %s *)(", type, type);
    add_operand(text, move->to, true);
    add_offset(text, box, box->dst, move->dst_offset * (int64_t)move->size);
    ry_text_add(text, ");\n");
    if (move->from != RY_MOVE_VALUE) {
        ry_text_add(text, "      GLOBAL const %s *s = (GLOBAL const %s *)(", type, type);
        add_operand(text, move->from, false);
        add_offset(text, box, box->src, move->src_offset * (int64_t)move->size);
        ry_text_add(text, ");\n");
    }
    for (int64_t i = 0; i < (int64_t)box->size / access; i++) {
        if (move->from != RY_MOVE_VALUE) {
            ry_text_add(text, "      d[%" PRId64 "] = s[%" PRId64 "];\n", i, i);
        } else {
            ry_text_add(text, "      d[%" PRId64 "] = (%s)(0x%" PRIx64 "ul >> %" PRId64 ");\n", i,
                        type, move->value, i * access * 8);
        }
    }
}

static void add_move(ry_text *text, const ry_move *move, int64_t first, int64_t group)
{
    const ry_box *box = &move->box;
    const int64_t count = elements_of(box);
    const char *index = count > INT32_MAX / 2 ? "long" : "int";
    ry_text_add(text, "    for (int e = 0; e < %d; e++) {\n", ITEMS);
    ry_text_add(
        text, "      %s rest = (%s)(GROUP - %" PRId64 ") * %" PRId64 " + e * %" PRId64 " + ITEM;\n",
        index, index, first, group * ITEMS, group);
    ry_text_add(text, "      if (rest >= %" PRId64 ") { return; }\n", count);
    for (int i = box->rank - 1; i >= 0; i--) {
        ry_text_add(text, "      const long i%d = rest %% %" PRId64 "; rest /= %" PRId64 ";\n", i,
                    box->dim[i], box->dim[i]);
    }
    add_copy(text, move);
    ry_text_add(text, "    }\n");
}

/* Adds a pass over a square: items along dim `along`, rows of them along `across`. */
static void add_pass(ry_text *text, const ry_box *box, int along, int across, int64_t group)
{
    ry_text_add(text,
                "    for (int row = ITEM / %d; row < %d; row += %" PRId64 ") {\n"
                "      const long i%d = first_%d + ITEM %% %d, i%d = first_%d + row;\n"
                "      if (i%d < %" PRId64 " && i%d < %" PRId64 ") {\n",
                SQUARE, SQUARE, group / SQUARE, along, along, SQUARE, across, across, along,
                box->dim[along], across, box->dim[across]);
}

static void add_square(ry_text *text, const ry_move *move, int inner, int64_t first, int64_t group)
{
    const ry_box *box = &move->box;
    const int last = box->rank - 1;
    const char *type = types[box->size];
    ry_text_add(text,
                "    long rest = GROUP - %" PRId64
                ";\n    TO_LOCAL %s *square = (TO_LOCAL %s *)room;\n",
                first, type, type);
    for (int i = last; i >= 0; i--) {
        const bool cut = i == inner || i == last;
        const int64_t count = cut ? ry_ceil_div(box->dim[i], SQUARE) : box->dim[i];
        ry_text_add(text, "    const long %s%d = rest %% %" PRId64 "%s; rest /= %" PRId64 ";\n",
                    cut ? "first_" : "i", i, count, cut ? " * SQUARE" : "", count);
    }
    add_pass(text, box, inner, last, group);
    ry_text_add(text, "        square[row * %d + ITEM %% %d] = *(GLOBAL const %s *)(", SQUARE + 1,
                SQUARE, type);
    add_operand(text, move->from, false);
    add_offset(text, box, box->src, move->src_offset * (int64_t)move->size);
    ry_text_add(text, ");\n      }\n    }\n    BARRIER;\n");
    add_pass(text, box, last, inner, group);
    ry_text_add(text, "        *(GLOBAL %s *)(", type);
    add_operand(text, move->to, true);
    add_offset(text, box, box->dst, move->dst_offset * (int64_t)move->size);
    ry_text_add(text, ") = square[ITEM %% %d * %d + row];\n      }\n    }\n", SQUARE, SQUARE + 1);
}

/* Bytes of the largest element of a square; 0 without squares. */
static int64_t square_bytes(const ry_move *moves, int first, int end, const ry_machine *machine)
{
    int64_t bytes = 0;
    for (int i = first; i < end; i++) {
        bytes =
            square_of(&moves[i], machine) >= 0 ? ry_max(bytes, (int64_t)moves[i].box.size) : bytes;
    }
    return bytes;
}

static void add_phase(ry_text *text, const ry_move *moves, int begin, int end, int64_t group,
                      const ry_machine *machine)
{
    const int64_t bytes = square_bytes(moves, begin, end, machine);
    int64_t first = 0;
    if (bytes) {
        ry_text_add(text, "  LOCAL uint4 room[%" PRId64 "];\n",
                    ry_ceil_div(SQUARE * (SQUARE + 1) * bytes, 16));
    }
    for (int i = begin; i < end; i++) {
        const int inner = square_of(&moves[i], machine);
        const int64_t groups = groups_of(&moves[i], group, machine);
        ry_text_add(text, "  if (GROUP < %" PRId64 ") {\n", first + groups);
        if (inner >= 0) {
            add_square(text, &moves[i], inner, first, group);
        } else {
            add_move(text, &moves[i], first, group);
        }
        ry_text_add(text, "    return;\n  }\n");
        first += groups;
    }
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    ry_move_list list;
    ry_move *moves = list_moves(query, &list);
    text->failed = text->failed || !moves;
    ry_gpu_define(text, "SQUARE", SQUARE);
    for (int phase = 0; moves && phase < 2; phase++) {
        const int64_t group = prepared->form.value[RY_GPU_GROUP_KNOB];
        ry_text_add(text, "KERNEL(phase%d)(ARGUMENTS)\n{\n", phase);
        if (phase < prepared->phases) {
            add_phase(text, moves, first_of(&list, phase), (int)list.phase_end[phase], group,
                      query->target->machine);
        }
        ry_text_add(text, "}\n");
    }
    ry_release(&ry_system_allocator, moves);
}

static const char *const entries[] = {"phase0", "phase1"};
static const ry_gpu_kernel gpu = {"", entries, 2, define};

#define RY_MOVE(op_name, describe)                                          \
    RY_GPU_KERNEL(op_name##_gpu, op_name, strict, RY_GPU_GROUP_KNOB_FIELDS, \
                  .applicable = ry_moves_are_boxes, .prepare = prepare, .gpu = &gpu);
#include "kernels/move/moves.inc"
#undef RY_MOVE
