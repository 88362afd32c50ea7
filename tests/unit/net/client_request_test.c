/* What is sent. */
#include "client_fixture.h"

#include "sign.h"

#define OK_ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

/* Sends it to a server of its own, and gives back the request as that got it: head and body, the caller's. The target has not been used before. */
struct sent {
    char *head, *body;
    size_t body_length;
};

static struct sent sent_for(struct target *target, struct message *message) {
    struct loop loop;
    struct loop_attempt own;
    struct server *server = server_start(ANSWERS, OK_ANSWER, NULL);
    free(target->url);
    assert_true(asprintf(&target->url, "%shooks?x=1", server->url) > 0);
    loop_init(&loop);
    loop_start(&loop, &own, target, message);
    loop_run(&loop, 1);
    assert_string_equal(own.attempt.record.error, "");
    loop_clean_up(&loop);
    pthread_mutex_lock(&server->lock);
    struct sent sent = {
        .head = strndup(server->request, server->head_length),
        .body = malloc(server->body_length + 1),
        .body_length = server->body_length,
    };
    memcpy(sent.body, server->request + server->head_length, server->body_length);
    pthread_mutex_unlock(&server->lock);
    server_stop(server);
    return sent;
}

static void sent_clean_up(struct sent *sent) {
    free(sent->head);
    free(sent->body);
}

/* The value of a field, and that there is one of it; NULL: none. In memory that the next call uses again. */
static const char *field_of(const struct sent *sent, const char *name) {
    static char value[20000];
    char pattern[100];
    snprintf(pattern, sizeof pattern, "\r\n%s:", name);
    const char *at = strcasestr(sent->head, pattern);
    if (at == NULL)
        return NULL;
    at += strlen(pattern);
    at += strspn(at, " ");
    assert_null(strcasestr(at, pattern));
    snprintf(value, sizeof value, "%.*s", (int)strcspn(at, "\r"), at);
    return value;
}

static void assert_field(const struct sent *sent, const char *name, const char *expected) {
    const char *value = field_of(sent, name);
    if (expected == NULL && value != NULL)
        fail_msg("%s is sent: %s", name, value);
    if (expected != NULL && (value == NULL || strcmp(value, expected) != 0))
        fail_msg("%s: %s, not %s", name, value != NULL ? value : "(not sent)", expected);
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

static void test_plain(void **state) {
    (void)state;
    struct target *target = target_of("", "");
    struct message *message = message_of("application/json", "", "{\"a\":1}", 7);
    time_t before = time(NULL);
    struct sent sent = sent_for(target, message);
    time_t after = time(NULL);
    assert_memory_equal(sent.head, "POST /hooks?x=1 HTTP/1.1\r\n", 26);
    assert_int_equal(sent.body_length, 7);
    assert_memory_equal(sent.body, "{\"a\":1}", 7);
    assert_field(&sent, "Content-Type", "application/json");
    assert_field(&sent, "Content-Length", "7");
    assert_field(&sent, "User-Agent", "lull/" LULL_VERSION);
    assert_field(&sent, "webhook-id", "evt_00000000000g1");
    assert_field(&sent, "Idempotency-Key", "evt_00000000000g1");
    assert_field(&sent, "webhook-signature", NULL);
    assert_field(&sent, "Lull-Attempt", "1");
    assert_field(&sent, "Lull-Deadline-Ms", "15000");
    assert_field(&sent, "Expect", NULL);
    assert_field(&sent, "Transfer-Encoding", NULL);
    long long stamp = strtoll(field_of(&sent, "webhook-timestamp"), NULL, 10);
    assert_true(stamp >= before && stamp <= after);
    /* request line, host, agent, accept, type, length and five of ours, and the empty line */
    assert_int_equal(count_of(sent.head, "\r\n"), 12);
    sent_clean_up(&sent);
    target_release(target);
    message_release(message);
}

/* A signature by a key is the one that any receiver computes. */
static void assert_signed(const struct sent *sent, const char *signature, const unsigned char *key,
                          size_t length) {
    char expected[SIGNATURE_SIZE], id[40];
    snprintf(id, sizeof id, "%s", field_of(sent, "webhook-id"));
    struct signer *signer = signer_new(key, length);
    assert_true(signer_sign(signer, id, strtoll(field_of(sent, "webhook-timestamp"), NULL, 10),
                            sent->body, sent->body_length, expected));
    assert_memory_equal(signature, expected, SIGNATURE_SIZE - 1);
    signer_destroy(signer);
}

static void test_signed(void **state) {
    (void)state;
    static const struct destination_settings settings = {.name = "shop", .url = "http://a/"};
    static const char first[] = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX",
                      second[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    lull_time soon = ((lull_time)time(NULL) + 1000) * LULL_SECOND;
    lull_time past = ((lull_time)time(NULL) - 1) * LULL_SECOND;
    struct message *message = message_of("text/plain", "", "a\0b", 3);
    const lull_time untils[] = {soon, past};
    for (size_t i = 0; i < COUNT(untils); i++) {
        struct target *target = target_new(
            &settings, (struct target_secret[]){{first, LULL_NEVER}, {second, untils[i]}});
        assert_non_null(target);
        struct sent sent = sent_for(target, message);
        char *signature = strdup(field_of(&sent, "webhook-signature"));
        assert_int_equal(strlen(signature), i == 0 ? 2 * SIGNATURE_SIZE - 1 : SIGNATURE_SIZE - 1);
        assert_signed(&sent, signature, target->secrets[0].bytes, target->secrets[0].length);
        if (i == 0) {
            assert_int_equal(signature[SIGNATURE_SIZE - 1], ' ');
            assert_signed(&sent, signature + SIGNATURE_SIZE, target->secrets[1].bytes,
                          target->secrets[1].length);
        }
        free(signature);
        sent_clean_up(&sent);
        target_release(target);
    }
    message_release(message);
}

static void test_no_content_type(void **state) {
    (void)state;
    struct target *target = target_of("", "");
    struct message *message = message_of("", "", "", 0);
    struct sent sent = sent_for(target, message);
    assert_field(&sent, "Content-Type", "application/octet-stream");
    assert_field(&sent, "Content-Length", "0");
    assert_int_equal(sent.body_length, 0);
    sent_clean_up(&sent);
    target_release(target);
    message_release(message);
}

/* The target's fields win over ours and the message's, but for webhook-…. An empty one takes ours away. */
static void test_target_fields(void **state) {
    (void)state;
    struct target *target = target_of("", "X-Team: payments\n"
                                          "user-agent: shop/1\n"
                                          "Content-TYPE: text/special\n"
                                          "lull-attempt: many\n"
                                          "Idempotency-Key: \n"
                                          "Lull-Deadline-Ms:\n"
                                          "Traceparent: mine\n"
                                          "Authorization: Bearer a:b\n"
                                          "Webhook-Id: forged\n"
                                          "webhook-signature: v1,forged\n");
    struct message *message =
        message_of("application/json", "Content-Encoding: gzip\ntraceparent: theirs\n", "{}", 2);
    struct sent sent = sent_for(target, message);
    assert_field(&sent, "X-Team", "payments");
    assert_field(&sent, "User-Agent", "shop/1");
    assert_field(&sent, "Content-Type", "text/special");
    assert_field(&sent, "Lull-Attempt", "many");
    assert_field(&sent, "Idempotency-Key", NULL);
    assert_field(&sent, "Lull-Deadline-Ms", NULL);
    assert_field(&sent, "traceparent", "mine");
    assert_field(&sent, "Content-Encoding", "gzip");
    assert_field(&sent, "Authorization", "Bearer a:b");
    assert_field(&sent, "webhook-id", "evt_00000000000g1");
    assert_field(&sent, "webhook-signature", NULL);
    sent_clean_up(&sent);
    target_release(target);
    message_release(message);
}

/* What would make two requests of one, or a request that means something else, stays here. */
static void test_injection(void **state) {
    (void)state;
    static const char fields[] = "Content-Length: 0\n"
                                 "Transfer-Encoding: chunked\n"
                                 "Connection: close\n"
                                 "Expect: 100-continue\n"
                                 "Upgrade: h2c\n"
                                 "TE: trailers\n"
                                 "Proxy-Authorization: x\n"
                                 "X-Evil: a\rX-Injected: 1\n"
                                 "X-Bell: \x07\n"
                                 "X Space: 1\n"
                                 "X-Late : 1\n"
                                 ": nameless\n"
                                 "colonless\n"
                                 "\n"
                                 "X-Empty: \n"
                                 "X-Good: yes\n"
                                 "X-Last: no newline";
    struct target *of_target = target_of("", fields), *plain = target_of("", ""),
                  *another = target_of("", "");
    struct message *of_message = message_of("text/\r\nX-Injected: 1", fields, "four", 4),
                   *empty = message_of("", "", "four", 4);
    struct message *host = message_of(
        "", "Host: evil\nUser-Agent: x\nContent-Type: x\nIdempotency-Key: x\nLull-Attempt: 9\n",
        "four", 4);
    struct sent sents[] = {sent_for(of_target, empty), sent_for(plain, of_message),
                           sent_for(another, host)};
    for (size_t i = 0; i < COUNT(sents); i++) {
        assert_field(&sents[i], "Content-Length", "4");
        assert_int_equal(sents[i].body_length, 4);
        assert_field(&sents[i], "Transfer-Encoding", NULL);
        assert_field(&sents[i], "Connection", NULL);
        assert_field(&sents[i], "Expect", NULL);
        assert_field(&sents[i], "Upgrade", NULL);
        assert_field(&sents[i], "TE", NULL);
        assert_field(&sents[i], "Proxy-Authorization", NULL);
        assert_field(&sents[i], "X-Empty", NULL);
        assert_null(strstr(sents[i].head, "Injected"));
        assert_null(strstr(sents[i].head, "Bell"));
        assert_null(strstr(sents[i].head, "Space"));
        assert_null(strstr(sents[i].head, "X-Late"));
        assert_null(strstr(sents[i].head, "less"));
        assert_field(&sents[i], "X-Good", i < 2 ? "yes" : NULL);
        assert_field(&sents[i], "X-Last", i < 2 ? "no newline" : NULL);
        assert_field(&sents[i], "Content-Type", "application/octet-stream");
        assert_field(&sents[i], "User-Agent", "lull/" LULL_VERSION);
        assert_field(&sents[i], "Idempotency-Key", "evt_00000000000g1");
        assert_field(&sents[i], "Lull-Attempt", "1");
        assert_memory_equal(field_of(&sents[i], "Host"), "127.0.0.1", 9);
        sent_clean_up(&sents[i]);
    }
    target_release(of_target);
    target_release(plain);
    target_release(another);
    message_release(of_message);
    message_release(empty);
    message_release(host);
}

/* Bytes are bytes, many or few; and a long list of fields, too. */
static void test_large(void **state) {
    (void)state;
    size_t length = 300 * 1000;
    char *payload = malloc(length), fields[8000] = "", *end = fields;
    uint64_t random = 5;
    for (size_t i = 0; i < length; i++)
        payload[i] = (char)lull_random_next(&random);
    for (int i = 0; i < 300; i++)
        end += sprintf(end, "X-Field-%d: value-%d\n", i, i);
    struct target *target = target_of("", "");
    struct message *message = message_of("application/octet-stream", fields, payload, length);
    struct sent sent = sent_for(target, message);
    assert_int_equal(sent.body_length, length);
    assert_memory_equal(sent.body, payload, length);
    assert_field(&sent, "X-Field-0", "value-0");
    assert_field(&sent, "X-Field-299", "value-299");
    assert_field(&sent, "Expect", NULL);
    sent_clean_up(&sent);
    free(payload);
    target_release(target);
    message_release(message);
}

/* A handle that was used for one message and target has nothing of it left for the next. */
static void test_nothing_left_over(void **state) {
    (void)state;
    struct loop loop;
    loop_init(&loop);
    struct server *server = server_start(ANSWERS, OK_ANSWER, NULL);
    for (int i = 0; i < 20; i++) {
        char url[100], headers[100], payload[40], expected[100];
        snprintf(url, sizeof url, "%starget-%d", server->url, i);
        snprintf(headers, sizeof headers, "X-Target-%d: 1\n", i);
        memset(payload, 'a' + i, sizeof payload);
        struct target *target = target_of(url, i % 2 ? headers : "");
        struct message *message = message_of(i % 3 ? "text/a" : "", i % 4 ? "X-Message: 1\n" : "",
                                             payload, (size_t)(40 - i));
        struct loop_attempt own;
        loop_start(&loop, &own, target, message);
        loop_run(&loop, i + 1);
        snprintf(expected, sizeof expected, "POST /target-%d HTTP/1.1\r\n", i);
        pthread_mutex_lock(&server->lock);
        assert_memory_equal(server->request, expected, strlen(expected));
        assert_int_equal(server->body_length, 40 - i);
        assert_memory_equal(server->request + server->head_length, payload, (size_t)(40 - i));
        assert_int_equal(strstr(server->request, "X-Target-") != NULL, i % 2 != 0);
        assert_int_equal(strstr(server->request, "X-Message") != NULL, i % 4 != 0);
        assert_int_equal(strstr(server->request, "text/a") != NULL, i % 3 != 0);
        pthread_mutex_unlock(&server->lock);
        target_release(target);
        message_release(message);
    }
    assert_int_equal(atomic_load(&server->connections), 1);
    loop_clean_up(&loop);
    server_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_signed),
        cmocka_unit_test(test_no_content_type),
        cmocka_unit_test(test_target_fields),
        cmocka_unit_test(test_injection),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_nothing_left_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
