/* SPDX-License-Identifier: Apache-2.0 */
/* The family of vector instruction sets that this build has kernels for: RY_FAMILY_X86,
 * RY_FAMILY_ARM, or none (other CPUs, and portable builds). */
#ifndef RY_BASE_ISA_FAMILY_H
#define RY_BASE_ISA_FAMILY_H

#if defined(RY_PORTABLE)
#elif defined(__x86_64__) || defined(_M_X64)
#define RY_FAMILY_X86
#elif defined(__aarch64__)
#define RY_FAMILY_ARM
#endif

#endif
