/* SPDX-License-Identifier: Apache-2.0 */
/* Adds what this process holds now to what steps will touch for the first time. */
#include "train_memory.h"

#include <stdio.h>
#include <string.h>

static double bytes_of(const rynd_tensor *t)
{
    return (double)rynd_tensor_elements(t) * (double)rynd_dtype_size(t->dtype);
}

static double bytes_of_batch(const cli_batch_form *form)
{
    double bytes = bytes_of(&form->y);
    for (size_t i = 0; i < form->wish.input_count; i++) {
        bytes += bytes_of(&form->x[i]);
    }
    return bytes;
}

/* "VmRSS" or "VmHWM" of this process, in bytes; 0: the system does not say. */
static double of_process(const char *what)
{
    char line[256];
    unsigned long long found = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        const size_t length = strlen(what);
        if (strncmp(line, what, length) == 0 && sscanf(line + length, ": %llu kB", &found) == 1) {
            break;
        }
    }
    if (file) {
        fclose(file);
    }
    return 1024.0 * (double)found;
}

static double bytes_of_image(const cli_image *image)
{
    return image->pixels ? (double)image->height * (double)image->width * image->channels : 0;
}

/* What one thread holds while it makes a sample: of some of the set, the largest. A picture has its
 * bytes as the decoder gives them, then floats, then floats of the size that is wanted. Samples
 * that cannot be read are told when they are trained with. */
static double bytes_of_sample(const cli_dataset *set, double row)
{
    enum { LOOKS = 8 };
    double most = 0;
    if (!set->kind || set->kind == &cli_data_npz) {
        return 0;
    }
    for (size_t i = 0; i < LOOKS && i < set->count; i++) {
        cli_sample sample;
        cli_failure ignored = {0};
        if (set->kind->read(set, i * set->count / LOOKS % set->count, &sample, &ignored)) {
            const double pixels = bytes_of_image(&sample.picture) + bytes_of_image(&sample.target);
            const double bytes = pixels * (1 + sizeof *sample.picture.pixels) + 2 * row;
            most = bytes > most ? bytes : most;
            cli_sample_free(&sample);
        }
    }
    return most;
}

static double reading_of(const cli_dataset *set, const cli_batch_form *form, unsigned threads)
{
    const double batch = bytes_of_batch(form);
    const double row = batch / (double)form->wish.batch;
    return CLI_LOADER_BATCHES * batch + threads * bytes_of_sample(set, row);
}

/* What steps write for the first time when they run: values and workspace by the plans, or what a
 * session has besides weights, whose scratch depends on threads. */
static bool find_fresh(const rynd_trainer *trainer, double *fresh, cli_failure *failure)
{
    const rynd_plan *const plans[] = {rynd_trainer_plan(trainer),
                                      rynd_trainer_update_plan(trainer)};
    double planned = 0, besides = (double)rynd_trainer_memory(trainer);
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        rynd_memory memory = RYND_SIZED(rynd_memory);
        if (plans[i] && rynd_plan_get_memory(plans[i], &memory) != RYND_OK) {
            return cli_fail_library(failure);
        }
        planned += (double)memory.activations + (double)memory.workspace;
        besides -= (double)memory.weights;
    }
    *fresh = planned > besides ? planned : besides;
    return true;
}

/* States that are no host memory are copied for a checkpoint. */
static bool add_copies(const rynd_trainer *trainer, double *fresh, cli_failure *failure)
{
    for (size_t i = 0; i < rynd_trainer_state_count(trainer); i++) {
        rynd_state_info info = RYND_SIZED(rynd_state_info);
        if (rynd_trainer_get_state(trainer, i, &info) != RYND_OK) {
            return cli_fail_library(failure);
        }
        *fresh += info.tensor.data ? 0 : bytes_of(&info.tensor);
    }
    return true;
}

bool cli_train_forecast_memory(cli_train_run *run, cli_train_memory *m, cli_failure *failure)
{
    rynd_trainer *trainer = run->trainee.trainer;
    const unsigned threads = cli_loader_threads(&run->settings->common);
    double fresh;
    if (!find_fresh(trainer, &fresh, failure) || !add_copies(trainer, &fresh, failure)) {
        return false;
    }
    *m = (cli_train_memory){.trainer = (double)rynd_trainer_memory(trainer),
                            .batch = bytes_of_batch(&run->form),
                            .reading = reading_of(&run->data, &run->form, threads)};
    if (run->validation.kind) {
        if (rynd_trainer_prepare_evaluation(trainer) != RYND_OK) {
            return cli_fail_library(failure);
        }
        m->validation = (double)rynd_trainer_memory(trainer) - m->trainer +
                        reading_of(&run->validation, &run->validation_form, threads);
    }
    const double held = of_process("VmRSS"), peak = of_process("VmHWM");
    /* what malloc keeps; stacks, and pages of code that only steps run */
    const double part = 0.02, least = 3 << 20;
    const double all = (held + fresh + m->reading + m->validation) * (1 + part) + least;
    m->process = all > peak ? all : peak;
    return true;
}
