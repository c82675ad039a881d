/* The template, whose sender misbehaves as the option `fault` says. */
#define ackclock_stack_v1 sound_v1
#include "templates/own.c"
#undef ackclock_stack_v1

#ifdef LOADED
/* Shows that the library was loaded. */
__attribute__((constructor)) static void loaded(void) { fclose(fopen(LOADED, "w")); }
#endif

#ifndef FLAGS
#define FLAGS 0
#endif

static uint64_t shared_draws; /* state of the process */

typedef struct {
    const char *fault;
    void *sound;
    uint64_t now, calls;
} planted;

static const char *FAULTS[] = {"abort", "fault", "still", "endless", "long", "train", "garbage",
                               "ecn", "silent", "shared", "liar", NULL};

static void *plant(const ackclock_config *config, char *reason, size_t capacity) {
    ackclock_config plain = *config;
    plain.options = "{}";
    planted *p = calloc(1, sizeof *p);
    p->fault = "";
    for (const char **fault = FAULTS; *fault; fault++)
        if (strcmp(config->options, "{}") != 0 && strstr(config->options, *fault)) p->fault = *fault;
    if (strcmp(config->options, "{}") != 0 && !*p->fault) {
        snprintf(reason, capacity, "it has no option %s", config->options);
        return NULL;
    }
    if (!config->sends && strcmp(p->fault, "garbage") != 0) p->fault = "";
#ifdef FAULT
    if (config->sends) p->fault = FAULT;
#endif
    p->sound = create(&plain, reason, capacity);
    return p;
}

static int is(planted *p, const char *fault) { return strcmp(p->fault, fault) == 0; }
static int late(planted *p) { return p->now > 500000000; }

static void plant_destroy(void *o) {
    destroy(((planted *)o)->sound);
    free(o);
}
static void plant_open(void *o, uint64_t now) { open_connection(((planted *)o)->sound, now); }
static void plant_datagram(void *o, uint64_t now, const uint8_t *bytes, size_t length, uint8_t ecn) {
    planted *p = o;
    p->now = now;
    if (is(p, "abort") && late(p)) abort();
    handle_datagram(p->sound, now, bytes, length, ecn);
}
static void plant_timeout(void *o, uint64_t now) {
    planted *p = o;
    p->now = now;
    if (!is(p, "still")) handle_timeout(p->sound, now);
}
static size_t plant_transmit(void *o, uint64_t now, uint8_t *to, size_t capacity, size_t *segment,
                             uint8_t *ecn) {
    planted *p = o;
    if (!late(p) && !is(p, "silent")) {
        size_t length = poll_transmit(p->sound, now, to, capacity, segment, ecn);
        return length;
    }
    if (is(p, "silent")) return 0;
    *segment = 0;
    *ecn = 0;
    if (is(p, "endless")) return 100;
    if (is(p, "long")) return 65536;
    if (is(p, "train")) {
        *segment = 100;
        return 1000;
    }
    if (is(p, "garbage") && p->calls++ % 2 == 0) {
        for (int i = 0; i < 100; i++) to[i] = (uint8_t)(p->calls * 31 + i);
        return 100;
    }
    size_t length = poll_transmit(p->sound, now, to, capacity, segment, ecn);
    if (is(p, "ecn")) *ecn = 7;
    return length;
}
static uint64_t plant_poll_timeout(void *o) {
    planted *p = o;
    return is(p, "still") && late(p) ? p->now : poll_timeout(p->sound);
}
static void plant_write(void *o, uint64_t now, uint64_t bytes, int32_t fin) {
    write_bytes(((planted *)o)->sound, now, bytes, fin);
}
static uint64_t plant_delivered(void *o) { return delivered(((planted *)o)->sound); }
static void plant_statistics(void *o, ackclock_statistics *to) {
    planted *p = o;
    statistics(p->sound, to);
    if (is(p, "shared")) to->cwnd += shared_draws++ % 7;
    if (is(p, "liar")) to->smoothed_rtt = 1000000;
}
static const char *plant_fault(void *o) {
    planted *p = o;
    return is(p, "fault") && late(p) ? "the handshake failed: code 296" : NULL;
}

const ackclock_stack *ackclock_stack_v1(void) {
    static ackclock_stack stack;
    stack = *sound_v1();
    stack.flags = FLAGS;
    stack.name = "planted";
    stack.create = plant;
    stack.destroy = plant_destroy;
    stack.open = plant_open;
    stack.handle_datagram = plant_datagram;
    stack.handle_timeout = plant_timeout;
    stack.poll_transmit = plant_transmit;
    stack.poll_timeout = plant_poll_timeout;
    stack.write = plant_write;
    stack.delivered = plant_delivered;
    stack.statistics = plant_statistics;
    stack.fault = plant_fault;
#ifdef ABI
    stack.abi = ABI;
#endif
#ifdef LACKS_WRITE
    stack.write = NULL;
#endif
    return &stack;
}
