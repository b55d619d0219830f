/* SPDX-License-Identifier: Apache-2.0 */
/* Dequantising and quantising bytes take four steps each in a program, and select(a > b, x, 0), the
 * gradient of ReLU, takes three. Here they become one, so that their values between stay in
 * registers. */
#include "kernels/cpu/expr/expr_fuse.h"

#include <math.h>
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

/* Does a step write the register, or another one in the same buffer? */
static bool writes(const ry_expr_plan *plan, const ry_expr_step *step, uint16_t buffer)
{
    const ry_expr_register *reg = ry_expr_plan_part(plan, plan->registers_at);
    return step->kind != RY_STEP_STORE && step->kind != RY_STEP_REDUCE &&
           (step->y == buffer ||
            (reg[buffer].storage == RY_STORAGE_BUFFER &&
             reg[step->y].storage == RY_STORAGE_BUFFER && reg[step->y].at == reg[buffer].at));
}

/* The step before `at` that alone writes the register for step `at`, of this kind; -1: none. */
static int maker_of(const ry_expr_plan *plan, const ry_expr_step *step, int at, int count,
                    uint16_t buffer, ry_expr_step_kind kind)
{
    const ry_expr_register *reg = ry_expr_plan_part(plan, plan->registers_at);
    int i = at - 1;
    while (i >= 0 && !writes(plan, &step[i], buffer)) {
        i--;
    }
    return i >= 0 && step[i].kind == kind && step[i].y == buffer && !step[i].single &&
                   reg[buffer].storage == RY_STORAGE_BUFFER && readers(step, count, buffer) == 1
               ? i
               : -1;
}

static bool is_zero(const ry_expr_plan *plan, uint16_t reg)
{
    const ry_expr_number *number = ry_expr_plan_part(plan, plan->numbers_at);
    for (int i = 0; i < plan->numbers; i++) {
        if (number[i].reg == reg) {
            return number[i].value == 0 && !signbit(number[i].value);
        }
    }
    return false;
}

static bool is_keep(uint16_t code)
{
#define IS_KEEP(name) || code == RY_EXPR_##name
    return false RY_EXPR_KEEP(IS_KEEP);
#undef IS_KEEP
}

static void drop(ry_expr_step *step, int at, int *count)
{
    (*count)--;
    memmove(step + at, step + at + 1, (size_t)(*count - at) * sizeof *step);
}

/* Makes a RY_STEP_KEEP of the select at `at`, its comparison and its zeros. Returns its place. */
static int keep(const ry_expr_plan *plan, ry_expr_step *step, int at, int *count)
{
    const ry_expr_step select = step[at];
    if (select.kind != RY_STEP_VECTOR || select.code != RY_EXPR_select || select.single ||
        select.type != RY_LOOP_f32) {
        return at;
    }
    const int compare = maker_of(plan, step, at, *count, select.a, RY_STEP_SCALAR),
              zeros = maker_of(plan, step, at, *count, select.c, RY_STEP_EXPAND);
    if (compare < 0 || zeros < 0 || step[compare].type != RY_LOOP_f32 ||
        !is_keep(step[compare].code) || !is_zero(plan, step[zeros].a)) {
        return at;
    }
    for (int i = compare + 1; i <= at; i++) {
        if (i != zeros && writes(plan, &step[i], step[compare].a)) {
            return at;
        }
    }
    step[at] = (ry_expr_step){.kind = RY_STEP_KEEP,
                              .type = RY_LOOP_f32,
                              .code = step[compare].code,
                              .y = select.y,
                              .a = step[compare].a,
                              .b = step[compare].b,
                              .c = select.b};
    drop(step, compare > zeros ? compare : zeros, count);
    drop(step, compare > zeros ? zeros : compare, count);
    return at - 2;
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
    for (int i = 0; i < *count; i++) {
        i = keep(plan, step, i, count);
    }
}
