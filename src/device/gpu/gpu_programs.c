/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: compiled once for a source, in this process and, where files of them are kept, in all.
 *
 * The list has every program that somebody uses. One that is being built is in it, too: who wants
 * the same waits for it, and builds it himself if that failed. */
#include "device/gpu/gpu_device.h"

#include <stdio.h>
#include <string.h>

typedef struct ry_gpu_programs ry_gpu_programs;

static void make_text(const ry_gpu_programs *programs, const ry_gpu_source *source,
                      ry_gpu_text *text)
{
    snprintf(text->text_line, sizeof text->text_line, "\n#line 1 \"%s\"\n", source->name);
    const char *const parts[RY_GPU_PARTS] = {
        "#line 1 \"dialect\"\n",   programs->dialect,
        "\n#line 1 \"defines\"\n", source->defines ? source->defines : "",
        text->text_line,           source->text};
    memcpy(text->part, parts, sizeof parts);
}

bool ry_gpu_programs_init(ry_gpu_device *device, const char *kind, const char *dialect,
                          const char *const *depends, size_t count)
{
    ry_gpu_programs *programs = &device->programs;
    if (kind) {
        ry_program_files_open(kind, &programs->files);
    }
    programs->dialect = dialect;
    programs->device = ry_digest_begin();
    ry_digest_add_text(&programs->device, RYND_VERSION);
    for (size_t i = 0; i < count; i++) {
        ry_digest_add_text(&programs->device, depends[i]);
    }
    if (pthread_mutex_init(&programs->lock, NULL) != 0) {
        return false;
    }
    if (pthread_cond_init(&programs->built, NULL) != 0) {
        pthread_mutex_destroy(&programs->lock);
        return false;
    }
    return true;
}

void ry_gpu_programs_free(ry_gpu_device *device)
{
    pthread_cond_destroy(&device->programs.built);
    pthread_mutex_destroy(&device->programs.lock);
}

static ry_digest digest_of(const ry_gpu_device *device, const ry_gpu_source *source,
                           const ry_gpu_text *text)
{
    ry_digest digest = device->programs.device;
    for (int i = 0; i < RY_GPU_PARTS; i++) {
        ry_digest_add_text(&digest, text->part[i]);
    }
    for (int i = 0; i < source->entry_count; i++) {
        ry_digest_add_text(&digest, source->entries[i]);
    }
    return digest;
}

rynd_status ry_gpu_fail_build(const ry_gpu_device *device, const ry_gpu_program *program,
                              const char *reason, const char *log, ry_error *error)
{
    enum { MOST = 3000 };
    return ry_fail(error, RYND_ERROR_DEVICE, "kernel '%s' does not compile for %s (%s): %.*s",
                   program->name, device->base.name, reason, MOST,
                   log && *log ? log : "the compiler does not say why");
}

static bool build_from_file(ry_gpu_device *device, const ry_gpu_source *source,
                            ry_gpu_program *program)
{
    ry_gpu_programs *programs = &device->programs;
    ry_gpu_binary binary = {0};
    binary.data = ry_program_files_read(&programs->files, program->digest, device->base.allocator,
                                        &binary.size);
    if (!binary.data) {
        return false;
    }
    const bool good = device->driver->load(device, source, &binary, program, NULL) == RYND_OK;
    if (!good) {
        device->driver->unload(device, program);
    }
    atomic_fetch_add(&programs->read, good);
    ry_release(device->base.allocator, binary.data);
    return good;
}

static rynd_status build(ry_gpu_device *device, const ry_gpu_source *source,
                         const ry_gpu_text *text, ry_gpu_program *program, ry_error *error)
{
    if (build_from_file(device, source, program)) {
        return RYND_OK;
    }
    ry_gpu_programs *programs = &device->programs;
    ry_gpu_binary binary = {0};
    RY_TRY(device->driver->compile(device, source, text, program,
                                   *programs->files.folder ? &binary : NULL, error));
    atomic_fetch_add(&programs->compiled, 1);
    if (binary.data) {
        ry_program_files_write(&programs->files, program->digest, binary.data, binary.size,
                               device->base.allocator);
        ry_release(device->base.allocator, binary.data);
    }
    return RYND_OK;
}

static void destroy(ry_gpu_device *device, ry_gpu_program *program)
{
    device->driver->unload(device, program);
    pthread_mutex_destroy(&program->lock);
    ry_release(device->base.allocator, program);
}

static ry_gpu_program *allocate(const ry_gpu_device *device, const ry_gpu_source *source,
                                ry_digest digest, ry_error *error)
{
    ry_gpu_program *p =
        ry_allocate_array(device->base.allocator, 1,
                          sizeof *p + (size_t)source->entry_count * sizeof(struct ry_gpu_entry));
    if (!p) {
        ry_error_write_memory(error);
        return NULL;
    }
    if (pthread_mutex_init(&p->lock, NULL) != 0) {
        ry_error_write(error, "out of memory for a lock");
        ry_release(device->base.allocator, p);
        return NULL;
    }
    p->digest = digest;
    p->references = 1;
    p->building = true;
    p->entry_count = source->entry_count;
    p->in_parts = source->defines && strstr(source->defines, "PART_ARGUMENT");
    snprintf(p->name, sizeof p->name, "%s", source->name);
    return p;
}

/* Waits while the program is being built, then adds a reference. NULL: the list lacks it.
 * With the lock. */
static ry_gpu_program *find(ry_gpu_programs *programs, ry_digest digest)
{
    ry_gpu_program *program = programs->first;
    while (program) {
        if (!ry_digest_equal(program->digest, digest)) {
            program = program->next;
        } else if (program->building) {
            pthread_cond_wait(&programs->built, &programs->lock);
            program = programs->first;
        } else {
            program->references++;
            return program;
        }
    }
    return NULL;
}

/* With the lock. */
static void remove_from_list(ry_gpu_programs *programs, const ry_gpu_program *program)
{
    ry_gpu_program **at = &programs->first;
    while (*at != program) {
        at = &(*at)->next;
    }
    *at = program->next;
}

rynd_status ry_gpu_program_create(ry_device *base, const ry_gpu_source *source, ry_program *made,
                                  ry_error *error)
{
    ry_gpu_device *device = ry_gpu_device_of(base);
    ry_gpu_programs *programs = &device->programs;
    ry_gpu_text text;
    make_text(programs, source, &text);
    const ry_digest digest = digest_of(device, source, &text);
    pthread_mutex_lock(&programs->lock);
    ry_gpu_program *program = find(programs, digest);
    const bool found = program != NULL;
    if (!found) {
        program = allocate(device, source, digest, error);
        if (program) {
            program->next = programs->first;
            programs->first = program;
        }
    }
    pthread_mutex_unlock(&programs->lock);
    if (!program) {
        return RYND_ERROR_OUT_OF_MEMORY;
    }
    rynd_status status = RYND_OK;
    if (!found) {
        status = build(device, source, &text, program, error);
        pthread_mutex_lock(&programs->lock);
        program->building = false;
        if (status != RYND_OK) {
            remove_from_list(programs, program);
        }
        pthread_cond_broadcast(&programs->built);
        pthread_mutex_unlock(&programs->lock);
    }
    if (status != RYND_OK) {
        destroy(device, program);
        return status;
    }
    made->gpu = program;
    return RYND_OK;
}

unsigned ry_gpu_program_items(ry_program program, int entry)
{
    return program.gpu->entry[entry].items;
}

void ry_gpu_program_destroy(ry_device *base, ry_program made)
{
    ry_gpu_device *device = ry_gpu_device_of(base);
    ry_gpu_programs *programs = &device->programs;
    if (!made.gpu) {
        return;
    }
    pthread_mutex_lock(&programs->lock);
    ry_gpu_program *program = (ry_gpu_program *)(uintptr_t)made.gpu;
    const bool last = --program->references == 0;
    if (last) {
        remove_from_list(programs, program);
    }
    pthread_mutex_unlock(&programs->lock);
    if (last) {
        destroy(device, program);
    }
}
