/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores of the evaluator's tiles. */
#include "kernels/cpu/expr/expr_runner.h"
#include "kernels/move/strided_planes.h"

#include <string.h>

#define MOVE_ROWS(bits)                                                                      \
    /* Copies rows of n elements, neighbours or all the same one, to a contiguous buffer. */ \
    static void load_rows_##bits(size_t rows, size_t n, void *restrict y, const char *base,  \
                                 const int64_t *row, bool one)                               \
    {                                                                                        \
        uint##bits##_t *restrict to = y;                                                     \
        for (size_t r = 0; r < rows; r++, to += n) {                                         \
            const uint##bits##_t *from = (const void *)(base + row[r]);                      \
            if (one) {                                                                       \
                for (size_t i = 0; i < n; i++) {                                             \
                    to[i] = *from;                                                           \
                }                                                                            \
            } else {                                                                         \
                for (size_t i = 0; i < n; i++) {                                             \
                    to[i] = from[i];                                                         \
                }                                                                            \
            }                                                                                \
        }                                                                                    \
    }
MOVE_ROWS(8)
MOVE_ROWS(16)
MOVE_ROWS(32)
MOVE_ROWS(64)

/* How many of the rows begin one element behind the row before them, from the first on. */
static size_t rows_side_by_side(const int64_t *row, size_t rows, size_t size)
{
    size_t count = 1;
    while (count < rows && row[count] == row[count - 1] + (int64_t)size) {
        count++;
    }
    return count;
}

void RY_ISA_SYMBOL(expr_load_rows)(size_t size, size_t rows, size_t n, void *y, const char *base,
                                   const int64_t *row, int64_t step)
{
    const int64_t bytes = (int64_t)size, line = (int64_t)n * bytes;
    if (step == 0 || step == bytes) {
        (size == 4   ? load_rows_32
         : size == 8 ? load_rows_64
         : size == 2 ? load_rows_16
                     : load_rows_8)(rows, n, y, base, row, step == 0);
        return;
    }
    for (size_t r = 0, count; r < rows; r += count) {
        count = rows_side_by_side(row + r, rows - r, size);
        const ry_plane plane = {(char *)y + (int64_t)r * line,
                                base + row[r],
                                (int64_t)count,
                                line,
                                bytes,
                                (int64_t)n,
                                bytes,
                                step};
        ry_plane_copy(&plane, size);
    }
}

static void store_rows(size_t size, size_t rows, size_t n, const void *a, char *base,
                       const int64_t *row, int64_t step)
{
    const int64_t bytes = (int64_t)size, line = (int64_t)n * bytes;
    const char *from = a;
    for (size_t r = 0, count; r < rows; r += count, from += (int64_t)count * line) {
        count = 1;
        if (step == bytes) {
            memcpy(base + row[r], from, (size_t)line);
            continue;
        }
        count = rows_side_by_side(row + r, rows - r, size);
        const ry_plane plane = {base + row[r], from,           (int64_t)n, step,
                                bytes,         (int64_t)count, bytes,      line};
        ry_plane_copy(&plane, size);
    }
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
