/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of OpenCL C that tiled kernels call, for clang without AMD's library (bench/amd_code). */
#define get_group_id(dim)      __builtin_amdgcn_workgroup_id_x()
#define get_local_id(dim)      __builtin_amdgcn_workitem_id_x()
#define get_global_offset(dim) 0u
#define get_local_size(dim)    1u
#define BUILT_IN               __attribute__((overloadable, always_inline, const))

static inline __attribute__((overloadable, always_inline)) void barrier(cl_mem_fence_flags flags)
{
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

BUILT_IN int max(int a, int b)
{
    return a > b ? a : b;
}

BUILT_IN int min(int a, int b)
{
    return a < b ? a : b;
}

BUILT_IN float fmax(float a, float b)
{
    return __builtin_fmaxf(a, b);
}

BUILT_IN float fmin(float a, float b)
{
    return __builtin_fminf(a, b);
}

BUILT_IN float rint(float a)
{
    return __builtin_rintf(a);
}

static inline __attribute__((overloadable, always_inline)) float
vload_half(size_t at, const __global half *from)
{
    return __builtin_load_halff(from + at);
}

static inline __attribute__((overloadable, always_inline)) float vload_half(size_t at,
                                                                            const half *from)
{
    return __builtin_load_halff(from + at);
}

static inline __attribute__((overloadable, always_inline)) void
vstore_half_rte(float value, size_t at, __global half *to)
{
    __builtin_store_halff(value, to + at);
}

/* Two and four halves at once. */
#define BUILT_IN_HALVES(n)                                                                   \
    static inline __attribute__((overloadable, always_inline)) float##n vloada_half##n(      \
        size_t at, const __global half *from)                                                \
    {                                                                                        \
        typedef _Float16 halves __attribute__((ext_vector_type(n)));                         \
        return __builtin_convertvector(*(const __global halves *)(from + at * n), float##n); \
    }                                                                                        \
    static inline __attribute__((overloadable, always_inline)) void vstorea_half##n##_rte(   \
        float##n values, size_t at, __global half *to)                                       \
    {                                                                                        \
        typedef _Float16 halves __attribute__((ext_vector_type(n)));                         \
        *(__global halves *)(to + at * n) = __builtin_convertvector(values, halves);         \
    }

BUILT_IN_HALVES(2)
BUILT_IN_HALVES(4)
