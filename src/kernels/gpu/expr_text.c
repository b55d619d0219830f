/* SPDX-License-Identifier: Apache-2.0 */
/* Prints programs: a row for each function of expr_ops.inc says how it is written. */
#include "kernels/gpu/expr_text.h"

#include <math.h>
#include <stdio.h>

extern const char ry_gpu_text_functions[];

enum { LITERAL = 64 };

/* How a function is written, by the type of its operands. $a $b $c are operands, $T their type, $W
 * the unsigned type in which integers wrap, $N the type's name, $B its bits. Bools are spelled as
 * unsigned integers. */
typedef struct spelling {
    const char *of_float, *of_signed, *of_unsigned;
} spelling;

#define CALL_1(name) "$N_" #name "($a)"
#define CALL_2(name) "$N_" #name "($a, $b)"
#define EVERY(text)      \
    {                    \
        text, text, text \
    }
#define ALONE(text)      \
    {                    \
        text, NULL, NULL \
    }
#define NUMBER(float, integer)  \
    {                           \
        float, integer, integer \
    }

static const spelling spellings[RY_EXPR_CODES] = {
    [RY_EXPR_add] = NUMBER("$a + $b", "($T)(($W)$a + ($W)$b)"),
    [RY_EXPR_sub] = NUMBER("$a - $b", "($T)(($W)$a - ($W)$b)"),
    [RY_EXPR_mul] = NUMBER("ROUNDED_PRODUCT($a, $b)", "($T)(($W)$a * ($W)$b)"),
    [RY_EXPR_div] = NUMBER("$a / $b", CALL_2(div)),
    [RY_EXPR_min] = NUMBER(CALL_2(min), "$a < $b ? $a : $b"),
    [RY_EXPR_max] = NUMBER(CALL_2(max), "$a < $b ? $b : $a"),
    [RY_EXPR_pow] = NUMBER("pow($a, $b)", CALL_2(pow)),
    [RY_EXPR_mod] = EVERY(CALL_2(mod)),
    [RY_EXPR_fmod] = NUMBER("fmod($a, $b)", CALL_2(fmod)),
    [RY_EXPR_neg] = NUMBER("-$a", "($T)(($W)0 - ($W)$a)"),
    [RY_EXPR_abs] = {"fabs($a)", "$a < 0 ? ($T)(($W)0 - ($W)$a) : $a", "$a"},
    [RY_EXPR_sign] = {CALL_1(sign), "($T)(($a > 0) - ($a < 0))", "($T)($a != 0)"},
    [RY_EXPR_eq] = EVERY("$a == $b"),
    [RY_EXPR_ne] = EVERY("$a != $b"),
    [RY_EXPR_lt] = EVERY("$a < $b"),
    [RY_EXPR_le] = EVERY("$a <= $b"),
    [RY_EXPR_gt] = EVERY("$a > $b"),
    [RY_EXPR_ge] = EVERY("$a >= $b"),
    [RY_EXPR_isnan] = NUMBER("$a != $a", "0"),
    [RY_EXPR_isinf] = NUMBER("fabs($a) == ($T)F32_INFINITY", "0"),
    [RY_EXPR_and] = EVERY("$a & $b"),
    [RY_EXPR_or] = EVERY("$a | $b"),
    [RY_EXPR_xor] = EVERY("$a ^ $b"),
    [RY_EXPR_not] = EVERY("!$a"),
    [RY_EXPR_bit_and] = EVERY("($T)($a & $b)"),
    [RY_EXPR_bit_or] = EVERY("($T)($a | $b)"),
    [RY_EXPR_bit_xor] = EVERY("($T)($a ^ $b)"),
    [RY_EXPR_bit_not] = EVERY("($T)(~$a)"),
    [RY_EXPR_shift_left] = EVERY("(uint64_t)$b < $B ? ($T)(($W)$a << $b) : ($T)0"),
    [RY_EXPR_shift_right] = {NULL, "($T)($a >> ((uint64_t)$b < $B ? $b : $B - 1))",
                             "$b < $B ? ($T)($a >> $b) : ($T)0"},
    [RY_EXPR_select] = EVERY("$a ? $b : $c"),
    [RY_EXPR_floor] = ALONE("floor($a)"),
    [RY_EXPR_ceil] = ALONE("ceil($a)"),
    [RY_EXPR_round] = ALONE("rint($a)"),
    [RY_EXPR_sqrt] = ALONE("sqrt($a)"),
    [RY_EXPR_reciprocal] = ALONE("1 / $a"),
    [RY_EXPR_exp] = ALONE(CALL_1(exp)),
    [RY_EXPR_log] = ALONE(CALL_1(log)),
    [RY_EXPR_log1p] = ALONE(CALL_1(log1p)),
    [RY_EXPR_expm1] = ALONE(CALL_1(expm1)),
    [RY_EXPR_sin] = ALONE("sin($a)"),
    [RY_EXPR_cos] = ALONE("cos($a)"),
    [RY_EXPR_tan] = ALONE("tan($a)"),
    [RY_EXPR_asin] = ALONE(CALL_1(asin)),
    [RY_EXPR_acos] = ALONE(CALL_1(acos)),
    [RY_EXPR_atan] = ALONE(CALL_1(atan)),
    [RY_EXPR_sinh] = ALONE(CALL_1(sinh)),
    [RY_EXPR_cosh] = ALONE(CALL_1(cosh)),
    [RY_EXPR_tanh] = ALONE(CALL_1(tanh)),
    [RY_EXPR_asinh] = ALONE(CALL_1(asinh)),
    [RY_EXPR_acosh] = ALONE(CALL_1(acosh)),
    [RY_EXPR_atanh] = ALONE(CALL_1(atanh)),
    [RY_EXPR_erf] = ALONE(CALL_1(erf)),
    [RY_EXPR_sigmoid] = ALONE(CALL_1(sigmoid)),
    [RY_EXPR_silu] = ALONE(CALL_1(silu)),
    [RY_EXPR_softplus] = ALONE(CALL_1(softplus)),
    [RY_EXPR_mish] = ALONE(CALL_1(mish)),
    [RY_EXPR_gelu] = ALONE(CALL_1(gelu)),
    [RY_EXPR_gelu_tanh] = ALONE(CALL_1(gelu_tanh)),
    /* of two parts of what is reduced */
    [RY_EXPR_sum] = NUMBER("$a + $b", "($T)(($W)$a + ($W)$b)"),
    [RY_EXPR_mean] = NUMBER("$a + $b", "($T)(($W)$a + ($W)$b)"),
    [RY_EXPR_prod] = NUMBER("$a * $b", "($T)(($W)$a * ($W)$b)"),
    [RY_EXPR_reduce_min] = NUMBER(CALL_2(min), "$a < $b ? $a : $b"),
    [RY_EXPR_reduce_max] = NUMBER(CALL_2(max), "$a < $b ? $b : $a"),
};

typedef struct type_row {
    const char *memory, *vector, *reg, *wrapping, *name;
} type_row;

static const type_row types[RY_DTYPES] = {
    [RY_f32] = {"float", "float4", "float", "", "f32"},
    [RY_f16] = {"ushort", NULL, "float", "", "f32"},
    [RY_bf16] = {"ushort", NULL, "float", "", "f32"},
    [RY_f64] = {"double", "double4", "double", "", "f64"},
    [RY_i8] = {"int8_t", "char4", "int8_t", "uint32_t", "i8"},
    [RY_i16] = {"int16_t", "short4", "int16_t", "uint32_t", "i16"},
    [RY_i32] = {"int32_t", "int4", "int32_t", "uint32_t", "i32"},
    [RY_i64] = {"int64_t", "long4", "int64_t", "uint64_t", "i64"},
    [RY_u8] = {"uint8_t", "uchar4", "uint8_t", "uint32_t", "u8"},
    [RY_u16] = {"uint16_t", "ushort4", "uint16_t", "uint32_t", "u16"},
    [RY_u32] = {"uint32_t", "uint4", "uint32_t", "uint32_t", "u32"},
    [RY_u64] = {"uint64_t", "ulong4", "uint64_t", "uint64_t", "u64"},
    [RY_bool] = {"uint8_t", "uchar4", "int", "uint32_t", "bool"},
};

const char *ry_gpu_memory_type(ry_dtype dtype)
{
    return types[dtype].memory;
}

const char *ry_gpu_vector_type(ry_dtype dtype)
{
    return types[dtype].vector;
}

const char *ry_gpu_register_type(ry_dtype dtype)
{
    return types[dtype].reg;
}

static const char *const near_spellings[RY_EXPR_CODES] = {
    [RY_EXPR_erf] = CALL_1(near_erf),
    [RY_EXPR_silu] = CALL_1(near_silu),
    [RY_EXPR_gelu] = CALL_1(near_gelu),
    [RY_EXPR_gelu_tanh] = CALL_1(near_gelu_tanh),
};

static const char *spelled(const ry_gpu_expr *expr, ry_expr_code code, ry_dtype dtype)
{
    const spelling *s = &spellings[code];
    if (expr->near && near_spellings[code] && dtype != RY_f64) {
        return near_spellings[code];
    }
    return ry_dtype_is_float(dtype)                     ? s->of_float
           : ry_dtype_get_kind(dtype) == RY_KIND_SIGNED ? s->of_signed
                                                        : s->of_unsigned;
}

/* The integer `value` as a literal of a type. */
static void integer_literal(ry_dtype dtype, int64_t value, char literal[LITERAL])
{
    const bool wide = ry_dtype_size(dtype) == 8;
    if (dtype == RY_bool) {
        snprintf(literal, LITERAL, "%d", value != 0);
    } else {
        snprintf(literal, LITERAL, "((%s)0x%llx%s)", types[dtype].reg,
                 (unsigned long long)value & (wide ? ~0ull : 0xffffffffull), wide ? "ul" : "u");
    }
}

/* A number of the program, as the type that its use asks for has it. */
static void number_literal(ry_dtype dtype, double value, char literal[LITERAL])
{
    const bool f64 = dtype == RY_f64;
    const double held = f64 ? value : (double)(float)value;
    if (!ry_dtype_is_float(dtype)) {
        integer_literal(dtype, ry_expr_to_int(dtype, value, false), literal);
    } else if (isnan(held) || isinf(held)) {
        snprintf(literal, LITERAL, "(%s(%s)%s)", held < 0 ? "-" : "", types[dtype].reg,
                 isnan(held) ? "F32_NAN" : "F32_INFINITY");
    } else {
        snprintf(literal, LITERAL, "(%a%s)", held, f64 ? "" : "f");
    }
}

/* Writes a spelling. */
static void put(ry_text *text, const char *format, ry_dtype dtype, char operand[3][LITERAL])
{
    for (; *format; format++) {
        if (*format != '$') {
            ry_text_add(text, "%c", *format);
            continue;
        }
        switch (*++format) {
        case 'a':
        case 'b':
        case 'c': ry_text_add(text, "%s", operand[*format - 'a']); break;
        case 'T': ry_text_add(text, "%s", types[dtype].reg); break;
        case 'W': ry_text_add(text, "%s", types[dtype].wrapping); break;
        case 'N': ry_text_add(text, "%s", types[dtype].name); break;
        default: ry_text_add(text, "%d", 8 * (int)ry_dtype_size(dtype)); break;
        }
    }
}

/* The type in which instruction i takes operand k. */
static ry_dtype operand_type(const ry_gpu_expr *expr, int i, int k)
{
    const ry_expr_instruction *in = &expr->program->code[i];
    const bool first = expr->program->code[in->operand[0]].code != RY_EXPR_constant ||
                       ry_expr_code_operands(in->code) < 2;
    switch (ry_expr_code_class(in->code)) {
    case RY_EXPR_CLASS_LOGIC: return RY_bool;
    case RY_EXPR_CLASS_SELECT: return k == 0 ? RY_bool : expr->types[i];
    case RY_EXPR_CLASS_BOOL: return expr->types[in->operand[first ? 0 : 1]];
    case RY_EXPR_CLASS_NONE: return expr->types[in->operand[0]];
    default: return expr->types[i];
    }
}

static void value_literal(const ry_gpu_expr *expr, int i, ry_dtype dtype, char literal[LITERAL])
{
    const ry_expr_instruction *in = &expr->program->code[i];
    if (in->code == RY_EXPR_constant) {
        number_literal(dtype, in->value, literal);
    } else {
        snprintf(literal, LITERAL, "v%d", i);
    }
}

/* ---- cast and saturate ---- */

static double nearest(ry_dtype dtype, double value)
{
    switch (dtype) {
    case RY_f64: return value;
    case RY_f16: return (double)ry_f16_to_f32(ry_f32_to_f16((float)value));
    case RY_bf16: return (double)ry_bf16_to_f32(ry_f32_to_bf16((float)value));
    default: return (double)(float)value;
    }
}

/* Of a number of the program, which keeps all its digits until then. */
static void put_number_cast(ry_text *text, const ry_expr_instruction *in, double value)
{
    char literal[LITERAL];
    if (ry_dtype_is_float(in->dtype)) {
        number_literal(in->dtype, nearest(in->dtype, value), literal);
    } else {
        integer_literal(in->dtype, ry_expr_to_int(in->dtype, value, in->code == RY_EXPR_saturate),
                        literal);
    }
    ry_text_add(text, "%s", literal);
}

static void put_float_cast(ry_text *text, ry_dtype to, const char *a)
{
    switch (to) {
    case RY_f16: ry_text_add(text, "f16_nearest((float)%s)", a); break;
    case RY_bf16: ry_text_add(text, "bf16_nearest((float)%s)", a); break;
    default: ry_text_add(text, "(%s)%s", types[to].reg, a); break;
    }
}

/* The bounds are exact in f32: powers of two. */
static void put_bounded_cast(ry_text *text, ry_dtype from, ry_dtype to, bool round, const char *a)
{
    const int bits = 8 * (int)ry_dtype_size(to);
    const bool is_signed = ry_dtype_get_kind(to) == RY_KIND_SIGNED;
    char low[LITERAL], high[LITERAL], bottom[LITERAL], beyond[LITERAL], x[LITERAL];
    number_literal(from, is_signed ? -ldexp(1, bits - 1) : 0, bottom);
    number_literal(from, ldexp(1, is_signed ? bits - 1 : bits), beyond);
    integer_literal(to, ry_expr_to_int(to, -INFINITY, false), low);
    integer_literal(to, ry_expr_to_int(to, INFINITY, false), high);
    snprintf(x, sizeof x, round ? "rint(%s)" : "%s", a);
    ry_text_add(text, "%s != %s ? (%s)0 : %s >= %s ? %s : %s <= %s ? %s : (%s)%s", a, a,
                types[to].reg, x, beyond, high, x, bottom, low, types[to].reg, x);
}

/* Compares with those bounds only that the first type can pass. */
static void put_clamped(ry_text *text, ry_dtype from, ry_dtype to, const char *a)
{
    const bool from_signed = ry_dtype_get_kind(from) == RY_KIND_SIGNED,
               to_signed = ry_dtype_get_kind(to) == RY_KIND_SIGNED;
    const int from_bits = 8 * (int)ry_dtype_size(from) - from_signed,
              to_bits = 8 * (int)ry_dtype_size(to) - to_signed;
    const int64_t low = ry_expr_to_int(to, -INFINITY, false),
                  high = ry_expr_to_int(to, INFINITY, false);
    char bound[2][LITERAL], result[2][LITERAL];
    integer_literal(from, low, bound[0]);
    integer_literal(from, high, bound[1]);
    integer_literal(to, low, result[0]);
    integer_literal(to, high, result[1]);
    if (from_signed && (!to_signed || to_bits < from_bits)) {
        ry_text_add(text, "%s < %s ? %s : ", a, bound[0], result[0]);
    }
    if (to_bits < from_bits) {
        ry_text_add(text, "%s > %s ? %s : ", a, bound[1], result[1]);
    }
    ry_text_add(text, "(%s)%s", types[to].reg, a);
}

static void put_cast(ry_text *text, const ry_gpu_expr *expr, int i)
{
    const ry_expr_instruction *in = &expr->program->code[i],
                              *source = &expr->program->code[in->operand[0]];
    const ry_dtype from = operand_type(expr, i, 0), to = in->dtype;
    char a[LITERAL];
    if (source->code == RY_EXPR_constant) {
        put_number_cast(text, in, source->value);
        return;
    }
    value_literal(expr, in->operand[0], from, a);
    if (ry_dtype_is_float(to)) {
        put_float_cast(text, to, a);
    } else if (to == RY_bool) {
        ry_text_add(text, "%s != 0", a);
    } else if (ry_dtype_is_float(from)) {
        put_bounded_cast(text, from, to, in->code == RY_EXPR_saturate, a);
    } else if (in->code == RY_EXPR_saturate) {
        put_clamped(text, from, to, a);
    } else {
        ry_text_add(text, "(%s)%s", types[to].reg, a);
    }
}

/* ---- statements ---- */

static bool is_reduction(ry_expr_code code)
{
    return ry_expr_code_class(code) == RY_EXPR_CLASS_REDUCE;
}

static void put_value(ry_text *text, const ry_gpu_expr *expr, int i)
{
    const ry_expr_instruction *in = &expr->program->code[i];
    const ry_dtype dtype = operand_type(expr, i, 1);
    const ry_expr_instruction *last = &expr->program->code[in->operand[1]];
    const bool square = in->code == RY_EXPR_pow && ry_dtype_is_float(dtype) &&
                        last->code == RY_EXPR_constant && last->value == 2;
    char operand[3][LITERAL];
    for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
        value_literal(expr, in->operand[k], operand_type(expr, i, k), operand[k]);
    }
    put(text, square ? "ROUNDED_PRODUCT($a, $a)" : spelled(expr, in->code, dtype), dtype, operand);
}

/* const float v7 = v5 * v6; */
static void put_statement(ry_text *text, const ry_gpu_expr *expr, int i)
{
    const ry_expr_instruction *in = &expr->program->code[i];
    ry_text_add(text, "    const %s v%d = ", types[expr->types[i]].reg, i);
    if (in->code == RY_EXPR_input) {
        ry_text_add(text, "x.x%d", in->index);
    } else if (in->code == RY_EXPR_cast || in->code == RY_EXPR_saturate) {
        put_cast(text, expr, i);
    } else {
        put_value(text, expr, i);
    }
    ry_text_add(text, ";\n");
}

/* Which are made of constants alone? Both sides of a reduction may use them. */
static void find_fixed(const ry_expr *program, bool *fixed)
{
    for (int i = 0; i < program->count; i++) {
        const ry_expr_instruction *in = &program->code[i];
        fixed[i] = in->code != RY_EXPR_input && !is_reduction(in->code);
        for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
            fixed[i] = fixed[i] && fixed[in->operand[k]];
        }
    }
}

static void put_outputs(ry_text *text, const ry_gpu_expr *expr, const ry_dtype *outputs,
                        bool behind)
{
    const ry_expr *program = expr->program;
    for (int o = 0; o < program->outputs; o++) {
        char value[LITERAL];
        if (program->reduced[program->result[o]] == behind) {
            value_literal(expr, program->result[o], outputs[o], value);
            ry_text_add(text, "    y->y%d = %s;\n", o, value);
        }
    }
}

static void put_front(ry_text *text, const ry_gpu_expr *expr, const ry_dtype *outputs)
{
    const ry_expr *program = expr->program;
    ry_text_add(text, "FUNCTION void front(const program_inputs x, program_outputs *y, "
                      "program_sums *t)\n{\n");
    for (int i = 0; i < program->count; i++) {
        const ry_expr_instruction *in = &program->code[i];
        char value[LITERAL];
        if (is_reduction(in->code)) {
            value_literal(expr, in->operand[0], expr->types[i], value);
            ry_text_add(text, "    t->s%d = %s;\n", i, value);
        } else if (in->code != RY_EXPR_constant && !program->reduced[i]) {
            put_statement(text, expr, i);
        }
    }
    put_outputs(text, expr, outputs, false);
    ry_text_add(text, "}\n");
}

/* Means of integers are sums in 64 bits. */
static ry_dtype sum_type(const ry_gpu_expr *expr, int i)
{
    const ry_dtype dtype = expr->types[i];
    if (ry_dtype_is_float(dtype) || expr->program->code[i].code != RY_EXPR_mean) {
        return dtype;
    }
    return ry_dtype_get_kind(dtype) == RY_KIND_SIGNED ? RY_i64 : RY_u64;
}

static void put_join(ry_text *text, const ry_gpu_expr *expr)
{
    ry_text_add(text, "FUNCTION void join(program_sums *t, const program_sums *with)\n{\n");
    for (int i = 0; i < expr->program->count; i++) {
        const ry_expr_code code = expr->program->code[i].code;
        const ry_dtype dtype = sum_type(expr, i);
        char operand[3][LITERAL];
        if (is_reduction(code)) {
            snprintf(operand[0], LITERAL, "t->s%d", i);
            snprintf(operand[1], LITERAL, "with->s%d", i);
            ry_text_add(text, "    t->s%d = ", i);
            put(text, spelled(expr, code, dtype), dtype, operand);
            ry_text_add(text, ";\n");
        }
    }
    ry_text_add(text, "}\n");
}

/* What nothing reduces to. */
static double identity(ry_expr_code code)
{
    return code == RY_EXPR_prod         ? 1
           : code == RY_EXPR_reduce_min ? (double)INFINITY
           : code == RY_EXPR_reduce_max ? -(double)INFINITY
                                        : 0;
}

static void put_begin(ry_text *text, const ry_gpu_expr *expr)
{
    ry_text_add(text, "FUNCTION void begin(program_sums *t)\n{\n");
    for (int i = 0; i < expr->program->count; i++) {
        const ry_expr_code code = expr->program->code[i].code;
        char value[LITERAL];
        if (is_reduction(code)) {
            if (sum_type(expr, i) == RY_bool) {
                snprintf(value, sizeof value, "%d", identity(code) > 0);
            } else {
                number_literal(sum_type(expr, i), identity(code), value);
            }
            ry_text_add(text, "    t->s%d = %s;\n", i, value);
        }
    }
    ry_text_add(text, "}\n");
}

static void put_total(ry_text *text, const ry_gpu_expr *expr, int i, int64_t divisor)
{
    const char *type = types[expr->types[i]].reg;
    const bool mean = expr->program->code[i].code == RY_EXPR_mean;
    ry_text_add(text, "    const %s v%d = ", type, i);
    if (!mean) {
        ry_text_add(text, "t.s%d;\n", i);
    } else if (ry_dtype_is_float(expr->types[i])) {
        ry_text_add(text, "t.s%d / (%s)%lld;\n", i, type, (long long)divisor);
    } else if (divisor == 0) {
        ry_text_add(text, "0;\n");
    } else {
        ry_text_add(text, "(%s)(t.s%d / %lld);\n", type, i, (long long)divisor);
    }
}

static void put_behind(ry_text *text, const ry_gpu_expr *expr, const ry_dtype *outputs,
                       int64_t divisor)
{
    const ry_expr *program = expr->program;
    bool fixed[RY_EXPR_MAX_INSTRUCTIONS];
    find_fixed(program, fixed);
    ry_text_add(text, "FUNCTION void behind(const program_sums t, program_outputs *y)\n{\n");
    for (int i = 0; i < program->count; i++) {
        const ry_expr_code code = program->code[i].code;
        if (is_reduction(code)) {
            put_total(text, expr, i, divisor);
        } else if (code != RY_EXPR_constant && (program->reduced[i] || fixed[i])) {
            put_statement(text, expr, i);
        }
    }
    put_outputs(text, expr, outputs, true);
    ry_text_add(text, "}\n");
}

static void put_types(ry_text *text, const ry_gpu_expr *expr, const ry_dtype *outputs)
{
    const ry_expr *program = expr->program;
    ry_text_add(text, "typedef struct {\n    int none;\n");
    for (int i = 0; i < program->count; i++) {
        if (program->code[i].code == RY_EXPR_input) {
            ry_text_add(text, "    %s x%d;\n", types[expr->types[i]].reg, program->code[i].index);
        }
    }
    ry_text_add(text, "} program_inputs;\ntypedef struct {\n");
    for (int o = 0; o < program->outputs; o++) {
        ry_text_add(text, "    %s y%d;\n", types[outputs[o]].reg, o);
    }
    ry_text_add(text, "} program_outputs;\ntypedef struct {\n");
    for (int i = 0; i < program->count; i++) {
        if (is_reduction(program->code[i].code)) {
            ry_text_add(text, "    %s s%d;\n", types[sum_type(expr, i)].reg, i);
        }
    }
    ry_text_add(text, "%s} program_sums;\n", program->reduces ? "" : "    int none;\n");
}

void ry_gpu_expr_program(const ry_gpu_expr *expr, const ry_dtype *outputs, int64_t divisor,
                         ry_text *text)
{
    put_types(text, expr, outputs);
    put_front(text, expr, outputs);
    if (expr->program->reduces) {
        put_begin(text, expr);
        put_join(text, expr);
        put_behind(text, expr, outputs, divisor);
    }
}

int ry_gpu_expr_sums(const ry_expr *program)
{
    int sums = 0;
    for (int i = 0; i < program->count; i++) {
        sums += is_reduction(program->code[i].code);
    }
    return sums;
}

/* The functions of f64 that the device has by other names than those of f32 are called by. */
static const char *const f64_names[] = {"exp",  "log",  "log1p", "expm1", "asin",  "acos",  "atan",
                                        "sinh", "cosh", "tanh",  "asinh", "acosh", "atanh", "erf"};

void ry_gpu_expr_functions(const ry_gpu_expr *expr, ry_text *text)
{
    bool used[RY_DTYPES] = {false}, elementary = false;
    for (int i = 0; i < expr->program->count; i++) {
        const ry_expr_code code = expr->program->code[i].code;
        elementary = elementary || (code >= RY_EXPR_exp && code <= RY_EXPR_gelu_tanh);
        /* numbers are written in the type of their use */
        used[expr->types[i]] |= code != RY_EXPR_constant;
    }
    for (size_t i = 0; i < sizeof f64_names / sizeof *f64_names && used[RY_f64]; i++) {
        ry_text_add(text, "%s#define f64_%s(a) %s(a)\n", i ? "" : "#define USES_f64\n",
                    f64_names[i], f64_names[i]);
    }
    ry_text_add(text, "%s%s", elementary ? "#define USES_ELEMENTARY\n" : "", ry_gpu_text_functions);
    for (int t = 1; t < RY_DTYPES; t++) {
        const ry_dtype_kind kind = ry_dtype_get_kind((ry_dtype)t);
        if (used[t] && (kind == RY_KIND_SIGNED || kind == RY_KIND_UNSIGNED)) {
            ry_text_add(text, "%s_FUNCTIONS(%s, %s, %s)\n",
                        kind == RY_KIND_SIGNED ? "SIGNED" : "UNSIGNED", types[t].reg,
                        types[t].wrapping, types[t].name);
        }
    }
}

/* ---- activations ---- */

static const char *const activation_texts[RY_activation_count] = {
#define RY_ACTIVATION(name, text) [RY_activation_##name] = text,
#include "problem/activations.inc"
#undef RY_ACTIVATION
};

static rynd_status put_activation(ry_text *text, ry_activation activation, float alpha, float beta,
                                  ry_arena *arena)
{
    const ry_expr_parameter numbers[] = {{"a", (double)alpha}, {"b", (double)beta}};
    const ry_dtype input = RY_f32;
    const ry_expr *program = NULL;
    ry_error error;
    RY_TRY(ry_expr_parse(activation_texts[activation], numbers, 2, arena, &program, &error));
    ry_dtype *dtypes = RY_TAKE(arena, ry_dtype, program->count);
    if (!dtypes) {
        return ry_fail_memory(&error);
    }
    RY_TRY(ry_expr_types(program, &input, dtypes, &error));
    const ry_gpu_expr expr = {program, dtypes, .near = true};
    char value[LITERAL];
    ry_gpu_expr_functions(&expr, text);
    ry_text_add(text,
                "FUNCTION float activate(float x0)\n{\n    struct {\n        float x0;\n    } x;\n"
                "    x.x0 = x0;\n");
    for (int i = 0; i < program->count; i++) {
        if (program->code[i].code != RY_EXPR_constant) {
            put_statement(text, &expr, i);
        }
    }
    value_literal(&expr, program->result[0], RY_f32, value);
    ry_text_add(text, "    return %s;\n}\n", value);
    return RYND_OK;
}

void ry_gpu_activation(ry_text *text, ry_activation activation, float alpha, float beta)
{
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    if (put_activation(text, activation, alpha, beta, &arena) != RYND_OK) {
        text->failed = true; /* memory is out: the texts are right */
    }
    ry_arena_free(&arena);
}
