/* SPDX-License-Identifier: Apache-2.0 */
/* Shares, and rows mixed by them. */
#include "mixup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

float cli_mixup_share(double a, const float numbers[CLI_MIXUP_NUMBERS])
{
    const double steps = 65536;
    for (int i = 0; i < CLI_MIXUP_NUMBERS; i += 2) {
        const double x = pow((double)numbers[i], 1 / a), y = pow((double)numbers[i + 1], 1 / a);
        if (x + y > 0 && x + y <= 1) {
            return (float)(floor(x / (x + y) * steps + 0.5) / steps);
        }
    }
    return 1;
}

static void mix(float *row, const float *other, size_t count, float share)
{
    for (size_t i = 0; i < count; i++) {
        row[i] = share * row[i] + (1 - share) * other[i];
    }
}

bool cli_mixup_rows(const rynd_tensor *rows, float share, cli_failure *failure)
{
    const size_t count = (size_t)(rynd_tensor_elements(rows) / rows->dim[0]);
    float *first = rows->data, *last = malloc(count * sizeof *last);
    if (!last) {
        return cli_fail_memory(failure);
    }
    memcpy(last, first + (size_t)(rows->dim[0] - 1) * count, count * sizeof *last);
    for (int64_t i = rows->dim[0] - 1; i > 0; i--) {
        mix(first + (size_t)i * count, first + (size_t)(i - 1) * count, count, share);
    }
    mix(first, last, count, share);
    free(last);
    return true;
}
