#include "client_request.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONTENT_TYPE "application/octet-stream" /* where none was given */

/* ---- fields of others ---- */

struct line {
    const char *text; /* "name: value", not terminated */
    size_t length, name_length;
    bool empty; /* no value */
};

/* Ours alone, or about the connection: a Content-Length of somebody else's would make two requests of one. */
static const char *const reserved[] = {"webhook-*",        "content-length", "transfer-encoding",
                                       "connection",       "keep-alive",     "expect",
                                       "proxy-connection", "upgrade",        "te",
                                       "trailer",          "http2-settings", "proxy-*"};
/* Beside those, what a message must not set. */
static const char *const of_the_target[] = {"host", "user-agent", "content-type", "idempotency-key",
                                            "lull-*"};

static bool name_is(const struct line *line, const char *name) {
    size_t length = strlen(name);
    if (name[length - 1] == '*')
        return line->name_length >= length - 1 && strncasecmp(line->text, name, length - 1) == 0;
    return line->name_length == length && strncasecmp(line->text, name, length) == 0;
}

static bool name_among(const struct line *line, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (name_is(line, names[i]))
            return true;
    return false;
}
#define AMONG(line, names) name_among((line), (names), sizeof(names) / sizeof((names)[0]))

static bool value_is_safe(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)text[i] < 0x20 && text[i] != '\t') || text[i] == 0x7f)
            return false;
    return true;
}

static bool name_is_safe(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f ||
            strchr("()<>@,;:\\\"/[]?={}", text[i]) != NULL)
            return false;
    return length > 0;
}

/* The next field of "name: value\n…" that may be sent. False: there are no more. */
static bool next_line(const char **text, const char *end, struct line *line) {
    while (*text < end) {
        const char *newline = memchr(*text, '\n', (size_t)(end - *text));
        const char *line_end = newline != NULL ? newline : end;
        *line = (struct line){.text = *text, .length = (size_t)(line_end - *text)};
        *text = newline != NULL ? newline + 1 : end;
        const char *colon = memchr(line->text, ':', line->length);
        if (colon == NULL)
            continue;
        line->name_length = (size_t)(colon - line->text);
        const char *value = colon + 1;
        while (value < line_end && (*value == ' ' || *value == '\t'))
            value++;
        line->empty = value == line_end;
        if (name_is_safe(line->text, line->name_length) &&
            value_is_safe(value, (size_t)(line_end - value)) && !AMONG(line, reserved))
            return true;
    }
    return false;
}

/* ---- the target's part ---- */

static void prepared_destroy(void *data) {
    struct prepared *prepared = data;
    for (unsigned i = 0; i < TARGET_SECRETS; i++)
        signer_destroy(prepared->signers[i]);
    curl_slist_free_all(prepared->fixed);
    curl_url_cleanup(prepared->url);
    free(prepared);
}

static bool prepare_url(struct prepared *prepared, const struct target *target) {
    prepared->url = curl_url();
    return prepared->url != NULL &&
           curl_url_set(prepared->url, CURLUPART_URL, target->url, 0) == CURLUE_OK;
}

static bool append(struct curl_slist **list, const char *text) {
    struct curl_slist *longer = curl_slist_append(*list, text);
    if (longer != NULL)
        *list = longer;
    return longer != NULL;
}

static uint32_t overridden_by(const struct line *line) {
    static const struct {
        const char *name;
        unsigned field;
    } rows[] = {{"content-type", FIELD_CONTENT_TYPE},
                {"user-agent", FIELD_USER_AGENT},
                {"idempotency-key", FIELD_KEY},
                {"lull-attempt", FIELD_ATTEMPT},
                {"lull-deadline-ms", FIELD_DEADLINE}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (name_is(line, rows[i].name))
            return 1U << rows[i].field;
    return 0;
}

/* "name:" without a value tells libcurl to leave out its own of that name. */
static bool prepare_fields(struct prepared *prepared, const struct target *target) {
    const char *text = target->headers, *end = text + strlen(text);
    struct line line;
    if (!append(&prepared->fixed, "Expect:")) /* a round trip for nothing */
        return false;
    while (next_line(&text, end, &line)) {
        char *copy = strndup(line.text, line.empty ? line.name_length + 1 : line.length);
        bool appended = copy != NULL && append(&prepared->fixed, copy);
        free(copy);
        if (!appended)
            return false;
        prepared->overridden |= overridden_by(&line);
    }
    return true;
}

static bool prepare_signers(struct prepared *prepared, const struct target *target) {
    for (unsigned i = 0; i < TARGET_SECRETS; i++) {
        if (target->secrets[i].length == 0)
            continue;
        prepared->signers[i] = signer_new(target->secrets[i].bytes, target->secrets[i].length);
        if (prepared->signers[i] == NULL)
            return false;
    }
    return true;
}

struct prepared *prepared_of(struct target *target) {
    static atomic_uint_fast64_t serials;
    if (target->transport_data != NULL)
        return target->transport_data;
    struct prepared *prepared = calloc(1, sizeof *prepared);
    if (prepared == NULL)
        return NULL;
    prepared->serial = atomic_fetch_add(&serials, 1) + 1;
    if (!prepare_url(prepared, target) || !prepare_fields(prepared, target) ||
        !prepare_signers(prepared, target)) {
        prepared_destroy(prepared);
        return NULL;
    }
    target->transport_data = prepared;
    target->free_transport_data = prepared_destroy;
    return prepared;
}

/* ---- the request's part ---- */

static bool has_own(const struct prepared *prepared, const struct line *line) {
    for (const struct curl_slist *field = prepared->fixed; field != NULL; field = field->next)
        if (strncasecmp(field->data, line->text, line->name_length + 1) == 0)
            return true;
    return false;
}

struct further {
    struct curl_slist *nodes, **last;
    char *text;
};

static void add_further(struct further *further, const char *name, const char *text,
                        size_t length) {
    struct curl_slist *node = further->nodes++;
    node->data = further->text;
    node->next = NULL;
    further->text = stpcpy(further->text, name);
    memcpy(further->text, text, length);
    further->text[length] = '\0';
    further->text += length + 1;
    *further->last = node;
    further->last = &node->next;
}

/* The content type and what else came with the message: as long as they like, so in memory that grows. */
static bool write_further(struct request *request, const struct prepared *prepared,
                          const struct message *message, struct curl_slist **last) {
    static const char content_type[] = "Content-Type: ";
    const char *text = message->headers, *end = text + message->headers_length;
    size_t lines = 1;
    for (const char *at = text; at < end; at++)
        lines += *at == '\n';
    lines++; /* the last may lack its end */
    size_t size = lines * sizeof(struct curl_slist) + sizeof content_type + sizeof CONTENT_TYPE +
                  message->content_type_length + message->headers_length + lines;
    if (size > request->further_size) {
        char *larger = realloc(request->further, size);
        if (larger == NULL)
            return false;
        request->further = larger;
        request->further_size = size;
    }
    struct further further = {.nodes = (struct curl_slist *)(void *)request->further,
                              .last = last,
                              .text = request->further + lines * sizeof(struct curl_slist)};
    bool given = message->content_type_length > 0 &&
                 value_is_safe(message->content_type, message->content_type_length);
    if (!(prepared->overridden & 1U << FIELD_CONTENT_TYPE))
        add_further(&further, content_type, given ? message->content_type : CONTENT_TYPE,
                    given ? message->content_type_length : strlen(CONTENT_TYPE));
    struct line line;
    while (next_line(&text, end, &line))
        if (!line.empty && !AMONG(&line, of_the_target) && !has_own(prepared, &line))
            add_further(&further, "", line.text, line.length);
    *further.last = prepared->fixed;
    return true;
}

/* Each writes behind what is there, and gives its end. */

static char *add_number(char *end, uint64_t number) {
    char digits[20];
    size_t count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0)
        *end++ = digits[--count];
    *end = '\0';
    return end;
}

/* NULL: out of memory. Nothing, if nobody signs. */
static char *add_signature(char *end, struct prepared *prepared, const struct attempt *attempt,
                           const char *id, lull_time wall) {
    const struct message *message = attempt->message;
    bool first = true;
    for (unsigned i = 0; i < TARGET_SECRETS; i++) {
        if (prepared->signers[i] == NULL || attempt->target->secrets[i].until <= wall)
            continue;
        end = stpcpy(end, first ? "\r\nwebhook-signature: " : " ");
        first = false;
        if (!signer_sign(prepared->signers[i], id, wall / LULL_SECOND, message->payload,
                         message->payload_length, end))
            return NULL;
        end += SIGNATURE_SIZE - 1;
    }
    return end;
}

static bool is_ours(const struct prepared *prepared, unsigned field) {
    return !(prepared->overridden & 1U << field);
}

struct curl_slist *request_fields(struct request *request, struct prepared *prepared,
                                  const struct attempt *attempt, lull_duration timeout,
                                  lull_time wall) {
    char id[ID_TEXT_SIZE];
    id_format(ID_EVENT, attempt->message->id, id);
    char *end = stpcpy(stpcpy(request->own_text, "webhook-id: "), id);
    end = add_number(stpcpy(end, "\r\nwebhook-timestamp: "), (uint64_t)(wall / LULL_SECOND));
    end = add_signature(end, prepared, attempt, id, wall);
    if (end == NULL)
        return NULL;
    if (is_ours(prepared, FIELD_USER_AGENT))
        end = stpcpy(end, "\r\nUser-Agent: lull/" LULL_VERSION);
    if (is_ours(prepared, FIELD_KEY))
        end = stpcpy(stpcpy(end, "\r\nIdempotency-Key: "), id);
    if (is_ours(prepared, FIELD_ATTEMPT))
        end = add_number(stpcpy(end, "\r\nLull-Attempt: "), attempt->number);
    if (is_ours(prepared, FIELD_DEADLINE))
        add_number(stpcpy(end, "\r\nLull-Deadline-Ms: "), (uint64_t)(timeout / LULL_MILLISECOND));
    request->own = (struct curl_slist){.data = request->own_text};
    return write_further(request, prepared, attempt->message, &request->own.next) ? &request->own
                                                                                  : NULL;
}

void request_clean_up(struct request *request) {
    free(request->further);
}
