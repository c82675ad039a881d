/* The border between ackclock's engine and a transport in a shared library.
 *
 * A library has one symbol, ackclock_stack_v1, which returns a table of functions. The engine makes
 * two objects for each flow: the side that sends application data, and the side that receives it.
 *
 * Rules:
 *  - Times are nanoseconds since the run began, and never decrease for an object. A stack reads no
 *    clock, starts no thread, opens no socket, and draws all randomness from its seed. Then the same
 *    scenario gives the same result everywhere.
 *  - After every call that takes `now`, the engine calls poll_transmit until it returns 0, then
 *    poll_timeout, delivered, statistics and fault.
 *  - One thread calls an object at a time, and no call happens within another. Objects of different
 *    runs live in different threads. A stack with state of the process says so (PROCESS_STATE).
 *  - Strings belong to the stack, are UTF-8, and live until the next call of the object, or for
 *    ever in the table.
 *  - No exception and no panic leaves a function. abort() ends the process: the run of a stack that
 *    lives in a process of its own, otherwise the whole program.
 *
 * Licence: MIT or Apache-2.0, like ackclock.
 */
#ifndef ACKCLOCK_STACK_H
#define ACKCLOCK_STACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACKCLOCK_STACK_ABI 1
/* A time that never comes; a number that is not known. */
#define ACKCLOCK_NEVER UINT64_MAX
#define ACKCLOCK_UNKNOWN UINT64_MAX

/* Flag of a stack that has state which its objects share. Each thread gets a copy of the library. */
#define ACKCLOCK_PROCESS_STATE 1u

/* ECN field of the IP header (RFC 3168 section 5). */
enum { ACKCLOCK_NOT_ECT = 0, ACKCLOCK_ECT1 = 1, ACKCLOCK_ECT0 = 2, ACKCLOCK_CE = 3 };

/* What the scenario says of one side. A stack refuses what it cannot do. */
typedef struct {
    uint32_t size;           /* sizeof(ackclock_config) of the engine: fields are only ever added */
    uint8_t opens;           /* 1: this side opens the connection */
    uint8_t sends;           /* 1: application data leaves from this side */
    uint8_t encrypts;        /* 0: crypto = "null" */
    uint8_t discovers_mtu;   /* 0: mtu_discovery = false */
    uint32_t trains;         /* most datagrams in one answer of poll_transmit */
    uint32_t header;         /* bytes of IP and UDP headers of each datagram */
    uint64_t receive_window; /* most bytes that the receiver permits in flight */
    uint8_t seed[32];        /* all the randomness of this side */
    const char *control;     /* name of the congestion control, one of ackclock_stack.controls */
    const char *options;     /* the table `options` of the scenario as JSON, "{}" if there is none */
} ackclock_config;

/* What a side says of itself. Every number is ACKCLOCK_UNKNOWN before the call. */
typedef struct {
    uint32_t size;              /* sizeof(ackclock_statistics) of the engine */
    uint32_t reserved;
    uint64_t cwnd;              /* congestion window, bytes */
    uint64_t ssthresh;          /* slow-start threshold, bytes */
    uint64_t in_flight;         /* bytes sent, neither acknowledged nor deemed lost */
    uint64_t latest_rtt;        /* last round-trip time, nanoseconds */
    uint64_t smoothed_rtt;      /* nanoseconds */
    uint64_t timeout;           /* time after which data is taken for lost, nanoseconds */
    uint64_t pacing_rate;       /* bytes per second */
    uint64_t lost_packets;      /* packets deemed lost so far */
    uint64_t congestion_events; /* reductions of the window so far */
    uint64_t timeouts;          /* timeouts that made it send less so far */
} ackclock_statistics;

typedef struct {
    uint32_t abi;         /* ACKCLOCK_STACK_ABI */
    uint32_t size;        /* sizeof(ackclock_stack) */
    uint32_t flags;       /* 0 or ACKCLOCK_PROCESS_STATE */
    const char *name;     /* of the implementation */
    const char *version;  /* of the implementation */
    const char *controls; /* names of its congestion controls, separated by spaces */

    /* Makes a side. Returns NULL and writes why, in one line, if it cannot be made. */
    void *(*create)(const ackclock_config *, char *reason, size_t capacity);
    void (*destroy)(void *);
    /* Opens the connection: only the side that opens. */
    void (*open)(void *, uint64_t now);
    void (*handle_datagram)(void *, uint64_t now, const uint8_t *, size_t, uint8_t ecn);
    /* Is called when the time of poll_timeout has come, perhaps later. */
    void (*handle_timeout)(void *, uint64_t now);
    /* Writes datagrams that leave now, all `*segment` bytes long but perhaps the last, and returns
     * the bytes of all of them; 0 if there is nothing to send. Sets *ecn. */
    size_t (*poll_transmit)(void *, uint64_t now, uint8_t *, size_t capacity, size_t *segment,
                            uint8_t *ecn);
    /* Returns when to call handle_timeout. What is not later than now is called a nanosecond later:
     * a stack that counts in microseconds rounds up. */
    uint64_t (*poll_timeout)(void *);
    /* Adds bytes of the application, ACKCLOCK_UNKNOWN for bytes without end. fin = 1: no more will
     * come after these. Their content does not matter. */
    void (*write)(void *, uint64_t now, uint64_t bytes, int32_t fin);
    /* Returns the bytes that have arrived in order, each counted once. */
    uint64_t (*delivered)(void *);
    void (*statistics)(void *, ackclock_statistics *);
    /* Returns why it cannot go on, which ends the run; NULL while it can. */
    const char *(*fault)(void *);
} ackclock_stack;

const ackclock_stack *ackclock_stack_v1(void);

#ifdef __cplusplus
}
#endif
#endif
