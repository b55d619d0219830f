/* SPDX-License-Identifier: Apache-2.0 */
/* What the choice of layouts knows of a graph, and what nodes and copies cost in each layout. */
#ifndef RY_PLAN_LAYOUTS_INSIDE_H
#define RY_PLAN_LAYOUTS_INSIDE_H

#include "plan/plan_builder.h"

typedef struct ry_layouts {
    ry_plan_builder *b;
    ry_plan_form form; /* how predicted times are counted */
    ry_arena arena;    /* until the choice is made */
    bool *channels;    /* per value: channels.h */
    /* is it computed or read while running, has it channels, and do its two layouts differ? */
    bool *matters;
    bool *free;              /* may it be in either? */
    bool *last;              /* which are channels last, as far as it is decided: b->layouts */
    const ry_tensor **given; /* inputs with strides of neither layout: b->layouts */
    bool *labels;            /* per vertex: channels last */
    /* the same value row-major, and channels last; RY_NO_VALUE: not made */
    ry_value_id (*other)[2];
    ry_node_id nodes;   /* before copies are added */
    ry_value_id values; /* likewise */
    struct ry_operand {
        ry_value_id id;
        bool made; /* by the node; else read */
    } * operands;  /* the current node's operands with a layout, each once */
    int operand_count;
    uint32_t *listed; /* per value: number of the last list that holds it */
    uint32_t lists;
    /* per value: its replacement in the current node; RY_NO_VALUE: itself */
    ry_value_id *instead;
    ry_error *error;
} ry_layouts;

/* A node's time in one layout. */
typedef struct ry_trial {
    double seconds; /* predicted, as they are counted */
    bool reference; /* no other kernel takes the layout */
} ry_trial;

/* The time of a node whose operands all are in one layout, except one value, which is in the other
 * or as it is given: nothing for a transpose that so becomes an alias. */
rynd_status ry_layouts_try_node(ry_layouts *l, const ry_node *node, bool last, ry_value_id except,
                                ry_trial *found);

/* Seconds of `tried`, compared with `other`, which becomes possible by conversions. INFINITY for a
 * reference kernel if a real one takes the other: a plan converts operands to avoid references. */
double ry_layouts_seconds_compared(const ry_trial *tried, const ry_trial *other);

/* Seconds of a copy into a layout (`last`); the slower direction of the two. */
rynd_status ry_layouts_conversion_seconds(ry_layouts *l, ry_value_id id, bool last,
                                          double *seconds);

#endif
