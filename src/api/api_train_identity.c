/* SPDX-License-Identifier: Apache-2.0 */
/* What decides about the bits of a training, as words: so that whoever goes on with states of
 * another trainer can compare. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/trainer.h"
#include "base/cpuid.h"
#include "device/digest.h"
#include "problem/problem_words.h"

#include <stdio.h>
#include <string.h>

/* Words are one line with a space between two: names lose theirs. */
static const char *word_of(ry_arena *arena, const char *name)
{
    char *word = ry_arena_string(arena, name, strlen(name));
    for (char *c = word; c && *c; c++) {
        *c = (unsigned char)*c <= ' ' ? '_' : *c;
    }
    return word;
}

/* " knob=value" of each setting, as the command's --set has it: "settings=conv1.kernel=x,..." */
static rynd_status describe_settings(rynd_trainer *t, const rynd_trainer_options *o,
                                     const char **text, ry_error *error)
{
    *text = "none";
    for (size_t i = 0; i < o->setting_count && *text; i++) {
        const rynd_setting *s = &o->settings[i];
        *text = ry_arena_format(&t->arena, "%s%s%s.%s=%s", i ? *text : "", i ? "," : "",
                                s->step ? s->step : "", s->knob, s->value);
    }
    *text = *text ? word_of(&t->arena, *text) : NULL;
    return *text ? RYND_OK : ry_fail_memory(error);
}

rynd_status ry_trainer_describe(rynd_trainer *t, const rynd_trainer_options *o, ry_error *error)
{
    const ry_training_options all = ry_trainer_training_options(o);
    const ry_optimizer_options *optimizer = &all.optimizer;
    const rynd_context *context = t->model->context;
    const bool own = context->device->host_memory; /* a CPU's name decides about nothing */
    char ignored[32] = "none";
    if (all.loss.ignores) {
        snprintf(ignored, sizeof ignored, "%lld", (long long)all.loss.ignored);
    }
    const char *output = word_of(&t->arena, t->graph->values[t->training->loss.outputs[0]].name),
               *device = word_of(&t->arena, own ? "" : context->device->name), *settings;
    RY_TRY(describe_settings(t, o, &settings, error));
    if (!output || !device) {
        return ry_fail_memory(error);
    }
    t->identity = ry_arena_format(
        &t->arena,
        "rynd=%s loss=%s output=%s target=%s label_smoothing=%.17g ignore_label=%s "
        "charbonnier_epsilon=%.17g "
        "optimizer=%s momentum=%.17g weight_decay=%.17g beta1=%.17g beta2=%.17g epsilon=%.17g "
        "clip_norm=%.17g norm_momentum=%.17g accumulate=%lld storage=%s dropout=%s "
        "dropout_seed=%llu accuracy=%s device=%s%s%s isa=%s ranks=%d bucket_bytes=%zu settings=%s",
        rynd_version(), ry_loss_name(all.loss.loss), output,
        ry_dtype_name((ry_dtype)t->target.dtype), all.loss.label_smoothing, ignored,
        all.loss.epsilon, ry_optimizer_name(optimizer->optimizer), optimizer->momentum,
        optimizer->decay, optimizer->beta1, optimizer->beta2, optimizer->epsilon, all.clip_norm,
        all.norm_momentum, (long long)t->accumulate, all.store_bf16 ? "bf16" : "f32",
        all.no_dropout ? "off" : "model", (unsigned long long)all.dropout_seed,
        ry_accuracy_word(ry_api_accuracy(t->accuracy)), context->device->table->name,
        own ? "" : ":", device, ry_isa_name((ry_isa)context->host->planned_isa), all.ranks,
        o->bucket_bytes, settings);
    if (t->identity && all.loss.loss == RY_LOSS_detection) {
        t->identity = ry_arena_format(&t->arena, "%s head=%s boxes=%lld box_weight=%.17g",
                                      t->identity, t->training->loss.options.head,
                                      (long long)all.loss.boxes, all.loss.box_weight);
    }
    return t->identity ? RYND_OK : ry_fail_memory(error);
}

/* A step that runs again for want of memory gives the same bits, and is not counted. */
static bool runs_again(const char *name)
{
    static const char end[] = "/again";
    const size_t length = strlen(name), tail = sizeof end - 1;
    return length > tail && strcmp(name + length - tail, end) == 0;
}

/* Sums the hashes of steps, so that their order, which changes no bit, does not count. */
static rynd_status add_steps(const rynd_plan *plan, ry_digest *sum, ry_error *error)
{
    for (size_t i = 0; i < rynd_plan_step_count(plan); i++) {
        rynd_step_info step = RYND_SIZED(rynd_step_info);
        const rynd_status status = rynd_plan_get_step(plan, i, &step);
        if (status != RYND_OK) {
            return ry_fail(error, status, "%s", rynd_last_error());
        }
        if (runs_again(step.name)) {
            continue;
        }
        ry_digest own = ry_digest_begin();
        const char *texts[] = {step.name, step.problem, step.kernel, step.knobs, step.fused};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            ry_digest_add_text(&own, texts[k]);
        }
        ry_digest_add(&own, &step.source, sizeof step.source);
        sum->high += own.high;
        sum->low += own.low;
    }
    return RYND_OK;
}

/* Four words side by side, so that hundreds of megabytes take tenths of a second. */
static void add_bytes(ry_digest *digest, const void *bytes, size_t size)
{
    enum { LANES = 4, STRIDE = LANES * sizeof(uint64_t) };
    const uint64_t prime = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t lane[LANES] = {1, 2, 3, 4}, word[LANES];
    size_t at = 0;
    for (; size - at >= STRIDE; at += STRIDE) {
        memcpy(word, (const char *)bytes + at, STRIDE);
        for (int i = 0; i < LANES; i++) {
            lane[i] = (lane[i] ^ word[i]) * prime;
            lane[i] ^= lane[i] >> 29;
        }
    }
    ry_digest_add(digest, lane, sizeof lane);
    ry_digest_add(digest, (const char *)bytes + at, size - at);
}

/* Hashes the constants of a step: frozen weights, and folded values. */
static void add_constants(const rynd_trainer *t, ry_digest *digest)
{
    const ry_graph *graph = t->step_graph;
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        const ry_value *value = &graph->values[v];
        if (value->constant && value->uses) {
            const size_t size = (size_t)ry_shape_bytes(&value->shape, value->dtype);
            add_bytes(digest, value->constant, size);
            ry_onnx_unneeded(&t->model->onnx, value->constant, size);
        }
    }
}

static rynd_status identify(rynd_trainer *t, ry_error *error)
{
    ry_digest steps = {0}, constants = ry_digest_begin();
    char texts[2][RY_DIGEST_TEXT];
    RY_TRY(add_steps(t->step.plan, &steps, error));
    RY_TRY(t->update.plan ? add_steps(t->update.plan, &steps, error) : RYND_OK);
    add_constants(t, &constants);
    ry_digest_text(constants, texts[0]);
    ry_digest_text(steps, texts[1]);
    const char *all =
        ry_arena_format(&t->arena, "%s constants=%s kernels=%s", t->identity, texts[0], texts[1]);
    t->identity = all ? all : t->identity;
    t->identified = all != NULL;
    return all ? RYND_OK : ry_fail_memory(error);
}

rynd_status rynd_trainer_get_identity(rynd_trainer *trainer, const char **text)
{
    RY_API_REQUIRE(trainer, text);
    ry_error error = {""};
    const rynd_status status = trainer->identified ? RYND_OK : identify(trainer, &error);
    *text = status == RYND_OK ? trainer->identity : NULL;
    return ry_api_end(status, &error);
}
