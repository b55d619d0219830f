/* SPDX-License-Identifier: Apache-2.0 */
/* What the texts of kernels/gpu are written in, as CUDA C++ 17 for NVRTC, without any header. The
 * same names mean the same in every device's dialect. */

#pragma nv_diag_suppress 177 /* a function or a number that this problem does not use */

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;

/* Vectors of eight-byte numbers as OpenCL has them: CUDA 13 renames its own by their alignment. */
struct __align__(32) long_vector {
    long x, y, z, w;
};
struct __align__(32) ulong_vector {
    ulong x, y, z, w;
};
struct __align__(32) double_vector {
    double x, y, z, w;
};
#define long4   long_vector
#define ulong4  ulong_vector
#define double4 double_vector

/* GROUP_OF_<name> is defined behind this text: the items of the groups that the entry runs in. The
 * bound tells how many registers an item may have. */
#define KERNEL(name) extern "C" __global__ void __launch_bounds__(GROUP_OF_##name) name
/* The same with registers for so many of its groups in a unit. */
#define KERNEL_RESIDENT(name, groups) \
    extern "C" __global__ void __launch_bounds__(GROUP_OF_##name, groups) name
#define FUNCTION     static __device__ __forceinline__
#define GLOBAL
#define LOCAL        __shared__ /* declares an array of a group; */
#define TO_LOCAL                /* a pointer to such an array */
#define CONSTANT     static __constant__ const
#define UNROLL       _Pragma("unroll")
#define UNROLL_SHORT _Pragma("unroll")
#define UNROLL_TERMS _Pragma("unroll")
#define KEEPS_ELEMENTS 1 /* what an item reads again is in registers */
#define ROLLED       _Pragma("unroll 1")

/* Tasks are blocks: of each the number, and of an item its number in it. FIRST_GROUP is PART_FIRST,
 * the first group of a part, which entries are told by a PART_ARGUMENT, where launches are split. */
#define FIRST_GROUP   0
#define PART_FIRST    ((int)first_group)
#define PART_ARGUMENT , ulong first_group
#define GROUP   ((int)blockIdx.x + FIRST_GROUP)
#define ITEM    ((int)threadIdx.x)
#define BARRIER __syncthreads()

/* Atomic access to a uint in GLOBAL memory; returns the old number. COMPARE_SWAP stores `value` if
 * that was `expected`. */
#define COMPARE_SWAP(p, expected, value) atomicCAS((uint *)(p), (expected), (value))
#define ATOMIC_SWAP(p, value)            atomicExch((uint *)(p), (value))
#define ATOMIC_LOAD(p)                   atomicOr((uint *)(p), 0u)

/* An argument is a pointer. */
#define ARGUMENT(name)  uchar *name##_base
#define AT(T, name)     ((T *)name##_base)
#define IN(T, i)        AT(const T, in##i)
#define OUT(T, i)       AT(T, out##i)
#define PACKED(T)       AT(T, packed)
#define WORKSPACE(T)    AT(T, workspace)
#define FAULT(T)        AT(T, fault)

#define INFINITY __int_as_float(0x7f800000)

/* An int as a long, which may be compared. */
#define WIDENED(i) ((int64_t)(i))

/* A product of floats or doubles that is rounded before anything is added to it. */
#define ROUNDED_PRODUCT(a, b) rounded_product((a), (b))

FUNCTION float rounded_product(float a, float b)
{
    return __fmul_rn(a, b);
}

FUNCTION double rounded_product(double a, double b)
{
    return __dmul_rn(a, b);
}

/* The words of kernels/common/elementary.cl. */
#define f32_bits(x)           __float_as_uint(x)
#define f32_of_bits(bits)     __uint_as_float(bits)
#define f32_abs(x)            fabs(x)
#define f32_copysign(x, sign) copysign((x), (sign))
#define f32_fma(a, b, c)      fma((a), (b), (c))
#define f32_sqrt(x)           sqrt(x)
#define F32_INFINITY          f32_of_bits(0x7f800000u)
#define F32_NAN               f32_of_bits(0x7fc00000u)

/* Elements of tensors, which f16 and bf16 store as ushort, from and to float; rounded to nearest,
 * ties to even. Those two are read and written in GLOBAL memory. */
#define TYPE_f32             float
#define TYPE_f16             ushort
#define TYPE_bf16            ushort
#define LOAD_f32(p, i)       ((p)[i])
#define LOAD_u8(p, i)        ((p)[i])
#define LOAD_i8(p, i)        ((p)[i])
#define LOAD_i32(p, i)       ((p)[i])
#define LOAD_f16(p, i)       float_of_f16(((const ushort *)(p))[i])
#define LOAD_bf16(p, i)      float_of_bf16(((const ushort *)(p))[i])
#define STORE_f32(p, i, v)   ((p)[i] = (v))
#define STORE_u8(p, i, v)    ((p)[i] = (uint8_t)(v))
#define STORE_i8(p, i, v)    ((p)[i] = (int8_t)(v))
#define STORE_i32(p, i, v)   ((p)[i] = (v))
#define STORE_f16(p, i, v)   (((ushort *)(p))[i] = f16_of(v))
#define STORE_bf16(p, i, v)  (((ushort *)(p))[i] = bf16_of(v))

FUNCTION float float_of_f16(ushort bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

FUNCTION ushort f16_of(float value)
{
    ushort bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

FUNCTION float float_of_bf16(ushort bits)
{
    return __uint_as_float((uint)bits << 16);
}

FUNCTION ushort bf16_of(float value)
{
    const uint bits = __float_as_uint(value);
    return (bits & 0x7fffffffu) > 0x7f800000u ? (ushort)(bits >> 16 | 0x40u)
                                              : (ushort)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Four floats .x .y .z .w, of the elements from i on, which need not be aligned to more than
 * themselves; of f16 and bf16 in GLOBAL memory. ALIGNED_ ones are one access: element i of GLOBAL
 * or LOCAL floats is at a multiple of 16 bytes. */
#define VECTOR4                     float4
#define MAKE_VECTOR4(a, b, c, d)    make_float4((a), (b), (c), (d))
#define LOAD4_f32(p, i)             load_f32s((p) + (i))
#define LOAD4_f16(p, i)             load_f16s((const ushort *)(p) + (i))
#define LOAD4_bf16(p, i)            load_bf16s((const ushort *)(p) + (i))
#define STORE4_f32(p, i, v)         store_f32s((v), (p) + (i))
#define STORE4_f16(p, i, v)         store_f16s((v), (ushort *)(p) + (i))
#define STORE4_bf16(p, i, v)        store_bf16s((v), (ushort *)(p) + (i))
#define VECTOR2                     float2
#define MAKE_VECTOR2(a, b)          make_float2((a), (b))
#define ALIGNED_LOAD4_GLOBAL(p, i)  (*(const float4 *)((p) + (i)))
#define ALIGNED_LOAD4_LOCAL(p, i)   (*(const float4 *)((p) + (i)))
#define ALIGNED_STORE4_GLOBAL(p, i, v) (*(float4 *)((p) + (i)) = (v))
#define ALIGNED_STORE4_LOCAL(p, i, v)  (*(float4 *)((p) + (i)) = (v))

#define FOUR_ELEMENTS(type, T)                                                  \
    FUNCTION float4 load_##type##s(const T *from)                               \
    {                                                                           \
        return make_float4(LOAD_##type(from, 0), LOAD_##type(from, 1),          \
                           LOAD_##type(from, 2), LOAD_##type(from, 3));         \
    }                                                                           \
    FUNCTION void store_##type##s(float4 v, T *to)                              \
    {                                                                           \
        STORE_##type(to, 0, v.x);                                               \
        STORE_##type(to, 1, v.y);                                               \
        STORE_##type(to, 2, v.z);                                               \
        STORE_##type(to, 3, v.w);                                               \
    }

FOUR_ELEMENTS(f32, float)
FOUR_ELEMENTS(f16, ushort)
FOUR_ELEMENTS(bf16, ushort)

/* May four elements at each multiple of four behind p be read as one vector? */
#define MAY_READ_FOUR(p, element) ((ulong)(p) % (4 * sizeof(element)) == 0)

/* Two or four elements of GLOBAL memory as one access, at a multiple of so many elements' bytes. */
#define ALIGNED_LOAD4_f32(p, i)      (*(const float4 *)((p) + (i)))
#define ALIGNED_LOAD2_f32(p, i)      (*(const float2 *)((p) + (i)))
#define ALIGNED_STORE4_f32(p, i, v)  (*(float4 *)((p) + (i)) = (v))
#define ALIGNED_STORE2_f32(p, i, v)  (*(float2 *)((p) + (i)) = (v))
#define ALIGNED_LOAD4_f16(p, i)      aligned_f16s((const ushort *)(p) + (i))
#define ALIGNED_LOAD2_f16(p, i)      f16_pair_of(((const uint *)((const ushort *)(p) + (i)))[0])
#define ALIGNED_STORE4_f16(p, i, v)  store_aligned_f16s((v), (ushort *)(p) + (i))
#define ALIGNED_STORE2_f16(p, i, v)  (*(uint *)((ushort *)(p) + (i)) = pair_of_f16s(v))
#define ALIGNED_LOAD4_bf16(p, i)     aligned_bf16s((const ushort *)(p) + (i))
#define ALIGNED_LOAD2_bf16(p, i)     bf16_pair_of(((const uint *)((const ushort *)(p) + (i)))[0])
#define ALIGNED_STORE4_bf16(p, i, v) store_aligned_bf16s((v), (ushort *)(p) + (i))
#define ALIGNED_STORE2_bf16(p, i, v) (*(uint *)((ushort *)(p) + (i)) = pair_of_bf16s(v))

#define ALIGNED_ELEMENTS(type)                                                              \
    FUNCTION float2 type##_pair_of(uint pair)                                               \
    {                                                                                       \
        return make_float2(float_of_##type((ushort)pair), float_of_##type((ushort)(pair >> 16))); \
    }                                                                                       \
    FUNCTION uint pair_of_##type##s(float2 v)                                               \
    {                                                                                       \
        return (uint)type##_of(v.x) | (uint)type##_of(v.y) << 16;                           \
    }                                                                                       \
    FUNCTION float4 aligned_##type##s(const ushort *from)                                   \
    {                                                                                       \
        const uint2 bits = *(const uint2 *)from;                                            \
        const float2 low = type##_pair_of(bits.x), high = type##_pair_of(bits.y);           \
        return make_float4(low.x, low.y, high.x, high.y);                                   \
    }                                                                                       \
    FUNCTION void store_aligned_##type##s(float4 v, ushort *to)                             \
    {                                                                                       \
        uint2 bits;                                                                         \
        bits.x = pair_of_##type##s(make_float2(v.x, v.y));                                  \
        bits.y = pair_of_##type##s(make_float2(v.z, v.w));                                  \
        *(uint2 *)to = bits;                                                                \
    }

ALIGNED_ELEMENTS(f16)
ALIGNED_ELEMENTS(bf16)

/* Matrix units: 32 work-items, all of them at once, add a product of 16 rows and 8 columns to sums.
 * Of those each has two neighbours in two rows, 8 below each other (`above`, `below`); of the left
 * matrix four words, of the right one two, of tf32 or of two f16 or bf16 (PTX: mma, fragments of
 * m16n8k8 and m16n8k16). Products are exact, sums cut to f32. For machines that have them. */
#define MULTIPLY_TILES(shape, type)                                                         \
    asm("mma.sync.aligned." shape ".row.col.f32." type "." type                             \
        ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"              \
        : "+f"(above[0]), "+f"(above[1]), "+f"(below[0]), "+f"(below[1])                    \
        : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]), "r"(right[1]));

#define MATRIX_UNIT(type, shape)                                                                  \
    FUNCTION void multiply_##type(float *above, float *below, const uint *left, const uint *right) \
    {                                                                                             \
        MULTIPLY_TILES(shape, #type)                                                              \
    }

MATRIX_UNIT(tf32, "m16n8k8")
MATRIX_UNIT(f16, "m16n8k16")
MATRIX_UNIT(bf16, "m16n8k16")

/* The same of 16 rows and 8 columns of whole numbers (m16n8k32): words of four bytes, signed (s8) or not
 * (u8). Sums are exact. */
#define BYTE_UNIT(a, b)                                                                           \
    FUNCTION void multiply_##a##_##b(int *above, int *below, const uint *left, const uint *right) \
    {                                                                                             \
        asm("mma.sync.aligned.m16n8k32.row.col.s32." #a "." #b                                    \
            ".s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                \
            : "+r"(above[0]), "+r"(above[1]), "+r"(below[0]), "+r"(below[1])                      \
            : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right[0]),              \
              "r"(right[1]));                                                                     \
    }

BYTE_UNIT(s8, s8)
BYTE_UNIT(s8, u8)
BYTE_UNIT(u8, s8)

/* Two floats rounded to bf16 in a word, to nearest, ties to even. */
FUNCTION uint bf16_pair(float low, float high)
{
    uint pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

/* Where something lies in LOCAL memory: instructions add constants to it. */
FUNCTION uint local_address(const void *place)
{
    uint address;
    asm("{.reg .u64 at; cvta.to.shared.u64 at, %1; cvt.u32.u64 %0, at;}" : "=r"(address) : "l"(place));
    return address;
}

/* Begins to copy 16 bytes from GLOBAL to LOCAL memory (an address), of which those past `bytes` become zero. An
 * item's copies up to COMMIT_COPIES are a batch. WAIT_COPIES(n): until at most n of its batches are
 * not done. Others see them behind a BARRIER. For machines with matrix units. */
FUNCTION void copy_async(uint to, const void *from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

/* The same of four bytes. */
FUNCTION void copy_word_async(uint to, const void *from, int bytes)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(bytes)
                 : "memory");
}

#define COMMIT_COPIES  { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define WAIT_COPIES(n) { asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory"); }

/* Four matrices of 8 rows of 4 words in LOCAL memory. Item i of 32 names row i % 8 of matrix i / 8,
 * and gets word i % 4 of row i / 4 of each. */
FUNCTION void load_matrices(uint *to, const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((uint)__cvta_generic_to_shared(row))
                 : "memory");
}

/* The same of matrices of 8 rows of 8 halves, turned: item i gets the halves 2 * (i % 4) and the next one of column i / 4. */
FUNCTION void load_turned_matrices(uint *to, const void *row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"((uint)__cvta_generic_to_shared(row))
                 : "memory");
}

/* Wide matrix units (wgmma): a warp group of 128 work-items, all of them at once, adds a product of 64
 * rows and up to 256 columns to sums: of each item a row of 4 sums for 8 columns, in two rows and two
 * neighbouring columns as above. The right matrix is in LOCAL memory, the left one there or in
 * registers, as fragments of mma. WIDE_UNITS defines multiply_wide for both. Products are done behind
 * WAIT_PRODUCTS, as copies are behind WAIT_COPIES: BEGIN_PRODUCTS stands before, END_PRODUCTS behind a
 * batch of them. SHOW_COPIES shows them what an item has copied or kept (it writes by another proxy),
 * once a BARRIER follows. For machines with wide units. */
#define SUMS_32 \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define SUMS_64 SUMS_32 ", " \
    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SUMS_128 SUMS_64 ", " \
    "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
    "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
    "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
    "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"

#define SUM_4(i)  "+f"(sum[i]), "+f"(sum[(i) + 1]), "+f"(sum[(i) + 2]), "+f"(sum[(i) + 3])
#define SUM_16(i) SUM_4(i), SUM_4((i) + 4), SUM_4((i) + 8), SUM_4((i) + 12)
#define SUM_32(i) SUM_16(i), SUM_16((i) + 16)
#define WIDE_64   SUM_32(0)
#define WIDE_128  SUM_32(0), SUM_32(32)
#define WIDE_256  SUM_32(0), SUM_32(32), SUM_32(64), SUM_32(96)

#define WIDE_NAMES_64        SUMS_32
#define WIDE_NAMES_128       SUMS_64
#define WIDE_NAMES_256       SUMS_128
#define WIDE_OPERANDS_64     "}, %32, %33, "
#define WIDE_OPERANDS_128    "}, %64, %65, "
#define WIDE_OPERANDS_256    "}, %128, %129, "
#define WIDE_REGISTERS_64    "}, {%32, %33, %34, %35}, %36, "
#define WIDE_REGISTERS_128   "}, {%64, %65, %66, %67}, %68, "
#define WIDE_REGISTERS_256   "}, {%128, %129, %130, %131}, %132, "
/* added to sums, as they are; matrices are not transposed */
#define WIDE_LAST_tf32       "p, 1, 1;}"
#define WIDE_LAST_f16        "p, 1, 1, 0, 0;}"
#define WIDE_LAST_bf16       "p, 1, 1, 0, 0;}"
#define WIDE_LAST_REGISTERS_tf32 "p, 1, 1;}"
#define WIDE_LAST_REGISTERS_f16  "p, 1, 1, 0;}"
#define WIDE_LAST_REGISTERS_bf16 "p, 1, 1, 0;}"
#define WIDE_TERMS_tf32      "k8"
#define WIDE_TERMS_f16       "k16"
#define WIDE_TERMS_bf16      "k16"

/* the number is a macro's */
#define WIDE_PRODUCTS_OF(type, columns) WIDE_UNITS(type, columns)

#define WIDE_UNITS(type, columns)                                                             \
    FUNCTION void multiply_wide(float *sum, ulong left, ulong right)                          \
    {                                                                                         \
        asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; "                                 \
                     "wgmma.mma_async.sync.aligned.m64n" #columns WIDE_TERMS_##type           \
                     ".f32." #type "." #type " {" WIDE_NAMES_##columns WIDE_OPERANDS_##columns \
                         WIDE_LAST_##type                                                     \
                     : WIDE_##columns                                                         \
                     : "l"(left), "l"(right));                                                \
    }                                                                                         \
    FUNCTION void multiply_wide(float *sum, const uint *left, ulong right)                    \
    {                                                                                         \
        asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; "                                 \
                     "wgmma.mma_async.sync.aligned.m64n" #columns WIDE_TERMS_##type           \
                     ".f32." #type "." #type " {" WIDE_NAMES_##columns WIDE_REGISTERS_##columns \
                         WIDE_LAST_REGISTERS_##type                                           \
                     : WIDE_##columns                                                         \
                     : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "l"(right));   \
    }

/* The same of bytes, signed (s8) or not (u8), with exact sums of whole numbers, from LOCAL memory. */
#define WHOLE_4(i)  "+r"(sum[i]), "+r"(sum[(i) + 1]), "+r"(sum[(i) + 2]), "+r"(sum[(i) + 3])
#define WHOLE_16(i) WHOLE_4(i), WHOLE_4((i) + 4), WHOLE_4((i) + 8), WHOLE_4((i) + 12)
#define WHOLE_32(i) WHOLE_16(i), WHOLE_16((i) + 16)
#define WHOLE_WIDE_64   WHOLE_32(0)
#define WHOLE_WIDE_128  WHOLE_32(0), WHOLE_32(32)
#define WHOLE_WIDE_256  WHOLE_32(0), WHOLE_32(32), WHOLE_32(64), WHOLE_32(96)

#define WIDE_BYTES_OF(a, b, columns) WIDE_BYTE_UNITS(a, b, columns)

#define WIDE_BYTE_UNITS(a, b, columns)                                                            \
    FUNCTION void multiply_wide(int *sum, ulong left, ulong right)                                \
    {                                                                                             \
        asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; "                                     \
                     "wgmma.mma_async.sync.aligned.m64n" #columns "k32.s32." #a "." #b            \
                     " {" WIDE_NAMES_##columns WIDE_OPERANDS_##columns "p;}"                      \
                     : WHOLE_WIDE_##columns                                                       \
                     : "l"(left), "l"(right));                                                    \
    }

#define BEGIN_PRODUCTS   { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
#define END_PRODUCTS     { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
#define WAIT_PRODUCTS(n) { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory"); }
#define SHOW_COPIES      { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/* A sum of products that are done: the compiler reads it no sooner. */
FUNCTION void take_product(float *sum)
{
    asm volatile("" : "+f"(*sum)::"memory");
}

FUNCTION void take_product(int *sum)
{
    asm volatile("" : "+r"(*sum)::"memory");
}

/* LOCAL memory that the launch gives (GIVEN_OF_<entry>), at a multiple of 1024 bytes. */
FUNCTION uchar *given_room(void)
{
    extern __shared__ __align__(1024) uchar given_local[];
    return (given_local);
}

/* A copy of whole chunks of 16 bytes, all at multiples of 16, that one item begins (bulk copy, of compute
 * capability 9.0). Places are addresses of LOCAL memory. Its bytes arrive at a barrier of 8 bytes, at a
 * multiple of 8, which is begun once, by an item that calls SHOW_COPIES then, and told before each copy how many bytes it
 * will see. All items that read the copy wait at the barrier: in turn 0 for the first copy there, in
 * turn 1 for the second, and so on. Wide units see the copy without SHOW_COPIES. */
FUNCTION void begin_barrier(uint barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

FUNCTION void expect_bytes(uint barrier, uint bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

FUNCTION void copy_bulk(uint to, const void *from, uint bytes, uint barrier)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
                     "r"(to), "l"(from), "r"(bytes), "r"(barrier)
                 : "memory");
}

FUNCTION void wait_for_bytes(uint barrier, uint turn)
{
    asm volatile("{.reg .pred there; again: mbarrier.try_wait.parity.shared::cta.b64 there, [%0], %1; "
                 "@there bra done; bra again; done: }" ::"r"(barrier), "r"(turn)
                 : "memory");
}

/* Stores 16 bytes in LOCAL memory. */
FUNCTION void keep_chunk(void *to, const uint *words)
{
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(
                     (uint)__cvta_generic_to_shared(to)),
                 "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3])
                 : "memory");
}

/* Rows of 128 bytes in LOCAL memory, as a matrix of wide units: the chunks of 16 bytes of row r are
 * exchanged, chunk c with c ^ r % 8. A step of 32 bytes along the rows adds 2 (PTX ISA, "Matrix
 * Descriptor Format": address, offset of 8 rows, exchange by 128 bytes). */
#define WIDE_STEP 2

FUNCTION ulong wide_rows(const void *rows)
{
    const uint at = (uint)__cvta_generic_to_shared(rows);
    return (ulong)(at >> 4 & 0x3fffu) | (ulong)1 << 16 | (ulong)(1024 >> 4) << 32 | (ulong)1 << 62;
}

/* Adds the products of four signed bytes to a sum. */
#define DOT_QUADS(a, b, sum) dot_quads((a), (b), (sum))

FUNCTION int dot_quads(uint a, uint b, int sum)
{
#if __CUDA_ARCH__ >= 610
    return __dp4a((int)a, (int)b, sum);
#else
    for (int shift = 0; shift < 32; shift += 8) {
        sum += (int8_t)(a >> shift) * (int8_t)(b >> shift);
    }
    return sum;
#endif
}

/* A float rounded to tf32's 11 significant bits, to nearest, ties away from zero. */
FUNCTION uint tf32_of(float value)
{
    uint bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}
