/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are lists of moves (move/move_describe.h) on a GPU. The text is made for the
 * problem: an entry for each phase, in it a branch for each move, whose work-groups copy runs of
 * the box's elements in the order in which they are written, so that neighbouring items write
 * neighbouring memory. */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/gpu/gpu_costs.h"
#include "kernels/gpu/gpu_group.h"
#include "kernels/gpu/gpu_kernel.h"
#include "kernels/move/move_describe.h"

#include <inttypes.h>

enum { ITEMS = 4 }; /* elements of a work-item */

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

static int64_t groups_of(const ry_move *move, int64_t group)
{
    return ry_ceil_div(elements_of(&move->box), group * ITEMS);
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
            prepared->tasks[phase] += (size_t)groups_of(&moves[i], group);
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

/* Adds the text that copies one element from the source, or stores the move's value. */
static void add_copy(ry_text *text, const ry_move *move)
{
    static const char *const types[] = {
        [1] = "uchar", [2] = "ushort", [4] = "uint", [8] = "ulong", [16] = "uint4"};
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
    ry_text_add(text, "  if (GROUP < %" PRId64 ") {\n", first + groups_of(move, group));
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
    ry_text_add(text, "    }\n    return;\n  }\n");
}

static void define(const ry_query *query, const ry_prepared *prepared, ry_text *text)
{
    ry_move_list list;
    ry_move *moves = list_moves(query, &list);
    text->failed = text->failed || !moves;
    for (int phase = 0; moves && phase < 2; phase++) {
        const int64_t group = prepared->form.value[RY_GPU_GROUP_KNOB];
        int64_t first = 0;
        ry_text_add(text, "KERNEL(phase%d)(ARGUMENTS)\n{\n", phase);
        for (int i = first_of(&list, phase);
             phase < prepared->phases && i < (int)list.phase_end[phase]; i++) {
            add_move(text, &moves[i], first, group);
            first += groups_of(&moves[i], group);
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
