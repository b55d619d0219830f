/* SPDX-License-Identifier: Apache-2.0 */
/* A line a time: "PROBLEM COLD PICOSECONDS KERNEL KNOBS". The last line may be cut short. */
#include "api/calibration_record.h"

#include "kernels/form.h"

#include <inttypes.h>
#include <string.h>

enum { MAX_LINE = 128 + RY_FORM_TEXT };

struct ry_recorded_time {
    struct ry_recorded_time *next;
    double seconds;
    char form[MAX_LINE]; /* "PROBLEM COLD KERNEL KNOBS" */
};

static void print_form(const ry_prepared *prepared, int problem, bool cold, char form[MAX_LINE])
{
    char knobs[RY_FORM_TEXT];
    ry_form_print(prepared->kernel, &prepared->form, knobs);
    snprintf(form, MAX_LINE, "%d %d %s %s", problem, cold, prepared->kernel->name, knobs);
}

static void head_of(const char *device, unsigned threads, char head[MAX_LINE])
{
    snprintf(head, MAX_LINE, "rynd calibration of %s, %u threads\n", device, threads);
}

static void take_line(ry_calibration_record *record, const char *line)
{
    int problem, cold, used = 0;
    uint64_t picoseconds;
    const size_t length = strlen(line);
    if (length == 0 || line[length - 1] != '\n' ||
        sscanf(line, "%d %d %" SCNu64 " %n", &problem, &cold, &picoseconds, &used) != 3 || !used) {
        return;
    }
    struct ry_recorded_time *time = ry_arena_take(record->arena, 1, sizeof *time);
    if (time) {
        *time = (struct ry_recorded_time){record->first, (double)picoseconds * 1e-12, ""};
        snprintf(time->form, sizeof time->form, "%d %d %.*s", problem, cold,
                 (int)(length - 1) - used, line + used);
        record->first = time;
    }
}

/* False: there is no file, or another version's. */
static bool read_times(ry_calibration_record *record, const char *head)
{
    char line[MAX_LINE];
    FILE *file = fopen(record->path, "r");
    const bool same = file && fgets(line, sizeof line, file) && strcmp(line, head) == 0;
    while (same && fgets(line, sizeof line, file)) {
        take_line(record, line); /* skips a line that was cut short */
    }
    if (file) {
        fclose(file);
    }
    return same;
}

void ry_calibration_record_open(ry_calibration_record *record, const char *machine_path,
                                const char *device, unsigned threads, ry_arena *arena)
{
    char head[MAX_LINE];
    *record = (ry_calibration_record){.arena = arena};
    const int length = snprintf(record->path, sizeof record->path, "%s.calibrating", machine_path);
    if (!*machine_path || length >= (int)sizeof record->path) {
        record->path[0] = 0;
        return;
    }
    head_of(device, threads, head);
    ry_machine_make_folders(record->path);
    const bool goes_on = read_times(record, head);
    record->file = fopen(record->path, goes_on ? "a" : "w");
    if (record->file && !goes_on) {
        fputs(head, record->file);
    } else if (record->file) {
        fputs("\n", record->file); /* ends a line that was cut short */
    }
}

void ry_calibration_record_close(ry_calibration_record *record, bool done)
{
    if (record->file) {
        fclose(record->file);
        record->file = NULL;
        if (done) {
            remove(record->path);
        }
    }
}

double ry_calibration_recall(void *record, const ry_prepared *prepared, int problem, bool cold)
{
    const ry_calibration_record *r = record;
    char form[MAX_LINE];
    print_form(prepared, problem, cold, form);
    for (const struct ry_recorded_time *t = r->first; t; t = t->next) {
        if (strcmp(t->form, form) == 0) {
            return t->seconds;
        }
    }
    return 0;
}

void ry_calibration_note(void *record, const ry_prepared *prepared, int problem, bool cold,
                         double seconds)
{
    const ry_calibration_record *r = record;
    if (r->file) {
        char knobs[RY_FORM_TEXT];
        ry_form_print(prepared->kernel, &prepared->form, knobs);
        fprintf(r->file, "%d %d %.0f %s %s\n", problem, cold, seconds * 1e12,
                prepared->kernel->name, knobs);
        fflush(r->file);
    }
}
