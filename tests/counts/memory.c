/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the bytes that loops in plain C read and write. They are compiled for the thread sanitizer,
 * which calls a function at each access of memory: these, instead of its own. */
#include "memory.h"

#include "counted.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

_Thread_local counted_range counted_ranges[COUNTED_RANGES];

/* Bytes of operands, scratch and packed constants alone: not those of plans and counters. */
static void count_access(const void *at, double bytes, bool written)
{
    const char *byte = at;
    for (int i = 0; i < COUNTED_RANGES; i++) {
        if (byte >= counted_ranges[i].from && byte < counted_ranges[i].to) {
            const counted_memory of = counted_ranges[i].of;
            count_operations(COUNTED_MOVED, of == COUNTED_OPERAND ? bytes : 0);
            count_operations(COUNTED_WEIGHTS, of == COUNTED_PACKED ? bytes : 0);
            count_operations(COUNTED_WRITTEN, written ? bytes : 0);
            return;
        }
    }
}

#define ACCESS(bytes)                                  \
    void __tsan_read##bytes(const void *at);           \
    void __tsan_write##bytes(void *at);                \
    void __tsan_unaligned_read##bytes(const void *at); \
    void __tsan_unaligned_write##bytes(void *at);      \
    void __tsan_read##bytes(const void *at)            \
    {                                                  \
        count_access(at, bytes, false);                \
    }                                                  \
    void __tsan_write##bytes(void *at)                 \
    {                                                  \
        count_access(at, bytes, true);                 \
    }                                                  \
    void __tsan_unaligned_read##bytes(const void *at)  \
    {                                                  \
        __tsan_read##bytes(at);                        \
    }                                                  \
    void __tsan_unaligned_write##bytes(void *at)       \
    {                                                  \
        __tsan_write##bytes(at);                       \
    }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_read_range(const void *at, uintptr_t bytes);
void __tsan_write_range(void *at, uintptr_t bytes);

void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void)
{
}

void __tsan_read_range(const void *at, uintptr_t bytes)
{
    count_access(at, (double)bytes, false);
}

void __tsan_write_range(void *at, uintptr_t bytes)
{
    count_access(at, (double)bytes, true);
}

void *counted_copy(void *to, const void *from, size_t bytes)
{
    count_access(from, (double)bytes, false);
    count_access(to, (double)bytes, true);
    count_operations(COUNTED_COPIES, 1);
    return memcpy(to, from, bytes);
}

void *counted_fill(void *to, int value, size_t bytes)
{
    count_access(to, (double)bytes, true);
    return memset(to, value, bytes);
}
