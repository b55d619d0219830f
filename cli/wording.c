/* SPDX-License-Identifier: Apache-2.0 */
/* Formats numbers with units, and shapes. */
#include "wording.h"

#include <inttypes.h>
#include <stdio.h>

static cli_word scaled(double value, double base, const char *const *prefixes, int count,
                       const char *unit)
{
    int i = 0;
    while (value >= base && i + 1 < count) {
        value /= base;
        i++;
    }
    cli_word word;
    snprintf(word.text, sizeof word.text, "%.*f%s%s%s", i == 0 ? 0 : 1, value,
             *prefixes[i] || *unit ? " " : "", prefixes[i], unit);
    return word;
}

cli_word cli_word_seconds(double seconds)
{
    static const struct {
        double least;
        const char *unit;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    size_t i = 0;
    while (i + 1 < sizeof units / sizeof *units && seconds < units[i].least) {
        i++;
    }
    cli_word word;
    snprintf(word.text, sizeof word.text, "%.3g %s", seconds / units[i].least, units[i].unit);
    if (seconds / units[i].least >= 1000) {
        snprintf(word.text, sizeof word.text, "%.0f %s", seconds / units[i].least, units[i].unit);
    }
    return word;
}

cli_word cli_word_bytes(double bytes)
{
    static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti"};
    return scaled(bytes, 1024, prefixes, 5, "B");
}

static const char *const decimal[] = {"", "k", "M", "G", "T"};

cli_word cli_word_count(double count)
{
    return scaled(count, 1000, decimal, 5, "");
}

cli_word cli_word_rate(double rate, const char *unit)
{
    return scaled(rate, 1000, decimal, 5, unit);
}

cli_shape_text cli_shape_of_tensor(const rynd_tensor *tensor)
{
    cli_shape_text shape;
    size_t used = (size_t)snprintf(shape.text, sizeof shape.text, "[");
    for (int i = 0; i < tensor->rank && used < sizeof shape.text; i++) {
        used += (size_t)snprintf(shape.text + used, sizeof shape.text - used, "%s%" PRId64,
                                 i ? ", " : "", tensor->dim[i]);
    }
    if (used < sizeof shape.text) {
        snprintf(shape.text + used, sizeof shape.text - used, "]");
    }
    return shape;
}

cli_shape_text cli_shape_of_value(const rynd_value_info *info)
{
    cli_shape_text shape;
    size_t used = (size_t)snprintf(shape.text, sizeof shape.text, info->rank < 0 ? "[..." : "[");
    for (int i = 0; i < info->rank && used < sizeof shape.text; i++) {
        const char *comma = i ? ", " : "";
        if (info->dim[i] >= 0) {
            used += (size_t)snprintf(shape.text + used, sizeof shape.text - used, "%s%" PRId64,
                                     comma, info->dim[i]);
        } else {
            used += (size_t)snprintf(shape.text + used, sizeof shape.text - used, "%s%s", comma,
                                     info->symbol[i]);
        }
    }
    if (used < sizeof shape.text) {
        snprintf(shape.text + used, sizeof shape.text - used, "]");
    }
    return shape;
}
