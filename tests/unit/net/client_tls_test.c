/* TLS: who is trusted, and what is spoken. */
#include "client_fixture.h"

#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

static char folder[] = "/tmp/lull-client-tls-XXXXXX";
static char ca_file[sizeof folder + 10];
static EVP_PKEY *key;
static X509 *certificate;

static void add_extension(X509 *subject, int what, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, subject, subject, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, what, value);
    assert_non_null(extension);
    assert_true(X509_add_ext(subject, extension, -1));
    X509_EXTENSION_free(extension);
}

/* For 127.0.0.1, signed by itself. */
static int make_certificate(void **state) {
    (void)state;
    key = EVP_RSA_gen(2048);
    certificate = X509_new();
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    add_extension(certificate, NID_subject_alt_name, "IP:127.0.0.1");
    add_extension(certificate, NID_basic_constraints, "critical,CA:TRUE");
    X509_sign(certificate, key, EVP_sha256());

    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(ca_file, sizeof ca_file, "%s/ca.pem", folder);
    FILE *stream = fopen(ca_file, "we");
    if (stream == NULL || !PEM_write_X509(stream, certificate))
        return -1;
    return fclose(stream);
}

static int drop_certificate(void **state) {
    (void)state;
    X509_free(certificate);
    EVP_PKEY_free(key);
    unlink(ca_file);
    return rmdir(folder);
}

static SSL_CTX *context_of(int lowest, int highest) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    assert_non_null(context);
    assert_true(SSL_CTX_use_certificate(context, certificate));
    assert_true(SSL_CTX_use_PrivateKey(context, key));
    SSL_CTX_set_security_level(context, 0);
    SSL_CTX_set_min_proto_version(context, lowest);
    SSL_CTX_set_max_proto_version(context, highest);
    return context;
}

/* One attempt at a server with that certificate, by a client that trusts `ca`, under that host name. */
static struct attempt call_tls(const char *ca, const char *host, int lowest, int highest) {
    struct loop loop;
    struct cidr allow[2];
    char url[100];
    assert_true(cidr_parse("127.0.0.0/8", &allow[0]) && cidr_parse("::1", &allow[1]));
    SSL_CTX *context = context_of(lowest, highest);
    struct server *server =
        server_start(ANSWERS, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", context);
    loop_init_with(&loop,
                   &(struct client_options){.allow = allow, .allow_count = 2, .ca_file = ca});
    snprintf(url, sizeof url, "https://%s%s", host, strrchr(server->url, ':'));
    struct attempt attempt = call(&loop, url, 20 * SECOND);
    loop_clean_up(&loop);
    server_stop(server);
    SSL_CTX_free(context);
    return attempt;
}

static void test_trusted(void **state) {
    (void)state;
    struct attempt attempt = call_tls(ca_file, "127.0.0.1", TLS1_2_VERSION, 0);
    assert_string_equal(attempt.record.error, "");
    assert_int_equal(attempt.outcome.class_, LULL_SUCCESS);
    attempt = call_tls(ca_file, "127.0.0.1", TLS1_2_VERSION, TLS1_2_VERSION);
    assert_string_equal(attempt.record.error, "");
}

static void test_not_trusted(void **state) {
    (void)state;
    struct attempt attempt = call_tls(NULL, "127.0.0.1", TLS1_2_VERSION, 0);
    assert_string_equal(attempt.record.error, "certificate: self-signed certificate");
    assert_int_equal(attempt.outcome.class_, LULL_PERMANENT);
    assert_int_equal(attempt.record.status, 0);
}

/* A file of authorities that has none: the fault is ours, and may be mended. */
static void test_no_authorities(void **state) {
    (void)state;
    struct attempt attempt = call_tls("/dev/null", "127.0.0.1", TLS1_2_VERSION, 0);
    assert_int_equal(attempt.outcome.class_, LULL_TRANSIENT);
    assert_non_null(strstr(attempt.record.error, "/dev/null"));
}

static void test_another_host(void **state) {
    (void)state;
    struct attempt attempt = call_tls(ca_file, "localhost", TLS1_2_VERSION, 0);
    assert_memory_equal(attempt.record.error, "certificate: ", 13);
    assert_non_null(strstr(attempt.record.error, "localhost"));
    assert_int_equal(attempt.outcome.class_, LULL_PERMANENT);
}

static void test_old_version(void **state) {
    (void)state;
    struct attempt attempt = call_tls(ca_file, "127.0.0.1", TLS1_VERSION, TLS1_1_VERSION);
    assert_memory_equal(attempt.record.error, "TLS: ", 5);
    assert_int_not_equal(attempt.outcome.class_, LULL_SUCCESS);
}

/* Kept and used again, as without TLS. */
static void test_used_again(void **state) {
    (void)state;
    struct loop loop;
    struct cidr allow;
    assert_true(cidr_parse("127.0.0.1", &allow));
    SSL_CTX *context = context_of(TLS1_2_VERSION, 0);
    struct server *server =
        server_start(ANSWERS, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", context);
    loop_init_with(&loop,
                   &(struct client_options){.allow = &allow, .allow_count = 1, .ca_file = ca_file});
    for (int i = 0; i < 5; i++) {
        struct attempt attempt = call(&loop, server->url, 20 * SECOND);
        assert_string_equal(attempt.record.error, "");
    }
    assert_int_equal(atomic_load(&server->connections), 1);
    loop_clean_up(&loop);
    server_stop(server);
    SSL_CTX_free(context);
}

/* The error is this attempt's, not one that the handle remembers. */
static void test_reset(void **state) {
    (void)state;
    struct loop loop;
    struct cidr allow;
    int port;
    char url[64];
    assert_true(cidr_parse("127.0.0.1", &allow));
    SSL_CTX *context = context_of(TLS1_2_VERSION, 0);
    struct server *server = server_start(RESETS, NULL, context);
    loop_init_with(&loop,
                   &(struct client_options){.allow = &allow, .allow_count = 1, .ca_file = ca_file});
    int descriptor = bound_socket(&port);
    snprintf(url, sizeof url, "https://127.0.0.1:%d/", port);
    struct attempt attempt = call(&loop, url, 20 * SECOND);
    assert_string_equal(attempt.record.error, "connection refused");
    close(descriptor);
    attempt = call(&loop, server->url, 20 * SECOND);
    assert_memory_equal(attempt.record.error, "connection ", 11);
    assert_string_not_equal(attempt.record.error, "connection refused");
    assert_int_equal(attempt.outcome.class_, LULL_UNKNOWN);
    loop_clean_up(&loop);
    server_stop(server);
    SSL_CTX_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trusted),        cmocka_unit_test(test_not_trusted),
        cmocka_unit_test(test_no_authorities), cmocka_unit_test(test_another_host),
        cmocka_unit_test(test_old_version),    cmocka_unit_test(test_used_again),
        cmocka_unit_test(test_reset),
    };
    return cmocka_run_group_tests(tests, make_certificate, drop_certificate);
}
