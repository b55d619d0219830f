/* SPDX-License-Identifier: Apache-2.0 */
/* Names for sources that are compiled once for each instruction set (files *_isa.c).
 *
 *   const ry_kernel RY_ISA_SYMBOL(expr) = {.name = "expr_" RY_ISA_TEXT, .family = "expr", .isa =
 *       RY_ISA_ID, ...};      expr_generic, expr_avx2, expr_avx512
 *
 * Every symbol of such a file that is not static must be made by RY_ISA_SYMBOL.
 *
 * An instruction set that adds one feature compiles the sources for that feature only (files named
 * *_dot_isa.c: avx512_vnni, avx_vnni, neon_dot; *_bf16_isa.c: avx512_bf16; *_amx_isa.c: amx; all of
 * them in plain C, too). What it does not compile again it has from the one that it extends, for which the build defines RY_BASE_NAME:
 * RY_BASE_SYMBOL(name). */
#ifndef RY_KERNELS_CPU_SIMD_ISA_H
#define RY_KERNELS_CPU_SIMD_ISA_H

#ifndef RY_ISA_NAME
#error "isa.h is for files named *_isa.c: the build defines RY_ISA_NAME for them"
#endif

#ifndef RY_BASE_NAME
#define RY_BASE_NAME RY_ISA_NAME
#endif

#define RY_ISA_JOIN_(a, b) a##b
#define RY_ISA_JOIN(a, b)  RY_ISA_JOIN_(a, b)
#define RY_ISA_TEXT_(a)    #a
#define RY_ISA_TEXT_OF(a)  RY_ISA_TEXT_(a)

#define RY_BASE_SYMBOL(name) RY_ISA_JOIN(RY_ISA_JOIN(RY_ISA_JOIN(ry_, name), _), RY_BASE_NAME)
#define RY_ISA_SYMBOL(name)  RY_ISA_JOIN(RY_ISA_JOIN(RY_ISA_JOIN(ry_, name), _), RY_ISA_NAME)
#define RY_ISA_TEXT          RY_ISA_TEXT_OF(RY_ISA_NAME)
#define RY_ISA_ID            RY_ISA_JOIN(RY_ISA_, RY_ISA_NAME) /* the ry_isa */

#endif
