/* SPDX-License-Identifier: Apache-2.0 */
/* Ends blocks of sums and writes them to y. */
#include "kernels/cpu/matmul/matmul_epilogue.h"

#include "kernels/cpu/parts/epilogue.h"
#include "kernels/cpu/parts/pack_rows.h"

/* row[j] += beta * c[j] */
static void add_c(const matmul_operand *c, const void *data, int64_t at, float beta, float *row,
                  int64_t n)
{
    if (c->dtype == RY_f32 && c->column == 1) {
        const float *from = (const float *)data + at;
        for (int64_t j = 0; j < n; j++) {
            row[j] += beta * from[j];
        }
        return;
    }
    if (c->column == 0) {
        const float x = beta * (float)ry_get_f64(c->dtype, data, at);
        for (int64_t j = 0; j < n; j++) {
            row[j] += x;
        }
        return;
    }
    for (int64_t j = 0; j < n; j++) {
        row[j] += beta * (float)ry_get_f64(c->dtype, data, at + j * c->column);
    }
}

void RY_ISA_SYMBOL(matmul_epilogue)(const matmul_shape *s, const ry_cpu_launch *launch,
                                    int64_t batch, int64_t row, int64_t rows, int64_t column,
                                    int64_t columns, float *block, int64_t block_step, float alpha)
{
    const matmul_operand *c = &s->of[MATMUL_C], *r = &s->of[MATMUL_RESIDUAL], *y = &s->of[MATMUL_Y];
    for (int64_t i = 0; i < rows && (alpha != 1.0f || c->dtype != RY_NONE); i++) {
        if (alpha != 1.0f) {
            RY_ISA_SYMBOL(scale_row)(block + i * block_step, columns, alpha);
        }
        if (c->dtype != RY_NONE) {
            const int64_t at = ry_matmul_batch_offset(s, MATMUL_C, batch) + (row + i) * c->row +
                               column * c->column;
            add_c(c, launch->in[MATMUL_C], at, s->beta, block + i * block_step, columns);
        }
    }
    const epilogue_run run = {
        .length = columns, .y_step = columns == 1 ? 1 : y->column, .r_step = r->column};
    epilogue f = {.rows = rows,
                  .columns = columns,
                  .block = block,
                  .block_step = block_step,
                  .run = &run,
                  .runs = 1,
                  .y_row = y->row,
                  .dtype = y->dtype,
                  .r_row = r->row,
                  .r_dtype = r->dtype,
                  .activation = ry_conv_activation(launch->problem)};
    f.y = (char *)launch->out[0] +
          (ry_matmul_batch_offset(s, MATMUL_Y, batch) + row * y->row + column * y->column) *
              (int64_t)ry_dtype_size(y->dtype);
    if (r->dtype != RY_NONE) {
        f.residual = (const char *)launch->in[MATMUL_RESIDUAL] +
                     (ry_matmul_batch_offset(s, MATMUL_RESIDUAL, batch) + row * r->row +
                      column * r->column) *
                         (int64_t)ry_dtype_size(r->dtype);
    }
    RY_ISA_SYMBOL(epilogue_rows)(&f);
}
