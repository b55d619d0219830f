/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a calibration in progress, in a file beside the machine's: one that was interrupted
 * goes on where it stopped. */
#ifndef RY_API_CALIBRATION_RECORD_H
#define RY_API_CALIBRATION_RECORD_H

#include "kernels/prepared.h"
#include "machine/machine_file.h"

#include <stdio.h>

typedef struct ry_calibration_record {
    char path[RY_MACHINE_PATH + 16]; /* "": nothing is kept */
    FILE *file;
    ry_arena *arena;
    struct ry_recorded_time *first; /* times of the interrupted calibration */
} ry_calibration_record;

/* Reads the times of an interrupted calibration of the same device (ry_api_identify) with so many
 * threads, and opens the file for more. `machine_path` "", or a folder that cannot be written to:
 * keeps nothing. */
void ry_calibration_record_open(ry_calibration_record *record, const char *machine_path,
                                const char *device, unsigned threads, ry_arena *arena);
/* done: removes the file, for nothing is left to be measured. */
void ry_calibration_record_close(ry_calibration_record *record, bool done);

/* Seconds of a form of a problem, constants flushed before each run (cold) or not; 0: not known.
 * Problems are numbers of the set, of networks' steps behind them, or below 0 the canary's. */
double ry_calibration_recall(void *record, const ry_prepared *prepared, int problem, bool cold);
void ry_calibration_note(void *record, const ry_prepared *prepared, int problem, bool cold,
                         double seconds);

#endif
