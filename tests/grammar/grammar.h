/* SPDX-License-Identifier: Apache-2.0 */
/* Models that are nearly right, out of choices: every operator of onnx/operators.inc, with
 * attributes and shapes that fit, most of the time, and are at their edges now and then. A row of
 * the table without a recipe of its own gets what the row says: inputs of its types, and attributes
 * by their names.
 *
 *   grammar g;
 *   grammar_make(&g, bytes, size);       the model: g.nodes, g.values
 *   onnx_bytes model = grammar_write(&g);
 *   grammar_print(&g, stdout);           the same as text
 *   grammar_free(&g);                    g.values[i].data, too
 */
#ifndef TESTS_GRAMMAR_GRAMMAR_H
#define TESTS_GRAMMAR_GRAMMAR_H

#include "choices.h"
#include "onnx/operators.h"
#include "onnx_bytes.h"

#include <stdio.h>

enum {
    GRAMMAR_NODES = 12,
    GRAMMAR_QUANTISED = 6,
    GRAMMAR_VALUES = 160,
    GRAMMAR_INPUTS = 10,  /* per node */
    GRAMMAR_OUTPUTS = 5,  /* per node */
    GRAMMAR_RANK = 18,    /* more than the library takes */
    GRAMMAR_NUMBERS = 40, /* in a list of an attribute; more than the library takes */
    GRAMMAR_ATTRIBUTES = 16
};

/* Where a value comes from. */
typedef enum grammar_source { SOURCE_INPUT, SOURCE_INITIALIZER, SOURCE_NODE } grammar_source;

/* What the elements of a new value are. */
typedef enum grammar_content {
    CONTENT_NUMBERS,  /* any; now and then infinite, NaN, denormal, very large */
    CONTENT_POSITIVE, /* 0.1 to 2, or 1 to 3: variances, scales */
    CONTENT_UNIT,     /* -1.2 to 1.2: coordinates of a grid */
    CONTENT_INDICES,  /* -bound to bound - 1 */
    CONTENT_COUNTS    /* 0 to bound - 1 */
} grammar_content;

typedef struct grammar_value {
    char name[16];
    ry_dtype dtype;
    int rank; /* -1: not known */
    int64_t dim[GRAMMAR_RANK];
    bool known; /* every dim is */
    grammar_source source;
    uint32_t symbolic; /* bit i: the model leaves dim i open, with a symbol named after its size */
    bool used;
    bool constant; /* computed from initializers only */
    void *data;    /* content of inputs and initializers; NULL beyond the element limit */
} grammar_value;

typedef struct grammar_attribute {
    const char *name;
    ry_attribute_type type; /* none: it is not written */
    int64_t i;
    float f;
    const char *text;
    int count; /* entries of the list */
    int64_t ints[GRAMMAR_NUMBERS];
    float floats[GRAMMAR_NUMBERS];
    int tensor;     /* a value, which is no initializer then */
    char body[120]; /* a graph: "inputs|nodes|outputs"; a node is "Op:inputs:output" */
} grammar_attribute;

typedef struct grammar_node {
    const ry_operator *row;
    int inputs, outputs;
    int in[GRAMMAR_INPUTS];   /* -1: absent; -2: a name that nothing has */
    int out[GRAMMAR_OUTPUTS]; /* -1: absent */
    int attributes;
    grammar_attribute attribute[GRAMMAR_ATTRIBUTES];
} grammar_node;

typedef struct grammar {
    choices c;
    int64_t opset, ir_version;
    int node_count, value_count;
    grammar_node nodes[GRAMMAR_NODES];
    grammar_value values[GRAMMAR_VALUES];
    bool is_output[GRAMMAR_VALUES];
    bool attribute_value[GRAMMAR_VALUES]; /* it is the tensor of an attribute */
} grammar;

void grammar_make(grammar *g, const uint8_t *bytes, size_t size);
void grammar_free(grammar *g);
onnx_bytes grammar_write(const grammar *g); /* the caller frees it: onnx_bytes_free */
void grammar_print(const grammar *g, FILE *file);
/* For recipes. Each gives the index of a value. */

int grammar_new(grammar *g, ry_dtype dtype, int rank, const int64_t *dim, grammar_content content,
                int64_t bound);
/* One that there is already, or a new one, whose type is in the set and whose rank is within
 * bounds; all its dims are known. */
int grammar_operand(grammar *g, ry_dtype_set types, int min_rank, int max_rank);
/* A value of x's type with exactly these dims: an existing one or a new one. */
int grammar_like(grammar *g, int x, int rank, const int64_t *dim, grammar_content content);
/* A list of numbers as i64 (rank 1; count -1: a scalar): shapes, axes, pads. */
int grammar_list(grammar *g, int count, const int64_t *numbers);
/* f32, rank 1; count -1: a scalar */
int grammar_floats(grammar *g, int count, const float *numbers);
int grammar_scalar(grammar *g, ry_dtype dtype, double number);
/* A dim or the rank of an input or initializer becomes another, where a mistake is due. */
void grammar_spoil_value(grammar *g, int x);
const grammar_value *grammar_value_of(const grammar *g, int x);
int64_t grammar_dim(grammar *g);      /* a small dim: of an image, a batch ... */
int64_t grammar_channels(grammar *g); /* up to some vectors of channels */
ry_dtype grammar_type(grammar *g, ry_dtype_set types);
int64_t grammar_elements(const grammar_value *value);
int64_t grammar_axis(grammar *g, int rank); /* in [-rank, rank) */

/* Appends an input (-1: absent). */
void grammar_add_input(grammar_node *node, int value);
/* NULL where the node's row does not have the attribute, or it is set already. */
grammar_attribute *grammar_add_attribute(grammar_node *node, const char *name);
void grammar_set_int(grammar_node *node, const char *name, int64_t number);
void grammar_set_ints(grammar_node *node, const char *name, int count, const int64_t *numbers);
void grammar_set_text(grammar_node *node, const char *name, const char *text);
/* Unless it is set, it stays out. */
void grammar_leave_out(grammar_node *node, const char *name);
bool grammar_row_has(const grammar_node *node, const char *attribute);
/* What the recipe has left: by the attribute's name; then a mistake here and there. */
void grammar_fill_attributes(grammar *g, grammar_node *node);

/* Appends a node with these inputs and no attributes. Returns its output; -1: the opset does not
 * have the operator, or the library refuses the model. */
int grammar_append(grammar *g, const char *name, int inputs, const int *in);
/* The same with an attribute; NULL: none. */
int grammar_append_with(grammar *g, const char *name, int inputs, const int *in,
                        const char *attribute, int64_t number);
/* Appends a convolution or product between DequantizeLinear and QuantizeLinear, at most
 * GRAMMAR_QUANTISED nodes, and more behind it where there is room; false: the library refuses the
 * model. */
bool grammar_make_quantised(grammar *g);

/* A recipe gives a node its inputs, and the attributes that must fit them. */
typedef void (*grammar_recipe)(grammar *g, grammar_node *node);
typedef struct grammar_recipe_row {
    const char *name; /* name of the operator; NULL ends a list */
    grammar_recipe recipe;
} grammar_recipe_row;

extern const grammar_recipe_row grammar_elementwise[], grammar_windows[], grammar_products[],
    grammar_samples[], grammar_moves[], grammar_indexed[], grammar_control[], grammar_microsoft[];

#endif
