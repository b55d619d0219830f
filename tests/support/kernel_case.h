/* SPDX-License-Identifier: Apache-2.0 */
/* One problem with data, on which any kernel is run and compared: the way every kernel is tested.
 *
 *   kernel_case c;
 *   kernel_case_begin(&c, RY_OP_conv);
 *   c.attrs.conv.pads = (ry_ints){4, {1, 1, 1, 1}};
 *   kernel_case_random(&c, RY_f32, "1x3x8x8", 1);    operands in the order of ops.inc
 *   kernel_case_random(&c, RY_f32, "4x3x3x3", 2);    (kernel_case_absent: an omitted one)
 *   kernel_case_output(&c, RY_f32, "1x4x8x8");
 *   kernel_case_check(&c, "conv_fwd_f32_igemm_avx2", 1e-6);    against the reference, in every
 *   kernel_case_end(&c);                                       layout of the kernel
 *
 * Against known values:
 *
 *   kernel_case_run(&c, kernel, CASE_NHWC);
 *   kernel_case_expect(&c, 0, values, count, tolerance);
 *
 * Values are given and read in row-major order; a run lays them out as its layout says. Each run
 * watches what the kernel touches: bytes around every operand, gaps between elements, bytes around
 * state, packed memory, workspace and scratch (which begin as garbage), and the inputs. Failures
 * are cmocka's. A GPU's kernel runs on copies of this memory (gpu_run.h). Any float comparison
 * takes NaN as equal to NaN. */
#ifndef KERNEL_CASE_H
#define KERNEL_CASE_H

#include "every_kernel.h"

enum { CASE_OPERANDS = 16 };

/* How the operands are stored: row-major; channels last (rank 3 and above); row-major with gaps
 * along every dimension. */
typedef enum case_layout { CASE_NCHW, CASE_NHWC, CASE_GAPS, CASE_LAYOUTS } case_layout;
extern const char *const kernel_case_layouts[CASE_LAYOUTS];

typedef struct kernel_case {
    const char *text; /* for messages: the problem that was parsed, or the operator */
    ry_op op;
    ry_attrs attrs; /* the operator's defaults at first */
    ry_accuracy accuracy;
    bool forms;              /* kernels are checked in every form (kernel_case_form) */
    const ry_form *form;     /* form to run; NULL: the kernel's choice */
    unsigned constants;      /* constant inputs as a bit mask; initially all */
    int over[CASE_OPERANDS]; /* each output: number of the input it overwrites, from 1; 0: none */
    int inputs, outputs;
    /* row-major, with data; outputs hold what the last run gave */
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    /* actual dims of BOUNDED operators in the last run; -1: unknown */
    int64_t actual[CASE_OPERANDS][RY_MAX_RANK];
    ry_arena arena; /* memory of a parsed problem's attributes */
} kernel_case;

void kernel_case_begin(kernel_case *c, ry_op op);
void kernel_case_end(kernel_case *c);
/* A whole case from a problem's text, with random inputs (a variance is positive); its layout does
 * not matter. */
void kernel_case_parse(kernel_case *c, const char *problem);

/* Operands: shape is "2x3x5x5", or "" for a scalar. */
void kernel_case_values(kernel_case *c, ry_dtype dtype, const char *shape,
                        const double *values); /* as many as the shape has */
/* floats in [-1, 1), integers in [-4, 4] or [0, 8] */
void kernel_case_random(kernel_case *c, ry_dtype dtype, const char *shape, uint64_t seed);
/* Element i is (i * step % modulus - modulus / 2) * scale: a table of expected values stays
 * reproducible. */
void kernel_case_pattern(kernel_case *c, ry_dtype dtype, const char *shape, int step, int modulus,
                         double scale);
void kernel_case_absent(kernel_case *c);
void kernel_case_output(kernel_case *c, ry_dtype dtype, const char *shape);
void kernel_case_output_absent(kernel_case *c);

/* The case as a problem in a layout; `in` and `out` have room for CASE_OPERANDS descriptions. */
ry_problem kernel_case_problem(const kernel_case *c, case_layout layout, ry_tensor *in,
                               ry_tensor *out);
const ry_target *kernel_case_target(const ry_kernel *kernel);
/* Does a method's own test take a problem's text, row-major? */
bool kernel_case_is_taken(const char *text, bool (*takes)(const ry_problem *problem));
bool kernel_case_applicable(const kernel_case *c, const ry_kernel *kernel, case_layout layout);

/* Runs a kernel that must be applicable. */
void kernel_case_run(kernel_case *c, const ry_kernel *kernel, case_layout layout);
/* The same twice, tasks forwards and then backwards and on alternating workers, which must give the
 * same bits; the caller frees them. */
unsigned char *kernel_case_bits(kernel_case *c, const ry_kernel *kernel, case_layout layout,
                                size_t *size);
bool kernel_case_close(double got, double expected, double allowed); /* a NaN is close to a NaN */
double kernel_case_get(const kernel_case *c, int output, int64_t index); /* row-major */
/* |got - expected| <= tolerance * max(1, |expected|) for each; 0: equal. Fails where the output has
 * another number of elements. */
void kernel_case_expect(const kernel_case *c, int output, const double *expected, int64_t count,
                        double tolerance);

/* Runs a kernel once more for each output that it may write over an input (kernel.h), and
 * with as many of them together as there are: the bits must be those of kernel_case_bits. */
void kernel_case_in_place(kernel_case *c, const ry_kernel *kernel, case_layout layout,
                          const unsigned char *bits, size_t size);

/* Runs a kernel in each layout in which it is applicable, tasks forwards and backwards and on
 * alternating workers: all give the same bits. Returns how many layouts. */
int kernel_case_steady(kernel_case *c, const char *kernel);

/* Output 0 of a reference in every layout in which it is applicable, against known values; and
 * kernel_case_steady. */
void kernel_case_known(kernel_case *c, const char *kernel, const double *expected, int64_t count,
                       double tolerance);

/* Runs the kernel of that name, which may not be the reference, in each layout in which it is
 * applicable (at least one), tasks forwards and backwards and on alternating workers, which must
 * give the same bits; and compares with the reference, computed with float64 outputs where it can:
 * every element differs by at most bound * (the largest magnitude of the reference's output), and
 * the rounding to the output's type. Kernels of class bf16 are held to the reference of operands
 * rounded to bfloat16: the bound is that of their sums. A kernel for an instruction set that this
 * machine does not have, or for a GPU where there is none, is passed over. */
void kernel_case_check(kernel_case *c, const char *kernel, double bound);

/* The same for TEXT_generic, TEXT_avx2 and so on: for every instruction set that this build has. */
void kernel_case_check_isas(kernel_case *c, const char *text, double bound);

/* The same for every kernel of a CPU in the list that is applicable to the case, at least as
 * accurate as it asks, and needs no more than this machine has; with ten times the bound for
 * kernels of class near32 and float32 outputs. Returns how many there are beside the reference,
 * which is only run (kernel_case_steady). covered (may be NULL; one a kernel of the list) is set
 * true for each, the reference included. */
int kernel_case_check_all(kernel_case *c, double bound, bool *covered);
bool kernel_case_machine_has(ry_isa isa);

/* Form number *at of those in which a kernel is checked, and *at moves on: one that the kernel
 * chooses; if the case asks for `forms`, every setting of the main knobs, alone and with each other
 * knob, and all of them, at the least, middle and greatest value, as far as prepare takes them. A
 * form must be complete, keep what was set, and give the same state when it is prepared again;
 * other values must be refused. */
bool kernel_case_form(const kernel_case *c, const ry_kernel *kernel, case_layout layout, size_t *at,
                      ry_form *form);

/* The sum of the products of two row-major tensors of as many elements. */
double kernel_case_dot(const ry_tensor *a, const ry_tensor *b);

#endif
