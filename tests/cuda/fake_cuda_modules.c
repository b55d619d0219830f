/* SPDX-License-Identifier: Apache-2.0 */
/* The stand-in's modules, functions and launches. */
#define _GNU_SOURCE
#include "fake_cuda_inside.h"

#include "emulation.h"

#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The whole file, by its headers. */
static size_t size_of_elf(const Elf64_Ehdr *elf)
{
    return elf->e_shoff + (size_t)elf->e_shnum * elf->e_shentsize;
}

/* Under a name of its own: a name that is loaded is not loaded again. */
static void *open_image(const void *image, size_t size)
{
    char path[] = "/tmp/fake_cuda_XXXXXX";
    const int file = mkstemp(path);
    const bool written = file >= 0 && write(file, image, size) == (ssize_t)size;
    void *library = written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    return library;
}

EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options,
                              void **values)
{
    enum { CUDA_MACHINE = 190 };
    BEGIN_IN_CONTEXT("cuModuleLoadDataEx");
    atomic_fetch_add(&fake_cuda.misused, count != 2 || options[0] != 5 || options[1] != 6);
    object made = {.kind = 'm'};
    if (memcmp(image, ELFMAG, SELFMAG) == 0) {
        const Elf64_Ehdr *elf = image;
        made.image_size = size_of_elf(elf);
        if (elf->e_machine != CUDA_MACHINE) {
            made.library = open_image(image, made.image_size);
            if (!made.library) {
                snprintf(values[0], (size_t)(uintptr_t)values[1], "%s", dlerror());
                return INVALID_IMAGE;
            }
        }
    } else if (strstr(image, ".version") == NULL) {
        snprintf(values[0], (size_t)(uintptr_t)values[1], "neither ELF nor PTX");
        return INVALID_IMAGE;
    } else {
        made.image_size = strlen(image);
    }
    made.image = malloc(made.image_size);
    memcpy(made.image, image, made.image_size);
    object *o = fake_make('m', &fake_cuda.modules);
    *o = made;
    *module = o;
    return OK;
}

EXPORT int cuModuleUnload(void *module)
{
    object *m = module;
    if (!fake_is(m, 'm')) {
        return INVALID_HANDLE;
    }
    while (m->module) { /* its functions */
        object *function = m->module;
        m->module = function->module;
        free(function);
    }
    free(m->image);
    if (m->library) {
        dlclose(m->library);
    }
    return fake_drop(m, 'm', &fake_cuda.modules);
}

EXPORT int cuModuleGetFunction(void **function, void *module, const char *name)
{
    object *m = module;
    BEGIN_IN_CONTEXT("cuModuleGetFunction");
    if (!fake_is(m, 'm')) {
        return INVALID_HANDLE;
    }
    void *entry = m->library ? dlsym(m->library, name) : NULL;
    char word[128];
    snprintf(word, sizeof word, ".text.%s", name); /* the section of NVRTC's code */
    if (m->library ? !entry
                   : !memmem(m->image, m->image_size, word, strlen(word)) &&
                         !memmem(m->image, m->image_size, name, strlen(name))) {
        return NOT_FOUND;
    }
    object *f = calloc(1, sizeof *f);
    *f = (object){.kind = 'f', .library = m->library, .entry = entry, .module = m->module};
    m->module = f;
    *function = f;
    return OK;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, void *function)
{
    BEGIN_IN_CONTEXT("cuFuncGetAttribute");
    if (!fake_is(function, 'f')) {
        return INVALID_HANDLE;
    }
    const int items = fake_cuda.function_items ? fake_cuda.function_items : 1024;
    *value = attribute == 0 ? items : 0;
    return OK;
}

EXPORT int cuFuncSetAttribute(void *function, int attribute, int value)
{
    enum { MOST_GIVEN = 8, ROOM = 232448 };
    BEGIN_IN_CONTEXT("cuFuncSetAttribute");
    if (!fake_is(function, 'f')) {
        return INVALID_HANDLE;
    }
    if (attribute != MOST_GIVEN || value < 0 || value > ROOM) {
        return INVALID_VALUE;
    }
    ((object *)function)->bytes = (size_t)value;
    return OK;
}

void fake_run_node(const node *launch)
{
    void *values[64];
    memcpy(values, launch->values, sizeof values);
    atomic_fetch_add(&fake_cuda.launches, 1);
    if (launch->function->entry) {
        emulation_run(launch->function->library, launch->function->entry, values, launch->grid,
                      launch->block, launch->given);
    }
}

/* Local memory beyond 48 KiB is admitted by cuFuncSetAttribute. */
static size_t max_given(const object *function)
{
    const size_t always = 48 << 10;
    return function->bytes > always ? function->bytes : always;
}

EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, void *stream, void **arguments, void **extra)
{
    fake_cuda_state *f = &fake_cuda;
    BEGIN_IN_CONTEXT("cuLaunchKernel");
    if (!fake_is(function, 'f') || !fake_is(stream, 's')) {
        return INVALID_HANDLE;
    }
    if (grid_x == 0 || grid_x > 0x7fffffffu || grid_y != 1 || grid_z != 1 || block_x == 0 ||
        block_x > 1024 || block_y != 1 || block_z != 1 || arguments ||
        shared_bytes > max_given(function)) {
        return INVALID_VALUE;
    }
    size_t size = 0;
    void *block = NULL;
    for (; *extra != (void *)0; extra += 2) {
        if (*extra == (void *)1) {
            block = extra[1];
        } else {
            size = *(size_t *)extra[1];
        }
    }
    void *values[64] = {0};
    if (size > sizeof values || size % sizeof *values) {
        return INVALID_VALUE;
    }
    memcpy(values, block, size);
    f->groups = grid_x;
    f->group = block_x;
    f->argument_bytes = size;
    memcpy(f->arguments, values, sizeof values);
    node launch = {.function = function, .grid = grid_x, .block = block_x, .given = shared_bytes};
    memcpy(launch.values, values, sizeof values);
    object *s = stream;
    if (s->capturing) {
        node *kept = malloc(sizeof *kept);
        *kept = launch;
        *s->last = kept;
        s->last = &kept->next;
    } else {
        fake_run_node(&launch);
    }
    return OK;
}
