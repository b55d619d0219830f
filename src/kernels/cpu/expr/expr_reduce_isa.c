/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions in every type, as loops. */
#include "kernels/cpu/expr/expr_loops.h"

#include <math.h>

#define FLOAT     1
#define SUM_TYPE  double
#define WIDE      double
#define TYPE      f32
#define C_TYPE    float
#define MASK_TYPE int32_t
#define LOWEST    (-(float)INFINITY)
#define HIGHEST   ((float)INFINITY)
#include "kernels/cpu/expr/expr_reduce.inc"

#define TYPE      f64
#define C_TYPE    double
#define MASK_TYPE int64_t
#define LOWEST    (-(double)INFINITY)
#define HIGHEST   ((double)INFINITY)
#include "kernels/cpu/expr/expr_reduce.inc"
#undef FLOAT
#undef SUM_TYPE
#undef WIDE

/* Integers accumulate in 64 bits, which wrap: cut to the type's width, that is its own wrapping
 * sum. */
#define FLOAT    0
#define WIDE     uint64_t
#define SUM_TYPE int64_t
#define TYPE     i8
#define C_TYPE   int8_t
#define LOWEST   INT8_MIN
#define HIGHEST  INT8_MAX
#include "kernels/cpu/expr/expr_reduce.inc"

#define TYPE    i16
#define C_TYPE  int16_t
#define LOWEST  INT16_MIN
#define HIGHEST INT16_MAX
#include "kernels/cpu/expr/expr_reduce.inc"

#define TYPE    i32
#define C_TYPE  int32_t
#define LOWEST  INT32_MIN
#define HIGHEST INT32_MAX
#include "kernels/cpu/expr/expr_reduce.inc"

#define TYPE    i64
#define C_TYPE  int64_t
#define LOWEST  INT64_MIN
#define HIGHEST INT64_MAX
#include "kernels/cpu/expr/expr_reduce.inc"

#undef SUM_TYPE
#define SUM_TYPE uint64_t
#define TYPE     u8
#define C_TYPE   uint8_t
#define LOWEST   0
#define HIGHEST  UINT8_MAX
#include "kernels/cpu/expr/expr_reduce.inc"

#define TYPE    u16
#define C_TYPE  uint16_t
#define LOWEST  0
#define HIGHEST UINT16_MAX
#include "kernels/cpu/expr/expr_reduce.inc"

#define TYPE    u32
#define C_TYPE  uint32_t
#define LOWEST  0
#define HIGHEST UINT32_MAX
#include "kernels/cpu/expr/expr_reduce.inc"

#define TYPE    u64
#define C_TYPE  uint64_t
#define LOWEST  0
#define HIGHEST UINT64_MAX
#include "kernels/cpu/expr/expr_reduce.inc"
