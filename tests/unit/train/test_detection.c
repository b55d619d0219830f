/* SPDX-License-Identifier: Apache-2.0 */
/* The loss of each detection head that has one: candidates as the decoder finds them, and gradients
 * beside differences in f64, with the assignment held. */
#include "gradient_case.h"

#include "tasks/codings.h"
#include "tasks/detect.h"
#include "train/detection.h"

#include <stdio.h>

enum { SIDE = 32, PICTURES = 2, CLASSES = 3, BOXES = 3, MOST_OUTPUTS = 24 };

/* Two pictures: two boxes and an empty row, then two boxes with one centre, and one of another
 * class. */
static const double boxes[PICTURES][BOXES][5] = {
    {{1, 2, 3, 17, 20}, {0, 14.5, 9, 31, 30.25}, {-1, 0, 0, 0, 0}},
    {{2, 4, 4, 28, 27}, {2, 9, 8, 23, 24}, {0, 20, 1, 31, 13}}};

/* A head's outputs as inputs of a graph. */
typedef struct head_case {
    gradient_case base;
    ry_head_view view;
    ry_tensor tensors[MOST_OUTPUTS];
    const char *names[MOST_OUTPUTS];
    char texts[MOST_OUTPUTS][64];
    int64_t classes; /* without the background */
    ry_value_id target;
} head_case;

static bool is_trainable(const ry_head *head)
{
    ry_error error;
    const int levels = ry_head_level_count(head);
    return ry_head_check_trainable(head, &error) == RYND_OK &&
           (levels == 0 || head->levels[levels - 1].stride <= 64);
}

static bool is_sharp(const ry_head *head)
{
    return head->coding == ry_coding_corners || head->coding == ry_coding_rows;
}

/* A plausible number of a field from one of 0 to 1. */
static double number_of(const ry_head *head, char letter, int64_t i, double u)
{
    const double scale = head->fraction ? 1 : SIDE;
    switch (letter) {
    case 'c':
    case 'o': return head->sigmoid || head->softmax ? 4 * u - 2 : 0.1 + 0.8 * u;
    case 'p': return 0.2 + 0.6 * u;
    case 'b':
        if (is_sharp(head)) {
            return (i < 2 ? 0.6 * u : 0.6 + 0.5 * u) * scale;
        }
        return head->coding == ry_coding_centre ? (0.2 + 0.6 * u) * scale : 1.6 * u - 0.8;
    default: return 2 * u - 1;
    }
}

/* Field and number of place c along the fields. */
static char field_at(const char *fields, int64_t classes, int64_t c, int64_t *i)
{
    for (const char *text = fields; *text; text += *text == ' ') {
        char *end = NULL;
        const bool rest = text[1] == '*';
        const int64_t count = rest ? classes : strtol(text + 1, &end, 10);
        if (c < count) {
            *i = c;
            return *text;
        }
        c -= count;
        text = rest ? text + 2 : end;
    }
    return 0;
}

/* Places of the fields in all, with the background. */
static int64_t places(const ry_head *head)
{
    return CLASSES + (head->background != RY_HEAD_NONE);
}

static int64_t candidates_of(const ry_head *head, int level)
{
    int64_t sum = 0;
    const int count = ry_head_level_count(head);
    for (int l = 0; l < count; l++) {
        const int64_t cells = ry_head_cells(&head->levels[l], SIDE);
        sum += level < 0 || level == l ? cells * cells * head->levels[l].each : 0;
    }
    return count ? sum : 30;
}

static ry_shape shape_of(const ry_head *head, int part, int level)
{
    const ry_head_level *at = &head->levels[level];
    const int64_t cells = at->stride ? ry_head_cells(at, SIDE) : 0;
    const int64_t fields = ry_head_field_count(head->parts[part].fields, places(head));
    ry_shape shape = {.rank = 0};
    for (const char *letter = head->parts[part].layout; *letter; letter++) {
        shape.dim[shape.rank++] = *letter == 'n'   ? PICTURES
                                  : *letter == 'a' ? candidates_of(head, head->split ? level : -1)
                                  : *letter == 'c' ? fields
                                  : *letter == 'C' ? fields * at->each
                                  : *letter == 'k' ? at->each
                                  : *letter == 'x' ? 1
                                                   : cells;
    }
    return shape;
}

static void fill(head_case *h, const ry_head *head, int part, const ry_shape *shape, double *data)
{
    const char *layout = head->parts[part].layout, *fields = head->parts[part].fields;
    const char *c = strpbrk(layout, "cC");
    int64_t index[RY_MAX_RANK] = {0}, at = 0, i = 0;
    do {
        const int64_t place = c ? index[c - layout] : 0,
                      all = ry_head_field_count(fields, places(head));
        const char letter = field_at(fields, places(head), place % all, &i);
        data[at++] = number_of(head, letter, i, (gradient_noise(&h->base) + 1) / 2);
    } while (ry_index_next(shape->rank, shape->dim, index));
}

/* A name that the part accepts: its first alternative, with the stride for '%'. */
static void name_output(char text[64], const ry_head *head, int part, int level)
{
    size_t used = 0;
    const char *names = head->parts[part].names ? head->parts[part].names : "output_%";
    for (; *names && *names != '|' && used < 32; names++) {
        used += (size_t)(*names == '%' ? snprintf(text + used, 8, "%d", head->levels[level].stride)
                                       : snprintf(text + used, 8, "%c", *names));
    }
    if (!head->parts[part].names) {
        snprintf(text + used, 8, "_%d", part);
    }
}

static void add_output(head_case *h, const ry_head *head, int part, int level)
{
    ry_head_outputs *outputs = &h->view.outputs;
    const ry_shape shape = shape_of(head, part, level);
    const ry_value_id v = gradient_input(&h->base, shape.rank, shape.dim);
    double *data = h->base.data[h->base.count - 1];
    fill(h, head, part, &shape, data);
    assert_true(ry_graph_add_output(h->base.graph, v));
    name_output(h->texts[outputs->count], head, part, level);
    h->names[outputs->count] = h->texts[outputs->count];
    h->tensors[outputs->count++] = ry_tensor_row_major(RY_f64, &shape, data);
}

static void add_target(head_case *h)
{
    const ry_shape shape = {.rank = 3, .dim = {PICTURES, BOXES, 5}};
    h->target = ry_graph_add_constant(h->base.graph, NULL, RY_f64, &shape, NULL);
    double *data = ry_graph_constant_data(h->base.graph, h->target);
    memcpy(data, boxes, sizeof boxes);
    for (int i = 0; i < PICTURES * BOXES; i++) {
        data[5 * i] = data[5 * i] >= (double)h->classes ? (double)h->classes - 1 : data[5 * i];
    }
}

static void begin(head_case *h, const ry_head *head)
{
    const int levels = head->split ? ry_head_level_count(head) : 1;
    *h = (head_case){.base = {.seed = 11}};
    h->view.outputs =
        (ry_head_outputs){.names = h->names, .tensors = h->tensors, .height = SIDE, .width = SIDE};
    assert_int_equal(ry_graph_create(&ry_system_allocator, &h->base.graph, &h->base.error),
                     RYND_OK);
    for (int l = 0; l < levels; l++) {
        for (int p = 0; p < RY_HEAD_PARTS && head->parts[p].layout; p++) {
            add_output(h, head, p, l);
        }
    }
    if (!ry_head_fits(head, &h->view.outputs, &h->view.match)) {
        fail_msg("%s: the outputs of the test do not fit", head->name);
    }
    h->classes = ry_head_classes(&h->view.match);
    add_target(h);
}

static void end(head_case *h)
{
    for (size_t i = 0; i < h->base.count; i++) {
        free(h->base.data[i]);
    }
    ry_graph_destroy(h->base.graph);
}

static ry_emitter emitter_of(head_case *h)
{
    return (ry_emitter){.graph = h->base.graph, .name = "loss", .error = &h->base.error};
}

static void compare_boxes(const head_case *h, const ry_candidates *c, const graph_run_result *r,
                          int64_t picture, const ry_boxes *found)
{
    assert_int_equal(found->count, c->count);
    for (int64_t a = 0; a < c->count; a++) {
        const rynd_box *box = &found->items[a];
        const float sides[] = {box->left, box->top, box->right, box->bottom};
        for (int i = 0; i < 4; i++) {
            const double got = ((const double *)r->data[c->side[i]])[picture * c->count + a];
            if (!(fabs(got - (double)sides[i]) <= 1e-4 * SIDE)) {
                fail_msg("%s: side %d of candidate %lld is %g, decoded %g",
                         h->view.match.head->name, i, (long long)a, got, (double)sides[i]);
            }
        }
    }
}

static void candidates_are_decoded_boxes(void **state)
{
    (void)state;
    int tested = 0;
    for (size_t i = 0; i < ry_head_count; i++) {
        head_case h;
        ry_candidates c;
        if (!is_trainable(&ry_heads[i])) {
            continue;
        }
        begin(&h, &ry_heads[i]);
        ry_emitter e = emitter_of(&h);
        if (ry_emit_candidates(&e, &h.view, &c) != RYND_OK) {
            fail_msg("%s: %s", ry_heads[i].name, h.base.error.text);
        }
        graph_run_result r = graph_run(h.base.graph, (void *const *)h.base.data);
        for (int64_t n = 0; n < PICTURES; n++) {
            ry_arena arena;
            ry_boxes found = {0};
            const ry_detection d = {.match = h.view.match, .outputs = h.view.outputs, .index = n};
            ry_arena_init(&arena, &ry_system_allocator);
            assert_int_equal(ry_decode(&d, &found, &arena, &h.base.error), RYND_OK);
            compare_boxes(&h, &c, &r, n, &found);
            ry_arena_free(&arena);
        }
        graph_run_free(&r);
        end(&h);
        tested++;
    }
    assert_true(tested >= 15);
}

/* The values of an assignment, in one order. */
static void list_held(const ry_assignment *a, ry_value_id held[6])
{
    held[0] = a->weight;
    held[1] = a->scores;
    memcpy(held + 2, a->side, sizeof a->side);
}

static double weights_of(const head_case *h, const graph_run_result *r, ry_value_id weight)
{
    const int64_t count = ry_shape_elements(&h->base.graph->values[weight].shape);
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const double w = ((const double *)r->data[weight])[i];
        assert_true(w >= 0 && w <= 1);
        sum += w;
    }
    return sum;
}

/* The loss with the numbers of an assignment as constants. */
static ry_value_id fixed_loss(head_case *h, const head_case *from, const graph_run_result *r,
                              const ry_value_id held[6])
{
    ry_emitter e = emitter_of(h);
    ry_candidates c;
    ry_value_id constant[6];
    assert_int_equal(ry_emit_candidates(&e, &h->view, &c), RYND_OK);
    for (int i = 0; i < 6; i++) {
        const ry_shape shape = from->base.graph->values[held[i]].shape;
        constant[i] = ry_graph_add_constant(h->base.graph, NULL, RY_f64, &shape, NULL);
        memcpy(ry_graph_constant_data(h->base.graph, constant[i]), r->data[held[i]],
               (size_t)ry_shape_bytes(&shape, RY_f64));
    }
    const ry_assignment a = {.weight = constant[0],
                             .scores = constant[1],
                             .side = {constant[2], constant[3], constant[4], constant[5]}};
    const ry_value_id loss = ry_emit_detection_loss(&e, &c, &a, 5);
    assert_int_equal(e.status, RYND_OK);
    return loss;
}

static int64_t count_of(const head_case *h, size_t input)
{
    return ry_shape_elements(&h->base.graph->values[h->base.input[input]].shape);
}

/* Differences have an error by the size of the loss, so the largest gradient of all inputs is the
 * measure. */
static void compare_gradients(head_case *h, head_case *fixed, ry_value_id y,
                              const ry_value_id gradient[GRADIENT_MAX_INPUTS])
{
    const double one = 1;
    double *wanted[GRADIENT_MAX_INPUTS], largest = 0;
    gradient_check_graph(&h->base, gradient);
    graph_run_result r = graph_run(h->base.graph, (void *const *)h->base.data);
    for (size_t i = 0; i < h->base.count; i++) {
        wanted[i] = gradient_differences(&fixed->base, i, y, &one);
        for (int64_t k = 0; k < count_of(h, i); k++) {
            largest = fmax(largest, fabs(wanted[i][k]));
        }
    }
    assert_true(largest > 0.1);
    for (size_t i = 0; i < h->base.count; i++) {
        const double *got = gradient[i] == RY_NO_VALUE ? NULL : r.data[gradient[i]];
        for (int64_t k = 0; k < count_of(h, i); k++) {
            if (!(fabs((got ? got[k] : 0) - wanted[i][k]) <= 1e-6 * largest)) {
                fail_msg("%s: the gradient of input %zu is %.10g at %lld, by differences %.10g",
                         h->view.match.head->name, i, got ? got[k] : 0, (long long)k, wanted[i][k]);
            }
        }
        free(wanted[i]);
    }
    graph_run_free(&r);
}

static void check_gradient(const ry_head *head)
{
    head_case h, fixed;
    ry_candidates c;
    ry_assignment a;
    ry_value_id held[6], gradient[GRADIENT_MAX_INPUTS];
    begin(&h, head);
    begin(&fixed, head);
    ry_emitter e = emitter_of(&h);
    assert_int_equal(ry_emit_candidates(&e, &h.view, &c), RYND_OK);
    ry_emit_assignment(&e, &c, h.target, &a);
    const ry_value_id loss = ry_emit_detection_loss(&e, &c, &a, 5),
                      dy = ry_emit_scalar(&e, RY_f64, 1);
    if (e.status != RYND_OK) {
        fail_msg("%s: %s", head->name, h.base.error.text);
    }
    list_held(&a, held);
    graph_run_result r = graph_run(h.base.graph, (void *const *)h.base.data);
    const double value = *(const double *)r.data[loss];
    if (!(weights_of(&h, &r, a.weight) > 0.5) || !isfinite(value)) {
        fail_msg("%s: weights of %g, loss %g", head->name, weights_of(&h, &r, a.weight), value);
    }
    const ry_value_id y = fixed_loss(&fixed, &h, &r, held);
    graph_run_free(&r);
    const ry_differentiation what = {.of_count = 1,
                                     .of = &loss,
                                     .dy = &dy,
                                     .held_count = 6,
                                     .held = held,
                                     .count = h.base.count,
                                     .wanted = h.base.input,
                                     .gradient = gradient};
    if (ry_differentiate(h.base.graph, &what, &h.base.error) != RYND_OK) {
        fail_msg("%s: %s", head->name, h.base.error.text);
    }
    compare_gradients(&h, &fixed, y, gradient);
    end(&fixed);
    end(&h);
}

/* Has an earlier head the same loss, of the same coding? */
static bool is_again(size_t index)
{
    const ry_head *head = &ry_heads[index];
    for (size_t i = 0; i < index; i++) {
        const ry_head *a = &ry_heads[i];
        bool object[2] = {false, false};
        for (int p = 0; p < RY_HEAD_PARTS; p++) {
            object[0] |= a->parts[p].fields && strchr(a->parts[p].fields, 'o');
            object[1] |= head->parts[p].fields && strchr(head->parts[p].fields, 'o');
        }
        if (is_trainable(a) && a->coding == head->coding && a->sigmoid == head->sigmoid &&
            a->softmax == head->softmax && (a->background < 0) == (head->background < 0) &&
            object[0] == object[1]) {
            return true;
        }
    }
    return false;
}

static void gradients_are_differences(void **state)
{
    (void)state;
    int tested = 0;
    for (size_t i = 0; i < ry_head_count; i++) {
        if (is_trainable(&ry_heads[i]) && !is_again(i)) {
            check_gradient(&ry_heads[i]);
            tested++;
        }
    }
    assert_true(tested >= 10);
}

static void others_are_refused_by_name(void **state)
{
    (void)state;
    static const char *const names[] = {"yolo-end", "torchvision", "detr", "rt-detr"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        for (size_t i = 0; i < ry_head_count; i++) {
            ry_error error = {""};
            if (strcmp(ry_heads[i].name, names[n]) == 0) {
                assert_int_equal(ry_head_check_trainable(&ry_heads[i], &error),
                                 RYND_ERROR_UNSUPPORTED);
                assert_non_null(strstr(error.text, names[n]));
                assert_non_null(strstr(error.text, "yolox"));
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(candidates_are_decoded_boxes),
        cmocka_unit_test(gradients_are_differences),
        cmocka_unit_test(others_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
