/* SPDX-License-Identifier: Apache-2.0 */
/* Records of wisdom as the caller sees them. */
#ifndef RY_API_API_WISDOM_RECORDS_H
#define RY_API_API_WISDOM_RECORDS_H

#include "wisdom/wisdom.h"

#include <rynd/rynd.h>

/* Takes a caller's filter. given NULL: all records. */
rynd_status ry_api_wisdom_filter(const rynd_wisdom_filter *given, ry_wisdom_filter *filter,
                                 ry_error *error);

/* Shows a record to the caller; its texts are borrowed from key and record. */
void ry_api_wisdom_record(const rynd_context *context, const ry_wisdom_key *key,
                          const ry_wisdom_record *record, rynd_wisdom_record *shown);

/* Copies the records that pass a filter into an arena. */
rynd_status ry_api_wisdom_rows(ry_wisdom *wisdom, const ry_wisdom_filter *filter, ry_arena *arena,
                               ry_wisdom_row **rows, size_t *count, ry_error *error);

#endif
