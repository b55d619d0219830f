/* SPDX-License-Identifier: Apache-2.0 */
/* Which machine a record is of, and which file records are in. */
#include "wisdom/wisdom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies one word; characters that are not printable ASCII become '_'. */
static void word(const char *text, char *to, size_t size)
{
    size_t i = 0;
    for (; text[i] && i + 1 < size; i++) {
        to[i] = text[i] > ' ' && text[i] <= '~' ? text[i] : '_';
    }
    to[i] = 0;
}

/* A CPU's name may be one of several processors' ("AMD EPYC"), its family and model are not. */
void ry_wisdom_fingerprint(const ry_machine *machine, char text[RY_WISDOM_FINGERPRINT])
{
    char vendor[sizeof machine->vendor], isa[sizeof machine->isa], name[sizeof machine->name];
    const bool gpu = machine->group_items > 0;
    word(*machine->vendor ? machine->vendor : "unknown", vendor, sizeof vendor);
    word(*machine->isa ? machine->isa : "none", isa, sizeof isa);
    word(gpu || !*machine->vendor ? machine->name : "cpu", name, sizeof name);
    snprintf(text, RY_WISDOM_FINGERPRINT, "%s family=%x model=%x isa=%s cores=%u device=%s", vendor,
             (unsigned)machine->family, (unsigned)machine->model, isa, machine->cores,
             *name ? name : "unknown");
}

bool ry_wisdom_path(const char *given, char path[RY_WISDOM_PATH])
{
    const char *own = given && *given ? given : getenv("RYND_WISDOM"),
               *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length = -1;
    path[0] = 0;
    if (own && *own) {
        length = strcmp(own, "off") == 0 ? -1 : snprintf(path, RY_WISDOM_PATH, "%s", own);
    } else if (cache && *cache == '/') {
        length = snprintf(path, RY_WISDOM_PATH, "%s/rynd/wisdom.db", cache);
    } else if (home && *home == '/') {
        length = snprintf(path, RY_WISDOM_PATH, "%s/.cache/rynd/wisdom.db", home);
    }
    if (length < 0 || length >= RY_WISDOM_PATH) {
        path[0] = 0;
    }
    return path[0];
}
