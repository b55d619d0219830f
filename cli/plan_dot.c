/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a plan for Graphviz. */
#include "plan_dot.h"

#include "wording.h"

#include <rynd/trace.h>
#include <stdio.h>

/* Text inside quotes. Graphviz takes "\n" in a label as a new line. */
static void print_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') {
            putchar('\\');
        }
        putchar(*text == '\n' ? ' ' : *text);
    }
}

static void print_edge_label(const rynd_operand_info *value)
{
    printf(" [label=\"%s\", tooltip=\"", cli_shape_of_tensor(&value->tensor).text);
    print_text(value->name);
    printf("\"];\n");
}

/* Edges from the producers of what a step reads, and to the model's outputs. */
static bool print_edges(const rynd_plan *plan, size_t step, cli_failure *failure)
{
    for (size_t i = 0; i < rynd_plan_operand_count(plan, step); i++) {
        rynd_operand_info value = RYND_SIZED(rynd_operand_info);
        if (rynd_plan_get_operand(plan, step, i, &value) != RYND_OK) {
            return cli_fail_library(failure);
        }
        if (!value.output && value.producer != RYND_NO_STEP) {
            printf("  s%zu -> s%zu", value.producer, step);
        } else if (!value.output && value.storage == RYND_STORAGE_INPUT) {
            printf("  in%zu -> s%zu", value.index, step);
        } else if (value.output && value.storage == RYND_STORAGE_OUTPUT) {
            printf("  s%zu -> out%zu", step, value.index);
        } else {
            continue;
        }
        print_edge_label(&value);
    }
    return true;
}

static bool print_step(const rynd_plan *plan, size_t index, cli_failure *failure)
{
    rynd_step_info step = RYND_SIZED(rynd_step_info);
    rynd_prediction time = RYND_SIZED(rynd_prediction);
    if (rynd_plan_get_step(plan, index, &step) != RYND_OK ||
        rynd_plan_predict_step(plan, index, &time) != RYND_OK) {
        return cli_fail_library(failure);
    }
    printf("  s%zu [label=\"", index);
    print_text(step.name);
    printf("\\n%s, %s", step.op, step.kernel);
    if (*step.fused) {
        printf("\\n+ %s", step.fused);
    }
    printf("\\n%s to %s, %s\"];\n", step.layout_in, step.layout_out,
           cli_word_seconds(time.median).text);
    return print_edges(plan, index, failure);
}

/* Draws values that a step reads or writes as inputs or outputs of the model. */
static bool print_ends(const rynd_plan *plan, rynd_storage storage, const char *prefix,
                       cli_failure *failure)
{
    for (size_t s = 0; s < rynd_plan_step_count(plan); s++) {
        for (size_t i = 0; i < rynd_plan_operand_count(plan, s); i++) {
            rynd_operand_info value = RYND_SIZED(rynd_operand_info);
            if (rynd_plan_get_operand(plan, s, i, &value) != RYND_OK) {
                return cli_fail_library(failure);
            }
            if (value.storage == storage && value.output == (storage == RYND_STORAGE_OUTPUT)) {
                printf("  %s%zu [shape=ellipse, label=\"", prefix, value.index);
                print_text(value.name);
                printf("\"];\n");
            }
        }
    }
    return true;
}

bool cli_plan_print_dot(const rynd_plan *plan, cli_failure *failure)
{
    printf("digraph plan {\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n"
           "  edge [fontname=\"sans-serif\", fontsize=9];\n");
    bool done = print_ends(plan, RYND_STORAGE_INPUT, "in", failure) &&
                print_ends(plan, RYND_STORAGE_OUTPUT, "out", failure);
    for (size_t i = 0; done && i < rynd_plan_step_count(plan); i++) {
        done = print_step(plan, i, failure);
    }
    printf("}\n");
    return done;
}
