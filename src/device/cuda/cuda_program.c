/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of CUDA: NVRTC makes machine code for the device of them, or PTX where it does not know
 * one so new; the driver loads either.
 *
 * Products and sums are contracted (-fmad=true): kernels' sums are written as such, and one
 * rounding in the place of two makes them more accurate. Expressions, whose steps are rounded one
 * by one as on the CPU, are written with ROUNDED_PRODUCT. Division and square root are correctly
 * rounded, subnormal numbers kept: NVRTC's defaults. */
#include "device/cuda/cuda_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const char ry_cuda_dialect[];

enum { LOG = 4096, JIT_LOG = 5, JIT_LOG_SIZE = 6 };
/* CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
enum { MOST_THREADS = 0, MOST_GIVEN = 8 };

static void add_option(ry_cuda_state *device, const char *option)
{
    if (device->option_count < RY_CUDA_OPTIONS) {
        device->option[device->option_count++] = option;
    }
}

/* The architectures that NVRTC has machine code for, in growing order; 0: it does not say. */
static int list_architectures(const ry_nvrtc *nvrtc, int *architectures, int room)
{
    int count = 0;
    if (nvrtc->GetNumSupportedArchs(&count) != 0 || count <= 0 || count > room ||
        nvrtc->GetSupportedArchs(architectures) != 0) {
        return 0;
    }
    return count;
}

/* The best architecture for the device: its own, else the newest one below it. */
static rynd_status choose_architecture(ry_cuda_state *device, int *architecture, ry_error *error)
{
    enum { MOST = 256 };
    int known[MOST];
    const int count = list_architectures(device->nvrtc, known, MOST), own = device->info.capability;
    *architecture = count ? 0 : own;
    for (int i = 0; i < count; i++) {
        if (known[i] <= own && known[i] > *architecture) {
            *architecture = known[i];
        }
    }
    device->machine_code = *architecture == own;
    if (*architecture == 0) {
        return ry_fail(
            error, RYND_ERROR_DEVICE,
            "NVRTC %d.%d compiles for compute capability %d.%d and later, the device has "
            "%d.%d: install an older NVRTC, and name it by RYND_NVRTC_LIBRARY",
            device->nvrtc->major, device->nvrtc->minor, known[0] / 10, known[0] % 10, own / 10,
            own % 10);
    }
    return RYND_OK;
}

rynd_status ry_cuda_programs_init(ry_cuda_state *device, ry_error *error)
{
    int architecture;
    RY_TRY(choose_architecture(device, &architecture, error));
    const char *more = getenv("RYND_CUDA_OPTIONS");
    char *text = device->option_text, versions[64], all[sizeof device->option_text];
    snprintf(text, sizeof device->option_text,
             "--gpu-architecture=%s_%d%s --std=c++17 --fmad=true %s",
             device->machine_code ? "sm" : "compute", architecture,
             ry_cuda_has_wide_units(&device->info) ? "a" : "", more ? more : "");
    memcpy(all, text, sizeof all);
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        add_option(device, word);
    }
    snprintf(versions, sizeof versions, "driver %d, NVRTC %d.%d", device->info.driver,
             device->nvrtc->major, device->nvrtc->minor);
    const char *const depends[] = {device->info.name, versions, all};
    return ry_gpu_programs_init(&device->gpu, "cuda", ry_cuda_dialect, depends,
                                sizeof depends / sizeof *depends)
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "out of memory for a lock");
}

void ry_cuda_unload(ry_gpu_device *base, ry_gpu_program *program)
{
    const ry_cuda_state *device = (const ry_cuda_state *)base;
    if (program->module && ry_cuda_enter(device, NULL) == RYND_OK) {
        device->cu->ModuleUnload(program->module);
        ry_cuda_leave(device);
    }
    program->module = NULL;
}

/* Bytes of local memory that launches give a group of the entry: GIVEN_OF_<name> among the defines. */
static unsigned given_of(const ry_gpu_source *source, const char *entry)
{
    char line[96];
    snprintf(line, sizeof line, "#define GIVEN_OF_%s ", entry);
    const char *at = source->defines ? strstr(source->defines, line) : NULL;
    return at ? (unsigned)strtoul(at + strlen(line), NULL, 10) : 0;
}

/* Finds entry `number`, and admits the local memory that its launches give. */
static rynd_status load_entry(const ry_cuda_state *device, const ry_gpu_source *source, int number,
                              ry_gpu_program *program, ry_error *error)
{
    const ry_cuda *cu = device->cu;
    struct ry_gpu_entry *entry = &program->entry[number];
    int items = 0;
    int code = cu->ModuleGetFunction(&entry->function, program->module, source->entries[number]);
    if (code != RY_CUDA_OK) {
        const rynd_status status = ry_cuda_fail_on(device, "cuModuleGetFunction", code, error);
        ry_error_prefix(error, "kernel '%s' has no entry '%s': ", program->name,
                        source->entries[number]);
        return status;
    }
    entry->given = given_of(source, source->entries[number]);
    code = entry->given ? cu->FuncSetAttribute(entry->function, MOST_GIVEN, (int)entry->given)
                        : RY_CUDA_OK;
    if (code != RY_CUDA_OK) {
        const rynd_status status = ry_cuda_fail_on(device, "cuFuncSetAttribute", code, error);
        ry_error_prefix(error, "kernel '%s', entry '%s', %u bytes of local memory: ", program->name,
                        source->entries[number], entry->given);
        return status;
    }
    code = cu->FuncGetAttribute(&items, MOST_THREADS, entry->function);
    entry->items = code == RY_CUDA_OK && items > 0 ? (unsigned)items : 0;
    return RYND_OK;
}

static rynd_status load(const ry_cuda_state *device, const ry_gpu_source *source, const void *image,
                        ry_gpu_program *program, ry_error *error)
{
    const ry_cuda *cu = device->cu;
    char log[LOG] = "";
    int options[] = {JIT_LOG, JIT_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    const int code = cu->ModuleLoadDataEx(&program->module, image, 2, options, values);
    if (code != RY_CUDA_OK) {
        program->module = NULL;
        const rynd_status status = ry_cuda_fail_on(device, "cuModuleLoadDataEx", code, error);
        log[sizeof log - 1] = 0;
        ry_error_prefix(error, "kernel '%s': %.1000s%s", program->name, log, *log ? "; " : "");
        return status;
    }
    for (int i = 0; i < program->entry_count; i++) {
        RY_TRY(load_entry(device, source, i, program, error));
    }
    return RYND_OK;
}

rynd_status ry_cuda_load_binary(ry_gpu_device *base, const ry_gpu_source *source,
                                const ry_gpu_binary *binary, ry_gpu_program *program,
                                ry_error *error)
{
    const ry_cuda_state *device = (const ry_cuda_state *)base;
    RY_TRY(ry_cuda_enter(device, error));
    const rynd_status status = load(device, source, binary->data, program, error);
    ry_cuda_leave(device);
    return status;
}

/* The parts as one text. NULL: out of memory. */
static char *join(const ry_allocator *allocator, const ry_gpu_text *text)
{
    size_t size = 1;
    for (int i = 0; i < RY_GPU_PARTS; i++) {
        size += strlen(text->part[i]);
    }
    char *all = ry_allocate(allocator, size), *at = all;
    for (int i = 0; all && i < RY_GPU_PARTS; i++) {
        const size_t length = strlen(text->part[i]);
        memcpy(at, text->part[i], length);
        at += length;
    }
    if (all) {
        *at = 0;
    }
    return all;
}

static rynd_status fail_compile(const ry_cuda_state *device, void *compiled,
                                const ry_gpu_program *program, int code, ry_error *error)
{
    const ry_nvrtc *nvrtc = device->nvrtc;
    const ry_allocator *allocator = device->gpu.base.allocator;
    size_t size = 0;
    nvrtc->GetProgramLogSize(compiled, &size);
    char *log = size ? ry_allocate_array(allocator, size + 1, 1) : NULL;
    if (log && nvrtc->GetProgramLog(compiled, log) != 0) {
        log[0] = 0;
    }
    const rynd_status status =
        ry_gpu_fail_build(&device->gpu, program, nvrtc->GetErrorString(code), log, error);
    ry_release(allocator, log);
    return status;
}

/* Takes the compiled program and ends it with a NUL, as PTX requires. */
static rynd_status take_binary(const ry_cuda_state *device, void *compiled,
                               const ry_gpu_program *program, ry_gpu_binary *binary,
                               ry_error *error)
{
    const ry_nvrtc *nvrtc = device->nvrtc;
    const ry_allocator *allocator = device->gpu.base.allocator;
    size_t size = 0;
    int code = device->machine_code ? nvrtc->GetCUBINSize(compiled, &size)
                                    : nvrtc->GetPTXSize(compiled, &size);
    char *data = code == 0 ? ry_allocate_array(allocator, size + 1, 1) : NULL;
    if (code == 0 && !data) {
        return ry_fail_memory(error);
    }
    if (code == 0) {
        code =
            device->machine_code ? nvrtc->GetCUBIN(compiled, data) : nvrtc->GetPTX(compiled, data);
    }
    if (code != 0) {
        ry_release(allocator, data);
        return ry_gpu_fail_build(&device->gpu, program, nvrtc->GetErrorString(code), NULL, error);
    }
    *binary = (ry_gpu_binary){data, size + 1};
    return RYND_OK;
}

static rynd_status compile(const ry_cuda_state *device, const char *text,
                           const ry_gpu_program *program, ry_gpu_binary *binary, ry_error *error)
{
    const ry_nvrtc *nvrtc = device->nvrtc;
    void *compiled = NULL;
    int code = nvrtc->CreateProgram(&compiled, text, program->name, 0, NULL, NULL);
    if (code != 0) {
        return ry_gpu_fail_build(&device->gpu, program, nvrtc->GetErrorString(code), NULL, error);
    }
    code = nvrtc->CompileProgram(compiled, device->option_count, device->option);
    const rynd_status status = code == 0 ? take_binary(device, compiled, program, binary, error)
                                         : fail_compile(device, compiled, program, code, error);
    nvrtc->DestroyProgram(&compiled);
    return status;
}

rynd_status ry_cuda_compile(ry_gpu_device *base, const ry_gpu_source *source,
                            const ry_gpu_text *text, ry_gpu_program *program, ry_gpu_binary *wanted,
                            ry_error *error)
{
    const ry_cuda_state *device = (const ry_cuda_state *)base;
    const ry_allocator *allocator = base->base.allocator;
    ry_gpu_binary binary = {0};
    char *all = join(allocator, text);
    if (!all) {
        return ry_fail_memory(error);
    }
    rynd_status status = compile(device, all, program, &binary, error);
    ry_release(allocator, all);
    if (status == RYND_OK) {
        status = ry_cuda_load_binary(base, source, &binary, program, error);
    }
    if (status == RYND_OK && wanted) {
        *wanted = binary;
    } else {
        ry_release(allocator, binary.data);
    }
    return status;
}
