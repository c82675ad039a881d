/* NAME: ngtcp2 with GnuTLS, as a stack of ackclock. Written for ngtcp2 0.12; newer ones differ in
 * few names.
 *
 *   cc -O2 -shared -fPIC -o NAME.so NAME.c -lngtcp2 -lngtcp2_crypto_gnutls -lgnutls
 *   ackclock stacks check NAME.so
 *
 * ngtcp2 reads no clock and draws no randomness of its own, so this file is nearly all that it
 * takes. TLS draws its keys from the system: bytes differ from run to run, sizes and times do not.
 * This file is yours: MIT or Apache-2.0, like ackclock.
 */
#include "ackclock_stack.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { ID = 8, PAYLOAD = 1452 };

static const char PRIORITY[] =
    "%DISABLE_TLS13_COMPAT_MODE:NORMAL:-VERS-ALL:+VERS-TLS1.3:-CIPHER-ALL:+AES-128-GCM:"
    "-GROUP-ALL:+GROUP-X25519";
static const uint8_t ZEROS[65536];

typedef struct {
    ackclock_config config;
    ngtcp2_cc_algo algorithm;
    ngtcp2_conn *conn;
    ngtcp2_crypto_conn_ref ref;
    gnutls_session_t tls;
    uint64_t state[2]; /* of the random numbers */
    int64_t stream;
    uint64_t waiting, delivered, budget, expiry;
    uint64_t reductions, cwnd;
    int fin, connected;
    char fault[128];
} side;

/* The credentials of all servers, made once. A key of Ed25519, whose signatures have one length. */
static gnutls_certificate_credentials_t credentials;

static void make_credentials(void) {
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t certificate;
    gnutls_certificate_allocate_credentials(&credentials);
    gnutls_x509_privkey_init(&key);
    gnutls_x509_privkey_generate(key, GNUTLS_PK_EDDSA_ED25519, 0, 0);
    gnutls_x509_crt_init(&certificate);
    gnutls_x509_crt_set_version(certificate, 3);
    gnutls_x509_crt_set_serial(certificate, "\1", 1);
    gnutls_x509_crt_set_activation_time(certificate, 0);
    gnutls_x509_crt_set_expiration_time(certificate, 4000000000);
    gnutls_x509_crt_set_dn(certificate, "CN=simulated", NULL);
    gnutls_x509_crt_set_key(certificate, key);
    gnutls_x509_crt_sign2(certificate, certificate, key, GNUTLS_DIG_SHA512, 0);
    gnutls_certificate_set_x509_key(credentials, &certificate, 1, key);
}

static void fail(side *s, const char *what, int error) {
    if (!*s->fault) snprintf(s->fault, sizeof s->fault, "%s: %s", what, ngtcp2_strerror(error));
}

/* xorshift128+ */
static uint64_t draw(side *s) {
    uint64_t a = s->state[0], b = s->state[1];
    s->state[0] = b;
    a ^= a << 23;
    s->state[1] = a ^ b ^ (a >> 17) ^ (b >> 26);
    return s->state[1] + b;
}

static void fill(side *s, uint8_t *to, size_t length) {
    for (size_t i = 0; i < length; i++) to[i] = (uint8_t)(draw(s) >> 32);
}

static void on_rand(uint8_t *to, size_t length, const ngtcp2_rand_ctx *context) {
    fill(context->native_handle, to, length);
}

static int on_new_id(ngtcp2_conn *conn, ngtcp2_cid *id, uint8_t *token, size_t length, void *user) {
    (void)conn;
    id->datalen = length;
    fill(user, id->data, length);
    fill(user, token, NGTCP2_STATELESS_RESET_TOKENLEN);
    return 0;
}

static int on_stream_data(ngtcp2_conn *conn, uint32_t flags, int64_t stream, uint64_t offset,
                          const uint8_t *data, size_t length, void *user, void *of_stream) {
    (void)flags, (void)offset, (void)data, (void)of_stream;
    ((side *)user)->delivered += length;
    ngtcp2_conn_extend_max_stream_offset(conn, stream, length);
    ngtcp2_conn_extend_max_offset(conn, length);
    return 0;
}

static int on_handshake(ngtcp2_conn *conn, void *user) {
    side *s = user;
    s->connected = 1;
    if (s->config.sends) ngtcp2_conn_open_uni_stream(conn, &s->stream, NULL);
    return 0;
}

static ngtcp2_conn *conn_of(ngtcp2_crypto_conn_ref *ref) { return ((side *)ref->user_data)->conn; }

static ngtcp2_path PATH(void) {
    static struct sockaddr_storage address = {.ss_family = AF_INET};
    ngtcp2_addr end = {(struct sockaddr *)&address, 16};
    return (ngtcp2_path){.local = end, .remote = end};
}

static ngtcp2_cid new_id(side *s) {
    uint8_t bytes[ID];
    ngtcp2_cid id;
    fill(s, bytes, ID);
    ngtcp2_cid_init(&id, bytes, ID);
    return id;
}

/* Makes the connection: a client's, or that of a server whose first packet has come. */
static int connect_at(side *s, uint64_t now, const ngtcp2_pkt_hd *first) {
    ngtcp2_callbacks callbacks = {
        .client_initial = ngtcp2_crypto_client_initial_cb,
        .recv_client_initial = ngtcp2_crypto_recv_client_initial_cb,
        .recv_crypto_data = ngtcp2_crypto_recv_crypto_data_cb,
        .encrypt = ngtcp2_crypto_encrypt_cb,
        .decrypt = ngtcp2_crypto_decrypt_cb,
        .hp_mask = ngtcp2_crypto_hp_mask_cb,
        .recv_retry = ngtcp2_crypto_recv_retry_cb,
        .update_key = ngtcp2_crypto_update_key_cb,
        .delete_crypto_aead_ctx = ngtcp2_crypto_delete_crypto_aead_ctx_cb,
        .delete_crypto_cipher_ctx = ngtcp2_crypto_delete_crypto_cipher_ctx_cb,
        .get_path_challenge_data = ngtcp2_crypto_get_path_challenge_data_cb,
        .version_negotiation = ngtcp2_crypto_version_negotiation_cb,
        .rand = on_rand,
        .get_new_connection_id = on_new_id,
        .recv_stream_data = on_stream_data,
        .handshake_completed = on_handshake,
    };
    ngtcp2_settings settings;
    ngtcp2_settings_default(&settings);
    settings.initial_ts = now;
    settings.cc_algo = s->algorithm;
    settings.max_tx_udp_payload_size = PAYLOAD;
    settings.no_pmtud = !s->config.discovers_mtu;
    settings.rand_ctx.native_handle = s;
    ngtcp2_transport_params params;
    ngtcp2_transport_params_default(&params);
    params.initial_max_streams_uni = 1;
    params.initial_max_stream_data_uni = params.initial_max_data = s->config.receive_window;
    ngtcp2_path path = PATH();
    ngtcp2_cid own = new_id(s), other = new_id(s);
    int error;
    if (first) {
        params.original_dcid = first->dcid;
        error = ngtcp2_conn_server_new(&s->conn, &first->scid, &own, &path, first->version,
                                       &callbacks, &settings, &params, NULL, s);
    } else {
        error = ngtcp2_conn_client_new(&s->conn, &other, &own, &path, NGTCP2_PROTO_VER_V1,
                                       &callbacks, &settings, &params, NULL, s);
    }
    if (error) return error;
    static const gnutls_datum_t alpn = {(unsigned char *)"sim", 3};
    s->ref = (ngtcp2_crypto_conn_ref){conn_of, s};
    gnutls_init(&s->tls, (first ? GNUTLS_SERVER : GNUTLS_CLIENT) | GNUTLS_NO_TICKETS_TLS12 |
                             GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS);
    gnutls_priority_set_direct(s->tls, PRIORITY, NULL);
    if (first) ngtcp2_crypto_gnutls_configure_server_session(s->tls);
    else ngtcp2_crypto_gnutls_configure_client_session(s->tls);
    gnutls_session_set_ptr(s->tls, &s->ref);
    gnutls_credentials_set(s->tls, GNUTLS_CRD_CERTIFICATE, credentials);
    gnutls_alpn_set_protocols(s->tls, &alpn, 1, GNUTLS_ALPN_MANDATORY);
    ngtcp2_conn_set_tls_native_handle(s->conn, s->tls);
    return 0;
}

static void *create(const ackclock_config *config, char *reason, size_t capacity) {
    static const char *names[] = {"cubic", "reno", "bbr"};
    static const ngtcp2_cc_algo algorithms[] = {NGTCP2_CC_ALGO_CUBIC, NGTCP2_CC_ALGO_RENO,
                                                NGTCP2_CC_ALGO_BBR};
    if (!config->encrypts || strcmp(config->options, "{}") != 0) {
        snprintf(reason, capacity, "it has neither crypto = \"null\" nor options");
        return NULL;
    }
    side *s = calloc(1, sizeof *s);
    s->config = *config;
    for (int i = 0; i < 3; i++)
        if (strcmp(config->control, names[i]) == 0) s->algorithm = algorithms[i];
    memcpy(s->state, config->seed, sizeof s->state);
    s->stream = -1;
    s->expiry = ACKCLOCK_NEVER;
    return s;
}

static void destroy(void *object) {
    side *s = object;
    ngtcp2_conn_del(s->conn);
    if (s->tls) gnutls_deinit(s->tls);
    free(s);
}

/* What may leave at once, by the pacer, after each event. */
static void settle(side *s) {
    if (s->conn) s->budget = ngtcp2_conn_get_send_quantum(s->conn);
}

static void open_connection(void *object, uint64_t now) {
    side *s = object;
    int error = connect_at(s, now, NULL);
    if (error) fail(s, "the connection was not made", error);
    settle(s);
}

static void handle_datagram(void *object, uint64_t now, const uint8_t *bytes, size_t length,
                            uint8_t ecn) {
    side *s = object;
    if (!s->conn) {
        ngtcp2_pkt_hd first;
        if (s->config.opens || ngtcp2_accept(&first, bytes, length) != 0) return;
        int error = connect_at(s, now, &first);
        if (error) return fail(s, "the connection was not accepted", error);
    }
    ngtcp2_path path = PATH();
    ngtcp2_pkt_info info = {.ecn = ecn};
    int error = ngtcp2_conn_read_pkt(s->conn, &path, &info, bytes, length, now);
    if (error) fail(s, "a packet was not taken", error);
    settle(s);
}

static void handle_timeout(void *object, uint64_t now) {
    side *s = object;
    if (!s->conn || now < ngtcp2_conn_get_expiry(s->conn)) return;
    int error = ngtcp2_conn_handle_expiry(s->conn, now);
    if (error) fail(s, "a timer failed", error);
    settle(s);
}

static size_t poll_transmit(void *object, uint64_t now, uint8_t *to, size_t capacity,
                            size_t *segment, uint8_t *ecn) {
    side *s = object;
    *segment = 0;
    if (!s->conn || *s->fault) return 0;
    ngtcp2_path_storage path;
    ngtcp2_path_storage_zero(&path);
    ngtcp2_pkt_info info = {0};
    ngtcp2_vec data = {(uint8_t *)ZEROS, s->waiting < sizeof ZEROS ? s->waiting : sizeof ZEROS};
    int may_write = s->stream >= 0 && (data.len > 0 || s->fin == 1) && s->budget > 0;
    int ends = s->fin && data.len == s->waiting;
    ngtcp2_ssize taken = -1, length;
    length = ngtcp2_conn_writev_stream(
        s->conn, &path.path, &info, to, capacity < PAYLOAD ? capacity : PAYLOAD, &taken,
        ends ? NGTCP2_WRITE_STREAM_FLAG_FIN : 0, may_write ? s->stream : -1, &data, may_write, now);
    if (length == NGTCP2_ERR_STREAM_DATA_BLOCKED) { /* the other side permits no more data */
        length = ngtcp2_conn_writev_stream(s->conn, &path.path, &info, to, PAYLOAD, NULL, 0, -1,
                                           NULL, 0, now);
    }
    if (length < 0) return fail(s, "a packet was not made", (int)length), (size_t)0;
    if (taken >= 0) {
        if (s->waiting != ACKCLOCK_UNKNOWN) s->waiting -= (uint64_t)taken;
        if (ends && s->waiting == 0) s->fin = 2; /* the stream knows */
    }
    if (length == 0) {
        ngtcp2_conn_update_pkt_tx_time(s->conn, now);
        s->expiry = ngtcp2_conn_get_expiry(s->conn);
        return 0;
    }
    s->budget -= s->budget < (size_t)length ? s->budget : (size_t)length;
    *ecn = info.ecn;
    return (size_t)length;
}

static uint64_t poll_timeout(void *object) {
    side *s = object;
    return *s->fault ? ACKCLOCK_NEVER : s->expiry;
}

static void write_bytes(void *object, uint64_t now, uint64_t bytes, int32_t fin) {
    side *s = object;
    (void)now;
    if (bytes == ACKCLOCK_UNKNOWN || s->waiting == ACKCLOCK_UNKNOWN) s->waiting = ACKCLOCK_UNKNOWN;
    else s->waiting += bytes;
    if (fin && !s->fin) s->fin = 1;
    settle(s);
}

static uint64_t delivered(void *object) { return ((side *)object)->delivered; }

static void statistics(void *object, ackclock_statistics *to) {
    side *s = object;
    if (!s->connected || !s->config.sends) return;
    ngtcp2_conn_stat stat;
    ngtcp2_conn_get_conn_stat(s->conn, &stat);
    if (stat.cwnd < s->cwnd && stat.ssthresh != UINT64_MAX) s->reductions++;
    s->cwnd = stat.cwnd;
    to->cwnd = stat.cwnd;
    to->ssthresh = stat.ssthresh;
    to->in_flight = stat.bytes_in_flight;
    to->latest_rtt = stat.latest_rtt;
    to->smoothed_rtt = stat.smoothed_rtt;
    to->congestion_events = s->reductions;
}

static const char *fault(void *object) {
    side *s = object;
    return *s->fault ? s->fault : NULL;
}

const ackclock_stack *ackclock_stack_v1(void) {
    static ackclock_stack stack = {
        .abi = ACKCLOCK_STACK_ABI,
        .size = sizeof(ackclock_stack),
        .name = "ngtcp2",
        .controls = "cubic reno bbr",
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
    make_credentials();
    stack.version = ngtcp2_version(0)->version_str;
    return &stack;
}
