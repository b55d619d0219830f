/* SPDX-License-Identifier: Apache-2.0 */
/* Memory hooks with a budget. */
#include "budget.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 64 }; /* before each block: its size, and the alignment of what follows */

static const size_t BUDGET = (size_t)256 << 20;
static atomic_size_t taken;

size_t budget_taken(void)
{
    return atomic_load(&taken);
}

/* No more than asked for, so that AddressSanitizer sees every byte behind the end. */
static void *take(void *user, size_t size, size_t alignment)
{
    (void)user;
    (void)alignment; /* at most HEADER */
    void *memory = NULL;
    if (size > BUDGET) {
        return NULL;
    }
    if (atomic_fetch_add(&taken, size) + size > BUDGET ||
        posix_memalign(&memory, HEADER, HEADER + size) != 0) {
        atomic_fetch_sub(&taken, size);
        return NULL;
    }
    memcpy(memory, &size, sizeof size);
    return (char *)memory + HEADER;
}

static void give_back(void *user, void *memory)
{
    (void)user;
    if (memory) {
        size_t size;
        char *begin = (char *)memory - HEADER;
        memcpy(&size, begin, sizeof size);
        atomic_fetch_sub(&taken, size);
        free(begin);
    }
}

const rynd_allocator budget_allocator = {take, give_back, NULL};
