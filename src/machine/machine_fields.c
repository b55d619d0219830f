/* SPDX-License-Identifier: Apache-2.0 */
/* A machine's numbers, and their ranges. */
#include "machine/machine_fields.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* A core's share of a cache, in bytes at least: kernels cut their blocks by it. */
#define LEAST_SHARE 1024

#define OFFSET(member) offsetof(ry_machine, member)
#define TEXT(member)                                                                       \
    {                                                                                      \
#member, RY_MACHINE_TEXT, OFFSET(member), 1, 0, sizeof((ry_machine *)0)->member, 0 \
    }
#define COUNT(member, least, most, optional)                                       \
    {                                                                              \
#member, RY_MACHINE_COUNT, OFFSET(member), 1, least, most, (optional) != 0 \
    }
#define FLAG(member) COUNT(member, 0, 1, true)
/* Rates of arithmetic and of memory: from a microcontroller's to more than any device has. */
#define RATE(key, member, optional)                                         \
    {                                                                       \
        key, RY_MACHINE_RATE, OFFSET(member), 1, 1e6, 1e18, (optional) != 0 \
    }
/* One rate, in bytes a second. */
#define NUMBER(key, member)                                          \
    {                                                                \
        key, RY_MACHINE_DURATION, OFFSET(member), 1, 1e6, 1e18, true \
    }
#define KIND(name, which) RATE("kind_" name, kind[which], true)
/* In picoseconds: up to 10 ms, so that products with rates are far from overflow. */
#define DURATION(key, member)                                         \
    {                                                                 \
        key, RY_MACHINE_DURATION, OFFSET(member), 1e12, 0, 1e10, true \
    }
/* In millionths */
#define SHARE(key, member)                                          \
    {                                                               \
        key, RY_MACHINE_DURATION, OFFSET(member), 1e6, 0, 1e8, true \
    }
/* In attojoules: up to a microjoule an operation or byte. */
#define JOULES(key, which)                                                   \
    {                                                                        \
        key, RY_MACHINE_DURATION, OFFSET(energy[which]), 1e18, 0, 1e12, true \
    }
#define LEVEL(key, which, least, most)                                                           \
    {key "_bytes", RY_MACHINE_BYTES, OFFSET(level[which].bytes), 1, least, most, true},          \
        {key "_shared_by", RY_MACHINE_COUNT, OFFSET(level[which].shared_by), 1, 1, 65536, true}, \
        RATE(key "_bandwidth", level[which].bandwidth, (which) != RYND_LEVEL_DRAM),              \
    {                                                                                            \
        key "_latency", RY_MACHINE_RATE, OFFSET(level[which].latency), 1e12, 0, 1e12, true       \
    }

const ry_machine_field ry_machine_fields[RY_MACHINE_FIELDS] = {
    TEXT(vendor),
    TEXT(name),
    TEXT(architecture),
    TEXT(isa),
    COUNT(family, 0, INT32_MAX, true),
    COUNT(model, 0, INT32_MAX, true),
    COUNT(cores, 1, 65536, false),
    COUNT(vector_bytes, 4, 65536, false),
    COUNT(vector_registers, 1, 65536, true),
    COUNT(line_bytes, 4, 65536, true),
    {"huge_page_bytes", RY_MACHINE_BYTES, OFFSET(huge_page_bytes), 1, 4096, 1e12, true},
    RATE("f32", f32, false),
    RATE("bf16", bf16, true),
    RATE("int8", int8, true),
    KIND("add", RYND_KIND_ADD),
    KIND("divide", RYND_KIND_DIVIDE),
    KIND("load", RYND_KIND_LOAD),
    KIND("split", RYND_KIND_SPLIT),
    KIND("gather", RYND_KIND_GATHER),
    KIND("store", RYND_KIND_STORE),
    KIND("masked", RYND_KIND_MASKED),
    KIND("permute", RYND_KIND_PERMUTE),
    KIND("convert", RYND_KIND_CONVERT),
    KIND("scalar", RYND_KIND_SCALAR),
    KIND("chain", RYND_KIND_CHAIN),
    KIND("call", RYND_KIND_CALL),
    LEVEL("l1", RYND_LEVEL_L1, LEAST_SHARE, 1e12),
    LEVEL("l2", RYND_LEVEL_L2, LEAST_SHARE, 1e12),
    LEVEL("l3", RYND_LEVEL_L3, LEAST_SHARE, 1e12),
    LEVEL("dram", RYND_LEVEL_DRAM, 0, 1e15),
    DURATION("task", task_seconds),
    DURATION("region", region_seconds),
    DURATION("transfer", transfer_seconds),
    DURATION("network_step", network_step),
    SHARE("network_kept", network_kept),
    SHARE("network_exposed", network_exposed),
    SHARE("network_rate", network_rate),
    SHARE("network_region", network_region),
    {"disturbance", RY_MACHINE_DURATION, OFFSET(disturbance), 1e6, 0, 1e6, true},
    {"variation", RY_MACHINE_DURATION, OFFSET(variation), 1e6, 0, 1e6, true},
    COUNT(group_items, 1, 65536, true),
    COUNT(step_items, 1, 65536, true),
    COUNT(unit_groups, 1, 65536, true),
    {"local_bytes", RY_MACHINE_BYTES, OFFSET(local_bytes), 1, LEAST_SHARE, 1e12, true},
    COUNT(unit_registers, 1024, 16777216, true),
    COUNT(unit_items, 1, 65536, true),
    COUNT(group_units, 1, 65536, true),
    RATE("issue", issue, true),
    DURATION("replay", replay_seconds),
    {"launch_limit", RY_MACHINE_DURATION, OFFSET(launch_limit), 1e6, 1e3, 1e9, true},
    FLAG(fp16),
    FLAG(fp64),
    FLAG(subgroups),
    FLAG(matrix_units),
    NUMBER("upload", upload_rate),
    NUMBER("download", download_rate),
    DURATION("copy", copy_seconds),
    TEXT(meter),
    {"milliwatts", RY_MACHINE_RATE, OFFSET(watts), 1e3, 0, 1e12, true},
    {"memory_milliwatts", RY_MACHINE_RATE, OFFSET(memory_watts), 1e3, 0, 1e12, true},
    {"static_milliwatts", RY_MACHINE_RATE, OFFSET(static_watts), 1e3, 0, 1e12, true},
    JOULES("energy_f32", RYND_ENERGY_F32),
    JOULES("energy_bf16", RYND_ENERGY_BF16),
    JOULES("energy_int8", RYND_ENERGY_INT8),
    JOULES("energy_other", RYND_ENERGY_OTHER),
    JOULES("energy_cache", RYND_ENERGY_CACHE),
    JOULES("energy_memory", RYND_ENERGY_MEMORY),
    {"energy_spread", RY_MACHINE_DURATION, OFFSET(energy_spread), 1e6, 0, 5e6, true},
};

const ry_machine_field *ry_machine_field_named(const char *name, size_t length)
{
    for (size_t i = 0; i < RY_MACHINE_FIELDS; i++) {
        const ry_machine_field *f = &ry_machine_fields[i];
        if (strlen(f->name) == length && memcmp(f->name, name, length) == 0) {
            return f;
        }
    }
    return NULL;
}

int ry_machine_field_get(const ry_machine_field *field, const ry_machine *machine,
                         double numbers[2])
{
    const void *from = (const char *)machine + field->offset;
    const rynd_rate *rate = from;
    switch (field->kind) {
    case RY_MACHINE_TEXT: return 0;
    case RY_MACHINE_COUNT: numbers[0] = *(const unsigned *)from; return 1;
    case RY_MACHINE_BYTES: numbers[0] = (double)*(const size_t *)from; return 1;
    case RY_MACHINE_DURATION: numbers[0] = *(const double *)from * field->unit; return 1;
    default:
        numbers[0] = rate->one * field->unit;
        numbers[1] = rate->all * field->unit;
        return 2;
    }
}

void ry_machine_field_set(const ry_machine_field *field, ry_machine *machine,
                          const double numbers[2])
{
    void *to = (char *)machine + field->offset;
    switch (field->kind) {
    case RY_MACHINE_TEXT: break;
    case RY_MACHINE_COUNT: *(unsigned *)to = (unsigned)numbers[0]; break;
    case RY_MACHINE_BYTES: *(size_t *)to = (size_t)numbers[0]; break;
    case RY_MACHINE_DURATION: *(double *)to = numbers[0] / field->unit; break;
    default: *(rynd_rate *)to = (rynd_rate){numbers[0] / field->unit, numbers[1] / field->unit};
    }
}

/* What a division by the unit and a multiplication by it may change does not count. */
bool ry_machine_field_takes(const ry_machine_field *field, double number)
{
    const double slack = 1e-9;
    return (field->optional && number == 0) ||
           (number >= field->least * (1 - slack) && number <= field->most * (1 + slack));
}

void ry_machine_field_range(const ry_machine_field *field, char text[RY_MACHINE_RANGE])
{
    if (field->kind == RY_MACHINE_TEXT) {
        snprintf(text, RY_MACHINE_RANGE, "at most %.0f printable characters of ASCII",
                 field->most - 1);
        return;
    }
    snprintf(text, RY_MACHINE_RANGE, "%s from %.0f to %.0f%s",
             field->kind == RY_MACHINE_RATE ? "two whole numbers" : "a whole number", field->least,
             field->most,
             field->optional && field->least > 0 ? ", or 0 for what is not known" : "");
}

static bool is_text(const char *text, size_t room)
{
    size_t i = 0;
    for (; i < room && text[i]; i++) {
        if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~') {
            return false;
        }
    }
    return i < room;
}

static rynd_status check_field(const ry_machine_field *field, const ry_machine *machine,
                               ry_error *error)
{
    double numbers[2] = {0, 0};
    char range[RY_MACHINE_RANGE];
    const int count = ry_machine_field_get(field, machine, numbers);
    ry_machine_field_range(field, range);
    if (field->kind == RY_MACHINE_TEXT &&
        !is_text((const char *)machine + field->offset, (size_t)field->most)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "%s takes %s", field->name, range);
    }
    for (int i = 0; i < count; i++) {
        if (!ry_machine_field_takes(field, numbers[i])) {
            return numbers[i] == 0 ? ry_fail(error, RYND_ERROR_ARGUMENT,
                                             "%s is missing, or 0: it takes %s", field->name, range)
                                   : ry_fail(error, RYND_ERROR_ARGUMENT, "%s is %.0f: it takes %s",
                                             field->name, numbers[i], range);
        }
    }
    return RYND_OK;
}

static bool has_share(const rynd_memory_level *level)
{
    return level->bytes == 0 || level->shared_by == 0 ||
           level->bytes / level->shared_by >= LEAST_SHARE;
}

bool ry_machine_family_legal(const rynd_family_error *row)
{
    size_t length = 0;
    for (; length < sizeof row->family && row->family[length]; length++) {
        const char c = row->family[length];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) {
            return false;
        }
    }
    return length > 0 && length < sizeof row->family && row->factor >= 0.01f &&
           row->factor <= 100 && row->spread >= 0 && row->spread <= 5;
}

static rynd_status check_families(const ry_machine *machine, ry_error *error)
{
    if (machine->family_count > RYND_MACHINE_FAMILIES) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "family_count is %u: at most %d",
                       machine->family_count, RYND_MACHINE_FAMILIES);
    }
    for (unsigned i = 0; i < machine->family_count; i++) {
        const rynd_family_error *row = &machine->families[i];
        if (!ry_machine_family_legal(row)) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "families[%u] '%.39s' has factor %g and spread %g: a name of lower-case "
                           "letters, digits and underscores, a factor from 0.01 to 100 and a "
                           "spread from 0 to 5 are legal",
                           i, row->family, (double)row->factor, (double)row->spread);
        }
    }
    return RYND_OK;
}

rynd_status ry_machine_check(const ry_machine *machine, ry_error *error)
{
    ry_isa isa;
    RY_TRY(check_families(machine, error));
    for (size_t i = 0; i < RY_MACHINE_FIELDS; i++) {
        RY_TRY(check_field(&ry_machine_fields[i], machine, error));
    }
    for (int i = 0; i < RYND_LEVEL_DRAM; i++) {
        const rynd_memory_level *level = &machine->level[i];
        if (!has_share(level)) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "%s_bytes is %zu and %s_shared_by %u: a core's share is at least %d "
                           "bytes",
                           ry_level_name((rynd_level)i), level->bytes, ry_level_name((rynd_level)i),
                           level->shared_by, LEAST_SHARE);
        }
    }
    return machine->group_items || ry_isa_parse(machine->isa, &isa)
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "isa is missing, or '%s', which no kernel is for", machine->isa);
}

static double settled(const ry_machine_field *field, double number)
{
    return ry_machine_field_takes(field, number) ? number
           : !(number >= field->least)           ? (field->optional ? 0 : field->least)
                                                 : field->most;
}

void ry_machine_settle(ry_machine *machine)
{
    for (size_t i = 0; i < RY_MACHINE_FIELDS; i++) {
        double numbers[2] = {0, 0};
        if (ry_machine_field_get(&ry_machine_fields[i], machine, numbers) > 0) {
            numbers[0] = settled(&ry_machine_fields[i], numbers[0]);
            numbers[1] = settled(&ry_machine_fields[i], numbers[1]);
            ry_machine_field_set(&ry_machine_fields[i], machine, numbers);
        }
    }
    for (int i = 0; i < RYND_LEVEL_DRAM; i++) {
        if (!has_share(&machine->level[i])) {
            machine->level[i].bytes = 0;
        }
    }
}
