/* SPDX-License-Identifier: Apache-2.0 */
/* Two or more builds of the library, or ways to use one, beside each other in one process:
 * bench/pairs compiles and runs it.
 *
 * Sides take turns of some milliseconds, in changing order, on the same data. What another guest of
 * the machine does to one turn it does to its neighbours too, so the median of the ratios of
 * neighbouring turns tells 2% apart within seconds where medians of separate processes differ by
 * 10%. */
#define _GNU_SOURCE
#include "peaks.h"
#include <rynd/rynd.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    MAX_SIDES = 8,
    MAX_TURNS = 4000,
    MAX_OPERANDS = 8,
    MAX_TEXT = 1024,
    MAX_COPIES = 256,
    PAGE = 4096,
    CACHES = 96 << 20
};

static const double TURN_SECONDS = 3e-3;

/* The functions of one build. */
typedef struct library {
    rynd_status (*context_create)(const rynd_context_options *, rynd_context **);
    void (*context_destroy)(rynd_context *);
    rynd_status (*op_create)(rynd_context *, const char *, const rynd_op_options *, rynd_op **);
    void (*op_destroy)(rynd_op *);
    size_t (*op_input_count)(const rynd_op *);
    size_t (*op_output_count)(const rynd_op *);
    rynd_status (*op_get_input)(const rynd_op *, size_t, rynd_tensor *);
    rynd_status (*op_get_output)(const rynd_op *, size_t, rynd_tensor *);
    rynd_status (*op_execute)(rynd_op *, const void *const *, void *const *);
    rynd_status (*op_get_info)(const rynd_op *, rynd_step_info *);
    rynd_status (*op_get_memory)(const rynd_op *, rynd_memory *);
    const char *(*last_error)(void);
} library;

typedef struct side {
    const char *text;                    /* as given */
    char path[MAX_TEXT];                 /* path of librynd.so */
    char words[MAX_TEXT];                /* added to the problem */
    const char *kernel, *isa, *variable; /* NULL: the library's choice, the machine's best, none */
    int varies;                          /* no input is constant */
    library library;
    rynd_context *context;
    /* they take turns: where they are many, their weights come from memory as a network's do */
    rynd_op *op[MAX_COPIES];
    int ops, next;
    const void *inputs[MAX_OPERANDS];
    void *outputs[MAX_OPERANDS];
    double times[MAX_TURNS];
    const bench_peak *peak;  /* NULL: not asked for, or unknown */
    double rates[MAX_TURNS]; /* operations a second of the peak loop before each turn */
} side;

static void stop(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "pairs: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    exit(1);
}

/* The time of one thread is its own: other programs' turns do not count. */
static clockid_t timer = CLOCK_MONOTONIC;

static double now(void)
{
    struct timespec t;
    clock_gettime(timer, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Finds a getter of a build before 0.1.0, whose name lacks "get_". */
static void *find_older(void *handle, const char *name)
{
    const char *get = strstr(name, "get_");
    char older[MAX_TEXT];
    if (!get) {
        return NULL;
    }
    snprintf(older, sizeof older, "%.*s%s", (int)(get - name), name, get + strlen("get_"));
    return dlsym(handle, older);
}

static void find(void *handle, const char *name, const char *path, void *function)
{
    void *symbol = dlsym(handle, name);
    symbol = symbol ? symbol : find_older(handle, name);
    if (!symbol) {
        stop("%s has no %s", path, name);
    }
    memcpy(function, &symbol, sizeof symbol);
}

static void open_library(const char *path, library *library)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        stop("%s: a side begins with a build folder that has lib/librynd.so, or with such a file",
             dlerror());
    }
#define FIND(name) find(handle, "rynd_" #name, path, &library->name)
    FIND(context_create);
    FIND(context_destroy);
    FIND(op_create);
    FIND(op_destroy);
    FIND(op_input_count);
    FIND(op_output_count);
    FIND(op_get_input);
    FIND(op_get_output);
    FIND(op_execute);
    FIND(op_get_info);
    FIND(op_get_memory);
    FIND(last_error);
#undef FIND
}

/* BUILD[@word...]: key=value adds to the problem, k:, i: and e: name a kernel, an instruction set
 * and a variable of the environment; v: weights vary from run to run. */
static void parse_side(char *text, side *s)
{
    s->text = strdup(text);
    char *rest, *build = strtok_r(text, "@", &rest);
    const char *file = strstr(build, ".so") ? "" : "/lib/librynd.so";
    snprintf(s->path, sizeof s->path, "%s%s%s", strchr(build, '/') ? "" : "./", build, file);
    for (char *word; (word = strtok_r(NULL, "@", &rest));) {
        if (!strncmp(word, "k:", 2)) {
            s->kernel = word + 2;
        } else if (!strncmp(word, "i:", 2)) {
            s->isa = word + 2;
        } else if (!strcmp(word, "v")) {
            s->varies = 1;
        } else if (!strncmp(word, "e:", 2) && strchr(word, '=')) {
            s->variable = word + 2;
        } else if (strchr(word, '=')) {
            strncat(s->words, " ", sizeof s->words - strlen(s->words) - 1);
            strncat(s->words, word, sizeof s->words - strlen(s->words) - 1);
        } else {
            stop("%s: '%s' is neither key=value nor k:KERNEL, i:ISA, e:NAME=VALUE, v", s->text,
                 word);
        }
    }
}

/* Names in the environment hold while contexts and operators are made. */
static void set_variable(const side *s, int set)
{
    if (s->variable) {
        char name[MAX_TEXT];
        snprintf(name, sizeof name, "%s", s->variable);
        char *value = strchr(name, '=');
        *value++ = '\0';
        set ? setenv(name, value, 1) : unsetenv(name);
    }
}

static size_t bytes_of(const rynd_tensor *t)
{
    size_t bytes = 4; /* all problems that are timed are of 32 bits or less */
    for (int i = 0; i < t->rank; i++) {
        bytes *= (size_t)t->dim[i];
    }
    return bytes;
}

static void *block(size_t bytes)
{
    void *memory = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE + PAGE);
    if (!memory) {
        stop("no memory for %zu bytes", bytes);
    }
    return memory;
}

static void fill(float *values, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 8) * 0x1p-23f - 1.0f;
    }
}

/* Operands belong to all sides: shared[i] is made by the first that asks. */
typedef struct operands {
    void *in[MAX_OPERANDS], *out[MAX_OPERANDS];
} operands;

static void check(const side *s, rynd_status status)
{
    if (status != RYND_OK) {
        stop("%s: %s", s->text, s->library.last_error());
    }
}

/* Weights, biases and scales stay; x and a residual are new each time. A separable convolution has
 * two of each. */
static unsigned constants_of(const char *problem)
{
    const unsigned first = 1u << 1 | 1u << 2;
    return !strncmp(problem, "separable_conv ", 15) ? first | 1u << 3 | 1u << 4
           : !strncmp(problem, "qconv ", 6)         ? first | 1u << 4
                                                    : first;
}

static void make_ops(side *s, const char *problem, operands *shared, int cold)
{
    const library *l = &s->library;
    char text[2 * MAX_TEXT];
    snprintf(text, sizeof text, "%s%s", problem, s->words);
    rynd_op_options options = RYND_SIZED(rynd_op_options, .kernel = s->kernel,
                                         .constants = s->varies ? 0 : constants_of(problem));
    rynd_tensor inputs[MAX_OPERANDS] = {{0}};
    set_variable(s, 1);
    rynd_op *op;
    check(s, l->op_create(s->context, text, &options, &op));
    const size_t in = l->op_input_count(op), out = l->op_output_count(op);
    if (in > MAX_OPERANDS || out > MAX_OPERANDS) {
        stop("'%s': more than %d inputs or outputs", problem, MAX_OPERANDS);
    }
    for (size_t i = 0; i < in; i++) {
        check(s, l->op_get_input(op, i, &inputs[i]));
        const size_t bytes = bytes_of(&inputs[i]);
        if (inputs[i].dtype != RYND_DTYPE_NONE && !shared->in[i]) {
            shared->in[i] = block(bytes);
            fill(shared->in[i], bytes / sizeof(float), (unsigned)i + 1);
        }
        s->inputs[i] = shared->in[i];
        inputs[i].data = options.constants >> i & 1 ? shared->in[i] : NULL;
    }
    for (size_t i = 0; i < out; i++) {
        rynd_tensor y = {0};
        check(s, l->op_get_output(op, i, &y));
        if (!shared->out[i]) {
            shared->out[i] = block(bytes_of(&y));
        }
        s->outputs[i] = shared->out[i];
    }
    l->op_destroy(op);
    options.inputs = inputs;
    rynd_memory memory = RYND_SIZED(rynd_memory);
    s->ops = s->next = 0;
    for (size_t bytes = 0; s->ops == 0 || (cold && bytes < CACHES && s->ops < MAX_COPIES);
         bytes += memory.weights) {
        check(s, l->op_create(s->context, text, &options, &s->op[s->ops]));
        check(s, l->op_get_memory(s->op[s->ops++], &memory));
    }
    set_variable(s, 0);
}

static double turn(side *s, int runs)
{
    const double from = now();
    for (int i = 0; i < runs; i++) {
        check(s, s->library.op_execute(s->op[s->next], s->inputs, s->outputs));
        s->next = (s->next + 1) % s->ops;
    }
    return (now() - from) / runs;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The share of the peak's rate that the turns reached beside it. */
static void print_share(const side *s, double operations, int turns)
{
    static double shares[MAX_TURNS];
    for (int i = 0; i < turns; i++) {
        shares[i] = operations / s->times[i] / s->rates[i];
    }
    qsort(shares, (size_t)turns, sizeof *shares, compare_doubles);
    printf("  %3.0f%% (%.0f..%.0f) of the peak", 1e2 * shares[turns / 2], 1e2 * shares[turns / 4],
           1e2 * shares[turns - 1 - turns / 4]);
}

static void print_side(const side *s, const side *first, int turns)
{
    static double sorted[MAX_TURNS], ratios[MAX_TURNS];
    for (int i = 0; i < turns; i++) {
        sorted[i] = s->times[i];
        ratios[i] = s->times[i] / first->times[i];
    }
    qsort(sorted, (size_t)turns, sizeof *sorted, compare_doubles);
    qsort(ratios, (size_t)turns, sizeof *ratios, compare_doubles);
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    check(s, s->library.op_get_info(s->op[0], &info));
    printf("  %-40s %10.1f us  least %10.1f  ratio %6.3f (%.3f..%.3f)  n %-4d %s", s->text,
           1e6 * sorted[turns / 2], 1e6 * sorted[0], ratios[turns / 2], ratios[turns / 4],
           ratios[turns - 1 - turns / 4], turns, info.kernel ? info.kernel : "");
    if (s->peak) {
        print_share(s, info.flop, turns);
    }
    printf("\n");
}

static const bench_peak *find_peak(const side *s)
{
    rynd_step_info info = RYND_SIZED(rynd_step_info);
    check(s, s->library.op_get_info(s->op[0], &info));
    return info.kernel ? bench_find_peak(info.kernel) : NULL;
}

static double peak_rate(const bench_peak *peak)
{
    static const long rounds = 20000;
    const double from = now(), operations = peak->run(rounds);
    return operations / (now() - from);
}

static void measure(side *sides, int count, const char *problem, double seconds, int cold,
                    int peaks)
{
    operands shared = {{0}, {0}};
    int runs = 1, turns = 0;
    for (int i = 0; i < count; i++) {
        make_ops(&sides[i], problem, &shared, cold);
        sides[i].peak = peaks ? find_peak(&sides[i]) : NULL;
    }
    for (int i = 0; i < count; i++) {
        turn(&sides[i], 1);
        const double once = turn(&sides[i], 1);
        const int fit = once < TURN_SECONDS ? (int)(TURN_SECONDS / once) + 1 : 1;
        runs = i == 0 || fit < runs ? fit : runs;
    }
    for (const double from = now(); turns < MAX_TURNS && (turns < 3 || now() - from < seconds);
         turns++) {
        for (int i = 0; i < count; i++) {
            side *s = &sides[(i + turns) % count];
            s->rates[turns] = s->peak ? peak_rate(s->peak) : 0;
            s->times[turns] = turn(s, runs);
        }
    }
    printf("%s\n", problem);
    for (int i = 0; i < count; i++) {
        print_side(&sides[i], &sides[0], turns);
        while (sides[i].ops > 0) {
            sides[i].library.op_destroy(sides[i].op[--sides[i].ops]);
        }
    }
    fflush(stdout);
    for (int i = 0; i < MAX_OPERANDS; i++) {
        free(shared.in[i]);
        free(shared.out[i]);
    }
}

static double number(const char *text, const char *what)
{
    char *end;
    errno = 0;
    const double value = strtod(text, &end);
    if (errno || *end || end == text || value <= 0) {
        stop("%s '%s' is not a number above 0", what, text);
    }
    return value;
}

int main(int argc, char **argv)
{
    static side sides[MAX_SIDES];
    int count = 0;
    if (argc < 7) {
        stop("usage: pairs THREADS SECONDS COLD PEAKS SIDE,SIDE... PROBLEM...");
    }
    const unsigned threads = (unsigned)number(argv[1], "threads");
    const double seconds = number(argv[2], "seconds");
    const int cold = atoi(argv[3]), peaks = atoi(argv[4]);
    timer = threads == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC;
    char *rest;
    for (char *text = strtok_r(argv[5], ",", &rest); text; text = strtok_r(NULL, ",", &rest)) {
        if (count == MAX_SIDES) {
            stop("more than %d sides", MAX_SIDES);
        }
        side *s = &sides[count++];
        parse_side(text, s);
        open_library(s->path, &s->library);
        const rynd_context_options options =
            RYND_SIZED(rynd_context_options, .threads = threads, .isa = s->isa);
        set_variable(s, 1);
        check(s, s->library.context_create(&options, &s->context));
        set_variable(s, 0);
    }
    for (int i = 6; i < argc; i++) {
        measure(sides, count, argv[i], seconds, cold, peaks);
    }
    for (int i = 0; i < count; i++) {
        sides[i].library.context_destroy(sides[i].context);
    }
    return 0;
}
