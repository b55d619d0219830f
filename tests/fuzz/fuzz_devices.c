/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a list of devices: refused with a message that names the file, or what it says is
 * within its bounds. */
#include "placement/fleet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check(const ry_fleet *fleet)
{
    require(fleet->count >= 1 && fleet->count <= RY_FLEET_DEVICES);
    for (size_t a = 0; a < fleet->count; a++) {
        const ry_fleet_device *d = &fleet->device[a];
        require(d->name[0] && memchr(d->name, 0, sizeof d->name));
        require(d->kind[0] && memchr(d->kind, 0, sizeof d->kind));
        require(d->memory >= 1 && d->watts >= 0 && isfinite(d->watts) && d->threads <= 1024);
        for (size_t b = 0; b < fleet->count; b++) {
            const size_t pair = a * fleet->count + b, back = b * fleet->count + a;
            require(fleet->bandwidth[pair] >= 1 &&
                    fleet->bandwidth[pair] == fleet->bandwidth[back]);
            require(fleet->latency[pair] >= 0 && fleet->latency[pair] == fleet->latency[back]);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ry_arena arena;
    ry_fleet fleet;
    ry_error error = {.text = ""};
    char *text = malloc(size + 1);
    require(text != NULL);
    if (size) {
        memcpy(text, data, size);
    }
    ry_arena_init(&arena, &ry_system_allocator);
    if (ry_fleet_parse("list", text, size, &arena, &fleet, &error) == RYND_OK) {
        check(&fleet);
    } else {
        require(strncmp(error.text, "list: ", 6) == 0);
    }
    ry_arena_free(&arena);
    free(text);
    return 0;
}
