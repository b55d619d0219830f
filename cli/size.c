/* SPDX-License-Identifier: Apache-2.0 */
/* Reads sizes of memory. */
#include "size.h"

#include "options.h"

#include <math.h>
#include <string.h>

static double unit_of(const char *text)
{
    static const char units[] = "KMGT";
    const char *found = *text ? strchr(units, *text) : NULL;
    const bool whole = found && (text[1] == 0 || strcmp(text + 1, "iB") == 0);
    return *text == 0 ? 1 : whole ? ldexp(1, 10 * (int)(found - units + 1)) : 0;
}

bool cli_size_read(const char *text, const char *option, size_t *bytes, cli_failure *failure)
{
    double number = 0;
    const size_t digits = strspn(text, "0123456789.");
    const double unit = unit_of(text + digits);
    const bool read = digits && cli_parse_number(text, digits, &number);
    if (!read || !(number * unit >= 1) || number * unit >= 0x1p62) {
        return cli_fail_usage(failure,
                              "--%s does not take '%s'; give a size of memory, as 1500000000, 800M "
                              "or 1.5G",
                              option, text);
    }
    *bytes = (size_t)(number * unit);
    return true;
}
