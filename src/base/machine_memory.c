/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Linux's figures of free memory. */
#include "base/machine_memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 8192, PATH = 4352 };

/* Bytes of a line "NAME:   123 kB"; 0 if there is no such line. */
static uint64_t line_of(const char *meminfo, const char *name)
{
    const char *line = strstr(meminfo, name);
    return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

size_t ry_memory_of(const char *meminfo, const char *limit)
{
    const uint64_t available = line_of(meminfo, "MemAvailable:"),
                   swap = line_of(meminfo, "SwapFree:"), most = strtoull(limit, NULL, 10);
    const uint64_t bytes = available > 0 ? available + swap : SIZE_MAX;
    return most > 0 && most < bytes ? (size_t)most : (size_t)bytes;
}

static void read_text(const char *path, char text[TEXT])
{
    FILE *file = fopen(path, "r");
    const size_t length = file ? fread(text, 1, TEXT - 1, file) : 0;
    text[length] = '\0';
    if (file) {
        fclose(file);
    }
}

/* The limit of the process's control group ("0::/user.slice/..."), or of the group that a container
 * sees as its root, in version 2 or 1. */
static void read_limit(char text[TEXT])
{
    char path[PATH];
    read_text("/proc/self/cgroup", text);
    const char *group = strstr(text, "0::/");
    const int length = group ? (int)strcspn(group + 3, "\n") : 0;
    snprintf(path, sizeof path, "/sys/fs/cgroup%.*s/memory.max", length < 4096 ? length : 0,
             group ? group + 3 : "");
    const char *const files[] = {path, "/sys/fs/cgroup/memory.max",
                                 "/sys/fs/cgroup/memory/memory.limit_in_bytes"};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof files / sizeof *files && text[0] == '\0'; i++) {
        read_text(files[i], text);
    }
}

size_t ry_machine_memory(void)
{
    char meminfo[TEXT], limit[TEXT];
    read_text("/proc/meminfo", meminfo);
    read_limit(limit);
    return ry_memory_of(meminfo, limit);
}
