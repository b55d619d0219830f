/* SPDX-License-Identifier: Apache-2.0 */
/* The table of ONNX operators: every row is well formed, and the operators that rynd promises are
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/operators.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* The promise: ONNX's operators at the newest opset, those that ONNX withdrew included. */
static const char promised[] =
    "Abs Acos Acosh Add Affine AffineGrid And ArgMax ArgMin Asin Asinh Atan Atanh Attention "
    "AveragePool BatchNormalization BitShift "
    "BitwiseAnd "
    "BitwiseNot "
    "BitwiseOr BitwiseXor Cast CastLike Ceil Celu CenterCropPad Clip Col2Im Compress Concat "
    "Constant ConstantOfShape Conv ConvInteger "
    "ConvTranspose "
    "Cos Cosh Crop CumProd CumSum DeformConv DepthToSpace DequantizeLinear Div Dropout "
    "DynamicQuantizeLinear Einsum Elu Equal Erf Exp "
    "Expand "
    "EyeLike Flatten "
    "Floor Gather GatherElements GatherND Gelu Gemm GlobalAveragePool GlobalMaxPool Greater "
    "GreaterOrEqual GridSample GroupNormalization "
    "HardSigmoid "
    "HardSwish Hardmax Identity ImageScaler InstanceNormalization IsInf IsNaN LRN "
    "LayerNormalization LeakyRelu Less LessOrEqual Log "
    "LogSoftmax "
    "LpNormalization LpPool MatMul MatMulInteger Max MaxPool MaxUnpool Mean "
    "MeanVarianceNormalization Min Mish Mod Mul Neg "
    "NonMaxSuppression NonZero "
    "Not OneHot Or PRelu Pad Pow QLinearConv QLinearMatMul QuantizeLinear RMSNormalization Range "
    "If Loop Scan Reciprocal ReduceL1 ReduceL2 ReduceLogSum "
    "ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu "
    "Reshape Resize ReverseSequence RoiAlign "
    "Round Scatter "
    "ScatterElements ScatterND Selu Shape Shrink Sigmoid Sign Sin Sinh Size Slice Softmax Softplus "
    "Softsign SpaceToDepth Split Sqrt "
    "Squeeze Sub Sum "
    "SwiGLU Swish Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Upsample Where Xor";

static void test_promised(void **state)
{
    (void)state;
    char name[64];
    const char *at = promised;
    int count = 0;
    for (; *at; count++) {
        size_t length = strcspn(at, " ");
        assert_true(length < sizeof name);
        memcpy(name, at, length);
        name[length] = '\0';
        at += length + (at[length] == ' ');
        const ry_operator *nearest;
        const ry_operator *row = ry_operator_find(name, "", RY_OPSET_NEWEST, &nearest);
        if (!row) {
            fail_msg("%s has no row for the newest opset", name);
        }
        assert_null(ry_operator_find(name, "", 0, &nearest));
        assert_non_null(nearest);
    }
    assert_int_equal(count, 159 + 3);
}

static void test_unknown(void **state)
{
    (void)state;
    const ry_operator *nearest;
    assert_null(ry_operator_find("SequenceMap", "", 17, &nearest));
    assert_null(nearest);
    assert_null(ry_operator_find("Gelu", "", 19, &nearest));
    assert_int_equal(nearest->first, 20);
    assert_string_equal(ry_operator_find("Clip", "", 10, &nearest)->name, "Clip");
    assert_int_equal(ry_operator_find("Clip", "", 10, &nearest)->max_inputs, 1);
    assert_int_equal(ry_operator_find("Clip", "", 11, &nearest)->max_inputs, 3);
}

/* Opsets of an operator's rows do not overlap and leave no gap. */
static void test_versions(void **state)
{
    (void)state;
    for (size_t i = 0; i < ry_operator_count; i++) {
        const ry_operator *row = &ry_operators[i];
        assert_true(row->first >= 1 && row->first <= row->last && row->last <= RY_OPSET_NEWEST);
        const ry_operator *nearest;
        assert_ptr_equal(ry_operator_find(row->name, row->domain, row->first, &nearest), row);
        assert_ptr_equal(ry_operator_find(row->name, row->domain, row->last, &nearest), row);
        if (row->last < RY_OPSET_NEWEST) {
            const ry_operator *next =
                ry_operator_find(row->name, row->domain, row->last + 1, &nearest);
            if (!next || next->first != row->last + 1) {
                fail_msg("%s: no row begins at opset %d", row->name, row->last + 1);
            }
        }
    }
}

static const ry_field *find_field(ry_op op, const char *name)
{
    int count;
    const ry_field *fields = ry_op_fields(op, &count);
    for (int i = 0; i < count; i++) {
        if (strcmp(fields[i].name, name) == 0) {
            return &fields[i];
        }
    }
    return NULL;
}

static bool fits(const ry_attribute_spec *spec, ry_field_kind kind)
{
    switch (spec->type) {
    case RY_ATTRIBUTE_int: return kind == RY_FIELD_INT;
    case RY_ATTRIBUTE_float: return kind == RY_FIELD_FLOAT || kind == RY_FIELD_INT;
    case RY_ATTRIBUTE_string: return kind == RY_FIELD_ENUM || kind == RY_FIELD_TEXT;
    case RY_ATTRIBUTE_ints: return kind == RY_FIELD_INTS;
    case RY_ATTRIBUTE_floats: return kind == RY_FIELD_FLOATS;
    default: return false;
    }
}

/* Default words must be among the field's, in ONNX's spelling or ours. */
static bool knows_word(const ry_field *field, const char *text)
{
    if (strcmp(text, "NOTSET") == 0) {
        text = "explicit";
    }
    for (int i = 0; i < field->word_count; i++) {
        if (strcmp(field->words[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static void test_attributes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ry_operator_count; i++) {
        const ry_operator *row = &ry_operators[i];
        for (const ry_attribute_spec *spec = row->attributes; spec->name; spec++) {
            for (const ry_attribute_spec *other = row->attributes; other != spec; other++) {
                assert_true(!*spec->name || strcmp(spec->name, other->name) != 0);
            }
            if (!spec->field || !*spec->field) {
                continue;
            }
            const ry_field *field = row->op < RY_OPS ? find_field(row->op, spec->field) : NULL;
            if (!field || !fits(spec, field->kind)) {
                fail_msg("%s-%d: attribute '%s' has no fitting field '%s'", row->name, row->first,
                         spec->name, spec->field);
                continue;
            }
            if (field->kind == RY_FIELD_ENUM && spec->text && !knows_word(field, spec->text)) {
                fail_msg("%s-%d: attribute '%s': '%s' is no value of '%s'", row->name, row->first,
                         spec->name, spec->text, spec->field);
            }
        }
    }
}

/* Row texts parse, with the row's attributes as parameters, and use no more inputs than the
 * operator has. */
static void test_texts(void **state)
{
    (void)state;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    for (size_t i = 0; i < ry_operator_count; i++) {
        const ry_operator *row = &ry_operators[i];
        ry_expr_parameter parameters[8];
        int count = 0;
        if (!row->text) {
            continue;
        }
        for (const ry_attribute_spec *spec = row->attributes; spec->name; spec++) {
            if (spec->field && !*spec->field &&
                (spec->type == RY_ATTRIBUTE_float || spec->type == RY_ATTRIBUTE_int)) {
                assert_true(count < 8);
                parameters[count++] = (ry_expr_parameter){spec->name, spec->number};
            }
        }
        const ry_expr *program;
        ry_error error;
        if (ry_expr_parse(row->text, parameters, count, &arena, &program, &error) != RYND_OK) {
            fail_msg("%s-%d: %s", row->name, row->first, error.text);
        }
        assert_true(program->inputs >= 1 && program->inputs <= row->max_inputs);
        assert_int_equal(program->outputs, 1);
    }
    ry_arena_free(&arena);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ry_operator_count; i++) {
        const ry_operator *row = &ry_operators[i];
        assert_true(isupper((unsigned char)row->name[0]));
        assert_non_null(row->run);
        assert_non_null(row->attributes);
        assert_true(row->min_inputs >= 0 && row->min_inputs <= row->max_inputs);
        assert_true(row->min_outputs >= 1 && row->min_outputs <= row->max_outputs);
        assert_true(row->types != 0);
        assert_true(row->op <= RY_OPS);
    }
}

/* docs/operators.md names every operator with its first opset. Tests run in the root of the
 * sources. */
static void test_documented(void **state)
{
    (void)state;
    static char text[1 << 16];
    FILE *file = fopen("docs/operators.md", "rb");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 1, file);
    assert_int_equal(fclose(file), 0);
    assert_true(size < sizeof text - 1);
    for (char *c = text; *c; c++) {
        *c = *c == '\n' ? ' ' : *c;
    }
    for (size_t i = 0; i < ry_operator_count; i++) {
        const ry_operator *nearest;
        ry_operator_find(ry_operators[i].name, ry_operators[i].domain, 0, &nearest);
        char words[2][80];
        snprintf(words[0], sizeof words[0], " %s %d,", nearest->name, nearest->first);
        snprintf(words[1], sizeof words[1], " %s %d.", nearest->name, nearest->first);
        if (!strstr(text, words[0]) && !strstr(text, words[1])) {
            fail_msg("docs/operators.md does not say \"%s\"", words[0]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_promised),   cmocka_unit_test(test_unknown),
        cmocka_unit_test(test_versions),   cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_texts),      cmocka_unit_test(test_rows),
        cmocka_unit_test(test_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
