#include "testing.h"

#include "guard.h"
#include "serve.h"

#include <stdlib.h>
#include <unistd.h>

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

static int read_text(const char *text, struct serve_config *config, char said[1000]) {
    struct reader_error error;
    memset(config, 0xa5, sizeof *config);
    int result = serve_config_read_text("lull.yaml", text, strlen(text), config, &error);
    reader_error_format(&error, said, 1000);
    return result;
}

static struct serve_config *read_fine(const char *text) {
    static struct serve_config config;
    char said[1000];
    if (read_text(text, &config, said) != LULL_OK)
        fail_msg("%s", said);
    return &config;
}

struct row {
    const char *text, *said;
};

static void assert_all_refused(const struct row *rows, size_t count) {
    static const struct serve_config zero;
    static struct serve_config config;
    for (size_t i = 0; i < count; i++) {
        char said[1000];
        assert_int_equal(read_text(rows[i].text, &config, said), LULL_EINVAL);
        assert_string_equal(said, rows[i].said);
        assert_memory_equal(&config, &zero, sizeof zero);
    }
}

static void test_defaults(void **state) {
    (void)state;
    struct serve_config config;
    struct reader_error error;
    assert_int_equal(serve_config_read(NULL, &config, &error), LULL_OK);
    assert_string_equal(config.listen, "127.0.0.1:8080");
    assert_string_equal(config.store, "sqlite:lull.db");
    assert_int_equal(config.workers, 0);
    assert_int_equal(config.auth.token_count, 0);
    assert_false(config.auth.open);
    assert_string_equal(config.tls.certificate, "");
    assert_int_equal(config.limits.body, 1 << 20);
    assert_int_equal(config.limits.batch, 16 << 20);
    assert_int_equal(config.limits.connections, 10000);
    assert_int_equal(config.limits.idle, 60 * SECOND);
    assert_int_equal(config.limits.request, 30 * SECOND);
    assert_int_equal(config.allow_count, 0);
    assert_int_equal(config.retention, 7 * LULL_DAY);
    assert_int_equal(config.patience, 20 * SECOND);
    assert_string_equal(config.alerts.url, "");
    assert_int_equal(config.log_level, 2);
    assert_null(config.policies);
    assert_null(config.destinations);
    serve_config_clean_up(&config);
    struct serve_config *same = read_fine("{}");
    assert_int_equal(same->limits.connections, 10000);
    assert_string_equal(same->store, "sqlite:lull.db");
    serve_config_clean_up(same);
}

static const char full_text[] =
    "listen: \"[::]:443\"\n"
    "store: sqlite:/var/lib/lull/events.db\n"
    "workers: 4\n"
    "auth: {tokens: [0123456789abcdef, env:LULL_TEST_TOKEN], open: true}\n"
    "tls: {certificate: /etc/c.pem, key: /etc/k.pem}\n"
    "limits: {body: 2m, batch: 32m, connections: 500, idle: 10s, request: 5s}\n"
    "addresses: {allow: [10.0.0.0/8, \"fd00::/8\", 192.168.1.7]}\n"
    "retention: {delivered: 1d}\n"
    "shutdown: {patience: 0}\n"
    "alerts: {url: \"https://ops.example/\", secret: " SECRET ", events: [storm, disabled]}\n"
    "log_level: debug\n"
    "policies:\n"
    "  - {name: quick, preset: checkout, timeout: 2s, rate: 50/s, budget: none}\n"
    "  - {name: patient, attempts: 20}\n"
    "destinations:\n"
    "  - {name: shop, url: \"https://shop.example/\", types: [order.*], policy: quick}\n"
    "  - {name: bank, url: \"https://bank.example/\", policy: patient, breaker: none}\n"
    "  - {name: mail, url: \"https://mail.example/\", secret: \"env:LULL_TEST_SECRET\"}\n";

static void check_head(const struct serve_config *config) {
    assert_string_equal(config->listen, "[::]:443");
    assert_string_equal(config->store, "sqlite:/var/lib/lull/events.db");
    assert_int_equal(config->workers, 4);
    assert_int_equal(config->auth.token_count, 2);
    assert_string_equal(config->auth.tokens[0].text, "0123456789abcdef");
    assert_string_equal(config->auth.tokens[1].text, "a-token-from-elsewhere");
    assert_true(config->auth.open);
    assert_string_equal(config->tls.certificate, "/etc/c.pem");
    assert_string_equal(config->tls.key, "/etc/k.pem");
    assert_int_equal(config->limits.body, 2 << 20);
    assert_int_equal(config->limits.batch, 32 << 20);
    assert_int_equal(config->limits.connections, 500);
    assert_int_equal(config->limits.idle, 10 * SECOND);
    assert_int_equal(config->limits.request, 5 * SECOND);
    assert_int_equal(config->retention, LULL_DAY);
    assert_int_equal(config->patience, 0);
    assert_string_equal(config->alerts.url, "https://ops.example/");
    assert_string_equal(config->alerts.secret, SECRET);
    assert_int_equal(config->alerts.events, ALERT_STORM | ALERT_DISABLED);
    assert_int_equal(config->log_level, 3);
}

static void check_allowed(const struct serve_config *config) {
    assert_int_equal(config->allow_count, 3);
    assert_false(config->allow[0].v6);
    assert_int_equal(config->allow[0].address[0], 10);
    assert_int_equal(config->allow[0].bits, 8);
    assert_true(config->allow[1].v6);
    assert_int_equal(config->allow[1].address[0], 0xfd);
    assert_int_equal(config->allow[2].bits, 32);
}

static void test_every_key(void **state) {
    (void)state;
    setenv("LULL_TEST_TOKEN", "a-token-from-elsewhere", 1);
    setenv("LULL_TEST_SECRET", SECRET, 1);
    struct serve_config *config = read_fine(full_text);
    check_head(config);
    check_allowed(config);
    assert_int_equal(config->policy_count, 2);
    assert_string_equal(config->policies[0].name, "quick");
    const struct lull_guard_config *quick = &config->policies[0].guard;
    assert_int_equal(quick->retry.attempts, 6);
    assert_int_equal(quick->retry.attempt_timeout, 2 * SECOND);
    assert_int_equal(quick->without, LULL_WITHOUT_BUDGET);
    assert_int_equal(quick->bucket.capacity, 50);
    /* Without a preset it starts from the usual one. */
    const struct lull_guard_config *patient = &config->policies[1].guard;
    assert_int_equal(patient->retry.attempts, 20);
    assert_int_equal(patient->retry.backoff.base, 30 * SECOND);
    assert_int_equal(patient->without, LULL_WITHOUT_BUCKET);

    assert_int_equal(config->destination_count, 3);
    const struct destination_settings *shop = &config->destinations[0];
    assert_string_equal(shop->name, "shop");
    assert_string_equal(shop->policy, "quick");
    assert_memory_equal(&shop->guard, quick, sizeof *quick);
    const struct destination_settings *bank = &config->destinations[1];
    assert_int_equal(bank->guard.retry.attempts, 20);
    assert_int_equal(bank->guard.without, LULL_WITHOUT_BUCKET | LULL_WITHOUT_BREAKER);
    assert_false(bank->has_secret);
    assert_true(config->destinations[2].has_secret);
    assert_string_equal(config->destinations[2].secret, SECRET);
    serve_config_clean_up(config);
    assert_null(config->destinations);
}

/* A request's destination is read under the same policies. */
static void test_json_under_config(void **state) {
    (void)state;
    struct serve_config *config = read_fine("policies: [{name: mine, attempts: 3}]");
    struct destination_settings settings;
    struct reader_error error;
    static const char json[] = "{\"name\":\"a\",\"url\":\"http://a/\",\"policy\":\"mine\"}";
    assert_int_equal(destination_settings_read(config, json, strlen(json), &settings, &error),
                     LULL_OK);
    assert_int_equal(settings.guard.retry.attempts, 3);
    serve_config_clean_up(config);
}

static void test_wrong(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"", "lull.yaml: is empty"},
        {"lisen: 1", "lull.yaml:1: lisen: there is no such key; did you mean listen?"},
        {"listen: 8080", "lull.yaml:1: listen: \"8080\" is not an address to listen on; write "
                         "ADDR:PORT, for example 127.0.0.1:8080 or [::1]:8080"},
        {"listen: ::1:80", "lull.yaml:1: listen: \"::1:80\" is not an address to listen on; write "
                           "ADDR:PORT, for example 127.0.0.1:8080 or [::1]:8080"},
        {"listen: localhost:65536", "lull.yaml:1: listen: \"localhost:65536\" is not an address to "
                                    "listen on; write ADDR:PORT, for example 127.0.0.1:8080 or "
                                    "[::1]:8080"},
        {"store: mysql:x", "lull.yaml:1: store: \"mysql:x\" is not a store; write for example "
                           "sqlite:lull.db"},
        {"store: 'sqlite:'", "lull.yaml:1: store: \"sqlite:\" is not a store; write for example "
                             "sqlite:lull.db"},
        {"workers: 65", "lull.yaml:1: workers: \"65\" is out of range; it must be from 0 to 64"},
        {"tls: {certificate: a}",
         "lull.yaml:1: tls.key: is missing; TLS needs a certificate and a key"},
        {"tls:\n  key: a",
         "lull.yaml:2: tls.certificate: is missing; TLS needs a certificate and a key"},
        {"tls: {key: '', certificate: a}",
         "lull.yaml:1: tls.key: must not be empty; TLS needs a certificate and a key"},
        {"limits: {body: 100}",
         "lull.yaml:1: limits.body: \"100\" is out of range; it must be from 1k to 1g"},
        {"limits:\n  body: 2m\n  batch: 1m",
         "lull.yaml:3: limits.batch: the body of a batch would be smaller than that of one event; "
         "raise batch or lower body"},
        {"limits: {body: 17m}",
         "lull.yaml:1: limits.body: the body of a batch would be smaller than that of one event; "
         "raise batch or lower body"},
        {"addresses:\n  allow:\n    - 10.0.0.0/8\n    - 10.0.0.1/8\n",
         "lull.yaml:4: addresses.allow[1]: \"10.0.0.1/8\" is not a range of addresses; write for "
         "example 10.0.0.0/8, fd00::/8 or 192.168.1.7"},
        {"retention: {delivered: 7}", "lull.yaml:1: retention.delivered: \"7\" is not a duration; "
                                      "write for example 500ms, 2s, 5m, 1h or 1h30m"},
        {"alerts: {events: [storm]}", "lull.yaml:1: alerts.url: is missing"},
        {"alerts: {url: nowhere}", "lull.yaml:1: alerts.url: must begin with http:// or https://"},
        {"alerts: {url: 'http://a/', events: [strom]}",
         "lull.yaml:1: alerts.events[0]: \"strom\" is not known; did you mean storm? There are "
         "dead_letter, storm, breaker, disabled"},
        {"log_level: loud",
         "lull.yaml:1: log_level: \"loud\" is not known; there are error, warn, info, debug"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_wrong_lists(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"policies:\n  - {name: webhook}\n",
         "lull.yaml:2: policies[0].name: webhook is the name of a preset; choose another"},
        {"policies:\n  - name: a\n  - name: b\n  - name: a\n",
         "lull.yaml:4: policies[2].name: a is the name of the policy in line 2 already"},
        {"policies:\n  - name: a\n    preset: b\n",
         "lull.yaml:3: policies[0].preset: there is no preset \"b\"; there are interactive, "
         "gateway, worker, checkout, webhook, stream"},
        {"policies:\n  - name: a\n    base: 1d\n",
         "lull.yaml:2: policies[0].cap: is 1h, less than base (24h); raise the cap"},
        {"policies: [{name: a}]\ndestinations:\n"
         "  - {name: c, url: 'http://c/'}\n  - {name: b, url: 'http://b/'}\n"
         "  - {name: b, url: 'http://b/'}\n  - {name: c, url: 'http://c/'}\n",
         "lull.yaml:5: destinations[2].name: b is the name of the destination in line 4 already"},
        {"destinations:\n  - {name: b, url: 'http://b/'}\n  - name: _b\n    url: http://c/\n",
         "lull.yaml:3: destinations[1].name: \"_b\" begins with _, as names of lull's own do; "
         "choose another"},
        {"destinations:\n  - name: b\n    url: http://b/\n    headers:\n      X-A: b\n      host: "
         "c\n",
         "lull.yaml:6: destinations[0].headers.host: is set by lull itself; remove it"},
        {"destinations:\n  - name: b\n    url: http://b/\n    secret: env:LULL_TEST_UNSET\n",
         "lull.yaml:4: destinations[0].secret: the environment variable \"LULL_TEST_UNSET\" is not "
         "set"},
        {"destinations:\n  - name: b\n    url: http://b/\n    secret: file:/no/such\n",
         "lull.yaml:4: destinations[0].secret: the file \"/no/such\" cannot be read: No such file "
         "or "
         "directory"},
        {"destinations: {}", "lull.yaml:1: destinations: must be a list, not a map of keys"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_auth(void **state) {
    (void)state;
    static const char *const open[] = {"0.0.0.0:80",  "':80'",           "'[::]:80'",
                                       "10.0.0.1:80", "shop.example:80", "128.0.0.1:80"};
    static const char *const own[] = {"127.0.0.1:80", "127.1.2.3:0", "'[::1]:80'", "localhost:80"};
    static struct serve_config config;
    char text[200], said[1000], expected[1000];
    for (size_t i = 0; i < COUNT(own); i++) {
        snprintf(text, sizeof text, "listen: %s\n", own[i]);
        serve_config_clean_up(read_fine(text));
    }
    for (size_t i = 0; i < COUNT(open); i++) {
        bool quoted = open[i][0] == '\'';
        snprintf(text, sizeof text, "workers: 1\nlisten: %s\n", open[i]);
        snprintf(expected, sizeof expected,
                 "lull.yaml:2: listen: others could reach %.*s, and there are no tokens; add some "
                 "to auth.tokens, listen on 127.0.0.1, or write auth: {open: true} if anybody may "
                 "use it",
                 (int)(strlen(open[i]) - 2 * quoted), open[i] + quoted);
        assert_int_equal(read_text(text, &config, said), LULL_EINVAL);
        assert_string_equal(said, expected);
        snprintf(text, sizeof text, "listen: %s\nauth: {open: true}\n", open[i]);
        serve_config_clean_up(read_fine(text));
        snprintf(text, sizeof text, "listen: %s\nauth: {tokens: [0123456789abcdef]}\n", open[i]);
        serve_config_clean_up(read_fine(text));
    }
}

/* What a flag has changed. */
static void test_auth_again(void **state) {
    (void)state;
    struct serve_config config;
    struct reader_error error;
    char message[300];
    assert_int_equal(serve_config_read(NULL, &config, &error), LULL_OK);
    assert_true(serve_auth_check(&config, message, sizeof message));
    snprintf(config.listen, sizeof config.listen, "0.0.0.0:80");
    assert_false(serve_auth_check(&config, message, sizeof message));
    config.auth.open = true;
    assert_true(serve_auth_check(&config, message, sizeof message));
    assert_true(serve_listen_check("[::1]:0", message, sizeof message));
    assert_false(serve_listen_check("[::1]", message, sizeof message));
    assert_false(serve_listen_check("[::1:80", message, sizeof message));
    assert_false(serve_listen_check("[x]:80", message, sizeof message));
    assert_false(serve_listen_check("a b:80", message, sizeof message));
    assert_false(serve_listen_check("a:", message, sizeof message));
    assert_false(serve_listen_check("", message, sizeof message));
    assert_true(serve_store_check("sqlite:x", message, sizeof message));
    assert_false(serve_store_check("", message, sizeof message));
}

/* A token is never shown. */
static void test_tokens(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"auth:\n  tokens:\n    - 0123456789abcdef\n    - 0123456789abcde\n",
         "lull.yaml:4: auth.tokens[1]: is too short to be a secret; it must have at least 16 "
         "characters"},
        {"auth: {tokens: [0123456789 abcdef]}", "lull.yaml:1: auth.tokens[0]: has a blank or a "
                                                "letter that is not ASCII; a token has neither"},
        {"auth: {tokens: [\"0123456789abcde\\u00e9\"]}",
         "lull.yaml:1: auth.tokens[0]: has a blank or a letter that is not ASCII; a token has "
         "neither"},
        {"auth: {tokens: [env:LULL_TEST_UNSET]}",
         "lull.yaml:1: auth.tokens[0]: the environment variable \"LULL_TEST_UNSET\" is not set"},
        {"auth: {tokens: ['']}",
         "lull.yaml:1: auth.tokens[0]: is too short to be a secret; it must "
         "have at least 16 characters"},
        {"auth: {tokens: []}\nlisten: ':80'",
         "lull.yaml:2: listen: others could reach :80, and there are no tokens; add some to "
         "auth.tokens, listen on 127.0.0.1, or write auth: {open: true} if anybody may use it"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_many(void **state) {
    (void)state;
    size_t room = 2 << 20, length = 0;
    char *text = malloc(room), said[1000];
    assert_non_null(text);
    length += (size_t)snprintf(text, room, "destinations:\n");
    for (int i = 0; i < SERVE_DESTINATIONS; i++)
        length += (size_t)snprintf(text + length, room - length,
                                   "  - {name: d%d, url: \"https://receiver-%d.example/a/rather/"
                                   "long/path/for/hooks/of/%d\", attempts: 7}\n",
                                   i, i, i);
    assert_true(length > READER_LONGEST);
    struct serve_config *config = read_fine(text);
    assert_int_equal(config->destination_count, SERVE_DESTINATIONS);
    assert_string_equal(config->destinations[SERVE_DESTINATIONS - 1].name, "d9999");
    serve_config_clean_up(config);
    size_t before = length;
    snprintf(text + length, room - length, "  - {name: e, url: http://e/}\n");
    assert_int_equal(read_text(text, config, said), LULL_EINVAL);
    assert_string_equal(said,
                        "lull.yaml:2: destinations: has 10001 entries; at most 10000 are allowed");
    /* The last one again, by the first one's name. */
    text[before] = '\0';
    char *last = strstr(text, "{name: d9999,");
    assert_non_null(last);
    memcpy(last, "{name: d7   ,", 13);
    assert_int_equal(read_text(text, config, said), LULL_EINVAL);
    assert_string_equal(said, "lull.yaml:10001: destinations[9999].name: d7 is the name of the "
                              "destination in line 9 already");
    free(text);
}

static void test_file(void **state) {
    (void)state;
    static char blanks[READER_LONGEST];
    struct serve_config config;
    struct reader_error error;
    char path[] = "/tmp/lull-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, "workers: 3\n", 11), 11);
    memset(blanks, ' ', sizeof blanks);
    assert_int_equal(write(file, blanks, sizeof blanks), sizeof blanks);
    assert_int_equal(serve_config_read(path, &config, &error), LULL_OK);
    assert_int_equal(config.workers, 3);
    assert_string_equal(config.listen, SERVE_LISTEN);
    assert_int_equal(ftruncate(file, SERVE_FILE_LONGEST + 1), 0);
    assert_int_equal(serve_config_read(path, &config, &error), LULL_EINVAL);
    assert_string_equal(error.message, "is longer than 8192 KiB, too long for a file of settings");
    close(file);
    unlink(path);
    assert_int_equal(serve_config_read(path, &config, &error), LULL_ESYSTEM);
    assert_string_equal(error.message, "cannot be opened: No such file or directory");
    assert_string_equal(error.file, path);
}

/* ---- etc/lull.yaml ---- */

/* As seen from where tests are run and compiled. */
static char *read_document(const char *document) {
    char path[1000];
    const char *name = strstr(__FILE__, "tests/unit/config/");
    assert_non_null(name);
    snprintf(path, sizeof path, "%.*s%s", (int)(name - __FILE__), __FILE__, document);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s cannot be opened", path);
    char *text = calloc(1, 100000);
    assert_non_null(text);
    assert_true(fread(text, 1, 99999, file) > 0);
    fclose(file);
    return text;
}

/* All settings that have a default are written with it. */
static void test_sample(void **state) {
    (void)state;
    char *text = read_document("etc/lull.yaml");
    struct serve_config defaults, *config = read_fine(text);
    struct reader_error error;
    struct named_policy *policies = config->policies;
    assert_int_equal(serve_config_read(NULL, &defaults, &error), LULL_OK);
    assert_int_equal(config->policy_count, 1);
    config->policies = NULL;
    config->policy_count = 0;
    assert_memory_equal(config, &defaults, sizeof defaults);
    const struct lull_guard_config *guard = &policies[0].guard;
    struct lull_guard_config expected = *lull_preset(DESTINATION_POLICY);
    expected.retry.retry_after_cap = LULL_RETRY_AFTER_CAP;
    expected.retry.attempt_timeout = DESTINATION_TIMEOUT;
    expected.connect_timeout = DESTINATION_CONNECT_TIMEOUT;
    expected.bulkhead.limit = DESTINATION_CONCURRENCY;
    expected.without = LULL_WITHOUT_BUCKET;
    expected.budget = (struct lull_budget_config){.ratio = LULL_BUDGET_RATIO,
                                                  .window = LULL_BUDGET_WINDOW,
                                                  .cap_seconds = LULL_BUDGET_CAP_SECONDS,
                                                  .floor = LULL_BUDGET_FLOOR};
    expected.breaker = (struct lull_breaker_config){.window = LULL_BREAKER_WINDOW,
                                                    .slices = LULL_BREAKER_SLICES,
                                                    .calls = LULL_BREAKER_CALLS,
                                                    .minimum_calls = LULL_BREAKER_MINIMUM_CALLS,
                                                    .failure_rate = LULL_BREAKER_FAILURE_RATE,
                                                    .slow_rate = LULL_BREAKER_SLOW_RATE,
                                                    .slow_call = LULL_BREAKER_SLOW_CALL,
                                                    .open_time = LULL_BREAKER_OPEN_TIME,
                                                    .open_max = LULL_BREAKER_OPEN_MAX,
                                                    .open_growth = LULL_BREAKER_OPEN_GROWTH,
                                                    .open_jitter = LULL_BREAKER_OPEN_JITTER,
                                                    .probes = LULL_BREAKER_PROBES,
                                                    .lease = LULL_BREAKER_LEASE};
    assert_memory_equal(guard, &expected, sizeof expected);
    free(policies);
    free(text);
}

/* The text without the '#' of settings that have no default: "#key: value" and "#  key: value". A comment is "# Words". */
static void take_hashes(char *text) {
    char *to = text;
    bool begins = true; /* nothing but blanks so far in this line */
    for (const char *from = text; *from != '\0'; from++) {
        bool hash = begins && *from == '#' && from[1] != '\n' && (from[1] != ' ' || from[2] == ' ');
        begins = *from == '\n' || (begins && *from == ' ');
        if (!hash)
            *to++ = *from;
    }
    *to = '\0';
}

/* They are settings, too. */
static void test_sample_with_all(void **state) {
    (void)state;
    setenv("SHOP_SECRET", SECRET, 1);
    setenv("LULL_ALERT_SECRET", SECRET, 1);
    char *text = read_document("etc/lull.yaml");
    char *empty = strstr(text, "destinations: []");
    assert_non_null(empty);
    memset(empty, ' ', strlen("destinations: []"));
    char *jitter = strstr(text, "jitter: full ");
    assert_non_null(jitter);
    memcpy(jitter, "jitter: additive ", 17);
    char *rate = strstr(text, "rate: none ");
    assert_non_null(rate);
    memcpy(rate, "rate: 100/s", 11);
    take_hashes(text);
    struct serve_config *config = read_fine(text);
    assert_string_equal(config->tls.key, "/etc/lull/key.pem");
    assert_string_equal(config->alerts.url, "https://ops.example/lull");
    assert_int_equal(config->alerts.events, 15);
    assert_int_equal(config->policies[0].guard.retry.backoff.tier_count, 3);
    assert_true(config->policies[0].guard.retry.backoff.jitter_factor ==
                LULL_BACKOFF_JITTER_FACTOR);
    assert_int_equal(config->policies[0].guard.bucket.capacity, 100);
    assert_int_equal(config->destination_count, 1);
    assert_int_equal(config->destinations[0].guard.retry.attempts, 8);
    assert_string_equal(config->destinations[0].headers[0].value, "payments");
    assert_string_equal(config->destinations[0].secret, SECRET);
    serve_config_clean_up(config);
    free(text);
}

/* The key is there as "key:", `key` or `map.key`. */
static bool tells(const char *text, const char *key) {
    for (const char *at = text; (at = strstr(at, key)) != NULL; at++) {
        char before = at > text ? at[-1] : ' ', after = at[strlen(key)];
        if (strchr(" \n`.#{", before) != NULL && (after == ':' || after == '`'))
            return true;
    }
    return false;
}

/* Whatever can be written is in the documents. */
static void assert_told(const struct schema *schema, const char *document, const char *text) {
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        const struct schema *inner =
            field->kind == FIELD_HEAP_LIST ? field->entry->schema : field->schema;
        if (field->kind != FIELD_INCLUDE && !tells(text, field->key))
            fail_msg("%s does not have %s", document, field->key);
        if (inner != NULL && field->kind != FIELD_PAIRS)
            assert_told(inner, document, text);
    }
}

static void test_documents(void **state) {
    (void)state;
    static const char *const documents[] = {"etc/lull.yaml", "docs/configuration.md"};
    for (size_t i = 0; i < COUNT(documents); i++) {
        char *text = read_document(documents[i]);
        assert_told(&serve_schema, documents[i], text);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_every_key),
        cmocka_unit_test(test_json_under_config),
        cmocka_unit_test(test_wrong),
        cmocka_unit_test(test_wrong_lists),
        cmocka_unit_test(test_auth),
        cmocka_unit_test(test_auth_again),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_sample),
        cmocka_unit_test(test_documents),
        cmocka_unit_test(test_sample_with_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
