/* SPDX-License-Identifier: Apache-2.0 */
#include "nvrtc_need.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

void nvrtc_need(void)
{
    const char *major = getenv("RYND_TEST_NVRTC");
    char pattern[256];
    glob_t found;
    snprintf(pattern, sizeof pattern,
             "build/venv/lib/python3*/site-packages/nvidia/*/lib/libnvrtc.so.%s",
             major ? major : "12");
    if (glob(pattern, 0, NULL, &found) != 0) {
        print_message("skipped: build/venv has no such NVRTC: tools/make_venv cuda\n");
        skip();
    }
    setenv("STRICT_NVRTC", found.gl_pathv[0], 1);
    globfree(&found);
}
