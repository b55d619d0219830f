/* SPDX-License-Identifier: Apache-2.0 */
/* Peak loops: as many independent chains as hide the latency of an operation and fit the registers.
 */
#include "kernels/cpu/peak/peak.h"
#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/simd/simd.h"

/* Two multiply-adds a cycle of five cycles' latency need ten chains; sixteen registers hold twelve
 * and two factors. */
#define CHAINS 12
#define READS  8

/* The first element's value: enough for the compiler to keep all of the sum. */
static float first_of(ry_vf v)
{
    float lanes[RY_W];
    ry_vf_store(lanes, v);
    return lanes[0];
}

static double peak_f32(size_t rounds, float *sink)
{
    /* The factors keep the values near 1 for any number of rounds, so that none becomes a slow
     * subnormal; they are read from memory that the compiler cannot see through. */
    volatile float near_one = 1.0f, tiny = 1e-20f;
    ry_vf a = ry_vf_set(near_one), b = ry_vf_set(tiny), chain[CHAINS];
    for (int i = 0; i < CHAINS; i++) {
        chain[i] = ry_vf_set(1.0f + (float)i);
    }
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < CHAINS; i++) {
            chain[i] = ry_vf_fma(chain[i], a, b);
        }
    }
    for (int i = 1; i < CHAINS; i++) {
        chain[0] = ry_vf_add(chain[0], chain[i]);
    }
    *sink = first_of(chain[0]);
    return 2.0 * RY_W * CHAINS * (double)rounds;
}

static double peak_read(const float *data, size_t count, size_t rounds, float *sink)
{
    ry_vf sum[READS];
    for (int i = 0; i < READS; i++) {
        sum[i] = ry_vf_zero();
    }
    for (size_t r = 0; r < rounds; r++) {
        for (const float *p = data; p < data + count; p += READS * RY_W) {
            for (int i = 0; i < READS; i++) {
                sum[i] = ry_vf_add(sum[i], ry_vf_load(p + i * RY_W));
            }
        }
    }
    for (int i = 1; i < READS; i++) {
        sum[0] = ry_vf_add(sum[0], sum[i]);
    }
    *sink = first_of(sum[0]);
    return 4.0 * (double)count * (double)rounds;
}

_Static_assert(RY_MACHINE_BLOCK % (READS * RY_W) == 0, "a block is a whole number of steps");

const ry_peak RY_ISA_SYMBOL(peak) = {peak_f32, peak_read};
