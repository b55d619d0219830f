/* SPDX-License-Identifier: Apache-2.0 */
/* What the texts of kernels/gpu are written in, as OpenCL C 1.2. The same names mean the same in
 * every device's dialect. */

typedef char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;

/* GROUP_OF_<name> is defined behind this text: the items of the groups that the entry runs in. */
#define KERNEL(name) __kernel __attribute__((reqd_work_group_size(GROUP_OF_##name, 1, 1))) void name
/* The same with registers for so many of its groups in a unit, where a compiler is told. */
#define KERNEL_RESIDENT(name, groups) KERNEL(name)
/* The same in sub-groups of so many neighbouring items, as Intel's compilers make them (cl_intel_subgroups,
 * cl_intel_required_subgroup_size): FROM_LANE is item number `lane`'s value, READ_LANES8 reads eight rows of
 * neighbouring words, of which each item is given its own. */
#define KERNEL_OF_SUBGROUPS(name, items)                                          \
    __kernel __attribute__((reqd_work_group_size(GROUP_OF_##name, 1, 1)))         \
    __attribute__((intel_reqd_sub_group_size(items))) void name
#define FROM_LANE(v, lane) intel_sub_group_shuffle((v), (uint)(lane))
#define READ_LANES8(to, p)                                                            \
    {                                                                                 \
        const uint8 rows = intel_sub_group_block_read8((GLOBAL const uint *)(p));     \
        (to)[0] = rows.s0, (to)[1] = rows.s1, (to)[2] = rows.s2, (to)[3] = rows.s3;   \
        (to)[4] = rows.s4, (to)[5] = rows.s5, (to)[6] = rows.s6, (to)[7] = rows.s7;   \
    }
#define FUNCTION     static inline
#define GLOBAL       __global
#define LOCAL        __local /* declares an array of a group; */
#define TO_LOCAL     __local /* a pointer to such an array */
#define CONSTANT     __constant
/* PoCL takes seconds for loops that a GPU needs unrolled (Intel's driver for processors names no processor). */
#if defined(__x86_64__) || defined(__aarch64__)
#define UNROLL
#define KEEPS_ELEMENTS 0 /* what an item reads again is in registers; a processor's caches keep it */
#else
#define UNROLL _Pragma("unroll")
#define KEEPS_ELEMENTS 1
#endif
/* Terms of a tile: AMD's compiler would read all of them ahead. */
#if defined(__AMDGCN__)
#define UNROLL_TERMS _Pragma("unroll 2")
#else
#define UNROLL_TERMS UNROLL
#endif
/* Short loops over an item's own few numbers: everywhere. */
#define UNROLL_SHORT _Pragma("unroll")

/* Tasks are work-groups: of each the number, and of an item its number in it. FIRST_GROUP is
 * PART_FIRST, the first group of a part, and entries have a PART_ARGUMENT, where launches are split:
 * here a part begins at a global offset, which groups' numbers do not contain. */
#define FIRST_GROUP 0
#define PART_FIRST  (get_global_offset(0) / get_local_size(0))
#define PART_ARGUMENT
#define GROUP   ((int)(get_group_id(0) + FIRST_GROUP))
#define ITEM    ((int)get_local_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)

/* Atomic access to a uint in GLOBAL memory; returns the old number. COMPARE_SWAP stores `value` if
 * that was `expected`. */
#define COMPARE_SWAP(p, expected, value) atomic_cmpxchg((p), (expected), (value))
#define ATOMIC_SWAP(p, value)            atomic_xchg((p), (value))
#define ATOMIC_LOAD(p)                   atomic_or((p), 0u)

/* An argument is a buffer and an offset in bytes. */
#define ARGUMENT(name)  GLOBAL uchar *name##_base, ulong name##_at
#define AT(T, name)     ((GLOBAL T *)(name##_base + name##_at))
#define IN(T, i)        AT(const T, in##i)
#define OUT(T, i)       AT(T, out##i)
#define PACKED(T)       AT(T, packed)
#define WORKSPACE(T)    AT(T, workspace)
#define FAULT(T)        AT(T, fault)
/* Arguments by bytes from where their buffers begin, which 32 bits count unless buffers are larger than 4 GB:
 * Intel's compilers know from unsigned offsets that they need no other address. */
#ifdef LARGE_BUFFERS
#define OFFSET ulong
#else
#define OFFSET uint
#endif
#define OFFSET_OF(name)        AT_OF(name)
#define AT_OF(name)            ((OFFSET)name##_at)
#define NEAR(T, name, at)      NEAR_OF(T, name, at)
#define NEAR_OF(T, name, at)   ((GLOBAL const T *)(name##_base + (OFFSET)(at)))

/* An int as a long, which may be compared: Mesa's rusticl 22.3 computes (long)i < 0 as false. */
#define WIDENED(i) as_long((int2)((i), (i) >> 31))

/* A product of floats or doubles that is rounded before anything is added to it. */
#define ROUNDED_PRODUCT(a, b) ((a) * (b))

/* The words of kernels/common/elementary.cl. */
#define f32_bits(x)           as_uint((float)(x))
#define f32_of_bits(bits)     as_float((uint)(bits))
#define f32_abs(x)            fabs(x)
#define f32_copysign(x, sign) copysign((x), (sign))
#define f32_fma(a, b, c)      fma((a), (b), (c))
#define f32_sqrt(x)           sqrt(x)
#define F32_INFINITY          f32_of_bits(0x7f800000u)
#define F32_NAN               f32_of_bits(0x7fc00000u)

/* Elements of tensors, which f16 and bf16 store as ushort (of f16 `half` is as good), from and to
 * float; rounded to nearest, ties to even. Those two are read and written in GLOBAL memory. */
#define TYPE_f32             float
#define TYPE_f16             ushort
#define TYPE_bf16            ushort
#define LOAD_f32(p, i)       ((p)[i])
#define LOAD_u8(p, i)        ((p)[i])
#define LOAD_i8(p, i)        ((p)[i])
#define LOAD_i32(p, i)       ((p)[i])
#define LOAD_f16(p, i)       vload_half(0, (GLOBAL const half *)(p) + (i))
#define LOAD_bf16(p, i)      as_float((uint)((GLOBAL const ushort *)(p))[i] << 16)
#define STORE_f32(p, i, v)   ((p)[i] = (v))
#define STORE_u8(p, i, v)    ((p)[i] = (uint8_t)(v))
#define STORE_i8(p, i, v)    ((p)[i] = (int8_t)(v))
#define STORE_i32(p, i, v)   ((p)[i] = (v))
#define STORE_f16(p, i, v)   vstore_half_rte((v), 0, (GLOBAL half *)(p) + (i))
#define STORE_bf16(p, i, v)  (((GLOBAL ushort *)(p))[i] = bf16_of(v))

FUNCTION float float_of_f16(ushort bits)
{
    return vload_half(0, (const half *)&bits);
}

FUNCTION float float_of_bf16(ushort bits)
{
    return as_float((uint)bits << 16);
}

FUNCTION ushort bf16_of(float value)
{
    const uint bits = as_uint(value);
    return (bits & 0x7fffffffu) > 0x7f800000u ? (ushort)(bits >> 16 | 0x40u)
                                              : (ushort)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Four floats .x .y .z .w, of the elements from i on, which need not be aligned to more than
 * themselves; of f16 and bf16 in GLOBAL memory. ALIGNED_ ones are one access: element i of GLOBAL
 * or LOCAL floats is at a multiple of 16 bytes. */
#define VECTOR4                     float4
#define MAKE_VECTOR4(a, b, c, d)    ((float4)((a), (b), (c), (d)))
#define LOAD4_f32(p, i)             vload4(0, (p) + (i))
#define LOAD4_f16(p, i)             vload_half4(0, (GLOBAL const half *)(p) + (i))
#define LOAD4_bf16(p, i)            floats_of(vload4(0, (GLOBAL const ushort *)(p) + (i)))
#define STORE4_f32(p, i, v)         vstore4((v), 0, (p) + (i))
#define STORE4_f16(p, i, v)         vstore_half4_rte((v), 0, (GLOBAL half *)(p) + (i))
#define STORE4_bf16(p, i, v)        store_bf16s((v), (GLOBAL ushort *)(p) + (i))
#define VECTOR2                     float2
#define MAKE_VECTOR2(a, b)          ((float2)((a), (b)))
#define ALIGNED_LOAD4_GLOBAL(p, i)  (*(GLOBAL const float4 *)((p) + (i)))
#define ALIGNED_LOAD4_LOCAL(p, i)   (*(TO_LOCAL const float4 *)((p) + (i)))
#define ALIGNED_STORE4_GLOBAL(p, i, v) (*(GLOBAL float4 *)((p) + (i)) = (v))
#define ALIGNED_STORE4_LOCAL(p, i, v)  (*(TO_LOCAL float4 *)((p) + (i)) = (v))

/* May four elements at each multiple of four behind p be read as one vector? */
#define MAY_READ_FOUR(p, element) ((ulong)(p) % (4 * sizeof(element)) == 0)

/* Two or four elements of GLOBAL memory as one access, at a multiple of so many elements' bytes. */
#define ALIGNED_LOAD4_f32(p, i)      (*(GLOBAL const float4 *)((p) + (i)))
#define ALIGNED_LOAD2_f32(p, i)      (*(GLOBAL const float2 *)((p) + (i)))
#define ALIGNED_STORE4_f32(p, i, v)  (*(GLOBAL float4 *)((p) + (i)) = (v))
#define ALIGNED_STORE2_f32(p, i, v)  (*(GLOBAL float2 *)((p) + (i)) = (v))
#define ALIGNED_LOAD4_f16(p, i)      vloada_half4(0, (GLOBAL const half *)(p) + (i))
#define ALIGNED_LOAD2_f16(p, i)      vloada_half2(0, (GLOBAL const half *)(p) + (i))
#define ALIGNED_STORE4_f16(p, i, v)  vstorea_half4_rte((v), 0, (GLOBAL half *)(p) + (i))
#define ALIGNED_STORE2_f16(p, i, v)  vstorea_half2_rte((v), 0, (GLOBAL half *)(p) + (i))
#define ALIGNED_LOAD4_bf16(p, i)     floats_of(*(GLOBAL const ushort4 *)((p) + (i)))
#define ALIGNED_LOAD2_bf16(p, i)     pair_of_floats(*(GLOBAL const uint *)((p) + (i)))
#define ALIGNED_STORE4_bf16(p, i, v) (*(GLOBAL ushort4 *)((p) + (i)) = bf16s_of(v))
#define ALIGNED_STORE2_bf16(p, i, v) \
    (*(GLOBAL ushort2 *)((p) + (i)) = (ushort2)(bf16_of((v).x), bf16_of((v).y)))

/* Sixteen floats of GLOBAL or LOCAL memory, for work-items that have a core of their own. */
#define VECTOR16          float16
#define LOAD16(p, i)      vload16(0, (p) + (i))
#define STORE16(p, i, v)  vstore16((v), 0, (p) + (i))
#define INTS_OF(v)        convert_int16(v)
#define FLOATS_OF(v)      convert_float16(v)

/* Adds the products of four signed bytes to a sum. */
#if defined(cl_khr_integer_dot_product) && !defined(NO_DOT_PRODUCTS)
#define DOT_QUADS(a, b, sum) ((sum) + dot_4x8packed_ss_int((a), (b)))
#else
#define DOT_QUADS(a, b, sum) dot_quads((a), (b), (sum))

FUNCTION int dot_quads(uint a, uint b, int sum)
{
    const char4 p = as_char4(a), q = as_char4(b);
    return sum + p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
}
#endif

FUNCTION float4 floats_of(ushort4 bits)
{
    return as_float4(convert_uint4(bits) << 16);
}

FUNCTION float2 pair_of_floats(uint bits)
{
    return (float2)(as_float(bits << 16), as_float(bits & 0xffff0000u));
}

FUNCTION ushort4 bf16s_of(float4 v)
{
    return (ushort4)(bf16_of(v.x), bf16_of(v.y), bf16_of(v.z), bf16_of(v.w));
}

FUNCTION void store_bf16s(float4 v, GLOBAL ushort *to)
{
    vstore4(bf16s_of(v), 0, to);
}
