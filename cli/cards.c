/* SPDX-License-Identifier: Apache-2.0 */
/* Lists cards. */
#include "cards.h"

#include "json_out.h"
#include "table.h"
#include "wording.h"

#include <rynd/rynd.h>

static void add_row(cli_table *table, const char *name, const char *device, const rynd_machine *m)
{
    cli_table_add(table, "%s", name);
    cli_table_add(table, "%s", device);
    cli_table_add(table, "%s", m->name);
    cli_table_add(table, "%u", m->cores);
    cli_table_add(table, "%s", cli_word_rate(m->f32.all, "flop/s").text);
    cli_table_add(table, "%s", m->matrix_units ? cli_word_rate(m->bf16.all, "flop/s").text : "");
    cli_table_add(table, "%s", cli_word_rate(m->level[RYND_LEVEL_DRAM].bandwidth.all, "B/s").text);
}

static void add_json(cJSON *results, const char *name, const char *device, const rynd_machine *m)
{
    cJSON *result = cli_json_object_in(results);
    cli_json_text(result, "card", name);
    cli_json_text(result, "device", device);
    cli_json_text(result, "name", m->name);
    cli_json_number(result, "units", m->cores);
    cli_json_number(result, "f32", m->f32.all);
    cli_json_number(result, "matrix_units", m->matrix_units ? m->bf16.all : 0);
    cli_json_number(result, "memory", m->level[RYND_LEVEL_DRAM].bandwidth.all);
}

bool cli_show_cards(bool json, cli_failure *failure)
{
    static const char *const head[] = {"card", "device",       "name",  "units",
                                       "f32",  "matrix units", "memory"};
    cJSON *results = NULL, *document = json ? cli_json_begin("devices", &results) : NULL;
    cli_table table;
    const char *name, *device;
    cli_table_begin(&table, "lllrrrr", head);
    for (size_t i = 0;; i++) {
        rynd_machine machine = RYND_SIZED(rynd_machine);
        if (rynd_card_get(i, &name, &device, &machine) != RYND_OK) {
            break;
        }
        if (document) {
            add_json(results, name, device, &machine);
        } else {
            add_row(&table, name, device, &machine);
        }
    }
    const bool printed = cli_table_print(&table, document ? NULL : stdout);
    return document ? cli_json_print(document, failure) : printed || cli_fail_memory(failure);
}
