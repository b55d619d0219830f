/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers as text, the same in every locale, exact both ways. */
#ifndef RY_PROBLEM_PROBLEM_NUMBER_H
#define RY_PROBLEM_PROBLEM_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RY_NUMBER_SIZE 40

/* The shortest text that reads back as the same number; "inf", "-inf", "nan". */
void ry_number_print(double number, char text[RY_NUMBER_SIZE]);
/* All of text[0..length) must be the number. */
bool ry_number_parse(const char *text, size_t length, double *number);
bool ry_integer_parse(const char *text, size_t length, int64_t *number); /* false beyond int64 too */

#endif
