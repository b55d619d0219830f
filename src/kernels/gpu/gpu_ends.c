/* SPDX-License-Identifier: Apache-2.0 */
/* Finds sums that are neighbours in y, and writes how they end. */
#include "kernels/gpu/gpu_ends.h"

#include "base/integer.h"
#include "kernels/gpu/gpu_define.h"

/* Where a tensor beside the sums has a tile's elements. */
typedef struct place {
    bool there;
    int64_t row; /* elements from a row to the next one */
    int64_t
        column; /* from a column to the next of `columns`, in which all columns are cut; 0: unequal */
    int64_t columns;
    int64_t others; /* the bits of all other steps */
} place;

enum { PLACE_C, PLACE_RESIDUAL, PLACE_Y, PLACES };

/* Are `run` neighbouring rows, or columns, neighbours in memory, beginning at multiples of `run`? */
static bool along_rows(const place *p, int64_t rows, int run)
{
    return p->row == 1 && rows % run == 0 && (p->others | p->column) % run == 0;
}

static bool along_columns(const place *p, int run)
{
    return p->column == 1 && p->columns % run == 0 && (p->others | p->row) % run == 0;
}

/* Do fours of copied.cl (FOURS) put an item's pairs of sums apart? */
static bool are_pairs_apart(const ry_gpu_product *product, const ry_gpu_tile *tile)
{
    const bool w = product->rows_along;
    const int copied = w ? product->copied_w : product->copied,
              bytes = copied ? copied : (int)ry_gpu_operand_size(product->operands);
    return tile->units != RY_GPU_WIDE && tile->stages &&
           (w ? product->w_across : product->x_across) && bytes == (int)sizeof(float) &&
           !(copied && product->operands == RY_GPU_TF32);
}

/* Sums of an item that are neighbours along a tile's rows or columns: matrix units have pairs of columns, or
 * of rows where a copied tile's are y's; a sub-group's items are the neighbours; others have chunks of four. */
static int run_of(const ry_gpu_product *product, const ry_gpu_tile *tile, bool rows)
{
    if (tile->subgroups) {
        return 1;
    }
    if (!tile->units) {
        return (int)ry_min(rows ? tile->item_m : tile->item_n, 4);
    }
    const bool pairs_of_rows = tile->stages && product->rows_along;
    return rows == pairs_of_rows && !are_pairs_apart(product, tile) ? 2 : 1;
}

static void define_place(ry_text *text, const char *name, const place *p, bool vectors,
                         int64_t step)
{
    ry_text_add(text, "#define END_%s %d\n#define END_%s_RUN %d\n#define END_%s_STEP (%lld)\n",
                name, p->there, name, vectors, name, (long long)step);
}

/* `equal`: columns are at equal steps in all tensors, so that one of them may be read element by element. */
static void define_runs(ry_text *text, const place *places, const ry_gpu_product *product,
                        const ry_gpu_tile *tile, bool equal)
{
    const int across = run_of(product, tile, true), along = run_of(product, tile, false);
    const int64_t rows = product->rows;
    const place *residual = &places[PLACE_RESIDUAL], *y = &places[PLACE_Y];
    const bool by_rows = across > 1 && along_rows(y, rows, across),
               by_columns = !by_rows && along > 1 && along_columns(y, along) &&
                            (equal || !residual->there || along_columns(residual, along));
    const int run = by_rows ? across : by_columns ? along : 1;
    ry_gpu_define(text, "RUN", run);
    ry_gpu_define(text, "RUN_ALONG_M", by_rows);
    static const char *const names[] = {"C", "RESIDUAL"};
    for (int i = 0; i < PLACE_Y; i++) {
        const place *p = &places[i];
        const bool vectors = by_rows ? along_rows(p, rows, run) : along_columns(p, run);
        define_place(text, names[i], p, vectors && run > 1,
                     by_rows      ? p->row
                     : by_columns ? p->column
                                  : 0);
    }
}

/* Reads or stores of one, two and four neighbours of a tensor's type. */
static void define_access(ry_text *text, const char *name, const char *access, const char *type)
{
    ry_text_add(text,
                "#define END_%s_%s %s_%s\n#define END_%s2_%s ALIGNED_%s2_%s\n"
                "#define END_%s4_%s ALIGNED_%s4_%s\n",
                access, name, access, type, access, name, access, type, access, name, access, type);
}

static void define_input(const ry_problem *problem, int input, const char *name, ry_text *text)
{
    if (ry_problem_has_input(problem, input)) {
        define_access(text, name, "LOAD", ry_dtype_name((ry_dtype)problem->in[input].dtype));
    }
}

/* What a sum's end reads and writes, as pointers of a function. */
static void define_pointers(const ry_problem *problem, ry_text *text)
{
    const bool c = ry_problem_has_input(problem, 2), residual = ry_problem_has_input(problem, 3);
    ry_text_add(text, "#define END_PARAMETERS %s%sGLOBAL TYPE_Y *y\n",
                c ? "GLOBAL const TYPE_2 *c_from, " : "",
                residual ? "GLOBAL const TYPE_3 *residual_from, " : "");
    ry_text_add(text, "#define END_POINTERS %s%sOUT(TYPE_Y, 0)\n", c ? "IN(TYPE_2, 2), " : "",
                residual ? "IN(TYPE_3, 3), " : "");
    ry_text_add(text, "#define END_ADDRESSES (%s%s(ulong)y)\n", c ? "(ulong)c_from | " : "",
                residual ? "(ulong)residual_from | " : "");
    define_input(problem, 2, "C", text);
    define_input(problem, 3, "RESIDUAL", text);
    define_access(text, "Y", "STORE", ry_dtype_name((ry_dtype)problem->out[0].dtype));
}

static int64_t stride_of(const ry_tensor *tensor, int axis)
{
    const int at = axis - (RY_GPU_AXES - (tensor->rank - 2));
    return at < 0 ? 0 : tensor->stride[at + 2];
}

/* Joins a dim that follows the columns so far. */
static void add_columns(place *p, int64_t count, int64_t stride)
{
    if (count == 1) {
        return;
    }
    if (p->columns == 1) {
        p->column = stride;
        p->columns = count;
    } else if (p->others == 0 && stride == p->column * p->columns) {
        p->columns *= count;
    } else {
        p->others |= stride;
    }
}

/* y or the residual of a convolution: its columns are positions. */
static place place_in(const ry_tensor *t, const ry_gpu_window *w, bool images_first)
{
    place p = {.there = true, .row = t->stride[1], .columns = 1};
    if (images_first) {
        add_columns(&p, w->images, t->stride[0]);
    }
    for (int i = RY_GPU_AXES - 1; i >= 0; i--) {
        add_columns(&p, w->axis[i].out, stride_of(t, i));
    }
    if (!images_first) {
        add_columns(&p, w->images, t->stride[0]);
    }
    if (w->phases > 1) { /* a phase's columns lie apart */
        p.others |= p.column;
        p.column = 0;
    }
    return p;
}

static place bias_of(const ry_problem *problem)
{
    place p = {.there = ry_problem_has_input(problem, 2)};
    for (int i = 0; p.there && i < problem->in[2].rank; i++) {
        *(i ? &p.others : &p.row) |= problem->in[2].stride[i];
    }
    return p;
}

void ry_gpu_ends_define_window(const ry_problem *problem, const ry_gpu_window *w,
                               const ry_gpu_product *product, const ry_gpu_tile *tile,
                               bool images_first, ry_text *text)
{
    place places[PLACES] = {
        [PLACE_C] = bias_of(problem), [PLACE_Y] = place_in(&problem->out[0], w, images_first)};
    if (ry_problem_has_input(problem, 3)) {
        places[PLACE_RESIDUAL] = place_in(&problem->in[3], w, images_first);
    }
    define_runs(text, places, product, tile, false);
    define_pointers(problem, text);
    ry_text_add(text, "#define END_SCALE(v) (v)\n#define END_SCALE_C(v) (v)\n"
                      "#define END_ACTIVATE(v) activate(v)\n");
}

void ry_gpu_ends_define_matrix(const ry_problem *problem, const ry_gpu_matrix *matrix,
                               const ry_gpu_product *product, const ry_gpu_tile *tile,
                               ry_text *text)
{
    static const int operands[PLACES] = {RY_GPU_C, RY_GPU_RESIDUAL, RY_GPU_Y};
    const ry_matmul_attrs *attrs = &problem->attrs.matmul;
    place places[PLACES];
    for (int i = 0; i < PLACES; i++) {
        const int operand = operands[i];
        places[i] = (place){.there = operand == RY_GPU_Y || ry_problem_has_input(problem, operand),
                            .row = matrix->row.step[operand],
                            .column = matrix->column.step[operand],
                            .columns = matrix->column.count};
        for (int d = 0; d < matrix->batch_rank; d++) {
            places[i].others |= matrix->batch[d].step[operand];
        }
    }
    define_runs(text, places, product, tile, true);
    define_pointers(problem, text);
    char alpha[RY_GPU_FLOAT], beta[RY_GPU_FLOAT];
    ry_gpu_float(attrs->alpha, alpha);
    ry_gpu_float(attrs->beta, beta);
    ry_text_add(text,
                "#define END_SCALE(v) (%s * (v))\n#define END_SCALE_C(v) (%s * (v))\n"
                "#define END_ACTIVATE(v) activate(v)\n",
                alpha, beta);
}

void ry_gpu_ends_define_floats(const ry_gpu_product *product, int64_t row, int64_t column,
                               int64_t others, const char *to, const ry_gpu_tile *tile,
                               ry_text *text)
{
    const place places[PLACES] = {[PLACE_Y] = {true, row, column, product->columns, others}};
    define_runs(text, places, product, tile, true);
    ry_text_add(text,
                "#define END_PARAMETERS GLOBAL float *y\n#define END_POINTERS %s\n"
                "#define END_ADDRESSES ((ulong)y)\n#define END_SCALE(v) (v)\n"
                "#define END_ACTIVATE(v) (v)\n",
                to);
    define_access(text, "Y", "STORE", "f32");
}
