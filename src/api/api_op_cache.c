/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that a context keeps by problem: those that nobody uses, in chains by the hash of text
 * and options, and in one list by their last use. */
#include "api/api_check.h"
#include "api/api_knobs.h"
#include "api/api_plan.h"
#include "api/api_status.h"
#include "api/api_wisdom.h"
#include "api/op_runs.h"

#include <pthread.h>
#include <string.h>

enum { CHAINS = 512, MOST_OPS = 1024 };

static const size_t MOST_BYTES = (size_t)256 << 20;

struct ry_op_key {
    uint64_t hash;
    char *bytes; /* text and options (write_key) */
    size_t length;
    rynd_tensor *inputs, *outputs; /* descriptions that the options had; NULL: none */
    rynd_op *op;
    size_t memory;            /* bytes of the kept operator */
    ry_op_key *next;          /* in its chain */
    ry_op_key *newer, *older; /* by last use */
};

struct ry_op_cache {
    const ry_allocator *allocator;
    pthread_mutex_t lock;
    ry_op_key *chain[CHAINS];
    ry_op_key *newest, *oldest;
    rynd_op_cache_info info;
};

rynd_status ry_op_cache_create(const ry_allocator *allocator, ry_op_cache **cache, ry_error *error)
{
    ry_op_cache *c = ry_allocate_array(allocator, 1, sizeof *c);
    if (!c) {
        return ry_fail_memory(error);
    }
    c->allocator = allocator;
    c->info.limit_ops = MOST_OPS;
    c->info.limit_bytes = MOST_BYTES;
    pthread_mutex_init(&c->lock, NULL);
    *cache = c;
    return RYND_OK;
}

/* ---- keys ---- */

/* Appends to a key, or only counts its bytes. */
typedef struct writer {
    char *to; /* NULL: counts */
    size_t length;
} writer;

static void write(writer *w, const void *bytes, size_t size)
{
    if (w->to && size) {
        memcpy(w->to + w->length, bytes, size);
    }
    w->length += size;
}

static void write_text(writer *w, const char *text)
{
    write(w, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void write_key(writer *w, const char *problem, const rynd_op_options *options)
{
    const bool given[2] = {options->inputs != NULL, options->outputs != NULL};
    write_text(w, problem);
    write_text(w, options->kernel);
    write(w, &options->accuracy, sizeof options->accuracy);
    write(w, &options->constants, sizeof options->constants);
    write(w, given, sizeof given);
    for (size_t i = 0; i < options->setting_count; i++) {
        write_text(w, options->settings[i].step);
        write_text(w, options->settings[i].knob);
        write_text(w, options->settings[i].value);
    }
}

/* FNV-1a. */
static uint64_t hash_of(const char *bytes, size_t length)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)bytes[i]) * 1099511628211u;
    }
    return hash;
}

/* Strides beyond the rank may be anything. The kept ones are legal, the given ones may not be. */
static bool same_tensors(const rynd_tensor *kept, const rynd_tensor *given, int count)
{
    for (int i = 0; kept && i < count; i++) {
        const rynd_tensor *a = &kept[i], *b = &given[i];
        const size_t bytes = (size_t)a->rank * sizeof *a->dim;
        if (a->dtype != b->dtype ||
            (a->dtype != RYND_DTYPE_NONE && (a->rank != b->rank || memcmp(a->dim, b->dim, bytes) ||
                                             memcmp(a->stride, b->stride, bytes)))) {
            return false;
        }
    }
    return true;
}

static bool has_data(const rynd_tensor *given, int count)
{
    bool any = false;
    for (int i = 0; given && i < count; i++) {
        any = any || given[i].data;
    }
    return any;
}

static bool same_key(const ry_op_key *kept, const ry_op_key *wanted)
{
    return kept->hash == wanted->hash && kept->length == wanted->length &&
           memcmp(kept->bytes, wanted->bytes, kept->length) == 0 &&
           !has_data(wanted->inputs, kept->op->problem.inputs) &&
           same_tensors(kept->inputs, wanted->inputs, kept->op->problem.inputs) &&
           same_tensors(kept->outputs, wanted->outputs, kept->op->problem.outputs);
}

/* ---- the kept operators; all with the lock ---- */

static ry_op_key **chain_of(ry_op_cache *cache, const ry_op_key *key)
{
    return &cache->chain[key->hash % CHAINS];
}

static void insert(ry_op_cache *cache, ry_op_key *key)
{
    ry_op_key **chain = chain_of(cache, key);
    key->next = *chain;
    *chain = key;
    key->newer = NULL;
    key->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = key;
    cache->newest = key;
    cache->info.ops++;
    cache->info.bytes += key->memory;
}

static void take_out(ry_op_cache *cache, ry_op_key *key)
{
    ry_op_key **at = chain_of(cache, key);
    while (*at != key) {
        at = &(*at)->next;
    }
    *at = key->next;
    *(key->newer ? &key->newer->older : &cache->newest) = key->older;
    *(key->older ? &key->older->newer : &cache->oldest) = key->newer;
    cache->info.ops--;
    cache->info.bytes -= key->memory;
}

/* Takes out what is beyond the limits, as a list by `next`. */
static ry_op_key *shrink(ry_op_cache *cache)
{
    ry_op_key *out = NULL;
    rynd_op_cache_info *info = &cache->info;
    while (cache->oldest && (info->ops > info->limit_ops || info->bytes > info->limit_bytes)) {
        ry_op_key *key = cache->oldest;
        take_out(cache, key);
        info->evictions++;
        key->next = out;
        out = key;
    }
    return out;
}

/* ---- without the lock ---- */

static void free_key(const ry_allocator *allocator, ry_op_key *key)
{
    if (key) {
        ry_release(allocator, key->bytes);
        ry_release(allocator, key->inputs);
        ry_release(allocator, key->outputs);
        ry_release(allocator, key);
    }
}

static void free_all(ry_op_cache *cache, ry_op_key *list)
{
    while (list) {
        ry_op_key *next = list->next;
        rynd_op *op = list->op;
        op->key = NULL;
        ry_op_free(op);
        free_key(cache->allocator, list);
        list = next;
    }
}

void ry_op_cache_destroy(ry_op_cache *cache)
{
    if (cache) {
        cache->info.limit_ops = 0;
        free_all(cache, shrink(cache));
        pthread_mutex_destroy(&cache->lock);
        ry_release(cache->allocator, cache);
    }
}

/* Keeps an operator with a key, which nobody uses any more, or frees it. */
static void keep(ry_op_cache *cache, rynd_op *op)
{
    ry_op_forget_runs(op);
    op->key->op = op;
    op->key->memory = ry_op_held_bytes(op);
    pthread_mutex_lock(&cache->lock);
    insert(cache, op->key);
    ry_op_key *out = shrink(cache);
    pthread_mutex_unlock(&cache->lock);
    free_all(cache, out);
}

void rynd_op_destroy(rynd_op *op)
{
    if (op && op->key) {
        keep(op->context->ops, op);
    } else {
        ry_op_free(op);
    }
}

static rynd_op *find(ry_op_cache *cache, const ry_op_key *wanted)
{
    pthread_mutex_lock(&cache->lock);
    ry_op_key *key = *chain_of(cache, wanted);
    while (key && !same_key(key, wanted)) {
        key = key->next;
    }
    if (key) {
        take_out(cache, key);
    }
    (*(key ? &cache->info.hits : &cache->info.misses))++;
    pthread_mutex_unlock(&cache->lock);
    return key ? key->op : NULL;
}

static rynd_status copy_tensors(const ry_allocator *allocator, const rynd_tensor *from, int count,
                                rynd_tensor **to, ry_error *error)
{
    *to = from ? ry_allocate_array(allocator, (size_t)count + 1, sizeof **to) : NULL;
    if (from && !*to) {
        return ry_fail_memory(error);
    }
    for (int i = 0; from && i < count; i++) {
        (*to)[i] = from[i];
    }
    return RYND_OK;
}

/* The key that stays with a new operator. */
static rynd_status own_key(rynd_op *op, const ry_op_key *wanted, ry_error *error)
{
    const ry_allocator *allocator = &op->context->allocator;
    ry_op_key *key = ry_allocate_array(allocator, 1, sizeof *key);
    char *bytes = ry_allocate_array(allocator, wanted->length, 1);
    rynd_status status = key && bytes ? RYND_OK : ry_fail_memory(error);
    if (status != RYND_OK) {
        ry_release(allocator, bytes);
        ry_release(allocator, key);
        return status;
    }
    *key = (ry_op_key){.hash = wanted->hash, .bytes = bytes, .length = wanted->length};
    memcpy(bytes, wanted->bytes, wanted->length);
    status = copy_tensors(allocator, wanted->inputs, op->problem.inputs, &key->inputs, error);
    if (status == RYND_OK) {
        status =
            copy_tensors(allocator, wanted->outputs, op->problem.outputs, &key->outputs, error);
    }
    if (status != RYND_OK) {
        free_key(allocator, key);
        return status;
    }
    op->key = key;
    return RYND_OK;
}

static rynd_status make(rynd_context *context, const char *problem, const rynd_op_options *options,
                        const ry_op_key *wanted, rynd_op **op, ry_error *error)
{
    rynd_op *made;
    RY_TRY(ry_op_create(context, problem, options, ry_api_adviser(context), false, &made, error));
    rynd_status status = RYND_OK;
    for (int i = 0; i < made->problem.inputs && status == RYND_OK; i++) {
        status = made->constant_data[i]
                     ? ry_fail(error, RYND_ERROR_ARGUMENT,
                               "rynd_op_create_cached: input %d has data: a kept operator takes "
                               "weights as operands of each run",
                               i)
                     : RYND_OK;
    }
    status = status == RYND_OK ? own_key(made, wanted, error) : status;
    if (status != RYND_OK) {
        ry_op_free(made);
        return status;
    }
    *op = made;
    return RYND_OK;
}

static rynd_status take(rynd_context *context, const char *problem, const rynd_op_options *options,
                        rynd_op **op, ry_error *error)
{
    enum { SHORT = 1024 };
    char room[SHORT];
    writer w = {NULL, 0};
    RY_TRY(ry_api_check_settings(options->settings, options->setting_count, false,
                                 "rynd_op_options", error));
    write_key(&w, problem, options);
    w.to = w.length > sizeof room ? ry_allocate(&context->allocator, w.length) : room;
    if (!w.to) {
        return ry_fail_memory(error);
    }
    w.length = 0;
    write_key(&w, problem, options);
    const ry_op_key wanted = {.hash = hash_of(w.to, w.length),
                              .bytes = w.to,
                              .length = w.length,
                              .inputs = (rynd_tensor *)(uintptr_t)options->inputs,
                              .outputs = (rynd_tensor *)(uintptr_t)options->outputs};
    rynd_status status = RYND_OK;
    rynd_op *found = find(context->ops, &wanted);
    if (found) {
        *op = found;
    } else {
        status = make(context, problem, options, &wanted, op, error);
    }
    if (w.to != room) {
        ry_release(&context->allocator, w.to);
    }
    return status;
}

rynd_status rynd_op_create_cached(rynd_context *context, const char *problem,
                                  const rynd_op_options *given, rynd_op **op)
{
    RY_API_REQUIRE(context, problem, op);
    *op = NULL;
    ry_error error = {""};
    rynd_op_options options;
    rynd_status status = ry_api_options(&options, sizeof options, given, "rynd_op_options", &error);
    status = status == RYND_OK ? take(context, problem, &options, op, &error) : status;
    return ry_api_end(status, &error);
}

rynd_status rynd_context_get_op_cache(const rynd_context *context, rynd_op_cache_info *info)
{
    RY_API_REQUIRE(context, info);
    ry_error error = {""};
    pthread_mutex_lock(&context->ops->lock);
    const rynd_op_cache_info all = context->ops->info;
    pthread_mutex_unlock(&context->ops->lock);
    return ry_api_end(ry_api_info(info, &all, sizeof all, "rynd_op_cache_info", &error), &error);
}

rynd_status rynd_context_limit_op_cache(rynd_context *context, size_t ops, size_t bytes)
{
    RY_API_REQUIRE(context);
    ry_op_cache *cache = context->ops;
    pthread_mutex_lock(&cache->lock);
    cache->info.limit_ops = ops;
    cache->info.limit_bytes = bytes;
    ry_op_key *out = shrink(cache);
    pthread_mutex_unlock(&cache->lock);
    free_all(cache, out);
    return RYND_OK;
}
