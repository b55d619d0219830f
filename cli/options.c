/* SPDX-License-Identifier: Apache-2.0 */
/* Parses options by their tables. */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One row a kind: how a value's text is stored. `text` is what follows the option; false when it is
 * not one that the row allows. */
typedef enum stored { REFUSED, STORED, NO_MEMORY } stored;

typedef stored (*store_function)(const cli_option *option, const char *text, void *target);

bool cli_parse_integer(const char *text, size_t length, int64_t *value)
{
    char copy[32];
    if (length == 0 || length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = 0;
    char *end;
    errno = 0;
    long long v = strtoll(copy, &end, 10);
    *value = v;
    return errno == 0 && *end == 0 && (copy[0] == '-' || (copy[0] >= '0' && copy[0] <= '9'));
}

static bool parse_plain_number(const char *text, size_t length, double *value)
{
    char copy[64];
    if (length == 0 || length >= sizeof copy || strspn(text, "+-.0123456789eE") < length) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = 0;
    char *end;
    *value = strtod(copy, &end);
    return end != copy && *end == 0 && isfinite(*value);
}

bool cli_parse_number(const char *text, size_t length, double *value)
{
    const char *slash = memchr(text, '/', length);
    if (!slash) {
        return parse_plain_number(text, length, value);
    }
    double over, under;
    if (!parse_plain_number(text, (size_t)(slash - text), &over) ||
        !parse_plain_number(slash + 1, length - (size_t)(slash - text) - 1, &under) || under == 0) {
        return false;
    }
    *value = over / under;
    return isfinite(*value);
}

static stored store_text(const cli_option *option, const char *text, void *target)
{
    (void)option;
    *(const char **)target = text;
    return *text != 0 ? STORED : REFUSED;
}

static stored store_choice(const cli_option *option, const char *text, void *target)
{
    size_t length = strlen(text);
    int index = 1;
    for (const char *c = option->choices; c; index++) {
        size_t n = strcspn(c, "|");
        if (n == length && memcmp(c, text, n) == 0) {
            *(int *)target = index;
            return STORED;
        }
        c = c[n] ? c + n + 1 : NULL;
    }
    return REFUSED;
}

static stored store_integer(const cli_option *option, const char *text, void *target)
{
    int64_t *value = target;
    return cli_parse_integer(text, strlen(text), value) && (double)*value >= option->least &&
                   (double)*value <= option->most
               ? STORED
               : REFUSED;
}

static stored store_number(const cli_option *option, const char *text, void *target)
{
    double *value = target;
    return cli_parse_number(text, strlen(text), value) && *value >= option->least &&
                   *value <= option->most
               ? STORED
               : REFUSED;
}

static stored store_list(const cli_option *option, const char *text, void *target)
{
    (void)option;
    cli_list *list = target;
    if (!*text) {
        return REFUSED;
    }
    const char **items = realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items) {
        return NO_MEMORY;
    }
    list->items = items;
    list->items[list->count++] = text;
    return STORED;
}

static stored store_dims(const cli_option *option, const char *text, void *target)
{
    (void)option;
    cli_dims *dims = target;
    const char *equals = strrchr(text, '=');
    int64_t value;
    if (!equals || equals == text || !cli_parse_integer(equals + 1, strlen(equals + 1), &value) ||
        value < 0) {
        return REFUSED;
    }
    rynd_dim *items = realloc(dims->items, (dims->count + 1) * sizeof *items);
    char *symbol = strndup(text, (size_t)(equals - text));
    if (items) {
        dims->items = items;
    }
    if (!items || !symbol) {
        free(symbol);
        return NO_MEMORY;
    }
    items[dims->count++] = (rynd_dim){.symbol = symbol, .value = value};
    return STORED;
}

/* The step's name may have dots and equals signs in it: the last ones count. Without a dot there is
 * no step. */
static stored store_setting(const cli_option *option, const char *text, void *target)
{
    (void)option;
    cli_settings *settings = target;
    const char *equals = strrchr(text, '='), *knob = equals;
    while (knob && knob > text && knob[-1] != '.') {
        knob--;
    }
    if (!equals || knob == equals || knob == text + 1 || !equals[1]) {
        return REFUSED;
    }
    rynd_setting *items = realloc(settings->items, (settings->count + 1) * sizeof *items);
    char *copy = strdup(text); /* holds all texts; owned by the first item */
    if (items) {
        settings->items = items;
    }
    if (!items || !copy) {
        free(copy);
        return NO_MEMORY;
    }
    copy[equals - text] = 0;
    if (knob > text) {
        copy[knob - 1 - text] = 0;
    }
    items[settings->count++] =
        (rynd_setting){knob > text ? copy : NULL, copy + (knob - text), copy + (equals + 1 - text)};
    return STORED;
}

static stored store_extent(const cli_option *option, const char *text, void *target)
{
    (void)option;
    cli_extent *extent = target;
    size_t n = strcspn(text, "xX");
    const double most = 65535; /* the largest side of a JPEG */
    *extent = (cli_extent){0};
    if (!text[n]) {
        return cli_parse_integer(text, n, &extent->width) && extent->width >= 1 &&
                       (double)extent->width <= most
                   ? STORED
                   : REFUSED;
    }
    return cli_parse_integer(text, n, &extent->height) &&
                   cli_parse_integer(text + n + 1, strlen(text + n + 1), &extent->width) &&
                   extent->height >= 1 && extent->width >= 1 && (double)extent->height <= most &&
                   (double)extent->width <= most
               ? STORED
               : REFUSED;
}

static stored store_channels(const cli_option *option, const char *text, void *target)
{
    cli_channels *channels = target;
    channels->count = 0;
    for (;;) {
        size_t n = strcspn(text, ",");
        double value;
        if (channels->count == 3 || !cli_parse_number(text, n, &value) || value < option->least ||
            value > option->most) {
            return REFUSED;
        }
        channels->value[channels->count++] = value;
        if (!text[n]) {
            return channels->count != 2 ? STORED : REFUSED;
        }
        text += n + 1;
    }
}

static const store_function store[CLI_KINDS] = {
    [CLI_TEXT] = store_text,     [CLI_CHOICE] = store_choice,     [CLI_INTEGER] = store_integer,
    [CLI_NUMBER] = store_number, [CLI_LIST] = store_list,         [CLI_DIMS] = store_dims,
    [CLI_EXTENT] = store_extent, [CLI_CHANNELS] = store_channels, [CLI_SETTINGS] = store_setting,
};

/* "a whole number from 1 to 4096". */
static void describe_allowed(const cli_option *option, char *text, size_t size)
{
    static const char *const what[CLI_KINDS] = {
        [CLI_TEXT] = "a text that is not empty",
        [CLI_LIST] = "a text that is not empty",
        [CLI_DIMS] = "NAME=N, where N is an integer of at least 0",
        [CLI_SETTINGS] =
            "STEP.KNOB=V, or KNOB=V for a problem; `rynd plan --knobs` lists the names",
        [CLI_EXTENT] =
            ("HEIGHTxWIDTH, or one number (shorter side of --size, both sides of --crop), 1 to "
             "65535"),
    };
    switch (option->kind) {
    case CLI_CHOICE: snprintf(text, size, "one of %s", option->choices); break;
    case CLI_INTEGER:
        snprintf(text, size, "an integer from %.0f to %.0f", option->least, option->most);
        break;
    case CLI_NUMBER:
        snprintf(text, size, "a number or a fraction (1/255) from %g to %g", option->least,
                 option->most);
        break;
    case CLI_CHANNELS:
        snprintf(text, size, "one number, or three with commas (one per channel), from %g to %g",
                 option->least, option->most);
        break;
    default: snprintf(text, size, "%s", what[option->kind]); break;
    }
}

static const cli_option *find(const cli_command *command, const char *name, size_t length,
                              char letter)
{
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
        if (option->kind != CLI_HEADING &&
            (letter ? option->letter == letter
                    : strlen(option->name) == length && memcmp(option->name, name, length) == 0)) {
            break;
        }
    }
    return option;
}

static bool set_option(const cli_command *command, const cli_option *option, const char *text,
                       void *settings, cli_failure *failure)
{
    void *target = (char *)settings + option->offset;
    if (option->kind == CLI_FLAG) {
        *(bool *)target = true;
        return true;
    }
    const stored result = store[option->kind](option, text, target);
    if (result != REFUSED) {
        return result == STORED ? true : cli_fail_memory(failure);
    }
    char allowed[256];
    describe_allowed(option, allowed, sizeof allowed);
    return cli_fail_usage(failure, "%s: --%s does not take '%s'; give %s", command->name,
                          option->name, text, allowed);
}

/* Parses one argument that begins with '-'. `next` is the following one, or NULL; sets *used if
 * it is the value. */
static bool parse_option(const cli_command *command, const char *text, const char *next, bool *used,
                         void *settings, cli_failure *failure)
{
    const char *value = NULL;
    const cli_option *option;
    *used = false;
    if (text[1] == '-') {
        size_t length = strcspn(text + 2, "=");
        option = find(command, text + 2, length, 0);
        value = text[2 + length] ? text + 2 + length + 1 : NULL;
    } else {
        option = find(command, "", 0, text[1]);
        value = text[2] ? text + 2 : NULL;
        if (option && option->kind == CLI_FLAG && value) {
            char rest[64];
            snprintf(rest, sizeof rest, "-%s", value);
            return set_option(command, option, NULL, settings, failure) &&
                   parse_option(command, rest, next, used, settings, failure);
        }
    }
    if (!option) {
        return cli_fail_usage(failure, "%s: there is no option '%s'; 'rynd %s --help' lists them",
                              command->name, text, command->name);
    }
    if (option->kind == CLI_FLAG && value) {
        return cli_fail_usage(failure, "%s: --%s does not take a value, but '%s' is given",
                              command->name, option->name, value);
    }
    if (option->kind != CLI_FLAG && !value) {
        if (!next) {
            return cli_fail_usage(failure, "%s: --%s needs a value: %s", command->name,
                                  option->name, option->value);
        }
        value = next;
        *used = true;
    }
    return set_option(command, option, value, settings, failure);
}

bool cli_parse(const cli_command *command, int argc, char **argv, void *settings,
               cli_failure *failure)
{
    cli_common *common = settings;
    bool options_end = false;
    for (int i = 0; i < argc; i++) {
        const char *text = argv[i];
        if (!options_end && strcmp(text, "--") == 0) {
            options_end = true;
        } else if (!options_end && text[0] == '-' && text[1]) {
            bool used;
            if (!parse_option(command, text, i + 1 < argc ? argv[i + 1] : NULL, &used, settings,
                              failure)) {
                return false;
            }
            i += used;
        } else {
            const stored result = store_list(NULL, text, &common->arguments);
            if (result != STORED) {
                return result == NO_MEMORY
                           ? cli_fail_memory(failure)
                           : cli_fail_usage(failure, "%s: an argument is empty", command->name);
            }
        }
    }
    if (common->help) {
        return true;
    }
    if (common->arguments.count < command->least) {
        return cli_fail_usage(failure, "%s: %s is missing; usage: rynd %s %s", command->name,
                              command->arguments, command->name, command->arguments);
    }
    if (common->arguments.count > command->most) {
        return cli_fail_usage(failure, "%s: '%s' is one argument too many; usage: rynd %s %s",
                              command->name, common->arguments.items[command->most], command->name,
                              command->arguments);
    }
    return true;
}

static void free_value(const cli_option *option, char *settings)
{
    if (option->kind == CLI_LIST) {
        free(((cli_list *)(void *)(settings + option->offset))->items);
    }
    if (option->kind == CLI_DIMS) {
        cli_dims *dims = (cli_dims *)(void *)(settings + option->offset);
        for (size_t i = 0; i < dims->count; i++) {
            free((char *)(uintptr_t)dims->items[i].symbol);
        }
        free(dims->items);
    }
    if (option->kind == CLI_SETTINGS) {
        cli_settings *own = (cli_settings *)(void *)(settings + option->offset);
        for (size_t i = 0; i < own->count; i++) {
            free((char *)(uintptr_t)(own->items[i].step ? own->items[i].step : own->items[i].knob));
        }
        free(own->items);
    }
}

void cli_settings_free(const cli_command *command, void *settings)
{
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
        free_value(option, settings);
    }
    free(((cli_common *)settings)->arguments.items);
}
