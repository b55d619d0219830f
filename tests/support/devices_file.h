/* SPDX-License-Identifier: Apache-2.0 */
/* A list of devices in a file that is removed again. */
#ifndef TESTS_DEVICES_FILE_H
#define TESTS_DEVICES_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct devices_file {
    char path[32];
} devices_file;

static inline devices_file devices_file_make(const char *text)
{
    devices_file f = {"/tmp/rynd-devices-XXXXXX"};
    const int descriptor = mkstemp(f.path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
        abort();
    }
    return f;
}

#endif
