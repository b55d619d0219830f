/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of both kinds of devices, one behind the other. */
#include "api/api_cards.h"

#include "api/api_check.h"
#include "api/api_status.h"
#include "device/cuda/cuda_info.h"
#include "device/opencl/opencl_info.h"
#include "machine/machine_fields.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *device;
    const char *(*name)(size_t index);
    void (*get)(size_t index, rynd_machine *machine);
} lists[] = {{"cuda", ry_cuda_card_name, ry_cuda_card},
             {"opencl", ry_opencl_card_name, ry_opencl_card}};
enum { LISTS = sizeof lists / sizeof *lists };

bool ry_api_card(const char *name, ry_machine *machine)
{
    for (size_t l = 0; l < LISTS; l++) {
        const char *own;
        for (size_t i = 0; (own = lists[l].name(i)) != NULL; i++) {
            if (strcmp(own, name) == 0) {
                lists[l].get(i, machine);
                ry_machine_settle(machine);
                return true;
            }
        }
    }
    return false;
}

void ry_api_card_names(const char *device, char *text, size_t room)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t l = 0; l < LISTS; l++) {
        const char *name;
        for (size_t i = 0;
             strcmp(lists[l].device, device) == 0 && (name = lists[l].name(i)) && used < room;
             i++) {
            used += (size_t)snprintf(text + used, room - used, "%s%s", i ? ", " : "", name);
        }
    }
}

static rynd_status get_card(size_t index, const char **name, const char **device,
                            rynd_machine *machine, ry_error *error)
{
    size_t before = 0;
    for (size_t l = 0; l < LISTS; l++) {
        size_t count = 0;
        while (lists[l].name(count)) {
            count++;
        }
        if (index - before < count) {
            ry_machine all;
            lists[l].get(index - before, &all);
            ry_machine_settle(&all);
            *name = lists[l].name(index - before);
            *device = lists[l].device;
            return ry_api_info(machine, &all, sizeof all, "rynd_machine", error);
        }
        before += count;
    }
    return ry_fail(error, RYND_ERROR_NOT_FOUND, "there are %zu cards, from 0 on", before);
}

rynd_status rynd_card_get(size_t index, const char **name, const char **device,
                          rynd_machine *machine)
{
    RY_API_REQUIRE(name, device, machine);
    ry_error error = {""};
    return ry_api_end(get_card(index, name, device, machine, &error), &error);
}
