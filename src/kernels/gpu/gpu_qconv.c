/* SPDX-License-Identifier: Apache-2.0 */
/* Defines what qconv.cl reads: zero points, bounds, scales, and how a sum ends. */
#include "kernels/gpu/gpu_qconv.h"

#include "kernels/gpu/gpu_define.h"
#include "kernels/gpu/gpu_texts.h"

/* NAME(channel): a number of an output channel, `none` without the input. */
static void define_by_channel(const ry_problem *problem, const char *name, int input,
                              const char *none, ry_text *text)
{
    ry_text_add(text, "#define %s(channel) ", name);
    if (ry_problem_has_input(problem, input)) {
        ry_text_add(text, "(IN(TYPE_%d, %d)[(INDEX)(channel) * %lld])\n", input, input,
                    (long long)problem->in[input].stride[0]);
    } else {
        ry_text_add(text, "%s\n", none);
    }
}

/* FINISH_SUM: y of a sum. Sums of quads begin at START. */
static void define_end(const ry_problem *problem, const ry_gpu_window *w, ry_text *text)
{
    const ry_dtype y = (ry_dtype)problem->out[0].dtype;
    define_by_channel(problem, "BIAS", 2, "0", text);
    define_by_channel(problem, "SCALE", 4, "1.0f", text);
    ry_text_add(text, "#define START(channel) %s\n",
                w->lanes > 1 ? "(PACKED(int)[STARTS + (channel)])" : "0");
    ry_text_add(text, "#define FINISH_SUM(sum, image, channel, o0, o1, o2, r0, r1, r2) "
                      "STORE(OUT(TYPE_Y, 0), ");
    ry_gpu_window_add_offset(&problem->out[0], text);
    ry_text_add(text, ", %s((sum) + START(channel) + BIAS(channel)",
                y == RY_i32                        ? ""
                : y == RY_f32                      ? "SCALE(channel) * (float)"
                : ry_problem_has_input(problem, 3) ? "requantise_residual"
                                                   : "requantise");
    if (y == RY_u8) {
        ry_text_add(text, ", SCALE(channel)");
    }
    if (ry_problem_has_input(problem, 3)) {
        ry_text_add(text, ", IN(TYPE_3, 3)[");
        ry_gpu_window_add_offset(&problem->in[3], text);
        ry_text_add(text, "]");
    }
    ry_text_add(text, "))\n");
}

void ry_gpu_qconv_define(const ry_problem *problem, const ry_gpu_window *w, ry_text *text)
{
    const ry_qconv_attrs *a = &problem->attrs.qconv;
    const struct {
        const char *name;
        int64_t number;
    } numbers[] = {{"GROUP_CHANNELS", problem->in[0].dim[1] / w->groups},
                   {"X_BYTE", problem->in[0].stride[1]},
                   {"W_BYTE", problem->in[1].stride[1]},
                   {"X_ZERO", a->x_zero},
                   {"ZERO", a->zero},
                   {"LOW", a->low - a->zero},
                   {"HIGH", a->high - a->zero},
                   {"SUM_LOW", a->sum_low - a->sum_zero},
                   {"SUM_HIGH", a->sum_high - a->sum_zero},
                   {"RESIDUAL_ZERO", a->residual_zero}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ry_gpu_define(text, numbers[i].name, numbers[i].number);
    }
    ry_gpu_define_float(text, "SUM_SCALE", a->sum_scale);
    ry_gpu_define_float(text, "RESIDUAL_SCALE", a->residual_scale);
    ry_gpu_define(text, "LANES", w->lanes);
    ry_text_add(text, "%s", ry_gpu_text_qconv);
    define_end(problem, w, text);
}
