/* SPDX-License-Identifier: Apache-2.0 */
/* Dequantising and quantising bytes take four steps each in a program. Here the four become one, so
 * that their values between stay in registers. */
#include "kernels/cpu/expr/expr_fuse.h"

#include <string.h>

enum { FUSED = 4 };

typedef struct pattern {
    uint8_t kind, type;
    uint16_t code;
} pattern;

/* (cast(x, i32) - zero) as a float * scale; the first step's type is that of the bytes. */
static const pattern dequantise[FUSED] = {{RY_STEP_CAST, UINT8_MAX, RY_LOOP_i32},
                                          {RY_STEP_SCALAR, RY_LOOP_i32, RY_EXPR_sub},
                                          {RY_STEP_CAST, RY_LOOP_i32, RY_LOOP_f32},
                                          {RY_STEP_SCALAR, RY_LOOP_f32, RY_EXPR_mul}};
/* saturate(round(x / scale) + zero); the last step's code is the type of the bytes. */
static const pattern quantise[FUSED] = {{RY_STEP_SCALAR, RY_LOOP_f32, RY_EXPR_div},
                                        {RY_STEP_VECTOR, RY_LOOP_f32, RY_EXPR_round},
                                        {RY_STEP_SCALAR, RY_LOOP_f32, RY_EXPR_add},
                                        {RY_STEP_SATURATE, RY_LOOP_f32, UINT16_MAX}};

static bool is_byte(unsigned type)
{
    return type == RY_LOOP_u8 || type == RY_LOOP_i8;
}

/* How many steps of the tile may read a register. */
static int readers(const ry_expr_step *step, int count, uint16_t reg)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        found += step[i].kind != RY_STEP_LOAD &&
                 (step[i].a == reg || step[i].b == reg || step[i].c == reg);
    }
    return found;
}

/* Do the steps from `at` on form the chain? Each reads the one before, and nobody else does. */
static bool matches(const ry_expr_plan *plan, const ry_expr_step *step, int at, int count,
                    const pattern *wanted)
{
    const ry_expr_register *reg = ry_expr_plan_part(plan, plan->registers_at);
    for (int k = 0; k < FUSED; k++) {
        const ry_expr_step *s = &step[at + k];
        if (s->single || s->kind != wanted[k].kind ||
            (wanted[k].type == UINT8_MAX ? !is_byte(s->type) : s->type != wanted[k].type) ||
            (wanted[k].code == UINT16_MAX ? !is_byte(s->code) : s->code != wanted[k].code) ||
            (k > 0 && s->a != s[-1].y) ||
            (k + 1 < FUSED &&
             (reg[s->y].storage != RY_STORAGE_BUFFER || readers(step, count, s->y) != 1))) {
            return false;
        }
    }
    const ry_expr_register from = reg[step[at].a], to = reg[step[at + FUSED - 1].y];
    return from.storage != RY_STORAGE_BUFFER || to.storage != RY_STORAGE_BUFFER || from.at != to.at;
}

static void join(ry_expr_step *step, int at, int *count, ry_expr_step fused)
{
    step[at] = fused;
    for (int i = at + FUSED; i < *count; i++) {
        step[i - FUSED + 1] = step[i];
    }
    *count -= FUSED - 1;
}

/* Steps of single values, which read nothing else, go before the others: chains stay together. */
static void singles_first(ry_expr_step *step, int count)
{
    int singles = 0;
    for (int i = 0; i < count; i++) {
        const ry_expr_step moved = step[i];
        if (moved.single) {
            memmove(step + singles + 1, step + singles, (size_t)(i - singles) * sizeof *step);
            step[singles++] = moved;
        }
    }
}

void ry_expr_fuse(const ry_expr_plan *plan, ry_expr_step *step, int *count)
{
    singles_first(step, *count);
    for (int i = 0; i + FUSED <= *count; i++) {
        const ry_expr_step *first = &step[i];
        if (matches(plan, step, i, *count, dequantise)) {
            join(step, i, count,
                 (ry_expr_step){.kind = RY_STEP_DEQUANTISE,
                                .type = first->type,
                                .y = first[3].y,
                                .a = first->a,
                                .b = first[1].b,
                                .c = first[3].b});
        } else if (matches(plan, step, i, *count, quantise)) {
            join(step, i, count,
                 (ry_expr_step){.kind = RY_STEP_QUANTISE,
                                .type = (uint8_t)first[3].code,
                                .y = first[3].y,
                                .a = first->a,
                                .b = first[2].b,
                                .c = first->b});
        }
    }
}
