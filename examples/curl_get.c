/* One HTTP GET under a guard, with libcurl.
 *
 *   curl_get URL        the body goes to stdout, what happened on the way to stderr
 *   cc curl_get.c $(pkg-config --cflags --libs lull libcurl) && ./a.out https://example.org/
 *
 * Try it against a server that is down, slow, or answers 503 with Retry-After.
 */
#include <curl/curl.h>
#include <lull.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct fetch {
    const char *url;
    CURL *curl;
    char *body; /* of the last attempt; NULL if there is none */
    size_t length;
};

/* For the server (and any lull on the way): which attempt this is, and how much time is left. */
static struct curl_slist *make_headers(const struct lull_attempt *attempt) {
    char line[64];
    snprintf(line, sizeof line, "Lull-Attempt: %u", (unsigned)attempt->number);
    struct curl_slist *headers = curl_slist_append(NULL, line);
    if (headers == NULL || attempt->deadline == LULL_NEVER)
        return headers;
    lull_duration left = attempt->deadline - lull_clock();
    snprintf(line, sizeof line, "Lull-Deadline-Ms: %lld", (long long)(left / LULL_MILLISECOND));
    struct curl_slist *longer = curl_slist_append(headers, line);
    if (longer == NULL)
        curl_slist_free_all(headers);
    return longer;
}

/* libcurl counts in milliseconds, and 0 means no limit: so never round down to that. */
static long milliseconds(lull_duration timeout) {
    if (timeout == LULL_NEVER)
        return 0;
    return timeout < LULL_MILLISECOND ? 1 : (long)(timeout / LULL_MILLISECOND);
}

/* What does the end of this transfer mean for a retry? */
static struct lull_outcome classify(CURL *curl, CURLcode code) {
    if (code != CURLE_OK) /* no answer: refused, timed out, bad certificate, … */
        return (struct lull_outcome){
            .class_ = lull_classify(LULL_CODE_CURL, (int)code, NULL, 0),
            .code = (int)code,
        };
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    struct curl_header *field = NULL;
    const char *retry_after = NULL;
    if (curl_easy_header(curl, "Retry-After", 0, CURLH_HEADER, -1, &field) == CURLHE_OK)
        retry_after = field->value;
    return lull_outcome_http((int)status, retry_after,
                             retry_after != NULL ? strlen(retry_after) : 0, time(NULL), NULL, 0);
}

/* One attempt. lull_run calls it, as often as the guard allows. */
static struct lull_outcome get(void *arg, const struct lull_attempt *attempt) {
    struct fetch *fetch = arg;
    struct lull_outcome no_memory = {.class_ = LULL_PERMANENT, .code = CURLE_OUT_OF_MEMORY};
    free(fetch->body); /* a failed attempt's body is not the answer */
    fetch->body = NULL;
    struct curl_slist *headers = make_headers(attempt);
    if (headers == NULL)
        return no_memory;
    FILE *body = open_memstream(&fetch->body, &fetch->length);
    if (body == NULL) {
        curl_slist_free_all(headers);
        return no_memory;
    }
    curl_easy_setopt(fetch->curl, CURLOPT_URL, fetch->url);
    curl_easy_setopt(fetch->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(fetch->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(fetch->curl, CURLOPT_TIMEOUT_MS, milliseconds(attempt->timeout));
    curl_easy_setopt(fetch->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(fetch->curl, CURLOPT_WRITEDATA, body);
    CURLcode code = curl_easy_perform(fetch->curl);
    struct lull_outcome outcome = classify(fetch->curl, code);
    curl_easy_setopt(fetch->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(headers);
    return fclose(body) == 0 ? outcome : no_memory;
}

static void tell(void *arg, const struct lull_attempt *attempt, struct lull_outcome outcome,
                 struct lull_verdict verdict) {
    (void)arg;
    fprintf(stderr, "attempt %u: %s (%d): %s", (unsigned)attempt->number,
            lull_class_name(outcome.class_), outcome.code, lull_reason_text(verdict.reason));
    if (verdict.decision == LULL_RETRY)
        fprintf(stderr, ", next in %.3f s", (double)(verdict.at - lull_clock()) / LULL_SECOND);
    fputc('\n', stderr);
}

static int fetch_and_print(struct lull_guard *guard, struct fetch *fetch) {
    struct lull_run_options options = {
        .call = {.idempotent = true}, /* a GET that broke off half-way may be sent again */
        .on_attempt = tell,
    };
    struct lull_run_result result;
    int error = lull_run(guard, get, fetch, &options, &result);
    if (error != LULL_OK) {
        fprintf(stderr, "%s after %u attempts: %s says: %s\n", lull_strerror(error),
                (unsigned)result.attempts, lull_policy_name(result.verdict.policy),
                lull_reason_text(result.verdict.reason));
        return EXIT_FAILURE;
    }
    return fwrite(fetch->body, 1, fetch->length, stdout) == fetch->length ? EXIT_SUCCESS
                                                                          : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s URL\n", argv[0]);
        return 2;
    }
    /* In a real program all calls to the same destination share the guard, and it outlives them. */
    struct lull_guard guard;
    struct lull_error error;
    if (lull_guard_init(&guard, lull_preset("interactive"), &error) != LULL_OK) {
        fprintf(stderr, "%s\n", error.message);
        return EXIT_FAILURE;
    }
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return EXIT_FAILURE;
    struct fetch fetch = {.url = argv[1], .curl = curl_easy_init()};
    int status = fetch.curl != NULL ? fetch_and_print(&guard, &fetch) : EXIT_FAILURE;
    free(fetch.body);
    curl_easy_cleanup(fetch.curl);
    curl_global_cleanup();
    return status;
}
