/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction sets that vector code is compiled for, for lists of its symbols. */
#ifndef RY_KERNELS_EACH_ISA_H
#define RY_KERNELS_EACH_ISA_H

#include "base/isa_family.h"

/* RY_FOR_ISA_<name>(text): the text, in a build that has the instruction set; else nothing. */
#if defined(RY_FAMILY_X86)
#define RY_FOR_ISA_avx2(...)        __VA_ARGS__
#define RY_FOR_ISA_avx_vnni(...)    __VA_ARGS__
#define RY_FOR_ISA_avx512(...)      __VA_ARGS__
#define RY_FOR_ISA_avx512_vnni(...) __VA_ARGS__
#define RY_FOR_ISA_avx512_bf16(...) __VA_ARGS__
#define RY_FOR_ISA_amx(...)         __VA_ARGS__
#else
#define RY_FOR_ISA_avx2(...)
#define RY_FOR_ISA_avx_vnni(...)
#define RY_FOR_ISA_avx512(...)
#define RY_FOR_ISA_avx512_vnni(...)
#define RY_FOR_ISA_avx512_bf16(...)
#define RY_FOR_ISA_amx(...)
#endif
#if defined(RY_FAMILY_ARM)
#define RY_FOR_ISA_neon(...)     __VA_ARGS__
#define RY_FOR_ISA_neon_dot(...) __VA_ARGS__
#else
#define RY_FOR_ISA_neon(...)
#define RY_FOR_ISA_neon_dot(...)
#endif
#define RY_FOR_ISA_generic(...) __VA_ARGS__

/* RY_KERNEL_ISA(symbol, isa) for each instruction set with dot products of bytes. */
#define RY_DOT_ISAS(symbol)            \
    RY_KERNEL_ISA(symbol, avx512_vnni) \
    RY_KERNEL_ISA(symbol, avx_vnni)    \
    RY_KERNEL_ISA(symbol, neon_dot)

/* RY_KERNEL_ISA(symbol, isa) for each instruction set with vectors of its own, the best first. */
#define RY_EVERY_ISA(symbol)      \
    RY_KERNEL_ISA(symbol, avx512) \
    RY_KERNEL_ISA(symbol, avx2)   \
    RY_KERNEL_ISA(symbol, neon)   \
    RY_KERNEL_ISA(symbol, generic)

#endif
