// SPDX-License-Identifier: Apache-2.0
// What stands before a text of the CUDA dialect that a compiler of the host shall compile.
#include <math.h>
#include <stdint.h>
#include <string.h>
#undef INFINITY

#define __global__
#define __device__
#define __constant__
#define __forceinline__ inline
#define __shared__ static thread_local
#define __launch_bounds__(items)
#define __align__(bytes) alignas(bytes)

struct emulation_index {
    unsigned x;
};
static thread_local emulation_index blockIdx, threadIdx;
extern "C" {
void (*emulation_barrier)(void);
void emulation_set(unsigned block, unsigned item)
{
    blockIdx.x = block;
    threadIdx.x = item;
}
}
#define __syncthreads() emulation_barrier()

#define EMULATION_VECTOR(T, name)        \
    struct alignas(4 * sizeof(T)) name { \
        T x, y, z, w;                    \
    };
EMULATION_VECTOR(signed char, char4)
EMULATION_VECTOR(unsigned char, uchar4)
EMULATION_VECTOR(short, short4)
EMULATION_VECTOR(unsigned short, ushort4)
EMULATION_VECTOR(int, int4)
EMULATION_VECTOR(unsigned, uint4)
EMULATION_VECTOR(float, float4)

static inline float4 make_float4(float x, float y, float z, float w)
{
    return {x, y, z, w};
}

template <class T> static inline T min(T a, T b)
{
    return b < a ? b : a;
}

template <class T> static inline T max(T a, T b)
{
    return a < b ? b : a;
}

template <class To, class From> static inline To emulation_bits(From from)
{
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
#define __int_as_float(bits)   emulation_bits<float>((int)(bits))
#define __uint_as_float(bits)  emulation_bits<float>((unsigned)(bits))
#define __float_as_uint(value) emulation_bits<unsigned>((float)(value))

static inline unsigned atomicCAS(unsigned *at, unsigned expected, unsigned value)
{
    return __sync_val_compare_and_swap(at, expected, value);
}
#define __threadfence() __sync_synchronize()

// Rounded here: the compiler contracts products and sums, as NVRTC does.
static inline float __fmul_rn(float a, float b)
{
    float product = a * b;
    asm("" : "+x"(product));
    return product;
}

static inline double __dmul_rn(double a, double b)
{
    double product = a * b;
    asm("" : "+x"(product));
    return product;
}

static inline float emulation_f32_of_f16(unsigned short bits)
{
    return (float)emulation_bits<_Float16>(bits);
}

static inline unsigned short emulation_f16_of_f32(float value)
{
    return emulation_bits<unsigned short>((_Float16)value);
}
