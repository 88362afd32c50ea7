#include "setting_types.h"

#include "duration.h"
#include "json.h"
#include "number.h"
#include "settings.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LARGEST_COUNT ((UINT64_C(1) << 53) - 1) /* what every reader of JSON can hold */

/* Types with a printed form of their own are JSON strings of it. */
static void write_printed(FILE *stream, const void *place,
                          void (*print)(FILE *stream, const void *place)) {
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL)
        abort();
    print(memory, place);
    if (fclose(memory) != 0)
        abort();
    print_json_string(stream, text);
    free(text);
}

static bool read_latency(void *place, const char *text, struct problem *problem) {
    return latency_parse(text, place, problem);
}

static void print_latency(FILE *stream, const void *place) {
    latency_print(stream, place);
}

static void write_latency(FILE *stream, const void *place) {
    if (((const struct latency *)place)->typical == 0)
        fputs("null", stream);
    else
        write_printed(stream, place, print_latency);
}

static bool read_share(void *place, const char *text, struct problem *problem) {
    double share = 0;
    if (!decimal_parse(text, &share) || share > 1)
        return problem_say(problem, "must be a share of 0 to 1, as in 0.3");
    *(double *)place = share;
    return true;
}

static void write_share(FILE *stream, const void *place) {
    if (*(const double *)place == SHARE_UNSET)
        fputs("null", stream);
    else
        text_decimal(stream, *(const double *)place);
}

static bool read_status(void *place, const char *text, struct problem *problem) {
    uint64_t status = 0;
    if (!number_parse(text, 599, &status) || status < 200)
        return problem_say(problem, "must be a status of 200 to 599");
    *(uint64_t *)place = status;
    return true;
}

static bool read_count(void *place, const char *text, struct problem *problem) {
    return number_parse(text, LARGEST_COUNT, place) ||
           problem_say(problem, "must be a whole number below 2^53");
}

static bool read_size(void *place, const char *text, struct problem *problem) {
    return text_parse_size(text, LARGEST_COUNT, place) ||
           problem_say(problem, "must be a size in bytes, as in 512, 64k or 1m");
}

static void write_count(FILE *stream, const void *place) {
    fprintf(stream, "%llu", (unsigned long long)*(const uint64_t *)place);
}

static void write_nonzero(FILE *stream, const void *place) {
    if (*(const uint64_t *)place == 0)
        fputs("null", stream);
    else
        write_count(stream, place);
}

static bool read_decimal(void *place, const char *text, struct problem *problem) {
    double number = 0;
    if (!decimal_parse(text, &number) || number > 1e9 || (number > 0 && number < 1e-6))
        return problem_say(problem, "must be a number, as in 0.5 or 200");
    *(double *)place = number;
    return true;
}

static void write_decimal(FILE *stream, const void *place) {
    if (*(const double *)place == 0)
        fputs("null", stream);
    else
        text_decimal(stream, *(const double *)place);
}

static bool read_duration(void *place, const char *text, struct problem *problem) {
    return duration_parse(text, place) ||
           problem_say(problem, "not a duration; write " DURATION_FORMS);
}

static void print_duration(FILE *stream, const void *place) {
    text_duration(stream, *(const lull_duration *)place);
}

static void write_duration(FILE *stream, const void *place) {
    if (*(const lull_duration *)place == 0)
        fputs("null", stream);
    else
        write_printed(stream, place, print_duration);
}

static bool read_rate(void *place, const char *text, struct problem *problem) {
    return text_parse_rate(text, place) ||
           problem_say(problem, "must be a rate, as in 100/s, 1000/m or 5/h");
}

static void print_rate(FILE *stream, const void *place) {
    text_rate(stream, place);
}

static void write_rate(FILE *stream, const void *place) {
    if (((const struct rate *)place)->count == 0)
        fputs("null", stream);
    else
        write_printed(stream, place, print_rate);
}

static bool read_outages(void *place, const char *text, struct problem *problem) {
    return outages_parse(text, place, problem);
}

static void print_outages(FILE *stream, const void *place) {
    outages_print(stream, place);
}

static void write_outages(FILE *stream, const void *place) {
    if (((const struct outages *)place)->count == 0)
        fputs("null", stream);
    else
        write_printed(stream, place, print_outages);
}

static bool read_text(void *place, const char *text, struct problem *problem) {
    if (text_has_controls(text))
        return problem_say(problem, "must not have control characters or line ends");
    return text_copy(place, FIELD_TEXT_SIZE, text) ||
           problem_say(problem, "longer than %d characters", FIELD_TEXT_SIZE - 1);
}

static void write_text(FILE *stream, const void *place) {
    if (*(const char *)place == '\0')
        fputs("null", stream);
    else
        print_json_string(stream, place);
}

static bool read_form(void *place, const char *text, struct problem *problem) {
    bool date = strcmp(text, "date") == 0;
    if (!date && strcmp(text, "seconds") != 0)
        return problem_say(problem, "must be seconds or date");
    *(enum retry_after_form *)place = date ? RETRY_AFTER_DATE : RETRY_AFTER_SECONDS;
    return true;
}

static void write_form(FILE *stream, const void *place) {
    bool date = *(const enum retry_after_form *)place == RETRY_AFTER_DATE;
    fputs(date ? "\"date\"" : "\"seconds\"", stream);
}

static bool read_body(void *place, const char *text, struct problem *problem) {
    return body_parse(text, place, problem);
}

static void write_body(FILE *stream, const void *place) {
    body_write(stream, place);
}

/* The length of the body is told by the server, or the connection could not be kept. */
static bool header_is_ours(const char *header, size_t name_length) {
    static const char *const ours[] = {"Content-Length", "Transfer-Encoding"};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (strlen(ours[i]) == name_length && strncasecmp(header, ours[i], name_length) == 0)
            return true;
    }
    return false;
}

static bool read_header(void *place, const char *text, struct problem *problem) {
    struct headers *headers = place;
    size_t name_length = strcspn(text, ": ");
    if (name_length == 0 || text[name_length] != ':' ||
        text[name_length + 1 + strspn(text + name_length + 1, " ")] == '\0')
        return problem_say(problem, "must be 'Name: value'");
    if (header_is_ours(text, name_length))
        return problem_say(problem, "this field is set by the server itself");
    if (headers->count == HEADERS_MOST)
        return problem_say(problem, "more than %d header fields", HEADERS_MOST);
    if (!read_text(headers->list[headers->count], text, problem))
        return false;
    headers->count++;
    return true;
}

static void write_headers(FILE *stream, const void *place) {
    const struct headers *headers = place;
    fputc('[', stream);
    for (size_t i = 0; i < headers->count; i++) {
        fputs(i == 0 ? "" : ",", stream);
        print_json_string(stream, headers->list[i]);
    }
    fputc(']', stream);
}

static bool read_switch(void *place, const char *text, struct problem *problem) {
    bool on = strcmp(text, "true") == 0;
    if (!on && strcmp(text, "false") != 0)
        return problem_say(problem, "must be true or false");
    *(bool *)place = on;
    return true;
}

static void write_switch(FILE *stream, const void *place) {
    fputs(*(const bool *)place ? "true" : "false", stream);
}

const struct setting_type setting_types[] = {
    [SETTING_TYPE_LATENCY] = {sizeof(struct latency), false, NULL, read_latency, write_latency},
    [SETTING_TYPE_SHARE] = {sizeof(double), false, "1", read_share, write_share},
    [SETTING_TYPE_STATUS] = {sizeof(uint64_t), false, NULL, read_status, write_nonzero},
    [SETTING_TYPE_COUNT] = {sizeof(uint64_t), false, NULL, read_count, write_count},
    [SETTING_TYPE_SIZE] = {sizeof(uint64_t), false, NULL, read_size, write_nonzero},
    [SETTING_TYPE_DECIMAL] = {sizeof(double), false, NULL, read_decimal, write_decimal},
    [SETTING_TYPE_DURATION] = {sizeof(lull_duration), false, NULL, read_duration, write_duration},
    [SETTING_TYPE_RATE] = {sizeof(struct rate), false, NULL, read_rate, write_rate},
    [SETTING_TYPE_OUTAGES] = {sizeof(struct outages), true, NULL, read_outages, write_outages},
    [SETTING_TYPE_TEXT] = {FIELD_TEXT_SIZE, false, NULL, read_text, write_text},
    [SETTING_TYPE_FORM] = {sizeof(enum retry_after_form), false, NULL, read_form, write_form},
    [SETTING_TYPE_BODY] = {sizeof(struct body), false, NULL, read_body, write_body},
    [SETTING_TYPE_HEADERS] = {sizeof(struct headers), true, NULL, read_header, write_headers},
    [SETTING_TYPE_SWITCH] = {sizeof(bool), false, "true", read_switch, write_switch},
};
