/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, the same in every locale, exact both ways. */
#ifndef RY_BASE_NUMBER_H
#define RY_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RY_NUMBER_SIZE 40

/* The shortest text of 6 digits or more, without zeros at its end, that reads back as the same
 * number; "inf", "-inf", "nan". */
void ry_number_print(double number, char text[RY_NUMBER_SIZE]);
/* With so many digits behind the point, at most 17: for people to read. Numbers beyond 1e18 as
 * ry_number_print has them. */
void ry_number_print_fixed(double number, int decimals, char text[RY_NUMBER_SIZE]);
/* All of text[0..length) must be the number. */
bool ry_number_parse(const char *text, size_t length, double *number);
/* Digits, perhaps after a '-'; false beyond int64, too. */
bool ry_integer_parse(const char *text, size_t length, int64_t *number);

#endif
