/* SPDX-License-Identifier: Apache-2.0 */
/* Linux's list of processors that are online. The C library's count may be that of the process. */
#define _DEFAULT_SOURCE /* _SC_NPROCESSORS_ONLN */
#include "base/machine_cores.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_CORES = 1 << 20 };

unsigned ry_count_cores(const char *list)
{
    unsigned long cores = 0;
    for (;; list++) {
        char *end;
        const unsigned long first = strtoul(list, &end, 10),
                            last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        if (end == list || last < first || last >= MAX_CORES) {
            return 0;
        }
        cores += last - first + 1;
        if (*end != ',') {
            return (*end == '\0' || *end == '\n') && cores < MAX_CORES ? (unsigned)cores : 0;
        }
        list = end;
    }
}

unsigned ry_machine_cores(void)
{
    char list[4096] = "";
    FILE *file = fopen("/sys/devices/system/cpu/online", "r");
    if (file) {
        if (!fgets(list, sizeof list, file)) {
            list[0] = '\0';
        }
        fclose(file);
    }
    const unsigned cores = ry_count_cores(list);
    const long other = cores ? 0 : sysconf(_SC_NPROCESSORS_ONLN);
    return cores ? cores : other > 0 ? (unsigned)other : 1;
}
