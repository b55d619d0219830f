/* SPDX-License-Identifier: Apache-2.0 */
/* Programs: compiled once for a source, in this process and, where files of them are kept, in all.
 *
 * The list has every program that somebody uses. One that is being built is in it, too: who wants
 * the same waits for it, and builds it himself if that failed. */
#include "device/opencl/opencl_state.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char ry_opencl_dialect[];

/* What a source is made of: dialect, defines, text, and where each begins, for messages. */
enum { PARTS = 6 };

typedef struct parts {
    const char *at[PARTS];
    char text_line[160];
} parts;

static void make_parts(const ry_gpu_source *source, parts *p)
{
    snprintf(p->text_line, sizeof p->text_line, "\n#line 1 \"%s\"\n", source->name);
    const char *const all[PARTS] = {"#line 1 \"dialect\"\n",
                                    ry_opencl_dialect,
                                    "\n#line 1 \"defines\"\n",
                                    source->defines ? source->defines : "",
                                    p->text_line,
                                    source->text};
    memcpy(p->at, all, sizeof all);
}

bool ry_opencl_programs_init(ry_opencl_state *device)
{
    ry_opencl_programs *programs = &device->programs;
    const ry_opencl_info *info = &device->info;
    const char *more = getenv("RYND_OPENCL_OPTIONS");
    snprintf(programs->options, sizeof programs->options, "-cl-std=CL1.2%s%s%s",
             info->rounds_divisions ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
             more && *more ? " " : "", more ? more : "");
    ry_program_files_open("opencl", &programs->files);
    programs->device = ry_digest_begin();
    const char *const depends[] = {info->platform, info->name,   info->vendor,
                                   info->driver,   RYND_VERSION, programs->options};
    for (size_t i = 0; i < sizeof depends / sizeof *depends; i++) {
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

void ry_opencl_programs_free(ry_opencl_state *device)
{
    pthread_cond_destroy(&device->programs.built);
    pthread_mutex_destroy(&device->programs.lock);
}

static ry_digest digest_of(const ry_opencl_state *device, const ry_gpu_source *source)
{
    parts p;
    make_parts(source, &p);
    ry_digest digest = device->programs.device;
    for (int i = 0; i < PARTS; i++) {
        ry_digest_add_text(&digest, p.at[i]);
    }
    for (int i = 0; i < source->entry_count; i++) {
        ry_digest_add_text(&digest, source->entries[i]);
    }
    return digest;
}

/* Gives back what the driver has of a program. */
static void clear(const ry_opencl_state *device, ry_gpu_program *program)
{
    for (int i = 0; i < program->entry_count; i++) {
        if (program->entry[i].kernel) {
            device->cl->ReleaseKernel(program->entry[i].kernel);
            program->entry[i].kernel = NULL;
        }
    }
    if (program->program) {
        device->cl->ReleaseProgram(program->program);
        program->program = NULL;
    }
}

/* "kernel 'conv_f32_gpu' does not compile for GPU (CL_BUILD_PROGRAM_FAILURE): " and what the
 * compiler says, as much as a message holds. */
static rynd_status fail_build(ry_opencl_state *device, const ry_gpu_program *program, cl_int code,
                              ry_error *error)
{
    enum { MOST = 3000 };
    const cl_device_id id = device->id.device;
    size_t size = 0;
    device->cl->GetProgramBuildInfo(program->program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = size ? ry_allocate_array(device->base.allocator, size + 1, 1) : NULL;
    if (log && device->cl->GetProgramBuildInfo(program->program, id, CL_PROGRAM_BUILD_LOG, size,
                                               log, NULL) != CL_SUCCESS) {
        log[0] = 0;
    }
    const rynd_status status =
        ry_fail(error, RYND_ERROR_DEVICE, "kernel '%s' does not compile for %s (%s): %.*s",
                program->name, device->base.name, ry_opencl_code_name(code), MOST,
                log && *log ? log : "the compiler does not say why");
    ry_release(device->base.allocator, log);
    return status;
}

/* Links the program and finds its entries. */
static rynd_status finish(ry_opencl_state *device, const ry_gpu_source *source,
                          ry_gpu_program *program, ry_error *error)
{
    const ry_opencl *cl = device->cl;
    cl_int code = cl->BuildProgram(program->program, 1, &device->id.device,
                                   device->programs.options, NULL, NULL);
    if (code != CL_SUCCESS) {
        return fail_build(device, program, code, error);
    }
    for (int i = 0; i < program->entry_count; i++) {
        struct ry_opencl_entry *entry = &program->entry[i];
        entry->kernel = cl->CreateKernel(program->program, source->entries[i], &code);
        if (code == CL_SUCCESS) {
            code = cl->GetKernelInfo(entry->kernel, CL_KERNEL_NUM_ARGS, sizeof entry->arguments,
                                     &entry->arguments, NULL);
        }
        if (code != CL_SUCCESS) {
            return ry_fail(error, RYND_ERROR_DEVICE, "kernel '%s' has no entry '%s' on %s: %s (%d)",
                           program->name, source->entries[i], device->base.name,
                           ry_opencl_code_name(code), code);
        }
    }
    return RYND_OK;
}

static bool build_from_file(ry_opencl_state *device, const ry_gpu_source *source,
                            ry_gpu_program *program)
{
    ry_opencl_programs *programs = &device->programs;
    size_t size = 0;
    void *binary =
        ry_program_files_read(&programs->files, program->digest, device->base.allocator, &size);
    if (!binary) {
        return false;
    }
    cl_int code, loaded = CL_SUCCESS;
    const unsigned char *at = binary;
    program->program = device->cl->CreateProgramWithBinary(device->context, 1, &device->id.device,
                                                           &size, &at, &loaded, &code);
    const bool good = code == CL_SUCCESS && loaded == CL_SUCCESS &&
                      finish(device, source, program, NULL) == RYND_OK;
    if (!good) {
        clear(device, program);
    }
    atomic_fetch_add(&programs->read, good);
    ry_release(device->base.allocator, binary);
    return good;
}

/* Keeps what was compiled, where that is possible. */
static void keep(ry_opencl_state *device, const ry_gpu_program *program)
{
    const ry_opencl_programs *programs = &device->programs;
    const ry_opencl *cl = device->cl;
    size_t size = 0;
    if (!*programs->files.folder ||
        cl->GetProgramInfo(program->program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) !=
            CL_SUCCESS ||
        size == 0) {
        return;
    }
    unsigned char *binary = ry_allocate(device->base.allocator, size);
    if (binary && cl->GetProgramInfo(program->program, CL_PROGRAM_BINARIES, sizeof binary, &binary,
                                     NULL) == CL_SUCCESS) {
        ry_program_files_write(&programs->files, program->digest, binary, size,
                               device->base.allocator);
    }
    ry_release(device->base.allocator, binary);
}

static rynd_status build(ry_opencl_state *device, const ry_gpu_source *source,
                         ry_gpu_program *program, ry_error *error)
{
    if (build_from_file(device, source, program)) {
        return RYND_OK;
    }
    parts p;
    make_parts(source, &p);
    cl_int code;
    program->program =
        device->cl->CreateProgramWithSource(device->context, PARTS, p.at, NULL, &code);
    if (code != CL_SUCCESS) {
        return ry_opencl_fail(error, code, "making a program");
    }
    RY_TRY(finish(device, source, program, error));
    atomic_fetch_add(&device->programs.compiled, 1);
    keep(device, program);
    return RYND_OK;
}

static void destroy(ry_opencl_state *device, ry_gpu_program *program)
{
    clear(device, program);
    pthread_mutex_destroy(&program->lock);
    ry_release(device->base.allocator, program);
}

static ry_gpu_program *allocate(const ry_opencl_state *device, const ry_gpu_source *source,
                                ry_digest digest, ry_error *error)
{
    ry_gpu_program *p =
        ry_allocate_array(device->base.allocator, 1,
                          sizeof *p + (size_t)source->entry_count * sizeof(struct ry_opencl_entry));
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
    snprintf(p->name, sizeof p->name, "%s", source->name);
    return p;
}

/* One that is built, which is then used once more; NULL: there is none, and none is being built.
 * With the lock. */
static ry_gpu_program *find(ry_opencl_programs *programs, ry_digest digest)
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
static void remove_from_list(ry_opencl_programs *programs, const ry_gpu_program *program)
{
    ry_gpu_program **at = &programs->first;
    while (*at != program) {
        at = &(*at)->next;
    }
    *at = program->next;
}

rynd_status ry_opencl_program_create(ry_device *base, const ry_gpu_source *source, ry_program *made,
                                     ry_error *error)
{
    ry_opencl_state *device = ry_opencl_state_of(base);
    ry_opencl_programs *programs = &device->programs;
    const ry_digest digest = digest_of(device, source);
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
        status = build(device, source, program, error);
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

void ry_opencl_program_destroy(ry_device *base, ry_program made)
{
    ry_opencl_state *device = ry_opencl_state_of(base);
    ry_opencl_programs *programs = &device->programs;
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
