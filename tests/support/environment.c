/* SPDX-License-Identifier: Apache-2.0 */
/* Part of every test program: no measured machine, which would decide what kernels a test reaches.
 */
#include <stdlib.h>

static __attribute__((constructor)) void without_a_machine(void)
{
    setenv("RYND_PROFILE", "off", 1);
    /* nor programs of another run, unless the caller names their folder */
    setenv("RYND_CACHE", "off", 0);
    setenv("RYND_OPENCL_OPTIONS", "-Werror", 1);
}
