/* SPDX-License-Identifier: Apache-2.0 */
/* THE list of a machine's numbers and texts, each with its range: of files that are read, of
 * machines that are given, and of what a driver or the system says. */
#ifndef RY_MACHINE_MACHINE_FIELDS_H
#define RY_MACHINE_MACHINE_FIELDS_H

#include "machine/machine.h"

typedef enum ry_machine_kind {
    RY_MACHINE_TEXT,     /* char[]; `most` is its size */
    RY_MACHINE_COUNT,    /* unsigned or int */
    RY_MACHINE_BYTES,    /* size_t */
    RY_MACHINE_RATE,     /* rynd_rate, `unit` numbers of the file are one */
    RY_MACHINE_DURATION, /* double, likewise */
} ry_machine_kind;

typedef struct ry_machine_field {
    const char *name;
    ry_machine_kind kind;
    size_t offset;      /* in ry_machine */
    double unit;        /* file's units in one of the machine's */
    double least, most; /* in the file's units */
    bool optional;      /* 0 is allowed, too: it is not known, or not there */
} ry_machine_field;

enum { RY_MACHINE_FIELDS = 68 + RYND_KINDS };

/* In the order of the file. */
extern const ry_machine_field ry_machine_fields[RY_MACHINE_FIELDS];

/* NULL: there is none. */
const ry_machine_field *ry_machine_field_named(const char *name, size_t length);

/* One number, a rate's two, or a text's none, in the file's units. */
int ry_machine_field_get(const ry_machine_field *field, const ry_machine *machine,
                         double numbers[2]);
void ry_machine_field_set(const ry_machine_field *field, ry_machine *machine,
                          const double numbers[2]);
/* Is the number, in the file's unit, in the field's range? */
bool ry_machine_field_takes(const ry_machine_field *field, double number);

/* "2 whole numbers from 1000000 to 1000000000000000000, or 0 for what is not known" */
enum { RY_MACHINE_RANGE = 160 };
void ry_machine_field_range(const ry_machine_field *field, char text[RY_MACHINE_RANGE]);

/* Is a calibrated family's factor between 0.01 and 100, its spread between 0 and 5, and its name a
 * text of letters, digits and underscores? */
bool ry_machine_family_legal(const rynd_family_error *row);

/* Is every number in its range, and every text printable? ARGUMENT names the first that is not, its
 * value and its range. */
rynd_status ry_machine_check(const ry_machine *machine, ry_error *error);

/* Numbers that the system or a driver gives are brought into their ranges. */
void ry_machine_settle(ry_machine *machine);

#endif
