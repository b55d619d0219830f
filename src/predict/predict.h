/* SPDX-License-Identifier: Apache-2.0 */
/* How long a kernel takes, from what it counts, and the kernel that takes least. */
#ifndef RY_PREDICT_PREDICT_H
#define RY_PREDICT_PREDICT_H

#include "kernels/kernel.h"
#include "machine/machine.h"

/* Seconds that a step takes beside its kernel, however small: the threads meet. */
#define RY_STEP_SECONDS 2e-6

/* Seconds of a run on so many threads, their meeting included, and packing where that comes before
 * every run. */
double ry_predict_time(const ry_prepared *prepared, const ry_machine *machine, unsigned threads);

/* Seconds of a run, and what they are made of; `arithmetic` and `memory` partly hide each other. */
typedef struct ry_time {
    double all, arithmetic, memory, overhead;
    double does[RYND_ENERGY_KINDS]; /* operations and bytes, for energy.h */
} ry_time;

/* As ry_predict_time, within a network that touches so many bytes between two runs (ry_target): it
 * takes the longer for that. `constants`: bit i, input i is the same in each run. Both 0: the
 * problem runs again and again on the same memory. `factor`: measured over counted time of the
 * kernel's arithmetic (forecast.h). */
ry_time ry_predict_parts(const ry_prepared *prepared, const ry_machine *machine, unsigned threads,
                         unsigned constants, double network_bytes, double factor);

/* A tensor's memory, last used when the run had touched `since` bytes fewer. */
typedef struct ry_reused {
    double bytes, since;
} ry_reused;

enum { RY_PARTS_REUSED = 6 };

/* What a prediction is made from, before rates of memory and what hides what. */
typedef struct ry_parts {
    double arithmetic, overhead, pack; /* seconds; pack: arithmetic of packing before each run */
    double packed;                     /* bytes that this packing reads and writes */
    double bytes;                      /* bytes read and written, constants included */
    double does[RYND_ENERGY_KINDS];    /* operations; no bytes yet (ry_time) */
    double raw, read; /* bytes of constants: in the model; as the kernel reads them */
    ry_reused reused[RY_PARTS_REUSED]; /* tensors that are no constants; others were just used */
    int reused_count;
} ry_parts;

/* `constants`: bit i, input i is the same in each run. */
ry_parts ry_predict_count(const ry_prepared *prepared, const ry_machine *machine, unsigned threads,
                          unsigned constants);

/* Adds a tensor. From RY_PARTS_REUSED on, tensors share the last place and its mean distance. */
void ry_parts_reuse(ry_parts *parts, double bytes, double since);

/* Seconds for each phase of a launch (prepared.h): of one worker, or of a GPU whose limits are known.
 */
void ry_predict_phases(const ry_prepared *prepared, const ry_machine *machine,
                       double seconds[RY_MAX_PHASES + 1]);

/* Seconds of bringing a problem's inputs, but for `constants` (bit i: input i), from a device to
 * the CPU, and its outputs back, at the device's rates. */
double ry_predict_copies(const ry_problem *problem, unsigned constants, const ry_machine *device);

typedef struct ry_choice {
    ry_prepared prepared; /* without its state; kernel NULL: no kernel takes the problem */
    double seconds;       /* predicted, on all cores, within the target's network */
    double measured;      /* seconds, by who advised it (advice.h); 0: nobody has */
    /* the best of another family, and its time; NULL: there is none but references */
    const ry_kernel *next;
    double next_seconds;
    size_t saved;    /* bytes of workspace that `next`, a tie, needs more; 0: no tie */
    bool falls_back; /* to the CPU: no kernel of the device takes the problem */
    bool bound;      /* to a form that the weights had already (choices.h) */
    /* a kernel that takes the problem but failed a check on the device; NULL: none */
    const ry_kernel *refused;
} ry_choice;

/* What a choice is bound to. */
typedef struct ry_wanted {
    const ry_kernel *kernel; /* NULL: any */
    ry_form form;
} ry_wanted;

/* Bytes of workspace for which a tie is worth giving up the least predicted time. */
enum { RY_TIE_BYTES = 1 << 16 };

/* The form of least predicted time, the first in the list of kernels (kernels.inc) among equals. A
 * kernel within 2% of it, which is inside every forecast's interval, is taken in its place if it
 * needs RY_TIE_BYTES less workspace: of several the one that needs least.
 * `constants`: bit i, input i keeps its value. `wanted` (NULL: nothing) may ask for a kernel, which
 * then need not be as accurate as the problem asks, and for its knobs. Fails when memory is out,
 * and with ARGUMENT where what is wanted is not to be had. */
rynd_status ry_predict_choose(const ry_problem *problem, const ry_target *target,
                              unsigned constants, const ry_wanted *wanted, ry_choice *choice,
                              ry_error *error);

/* Fails with UNSUPPORTED: the choice has no kernel. Names the kernel that a check refused. */
rynd_status ry_choice_fail(const ry_choice *choice, const char *device, ry_error *error);

enum { RY_REASON_LENGTH = 280 };

/* Why, and whether the caller has set some of it: "cost 48.2 us; conv_fwd_f32_igemm_avx512 103 us",
 * "measured 43.1 us (wisdom); cost 48.2 us". A cost is the time that the choice compares: of the
 * problem alone, without what its place in a network changes. */
void ry_choice_reason(const ry_choice *choice, bool set, char *text, size_t size);

#endif
