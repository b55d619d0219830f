/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* madvise */
#include "base/fork_mark.h"

#include <stddef.h>
#include <sys/mman.h>

/* The system gives whole pages, and takes any size for one. */
enum { PAGE = 4096 };

atomic_int *ry_fork_mark_create(void)
{
#ifdef MADV_WIPEONFORK
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return NULL;
    }
    if (madvise(page, PAGE, MADV_WIPEONFORK) != 0) {
        munmap(page, PAGE);
        return NULL;
    }
    atomic_int *mark = page;
    atomic_init(mark, 1);
    return mark;
#else
    return NULL;
#endif
}

void ry_fork_mark_destroy(atomic_int *mark)
{
    if (mark) {
        munmap(mark, PAGE);
    }
}
