// SPDX-License-Identifier: Apache-2.0
// What stands before a text of the CUDA dialect that a compiler of the host shall compile.
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#undef INFINITY

#define __global__
#define __device__
#define __constant__
#define __forceinline__ inline
#define __shared__      static thread_local
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

struct emulation_index {
    unsigned x;
};
static thread_local emulation_index blockIdx, threadIdx;
extern "C" {
void (*emulation_barrier)(void);
static void emulation_begin_group(void);
void emulation_set(unsigned block, unsigned item)
{
    if (block != blockIdx.x) {
        emulation_begin_group();
    }
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

#define EMULATION_PAIR(T, name)          \
    struct alignas(2 * sizeof(T)) name { \
        T x, y;                          \
    };
EMULATION_PAIR(unsigned, uint2)
EMULATION_PAIR(float, float2)

static inline float2 make_float2(float x, float y)
{
    return {x, y};
}

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
static inline unsigned atomicExch(unsigned *at, unsigned value)
{
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
}

static inline unsigned atomicOr(unsigned *at, unsigned bits)
{
    return __atomic_fetch_or(at, bits, __ATOMIC_SEQ_CST);
}

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

// To 11 significant bits, ties away from zero; infinities and NaNs stay.
static inline unsigned emulation_tf32_of_f32(float value)
{
    unsigned bits = emulation_bits<unsigned>(value);
    return (bits & 0x7f800000u) == 0x7f800000u ? bits : (bits + 0x1000u) & ~0x1fffu;
}

// Operand `i` of a word: of tf32 the only one, whose last bits are not looked at.
static inline double emulation_operand(char type, unsigned word, int i)
{
    const unsigned short half = (unsigned short)(word >> 16 * i);
    return type == 't'   ? emulation_bits<float>(word & ~0x1fffu)
           : type == 'f' ? (float)emulation_bits<_Float16>(half)
                         : emulation_bits<float>((unsigned)half << 16);
}

// A sum as tensor cores make it (Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor
// cores, 2021): addends are cut below the largest one's 24 bits and two more, the sum to a float.
static inline float emulation_sum(const double *addend, int count)
{
    double largest = 0, sum = 0;
    for (int i = 0; i < count; i++) {
        largest = fmax(largest, fabs(addend[i]));
        sum += addend[i];
    }
    if (!(largest > 0) || !isfinite(sum)) {
        return (float)sum;
    }
    const double step = exp2(fmax(ilogb(largest), -126) - 25);
    sum = 0;
    for (int i = 0; i < count; i++) {
        sum += trunc(addend[i] / step) * step;
    }
    const float nearest = (float)sum;
    return fabs(nearest) > fabs(sum) ? nextafterf(nearest, 0) : nearest;
}

// What each item of a group brings; in turns, so that nobody overwrites what others still read.
struct emulation_fragments {
    unsigned left[4], right[2];
};
static thread_local emulation_fragments emulation_brought[2][1024];
static thread_local int emulation_turn[1024];

static inline void emulation_mma(const char *type, float *above, float *below, const unsigned *left,
                                 const unsigned *right)
{
    const unsigned item = threadIdx.x, first = item & ~31u, lane = item & 31u;
    const emulation_fragments *brought = emulation_brought[emulation_turn[item]];
    const int pair = *type == 't' ? 1 : 2;
    memcpy(emulation_brought[emulation_turn[item]][item].left, left, 4 * sizeof *left);
    memcpy(emulation_brought[emulation_turn[item]][item].right, right, 2 * sizeof *right);
    emulation_turn[item] ^= 1;
    emulation_barrier();
    for (unsigned sum = 0; sum < 4; sum++) {
        float *to = sum / 2 ? &below[sum % 2] : &above[sum % 2];
        const unsigned row = first + lane / 4 * 4, column = first + (lane % 4 * 2 + sum % 2) * 4;
        for (int half = 0; half < 2; half++) { // the words 0 to 3 before 4 to 7
            double addend[9] = {*to};
            int count = 1;
            for (unsigned word = 0; word < 4; word++) {
                for (int i = 0; i < pair; i++) {
                    addend[count++] =
                        emulation_operand(*type, brought[row + word].left[sum / 2 + 2 * half], i) *
                        emulation_operand(*type, brought[column + word].right[half], i);
                }
            }
            *to = emulation_sum(addend, count);
        }
    }
}

static inline int emulation_byte(const char *type, unsigned word, int shift)
{
    return *type == 's' ? (signed char)(word >> shift) : (unsigned char)(word >> shift);
}

// The same of bytes, "s8" or "u8", four a word, with exact sums.
static inline void emulation_mma_bytes(const char *left_type, const char *right_type, int *above,
                                       int *below, const unsigned *left, const unsigned *right)
{
    const unsigned item = threadIdx.x, first = item & ~31u, lane = item & 31u;
    const emulation_fragments *brought = emulation_brought[emulation_turn[item]];
    memcpy(emulation_brought[emulation_turn[item]][item].left, left, 4 * sizeof *left);
    memcpy(emulation_brought[emulation_turn[item]][item].right, right, 2 * sizeof *right);
    emulation_turn[item] ^= 1;
    emulation_barrier();
    for (unsigned sum = 0; sum < 4; sum++) {
        int *to = sum / 2 ? &below[sum % 2] : &above[sum % 2];
        const unsigned row = first + lane / 4 * 4, column = first + (lane % 4 * 2 + sum % 2) * 4;
        for (unsigned word = 0; word < 8; word++) {
            const unsigned a = brought[row + word % 4].left[sum / 2 + word / 4 * 2],
                           b = brought[column + word % 4].right[word / 4];
            for (int shift = 0; shift < 32; shift += 8) {
                *to += emulation_byte(left_type, a, shift) * emulation_byte(right_type, b, shift);
            }
        }
    }
}

static inline unsigned emulation_bf16(float value)
{
    const unsigned bits = emulation_bits<unsigned>(value);
    return (bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u
                                              : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
}

static inline unsigned emulation_bf16_pair(float low, float high)
{
    return emulation_bf16(low) | emulation_bf16(high) << 16;
}

// Addresses of local memory: bytes from some thread-local variable to another, or in what is given.
static thread_local char emulation_local;
static const unsigned emulation_given = 1u << 30;

#include "emulation_wide.cpp"

static inline unsigned emulation_address(const void *place)
{
    return emulation_is_given(place) ? emulation_given + (unsigned)__cvta_generic_to_shared(place)
                                     : (unsigned)(int)((const char *)place - &emulation_local);
}

// Copies happen at the wait, no sooner: a loop that reads too early finds the old bytes.
struct emulation_copy_of {
    void *to;
    const void *from;
    int bytes, size; // what follows the bytes up to the size becomes zero
};
enum { EMULATION_BATCHES = 8, EMULATION_COPIES = 128 };
struct emulation_queue {
    int first, batches, count[EMULATION_BATCHES];
    emulation_copy_of copy[EMULATION_BATCHES][EMULATION_COPIES];
};
static thread_local emulation_queue emulation_queues[256];

static inline void emulation_copy(unsigned address, const void *from, int bytes, int size)
{
    const bool given = address >= emulation_given && address < emulation_given + (1u << 18);
    char *to = given ? (char *)emulation_given_room() + (address - emulation_given)
                     : &emulation_local + (int)address;
    emulation_queue *q = &emulation_queues[threadIdx.x];
    const int open = (q->first + q->batches) % EMULATION_BATCHES;
    if (q->count[open] == EMULATION_COPIES || q->batches == EMULATION_BATCHES - 1 ||
        (uintptr_t)to % size != 0 || (bytes > 0 && (uintptr_t)from % size != 0)) {
        __builtin_trap();
    }
    q->copy[open][q->count[open]++] = {to, from, bytes, size};
}

static inline void emulation_commit(void)
{
    emulation_queues[threadIdx.x].batches++;
}

static inline void emulation_wait(int batches)
{
    emulation_queue *q = &emulation_queues[threadIdx.x];
    for (; q->batches > batches; q->batches--) {
        for (int i = 0; i < q->count[q->first]; i++) {
            const emulation_copy_of *c = &q->copy[q->first][i];
            memset(c->to, 0, (size_t)c->size);
            memcpy(c->to, c->from, (size_t)c->bytes);
            emulation_wrote(c->to);
        }
        q->count[q->first] = 0;
        q->first = (q->first + 1) % EMULATION_BATCHES;
    }
}

static thread_local const void *emulation_rows[2][1024];

// The rows that the 32 items name.
static inline const char *const *emulation_named_rows(const void *row)
{
    const unsigned item = threadIdx.x;
    const void *const *rows = emulation_rows[emulation_turn[item]];
    emulation_rows[emulation_turn[item]][item] = row;
    emulation_turn[item] ^= 1;
    emulation_barrier();
    return (const char *const *)(rows + (item & ~31u));
}

static inline void emulation_load_matrices(unsigned *to, const void *row)
{
    const unsigned lane = threadIdx.x & 31u;
    const char *const *rows = emulation_named_rows(row);
    for (unsigned matrix = 0; matrix < 4; matrix++) {
        memcpy(&to[matrix], rows[matrix * 8 + lane / 4] + lane % 4 * 4, 4);
    }
}

// The same of halves, rows and columns exchanged.
static inline void emulation_load_turned(unsigned *to, const void *row)
{
    const unsigned lane = threadIdx.x & 31u;
    const char *const *rows = emulation_named_rows(row);
    for (unsigned matrix = 0; matrix < 4; matrix++) {
        for (unsigned half = 0; half < 2; half++) {
            memcpy((char *)&to[matrix] + half * 2,
                   rows[matrix * 8 + lane % 4 * 2 + half] + lane / 4 * 2, 2);
        }
    }
}
