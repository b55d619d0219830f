/* SPDX-License-Identifier: Apache-2.0 */
/* Flushes by instructions that need no privilege: CLFLUSH is part of x86-64, and Linux lets
 * processes of 64-bit Arm use DC CIVAC. */
#include "base/cache_flush.h"

#include <stdint.h>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* Bytes of a cache line on x86 and most 64-bit Arm; longer lines are flushed twice. */
enum { LINE = 64 };

#if defined(__x86_64__)
static void flush_line(uintptr_t address)
{
    _mm_clflush((const void *)address);
}
static void wait_for_all(void)
{
    _mm_mfence();
}
#elif defined(__aarch64__)
static void flush_line(uintptr_t address)
{
    __asm__ volatile("dc civac, %0" : : "r"(address) : "memory");
}
static void wait_for_all(void)
{
    __asm__ volatile("dsb ish" : : : "memory");
}
#else
static void flush_line(uintptr_t address)
{
    (void)address;
}
static void wait_for_all(void)
{
}
#endif

bool ry_cache_can_flush(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

void ry_cache_flush(const void *memory, size_t bytes)
{
    const uintptr_t end = (uintptr_t)memory + bytes;
    for (uintptr_t at = (uintptr_t)memory / LINE * LINE; at < end; at += LINE) {
        flush_line(at);
    }
    wait_for_all();
}
