/* SPDX-License-Identifier: Apache-2.0 */
/* Runs models of the grammar:
 *
 *   model_cases [options] FIRST COUNT    the cases of COUNT random seeds from FIRST on
 *   model_cases [options] FILE           one case: an input of fuzz_models
 *
 *   --isa ISA      this instruction set only
 *   --every        also fails unless each row of onnx/operators.inc ran in at least one model
 *   --print        each model as text, and what became of it
 *   --write NAME   the last model as NAME.onnx, its inputs as NAME_<input>.pb
 *   --bytes NAME   the last case's bytes, as an input of fuzz_models
 *
 * Fails when a case is wrong. */
#include "case_totals.h"
#include "reference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CASE_BYTES = 1024 };

typedef struct settings {
    const char *isa, *write, *bytes;
    bool every, print;
    int words; /* that are no options */
    const char *word[2];
} settings;

static bool read_settings(int argc, char **argv, settings *s)
{
    for (int i = 1; i < argc; i++) {
        const char **value = strcmp(argv[i], "--isa") == 0     ? &s->isa
                             : strcmp(argv[i], "--write") == 0 ? &s->write
                             : strcmp(argv[i], "--bytes") == 0 ? &s->bytes
                                                               : NULL;
        if (value && ++i < argc) {
            *value = argv[i];
        } else if (strcmp(argv[i], "--every") == 0) {
            s->every = true;
        } else if (strcmp(argv[i], "--print") == 0) {
            s->print = true;
        } else if (argv[i][0] == '-' || s->words == 2) {
            return false;
        } else {
            s->word[s->words++] = argv[i];
        }
    }
    return s->words > 0;
}

static bool write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    const bool good = file && fwrite(data, 1, size, file) == size;
    return file && fclose(file) == 0 && good;
}

static bool write_model(const case_engine *engine, const grammar *g, const char *name)
{
    char path[512];
    onnx_bytes model = grammar_write(g);
    snprintf(path, sizeof path, "%s.onnx", name);
    bool good = write_file(path, model.data, model.size);
    onnx_bytes_free(&model);
    for (int i = 0; i < g->value_count && good; i++) {
        const grammar_value *v = &g->values[i];
        if (v->source == SOURCE_INPUT && v->used && v->data && v->rank <= RYND_MAX_RANK) {
            const rynd_tensor tensor =
                rynd_tensor_of(v->data, (rynd_dtype)v->dtype, v->rank, v->dim);
            void *data = NULL;
            size_t size = 0;
            snprintf(path, sizeof path, "%s_%s.pb", name, v->name);
            good =
                rynd_tensor_write_pb(engine->one[0], v->name, &tensor, &data, &size) == RYND_OK &&
                write_file(path, data, size);
            rynd_memory_free(engine->one[0], data);
        }
    }
    return good;
}

static bool run_case(const case_engine *engine, const settings *s, const char *name,
                     const uint8_t *bytes, size_t size, case_totals *t)
{
    static grammar g;
    static case_report report;
    grammar_make(&g, bytes, size);
    if (s->print) {
        printf("%s: ", name);
        grammar_print(&g, stdout);
        fflush(stdout);
    }
    model_case_run(engine, &g, &report);
    case_totals_count(t, &g, &report);
    if (s->print || report.outcome == CASE_WRONG) {
        printf("%s: %s%s%s\n", name, case_outcome_name(report.outcome),
               report.message[0] ? ": " : "", report.message);
    }
    bool good = report.outcome != CASE_WRONG;
    if ((s->write && !write_model(engine, &g, s->write)) ||
        (s->bytes && !write_file(s->bytes, bytes, size))) {
        printf("%s: its files cannot be written\n", name);
        good = false;
    }
    grammar_free(&g);
    return good;
}

static bool run_seeds(const case_engine *engine, const settings *s, case_totals *t)
{
    const uint64_t first = strtoull(s->word[0], NULL, 10), number = strtoull(s->word[1], NULL, 10);
    bool good = true;
    for (uint64_t seed = first; seed < first + number; seed++) {
        uint8_t bytes[CASE_BYTES];
        char name[32];
        generator n = {seed};
        for (size_t i = 0; i < sizeof bytes; i++) {
            bytes[i] = (uint8_t)(generator_next(&n) >> 32);
        }
        snprintf(name, sizeof name, "%" PRIu64, seed);
        good = run_case(engine, s, name, bytes, sizeof bytes, t) && good;
    }
    return good;
}

static bool run_file(const case_engine *engine, const settings *s, case_totals *t)
{
    enum { MOST = 1 << 20 };
    uint8_t *bytes = malloc(MOST);
    FILE *file = fopen(s->word[0], "rb");
    if (!file || !bytes) {
        printf("%s cannot be read\n", s->word[0]);
        return false;
    }
    const size_t size = fread(bytes, 1, MOST, file);
    fclose(file);
    const bool good = run_case(engine, s, s->word[0], bytes, size, t);
    free(bytes);
    return good;
}

/* Every row must have run, and every operator of the graph have a rule. */
static bool all_reached(const case_totals *t)
{
    bool good = true;
    for (size_t i = 0; i < ry_operator_count; i++) {
        if (t->rows[i] == 0) {
            printf("no model with %s of opset %d to %d ran\n", ry_operators[i].name,
                   ry_operators[i].first, ry_operators[i].last);
            good = false;
        }
    }
    for (int op = 0; op < RY_OPS; op++) {
        if (!reference_knows((ry_op)op)) {
            printf("no rule says what %s does to rounded numbers (reference_rules.c)\n",
                   ry_op_name((ry_op)op));
            good = false;
        }
    }
    return good;
}

int main(int argc, char **argv)
{
    settings s = {0};
    case_engine engine;
    case_totals t = {0};
    if (!read_settings(argc, argv, &s)) {
        fprintf(stderr, "usage: model_cases [--isa ISA] [--every] [--print] [--write NAME] "
                        "[--bytes NAME] FIRST COUNT | FILE\n");
        return 2;
    }
    if (!case_engine_create(&engine, s.isa, true)) {
        fprintf(stderr, "%s\n", s.isa ? "no such instruction set here" : rynd_last_error());
        return 1;
    }
    bool good = s.words == 2 ? run_seeds(&engine, &s, &t) : run_file(&engine, &s, &t);
    good = (!s.every || all_reached(&t)) && good;
    case_totals_print(&t, stdout);
    case_engine_destroy(&engine);
    return good ? 0 : 1;
}
