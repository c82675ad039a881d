/* NAME: a small reliable transport, to begin from.
 *
 *   cc -O2 -shared -fPIC -o NAME.so NAME.c
 *   ackclock stacks check NAME.so
 *   ackclock simulate scenario.toml --stack NAME=NAME.so
 *
 * A handshake, numbered packets, one acknowledgement for each, retransmission, and a window that
 * grows and halves as in RFC 5681. Where your stack has a connection, hold it in `side`, and let
 * each function of the table below call it. No clock, no thread, no socket: everything happens in
 * these calls, at the time that they state. This file is yours: MIT or Apache-2.0, like ackclock.
 */
#include "ackclock_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELLO = 1, HELLO_ACK, DATA, ACK };  /* the first byte of a packet */
enum { MSS = 1200, HEAD = 9, PACKETS = 8192, THRESHOLD = 3 };

static const uint64_t SECOND = 1000000000, LEAST_RTO = 200000000;

/* A packet that has been sent and waits, in a ring by its number. */
typedef struct {
    uint64_t sent;   /* when, the last time */
    uint32_t length; /* payload */
    uint32_t after;  /* newest packet when it was sent: itself, unless it was sent again */
    uint8_t acked, again;
} packet;

typedef struct {
    ackclock_config config;
    int established, hello, answer_hello;
    /* The sending side. */
    packet ring[PACKETS];
    uint32_t first, next, largest; /* oldest not acknowledged, next new, largest acknowledged */
    uint32_t again;                /* packets to be sent again */
    uint32_t recover;              /* a reduction lasts until this packet is acknowledged */
    uint64_t waiting, in_flight, cwnd, ssthresh, marks;
    uint64_t rtt, srtt, rttvar, rto, deadline;
    uint64_t lost, reductions, timeouts;
    /* The receiving side. */
    uint8_t arrived[PACKETS];
    uint16_t lengths[PACKETS];
    uint32_t expected, newest;
    uint64_t delivered, marked;
    int answer;
} side;

static void put(uint8_t *to, uint32_t number) { memcpy(to, &number, 4); }
static uint32_t get(const uint8_t *from) {
    uint32_t number;
    memcpy(&number, from, 4);
    return number;
}

static void *create(const ackclock_config *config, char *reason, size_t capacity) {
    if (config->size < sizeof *config) {
        snprintf(reason, capacity, "the engine is older than this stack");
        return NULL;
    }
    if (strcmp(config->options, "{}") != 0) {
        snprintf(reason, capacity, "it has no options");
        return NULL;
    }
    side *s = calloc(1, sizeof *s);
    s->config = *config;
    s->cwnd = 10 * MSS;
    s->ssthresh = UINT64_MAX;
    s->rto = SECOND;
    s->deadline = ACKCLOCK_NEVER;
    return s;
}

static void destroy(void *object) { free(object); }

static void open_connection(void *object, uint64_t now) {
    side *s = object;
    s->hello = 1;
    s->deadline = now + s->rto;
}

/* Reduces the window, once for all that was sent before. */
static void reduce(side *s) {
    if (s->recover > s->first) return;
    s->recover = s->next;
    s->reductions++;
    s->ssthresh = s->cwnd / 2 > 2 * MSS ? s->cwnd / 2 : 2 * MSS;
    s->cwnd = s->ssthresh;
}

static void lose(side *s, packet *p) {
    p->again = 1;
    s->again++;
    s->lost++;
    s->in_flight -= p->length;
}

static void acknowledge(side *s, uint32_t number) {
    packet *p = &s->ring[number % PACKETS];
    if (p->acked) return;
    p->acked = 1;
    if (p->again) {
        p->again = 0;
        s->again--;
    } else {
        s->in_flight -= p->length;
    }
    if (s->cwnd < s->ssthresh) s->cwnd += p->length;
    else s->cwnd += (uint64_t)MSS * p->length / s->cwnd;
    if (number > s->largest) s->largest = number;
}

static void measure(side *s, uint64_t rtt) {  /* RFC 6298 */
    s->rtt = rtt;
    if (s->srtt == 0) {
        s->srtt = rtt;
        s->rttvar = rtt / 2;
    } else {
        uint64_t error = rtt > s->srtt ? rtt - s->srtt : s->srtt - rtt;
        s->rttvar += error / 4 - s->rttvar / 4;
        s->srtt += rtt / 8 - s->srtt / 8;
    }
    s->rto = s->srtt + 4 * s->rttvar;
    if (s->rto < LEAST_RTO) s->rto = LEAST_RTO;
}

static void handle_ack(side *s, uint64_t now, const uint8_t *bytes) {
    uint32_t cumulative = get(bytes + 1), number = get(bytes + 5), marks = get(bytes + 9);
    if (number >= s->next || cumulative > s->next) return;
    if (number >= s->first) {
        packet *p = &s->ring[number % PACKETS];
        if (!p->acked && p->after == number) measure(s, now - p->sent);
        acknowledge(s, number);
    }
    while (s->first < cumulative) {
        acknowledge(s, s->first);
        s->first++;
    }
    for (uint32_t n = s->first; n + THRESHOLD <= s->largest; n++) {
        packet *p = &s->ring[n % PACKETS];
        if (p->acked || p->again || p->after + THRESHOLD > s->largest) continue;
        lose(s, p);
        reduce(s);
    }
    if (marks > s->marks) {
        s->marks = marks;
        reduce(s);
    }
    s->deadline = s->first < s->next ? now + s->rto : ACKCLOCK_NEVER;
}

static void handle_data(side *s, const uint8_t *bytes, size_t length) {
    uint32_t number = get(bytes + 1);
    s->newest = number;
    s->answer = 1;
    if (number < s->expected || number - s->expected >= PACKETS) return;
    s->arrived[number % PACKETS] = 1;
    s->lengths[number % PACKETS] = (uint16_t)(length - HEAD);
    while (s->arrived[s->expected % PACKETS]) {
        s->arrived[s->expected % PACKETS] = 0;
        s->delivered += s->lengths[s->expected % PACKETS];
        s->expected++;
    }
}

static void handle_datagram(void *object, uint64_t now, const uint8_t *bytes, size_t length,
                            uint8_t ecn) {
    side *s = object;
    if (length < 1) return;
    if (ecn == ACKCLOCK_CE) s->marked++;
    switch (bytes[0]) {
    case HELLO:
        s->answer_hello = 1;
        break;
    case HELLO_ACK:
        if (!s->established) s->deadline = ACKCLOCK_NEVER;
        s->established = 1;
        break;
    case DATA:
        if (length >= HEAD) handle_data(s, bytes, length);
        break;
    case ACK:
        if (length >= 13) handle_ack(s, now, bytes);
        break;
    }
}

static void handle_timeout(void *object, uint64_t now) {
    side *s = object;
    if (now < s->deadline) return;
    s->timeouts++;
    s->rto = 2 * s->rto < 60 * SECOND ? 2 * s->rto : 60 * SECOND;
    s->deadline = now + s->rto;
    if (!s->established) {
        s->hello = 1;
        return;
    }
    s->recover = 0;
    reduce(s);
    s->cwnd = 2 * MSS;
    for (uint32_t n = s->first; n < s->next; n++) {
        packet *p = &s->ring[n % PACKETS];
        if (!p->acked && !p->again) lose(s, p);
    }
}

static void put_data(side *s, uint64_t now, uint32_t number, uint8_t *to) {
    packet *p = &s->ring[number % PACKETS];
    memset(to, 0, HEAD + p->length);
    to[0] = DATA;
    put(to + 1, number);
    p->sent = now;
    s->in_flight += p->length;
    if (s->deadline == ACKCLOCK_NEVER) s->deadline = now + s->rto;
}

/* Writes the next packet of data, if the window has room. */
static size_t send_data(side *s, uint64_t now, uint8_t *to) {
    if (s->in_flight + MSS > s->cwnd) return 0;
    for (uint32_t n = s->first; s->again > 0 && n < s->next; n++) {
        packet *p = &s->ring[n % PACKETS];
        if (!p->again) continue;
        p->again = 0;
        p->after = s->next - 1;
        s->again--;
        put_data(s, now, n, to);
        return HEAD + p->length;
    }
    if (s->waiting == 0 || s->next - s->first >= PACKETS) return 0;
    if (s->in_flight + MSS > s->config.receive_window) return 0;
    uint32_t length = s->waiting < MSS ? (uint32_t)s->waiting : MSS;
    if (s->waiting != ACKCLOCK_UNKNOWN) s->waiting -= length;
    s->ring[s->next % PACKETS] = (packet){.length = length, .after = s->next};
    put_data(s, now, s->next++, to);
    return HEAD + length;
}

static size_t poll_transmit(void *object, uint64_t now, uint8_t *to, size_t capacity,
                            size_t *segment, uint8_t *ecn) {
    side *s = object;
    (void)capacity; /* room for a datagram of 1500 bytes, at least */
    *segment = 0;
    *ecn = ACKCLOCK_NOT_ECT;
    if (s->hello || s->answer_hello) {
        to[0] = s->hello ? HELLO : HELLO_ACK;
        s->hello = s->answer_hello = 0;
        return 1;
    }
    if (s->answer) {
        s->answer = 0;
        to[0] = ACK;
        put(to + 1, s->expected);
        put(to + 5, s->newest);
        put(to + 9, (uint32_t)s->marked);
        return 13;
    }
    if (!s->established || !s->config.sends) return 0;
    *ecn = ACKCLOCK_ECT0;
    return send_data(s, now, to);
}

static uint64_t poll_timeout(void *object) { return ((side *)object)->deadline; }

static void write_bytes(void *object, uint64_t now, uint64_t bytes, int32_t fin) {
    side *s = object;
    (void)now;
    (void)fin; /* it closes nothing: the last byte is the end */
    if (bytes == ACKCLOCK_UNKNOWN || s->waiting == ACKCLOCK_UNKNOWN) s->waiting = ACKCLOCK_UNKNOWN;
    else s->waiting += bytes;
}

static uint64_t delivered(void *object) { return ((side *)object)->delivered; }

static void statistics(void *object, ackclock_statistics *to) {
    side *s = object;
    if (!s->config.sends) return; /* nothing is known */
    to->cwnd = s->cwnd;
    if (s->ssthresh != UINT64_MAX) to->ssthresh = s->ssthresh;
    to->in_flight = s->in_flight;
    if (s->srtt > 0) {
        to->latest_rtt = s->rtt;
        to->smoothed_rtt = s->srtt;
    }
    to->timeout = s->rto;
    to->lost_packets = s->lost;
    to->congestion_events = s->reductions;
    to->timeouts = s->timeouts;
}

static const char *fault(void *object) {
    (void)object;
    return NULL;
}

const ackclock_stack *ackclock_stack_v1(void) {
    static const ackclock_stack stack = {
        .abi = ACKCLOCK_STACK_ABI,
        .size = sizeof(ackclock_stack),
        .flags = 0,
        .name = "NAME",
        .version = "0.1",
        .controls = "reno",
        .create = create,
        .destroy = destroy,
        .open = open_connection,
        .handle_datagram = handle_datagram,
        .handle_timeout = handle_timeout,
        .poll_transmit = poll_transmit,
        .poll_timeout = poll_timeout,
        .write = write_bytes,
        .delivered = delivered,
        .statistics = statistics,
        .fault = fault,
    };
    return &stack;
}
