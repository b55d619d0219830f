/* SPDX-License-Identifier: Apache-2.0 */
/* Part of every test program: no measured machine and no measured records, which would decide what
 * kernels a test reaches. */
#include <stdbool.h>
#include <stdlib.h>

/* PoCL's own headers warn on x86 without AVX-512: their built-in functions return vectors of 64 bytes. */
static bool warnings_are_errors(void)
{
#if defined __x86_64__
    return __builtin_cpu_supports("avx512f");
#else
    return true;
#endif
}

static __attribute__((constructor)) void without_a_machine(void)
{
    setenv("RYND_MACHINE", "off", 1);
    setenv("RYND_WISDOM", "off", 1);
    unsetenv("RYND_FREEZE");
    /* nor programs of another run, unless the caller names their folder */
    setenv("RYND_CACHE", "off", 0);
    setenv("RYND_OPENCL_OPTIONS", warnings_are_errors() ? "-Werror" : "", 1);
}

/* Drivers of OpenCL are C++ and keep some of their memory to the end; ours is C. Asked for by
 * LeakSanitizer, where a build has it. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libstdc++\nleak:libpocl\nleak:libLLVM\n";
}
