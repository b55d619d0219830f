/* SPDX-License-Identifier: Apache-2.0 */
/* Peak loop of bfloat16 products with sums in float32. */
#include "kernels/cpu/peak/peak.h"
#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/simd/simd_bf16.h"

#define CHAINS 12 /* as many as hide an operation's latency and fit the registers */

double RY_ISA_SYMBOL(peak_bf16)(size_t rounds, float *sink)
{
    /* Read from memory that the compiler cannot see through; small enough that no sum grows beyond
     * all bounds. */
    volatile float near_one = 1.0f, small = 1e-6f;
    const ry_vi a = ry_vi_pairs_bf16(ry_vf_set(near_one), ry_vf_set(small)),
                b = ry_vi_pairs_bf16(ry_vf_set(small), ry_vf_set(small));
    ry_vf chain[CHAINS];
    for (int i = 0; i < CHAINS; i++) {
        chain[i] = ry_vf_set(1.0f + (float)i);
    }
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < CHAINS; i++) {
            chain[i] = ry_vf_dot_bf16(a, b, chain[i]);
        }
    }
    for (int i = 1; i < CHAINS; i++) {
        chain[0] = ry_vf_add(chain[0], chain[i]);
    }
    float lanes[RY_W];
    ry_vf_store(lanes, chain[0]);
    *sink = lanes[0];
    return 4.0 * RY_W * CHAINS * (double)rounds;
}
