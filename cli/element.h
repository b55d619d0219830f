/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of any dtype, read and written through the widest float, which holds every value
 * of every dtype exactly. */
#ifndef CLI_ELEMENT_H
#define CLI_ELEMENT_H

#include <rynd/rynd.h>
#include <stdbool.h>

/* 64 bits of significand at least: i64 and u64 are exact. */
typedef long double cli_number;

cli_number cli_element_get(rynd_dtype dtype, const void *data, int64_t index);
/* Integers are rounded to nearest and clamped to the type's range, NaN becomes 0; floats are
 * rounded to nearest even; bool stores value != 0. */
void cli_element_set(rynd_dtype dtype, void *data, int64_t index, cli_number value);
bool cli_dtype_is_float(rynd_dtype dtype);

#endif
