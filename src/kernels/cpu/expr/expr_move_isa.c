/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores of the evaluator's tiles. */
#include "kernels/cpu/expr/expr_runner.h"

#include <string.h>

#define MOVE_ROWS(bits)                                                                       \
    /* Rows of n elements, `step` bytes apart and at their offsets, to or from a contiguous \
     * buffer. */ \
    static void load_rows_##bits(size_t rows, size_t n, void *restrict y, const char *base,   \
                                 const int64_t *row, int64_t step)                            \
    {                                                                                         \
        uint##bits##_t *restrict to = y;                                                      \
        for (size_t r = 0; r < rows; r++, to += n) {                                          \
            const uint##bits##_t *from = (const void *)(base + row[r]);                       \
            if (step == 0) {                                                                  \
                for (size_t i = 0; i < n; i++) {                                              \
                    to[i] = *from;                                                            \
                }                                                                             \
            } else if (step == bits / 8) {                                                    \
                for (size_t i = 0; i < n; i++) {                                              \
                    to[i] = from[i];                                                          \
                }                                                                             \
            } else {                                                                          \
                for (size_t i = 0; i < n; i++) {                                              \
                    to[i] = *(const uint##bits##_t *)(const void *)((const char *)from +      \
                                                                    (int64_t)i * step);       \
                }                                                                             \
            }                                                                                 \
        }                                                                                     \
    }                                                                                         \
    static void store_rows_##bits(size_t rows, size_t n, const void *a, char *base,           \
                                  const int64_t *row, int64_t step)                           \
    {                                                                                         \
        const uint##bits##_t *from = a;                                                       \
        for (size_t r = 0; r < rows; r++, from += n) {                                        \
            char *to = base + row[r];                                                         \
            if (step == bits / 8) {                                                           \
                memcpy(to, from, n * sizeof *from);                                           \
            } else {                                                                          \
                for (size_t i = 0; i < n; i++) {                                              \
                    *(uint##bits##_t *)(void *)(to + (int64_t)i * step) = from[i];            \
                }                                                                             \
            }                                                                                 \
        }                                                                                     \
    }
MOVE_ROWS(8)
MOVE_ROWS(16)
MOVE_ROWS(32)
MOVE_ROWS(64)

void RY_ISA_SYMBOL(expr_load_rows)(size_t size, size_t rows, size_t n, void *y, const char *base,
                                   const int64_t *row, int64_t step)
{
    (size == 4   ? load_rows_32
     : size == 8 ? load_rows_64
     : size == 2 ? load_rows_16
                 : load_rows_8)(rows, n, y, base, row, step);
}

static void store_rows(size_t size, size_t rows, size_t n, const void *a, char *base,
                       const int64_t *row, int64_t step)
{
    (size == 4   ? store_rows_32
     : size == 8 ? store_rows_64
     : size == 2 ? store_rows_16
                 : store_rows_8)(rows, n, a, base, row, step);
}

/* Convert a row of 16-bit floats in place? Shorter rows are gathered first. */
static bool converts_in_place(const ry_expr_operand *operand, size_t n)
{
    return operand->inner == operand->size && n >= 32;
}

void RY_ISA_SYMBOL(expr_load)(const expr_runner *r, int p, void *y, size_t rows, size_t n)
{
    const ry_expr_operand *operand = &r->operand[p];
    const ry_expr_half_converts *half = expr_half_of(operand->dtype);
    const char *base = (const char *)r->launch->in[operand->index] + r->shift[p];
    const int64_t *row = r->row + (size_t)p * r->row_stride + r->first;
    if (half && converts_in_place(operand, n)) {
        for (size_t i = 0; i < rows; i++) {
            half->load(n, (float *)y + i * n, base + row[i]);
        }
        return;
    }
    RY_ISA_SYMBOL(expr_load_rows)
    (operand->size, rows, n, half ? r->staging : y, base, row, operand->inner);
    if (half) {
        half->load(rows * n, y, r->staging);
    }
}

void RY_ISA_SYMBOL(expr_load_invariant)(const expr_runner *r, int p, char *y)
{
    const ry_expr_operand *operand = &r->operand[p];
    const ry_expr_half_converts *half = expr_half_of(operand->dtype);
    const int64_t nowhere = 0;
    size_t n = (size_t)r->plan->length, row = n * ry_expr_loop_size((ry_loop_type)operand->type),
           end = row * (size_t)r->plan->rows;
    RY_ISA_SYMBOL(expr_load_rows)
    (operand->size, 1, n, half ? r->staging : y, r->launch->in[operand->index], &nowhere,
     operand->inner);
    if (half) {
        half->load(n, y, r->staging);
    }
    for (size_t done = row; done < end; done *= 2) {
        memcpy(y + done, y, done < end - done ? done : end - done);
    }
}

void RY_ISA_SYMBOL(expr_store)(const expr_runner *r, int p, const void *a, size_t rows, size_t n)
{
    const ry_expr_operand *operand = &r->operand[p];
    const ry_expr_half_converts *half = expr_half_of(operand->dtype);
    char *base = (char *)r->launch->out[operand->index] + r->shift[p];
    const int64_t *row = r->row + (size_t)p * r->row_stride + r->first;
    if (half && converts_in_place(operand, n)) {
        for (size_t i = 0; i < rows; i++) {
            half->store(n, base + row[i], (const float *)a + i * n);
        }
        return;
    }
    if (half) {
        half->store(rows * n, r->staging, a);
    }
    store_rows(operand->size, rows, n, half ? r->staging : a, base, row, operand->inner);
}
