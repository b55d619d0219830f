/* SPDX-License-Identifier: Apache-2.0 */
/* A compiler of CUDA C++ that makes code of the host: g++ compiles the text behind
 * emulation_prefix.cpp (EMULATION_PREFIX names the file) to a shared library, which fake_cuda loads
 * as it does a cubin. Products and sums are contracted where the host can, as NVRTC does. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK, COMPILATION = 6, INVALID_PROGRAM = 4, LOG = 16384 };
enum { NOT_A_FAULT = 77 }; /* exit code: a text with a fault does not compile */

typedef struct program {
    char *text;
    char log[LOG];
    char *binary;
    size_t size;
} program;

/* What was compiled in this process. Tests prepare a kernel anew for each case, and g++ takes about
 * a second. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
struct kept {
    struct kept *next;
    program program;
};
static struct kept *kept_programs;

static bool find_kept(program *p)
{
    pthread_mutex_lock(&lock);
    const struct kept *kept = kept_programs;
    while (kept && strcmp(kept->program.text, p->text) != 0) {
        kept = kept->next;
    }
    pthread_mutex_unlock(&lock);
    if (kept) {
        p->size = kept->program.size;
        p->binary = malloc(p->size);
        memcpy(p->binary, kept->program.binary, p->size);
    }
    return kept;
}

static void keep(const program *p)
{
    struct kept *kept = calloc(1, sizeof *kept);
    kept->program = *p;
    kept->program.text = strdup(p->text);
    kept->program.binary = malloc(p->size);
    memcpy(kept->program.binary, p->binary, p->size);
    pthread_mutex_lock(&lock);
    kept->next = kept_programs;
    kept_programs = kept;
    pthread_mutex_unlock(&lock);
}

EXPORT int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 9;
    return OK;
}

EXPORT const char *nvrtcGetErrorString(int code)
{
    return code == COMPILATION ? "NVRTC_ERROR_COMPILATION" : "NVRTC_ERROR_INVALID_PROGRAM";
}

static const int architectures[] = {60, 70, 75, 80, 86, 89, 90};

EXPORT int nvrtcGetNumSupportedArchs(int *count)
{
    *count = (int)(sizeof architectures / sizeof *architectures);
    return OK;
}

EXPORT int nvrtcGetSupportedArchs(int *to)
{
    memcpy(to, architectures, sizeof architectures);
    return OK;
}

/* PTX's instructions of the dialect, by how the statements begin, and what does the same here. */
static const char *const replaced[][2] = {
    {"asm(\"cvt.f32.f16 ", "value = emulation_f32_of_f16(bits);"},
    {"asm(\"cvt.rn.f16.f32 ", "bits = emulation_f16_of_f32(value);"},
    {"asm(\"cvt.rna.tf32.f32 ", "bits = emulation_tf32_of_f32(value);"},
    {"asm(\"mma.sync.", "emulation_mma(type, above, below, left, right);"},
    {"asm(\"mma.sync.aligned.m16n8k32", "emulation_mma_bytes(#a, #b, above, below, left, right);"},
    {"asm(\"cvt.rn.bf16x2.f32 ", "pair = emulation_bf16_pair(low, high);"},
    {"asm(\"{.reg .u64 at; cvta.to.shared", "address = emulation_address(place);"},
    {"asm volatile(\"cp.async.cg.", "emulation_copy(to, from, bytes, 16);"},
    {"asm volatile(\"cp.async.ca.", "emulation_copy(to, from, bytes, 4);"},
    {"asm volatile(\"cp.async.commit_group", "emulation_commit();"},
    {"asm volatile(\"cp.async.wait_group", "emulation_wait(n);"},
    {"asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans", "emulation_load_turned(to, row);"},
    {"asm volatile(\"ldmatrix.", "emulation_load_matrices(to, row);"},
    {"extern __shared__ __align__(1024)", "return emulation_given_room();"},
    {"asm volatile(\"mbarrier.init", "emulation_begin_barrier(barrier);"},
    {"asm volatile(\"mbarrier.arrive.expect_tx", "emulation_expect(barrier, bytes);"},
    {"asm volatile(\"cp.async.bulk", "emulation_bulk(to, from, bytes, barrier);"},
    {"asm volatile(\"{.reg .pred there;", "emulation_await(barrier, turn);"},
    {"asm volatile(\"st.shared.v4.b32", "emulation_keep(to, words);"},
    {"asm volatile(\"fence.proxy.async", "emulation_proxy_fence();"},
    {"asm volatile(\"wgmma.fence", ";"},
    {"asm volatile(\"wgmma.commit_group", "emulation_commit_products();"},
    {"asm volatile(\"wgmma.wait_group", "emulation_wait_products(n);"},
    {"asm volatile(\"\" : \"+f\"", ";"},
    {"asm volatile(\"\" : \"+r\"", ";"},
    {"asm volatile(\"{.reg .pred p;", "emulation_multiply(#type, columns, sum, left, right);"},
    {"asm volatile(\"{.reg .pred p;", "emulation_multiply(#type, columns, sum, left, right);"},
    {"asm volatile(\"{.reg .pred p;", "emulation_multiply(#a #b, columns, sum, left, right);"}};

static bool replace(char *text)
{
    for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++) {
        char *at = strstr(text, replaced[i][0]), *end = at ? strstr(at, ");") : NULL;
        const size_t length = strlen(replaced[i][1]);
        if (!end || end + 2 < at + length) {
            return false;
        }
        memset(at, ' ', (size_t)(end + 2 - at));
        memcpy(at, replaced[i][1], length);
    }
    return true;
}

/* Copies the text and plants the fault of FAKE_NVRTC_FAULT in it: "words=>other words". Tests prove so that the
 * stand-in finds faults. */
static char *with_fault(const char *text)
{
    const char *fault = getenv("FAKE_NVRTC_FAULT"), *arrow = fault ? strstr(fault, "=>") : NULL;
    const size_t length = arrow ? (size_t)(arrow - fault) : 0;
    const char *at = arrow ? memmem(text, strlen(text), fault, length) : NULL;
    if (!at) {
        return strdup(text);
    }
    char *made = malloc(strlen(text) + strlen(arrow));
    sprintf(made, "%.*s%s%s", (int)(at - text), text, arrow + 2, at + length);
    return made;
}

EXPORT int nvrtcCreateProgram(void **made, const char *text, const char *name, int headers,
                              const char *const *header, const char *const *include)
{
    (void)name;
    (void)headers;
    (void)header;
    (void)include;
    program *p = calloc(1, sizeof *p);
    p->text = with_fault(text);
    *made = p;
    return OK;
}

EXPORT int nvrtcDestroyProgram(void **program_)
{
    program *p = *program_;
    free(p->text);
    free(p->binary);
    free(p);
    *program_ = NULL;
    return OK;
}

static bool write_text(const char *path, const program *p)
{
    /* barriers are looked for behind the dialect, which defines them */
    const char *defines = strstr(p->text, "#line 1 \"defines\"");
    const bool barriers = defines && strstr(defines, "BARRIER");
    FILE *file = fopen(path, "w");
    if (!file) {
        return false;
    }
    fprintf(file,
            "#include \"%s\"\nextern \"C\" {\nextern const int emulation_has_barriers;\n"
            "const int emulation_has_barriers = %d;\n}\n%s",
            getenv("EMULATION_PREFIX"), barriers, p->text);
    return fclose(file) == 0;
}

static char *read_all(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    *size = 0;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        const long length = ftell(file);
        data = calloc(1, (size_t)length + 1);
        rewind(file);
        *size = fread(data, 1, (size_t)length, file);
    }
    if (file) {
        fclose(file);
    }
    return data;
}

static int run_compiler(program *p, const char *folder)
{
    char text[96], library[96], log[96], command[640];
    snprintf(text, sizeof text, "%s/text.cpp", folder);
    snprintf(library, sizeof library, "%s/text.so", folder);
    snprintf(log, sizeof log, "%s/log", folder);
    if (!write_text(text, p)) {
        return COMPILATION;
    }
    /* sanitizers that are preloaded are no business of the compiler's */
    snprintf(
        command, sizeof command,
        "LD_PRELOAD= g++ -std=gnu++17 -O1 -march=native -ffp-contract=fast -fPIC -shared -w -o "
        "%s %s > %s 2>&1",
        library, text, log);
    const int code = system(command);
    size_t size;
    char *said = read_all(log, &size);
    snprintf(p->log, sizeof p->log, "%s", said ? said : "");
    free(said);
    if (code == 0) {
        p->binary = read_all(library, &p->size);
    } else if (getenv("FAKE_NVRTC_FAULT")) {
        _exit(NOT_A_FAULT);
    }
    unlink(text);
    unlink(library);
    unlink(log);
    return p->binary ? OK : COMPILATION;
}

EXPORT int nvrtcCompileProgram(void *program_, int count, const char *const *options)
{
    program *p = program_;
    char folder[] = "/tmp/fake_nvrtc_XXXXXX";
    bool architecture = false;
    for (int i = 0; i < count; i++) {
        architecture = architecture || strncmp(options[i], "--gpu-architecture=", 19) == 0;
    }
    if (!architecture || !replace(p->text)) {
        snprintf(p->log, sizeof p->log, "no architecture, or not the dialect's conversions");
        return COMPILATION;
    }
    if (find_kept(p)) {
        return OK;
    }
    if (!mkdtemp(folder)) {
        snprintf(p->log, sizeof p->log, "%s cannot be made", folder);
        return COMPILATION;
    }
    const int code = run_compiler(p, folder);
    rmdir(folder);
    if (code == OK) {
        keep(p);
    }
    return code;
}

EXPORT int nvrtcGetProgramLogSize(void *program_, size_t *size)
{
    *size = strlen(((program *)program_)->log) + 1;
    return OK;
}

EXPORT int nvrtcGetProgramLog(void *program_, char *log)
{
    strcpy(log, ((program *)program_)->log);
    return OK;
}

static int size_of(const program *p, size_t *size)
{
    *size = p->size;
    return p->binary ? OK : INVALID_PROGRAM;
}

static int copy_of(const program *p, char *to)
{
    memcpy(to, p->binary, p->size);
    return OK;
}

EXPORT int nvrtcGetCUBINSize(void *p, size_t *size)
{
    return size_of(p, size);
}

EXPORT int nvrtcGetCUBIN(void *p, char *to)
{
    return copy_of(p, to);
}

EXPORT int nvrtcGetPTXSize(void *p, size_t *size)
{
    return size_of(p, size);
}

EXPORT int nvrtcGetPTX(void *p, char *to)
{
    return copy_of(p, to);
}
