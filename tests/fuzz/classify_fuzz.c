/* Any code under any rules: the first rule that covers it decides, and where none does it is as if
 * there were none. */
#include "input.h"

#include <lull/classify.h>
#include <lull/retry_after.h>

#include <string.h>

#define MOST_RULES 8

/* Few numbers, so that rules and codes meet; 503 is one of them. */
static int take_code(struct input *input) {
    uint64_t byte = take(input, 1);
    return byte == 255 ? (int)(uint32_t)take(input, 4) : (int)(byte * 3) - 19;
}

static enum lull_class expected(enum lull_code_kind kind, int code, const struct lull_rule *rules,
                                size_t count) {
    for (size_t i = 0; i < count; i++)
        if (rules[i].kind == kind && code >= rules[i].first && code <= rules[i].last)
            return rules[i].class_;
    return lull_classify(kind, code, NULL, 0);
}

static void check_outcome(int status, const struct lull_rule *rules, size_t count,
                          const struct input *field) {
    const char *text = (const char *)field->at;
    int64_t wall_seconds = 784111777;
    struct lull_outcome outcome =
        lull_outcome_http(status, text, field->left, wall_seconds, rules, count);
    lull_duration wait = 0;
    bool asked = lull_retry_after_parse(text, field->left, wall_seconds, &wait) == LULL_OK;
    enum lull_class class_ = expected(LULL_CODE_HTTP, status, rules, count);
    CHECK(outcome.code == status);
    CHECK(outcome.retry_after == 0 || (asked && outcome.retry_after == wait));
    if (status == 503 && asked && class_ == LULL_TRANSIENT)
        class_ = LULL_THROTTLED;
    CHECK(outcome.class_ == class_);
    if (class_ == LULL_TRANSIENT || class_ == LULL_THROTTLED)
        CHECK(outcome.retry_after == wait);
    if (class_ == LULL_SUCCESS || class_ == LULL_PERMANENT)
        CHECK(outcome.retry_after == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    enum lull_code_kind kind = (enum lull_code_kind)(take(&input, 1) & 3);
    int code = take_code(&input);
    struct lull_rule rules[MOST_RULES];
    size_t count = take(&input, 1) % (MOST_RULES + 1);
    for (size_t i = 0; i < count; i++) {
        rules[i].kind = (enum lull_code_kind)(take(&input, 1) & 3);
        rules[i].first = take_code(&input);
        rules[i].last = take_code(&input);
        rules[i].class_ = (enum lull_class)(take(&input, 1) % LULL_CLASS_COUNT);
    }
    enum lull_class alone = lull_classify(kind, code, NULL, 0);
    CHECK(alone > LULL_UNSET && alone < LULL_CLASS_COUNT);
    CHECK(lull_classify(kind, code, rules, count) == expected(kind, code, rules, count));
    CHECK(strcmp(lull_class_name(alone), "invalid") != 0);
    if (input.at != NULL)
        check_outcome(code, rules, count, &input);
    return 0;
}
