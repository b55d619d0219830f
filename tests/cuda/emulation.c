/* SPDX-License-Identifier: Apache-2.0 */
/* Items are contexts with a stack of their own where a program has barriers; else they are calls.
 */
#define _GNU_SOURCE
#include "emulation.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { ARGUMENTS = 40, STACK = 128 << 10 };

#define FOUR(a)   void *a##0, void *a##1, void *a##2, void *a##3
#define VALUES(i) a[(i)], a[(i) + 1], a[(i) + 2], a[(i) + 3]
/* Pointers that an entry does not have are passed in vain. */
typedef void entry_of(FOUR(a), FOUR(b), FOUR(c), FOUR(d), FOUR(e), FOUR(f), FOUR(g), FOUR(h),
                      FOUR(i), FOUR(j));

static void call(void *entry, void *const *a)
{
    entry_of *function;
    memcpy(&function, &entry, sizeof function);
    function(VALUES(0), VALUES(4), VALUES(8), VALUES(12), VALUES(16), VALUES(20), VALUES(24),
             VALUES(28), VALUES(32), VALUES(36));
}

/* What the compiled library has (fake_nvrtc.c). */
typedef struct program {
    void (*set)(unsigned block, unsigned item);
    void (**barrier)(void);
    const int *has_barriers;
    void (*begin)(unsigned given);
    void (*end)(void);
} program;

typedef struct item {
    ucontext_t context;
    bool done;
} item;

static _Thread_local struct {
    ucontext_t scheduler;
    item *items;
    unsigned current;
    void *entry;
    void *const *arguments;
} run;

static void yield(void)
{
    swapcontext(&run.items[run.current].context, &run.scheduler);
}

static void item_main(void)
{
    call(run.entry, run.arguments);
    run.items[run.current].done = true;
    swapcontext(&run.items[run.current].context, &run.scheduler);
}

static void run_group(const program *p, char *stacks, unsigned block, unsigned group)
{
    for (unsigned i = 0; i < group; i++) {
        item *it = &run.items[i];
        getcontext(&it->context);
        it->context.uc_stack.ss_sp = stacks + (size_t)i * STACK;
        it->context.uc_stack.ss_size = STACK;
        it->context.uc_link = NULL;
        it->done = false;
        makecontext(&it->context, item_main, 0);
    }
    for (unsigned left = group; left > 0;) {
        left = 0;
        for (unsigned i = 0; i < group; i++) {
            if (!run.items[i].done) {
                run.current = i;
                p->set(block, i);
                swapcontext(&run.scheduler, &run.items[i].context);
                left += !run.items[i].done;
            }
        }
    }
}

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "fake CUDA: a program has no %s\n", name);
        abort();
    }
    return found;
}

void emulation_run(void *library, void *entry, void *const *arguments, unsigned groups,
                   unsigned group, unsigned given)
{
    program p = {.barrier = symbol(library, "emulation_barrier"),
                 .has_barriers = symbol(library, "emulation_has_barriers")};
    void *set = symbol(library, "emulation_set"), *begin = symbol(library, "emulation_begin"),
         *end = symbol(library, "emulation_end");
    memcpy(&p.set, &set, sizeof p.set);
    memcpy(&p.begin, &begin, sizeof p.begin);
    memcpy(&p.end, &end, sizeof p.end);
    *p.barrier = yield;
    if (given) {
        p.begin(given);
    }
    run.entry = entry;
    run.arguments = arguments;
    char *stacks = NULL;
    if (*p.has_barriers) {
        stacks = malloc((size_t)group * STACK);
        run.items = calloc(group, sizeof *run.items);
    }
    for (unsigned block = 0; block < groups; block++) {
        if (stacks) {
            run_group(&p, stacks, block, group);
            continue;
        }
        for (unsigned i = 0; i < group; i++) {
            p.set(block, i);
            call(entry, arguments);
        }
    }
    p.end();
    free(run.items);
    run.items = NULL;
    free(stacks);
}
