#include "api/batch.h"

#include "api/text.h"
#include "cli/utf8.h"

#include <stdio.h>
#include <string.h>

struct scanner {
    char *at, *end;
    const char *wrong; /* a sentence; `at` is where */
};

static bool fail(struct scanner *scanner, const char *wrong) {
    scanner->wrong = wrong;
    return false;
}

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

bool batch_is_empty(const char *line, size_t length) {
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    return length == 0;
}

static void skip_blanks(struct scanner *scanner) {
    while (scanner->at < scanner->end && is_blank(*scanner->at))
        scanner->at++;
}

/* The byte that comes next, after blanks; 0 at the end. */
static char peek(struct scanner *scanner) {
    skip_blanks(scanner);
    if (scanner->at == scanner->end)
        return '\0';
    return *scanner->at;
}

/* Passes this byte, if it comes next. */
static bool take(struct scanner *scanner, char byte) {
    bool is_next = peek(scanner) == byte && scanner->at < scanner->end;
    scanner->at += is_next;
    return is_next;
}

/* ---- strings ---- */

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bit of each byte that is zero, and perhaps of bytes above such a one. */
static uint64_t zero_bytes(uint64_t word) {
    return (word - EACH(0x01)) & ~word & EACH(0x80);
}

/* Passes what needs no second look: anything but quotes, backslashes, control characters and what is not ASCII. Eight at a time. */
static void skip_plain(struct scanner *scanner) {
    char *at = scanner->at, *end = scanner->end;
    uint64_t word;
    for (; end - at >= 8; at += 8) {
        memcpy(&word, at, 8);
        uint64_t control = (word - EACH(0x20)) & ~word;
        if (((word | control | zero_bytes(word ^ EACH('"')) | zero_bytes(word ^ EACH('\\'))) &
             EACH(0x80)) != 0)
            break;
    }
    while (at < end && *at >= 0x20 && *at != '"' && *at != '\\')
        at++;
    scanner->at = at;
}

static int hex_value(const char *at) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char digit = at[i];
        char letter = (char)(digit | 0x20);
        if (digit >= '0' && digit <= '9')
            value = value << 4 | (digit - '0');
        else if (letter >= 'a' && letter <= 'f')
            value = value << 4 | (letter - 'a' + 10);
        else
            return -1;
    }
    return value;
}

/* What the escape \uXXXX (and \uXXXX after it, of a pair) at `at` stands for; -1: nothing. */
static int32_t unicode_escape(const char *at, const char *end, size_t *length) {
    int first = end - at >= 6 ? hex_value(at + 2) : -1;
    *length = 6;
    if (first < 0xD800 || first > 0xDFFF)
        return first;
    *length = 12;
    int second =
        first < 0xDC00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? hex_value(at + 8) : -1;
    if (second < 0xDC00 || second > 0xDFFF)
        return -1;
    return ((first - 0xD800) << 10) + (second - 0xDC00) + 0x10000;
}

static const char *const escaped_bytes = "\"\\/bfnrt";
static const char *const escape_values = "\"\\/\b\f\n\r\t";

static bool skip_escape(struct scanner *scanner) {
    if (scanner->end - scanner->at < 2)
        return fail(scanner, "a string is not closed");
    size_t length = 2;
    char kind = scanner->at[1];
    if (kind == 'u') {
        if (unicode_escape(scanner->at, scanner->end, &length) < 0)
            return fail(scanner, "this \\u is no character");
    } else if (kind == '\0' || strchr(escaped_bytes, kind) == NULL) {
        return fail(scanner, "there is no such escape in JSON");
    }
    scanner->at += length;
    return true;
}

/* From the opening quote past the closing one. `inner` is what is between, not decoded yet. */
static bool skip_string(struct scanner *scanner, struct slice *inner, bool *has_escapes) {
    *inner = (struct slice){++scanner->at, 0};
    *has_escapes = false;
    for (;;) {
        skip_plain(scanner);
        if (scanner->at == scanner->end)
            return fail(scanner, "a string is not closed");
        unsigned char byte = (unsigned char)*scanner->at;
        if (byte == '"')
            break;
        if (byte == '\\') {
            *has_escapes = true;
            if (!skip_escape(scanner))
                return false;
        } else if (byte < 0x20) {
            return fail(scanner, "a control character in a string must be escaped");
        } else {
            size_t character = utf8_character(scanner->at, (size_t)(scanner->end - scanner->at));
            if (character == 0)
                return fail(scanner, "this is not UTF-8");
            scanner->at += character;
        }
    }
    inner->length = (size_t)(scanner->at++ - inner->text);
    return true;
}

static char *put_character(char *to, int32_t code) {
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *to++ = (char)(0xE0 | code >> 12);
        } else {
            *to++ = (char)(0xF0 | code >> 18);
            *to++ = (char)(0x80 | (code >> 12 & 0x3F));
        }
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
    }
    *to++ = (char)(0x80 | (code & 0x3F));
    return to;
}

/* In place: what an escape stands for is never longer than the escape. All of them have been checked. */
static size_t decode(char *text, size_t length) {
    const char *at = text, *end = text + length;
    char *to = text;
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
        } else if (at[1] == 'u') {
            size_t escape;
            to = put_character(to, unicode_escape(at, end, &escape));
            at += escape;
        } else {
            *to++ = escape_values[strchr(escaped_bytes, at[1]) - escaped_bytes];
            at += 2;
        }
    }
    return (size_t)(to - text);
}

static bool read_string(struct scanner *scanner, struct slice *text) {
    bool has_escapes;
    if (!skip_string(scanner, text, &has_escapes))
        return false;
    if (has_escapes)
        text->length = decode(scanner->at - 1 - text->length, text->length);
    return true;
}

/* ---- other values ---- */

static bool skip_digits(struct scanner *scanner) {
    char *start = scanner->at;
    while (scanner->at < scanner->end && *scanner->at >= '0' && *scanner->at <= '9')
        scanner->at++;
    return scanner->at > start || fail(scanner, "here must be a digit");
}

static bool next_is(const struct scanner *scanner, char one, char other) {
    return scanner->at < scanner->end && (*scanner->at == one || *scanner->at == other);
}

static bool skip_number(struct scanner *scanner) {
    if (*scanner->at == '-')
        scanner->at++;
    if (next_is(scanner, '0', '0'))
        scanner->at++;
    else if (!skip_digits(scanner))
        return false;
    if (next_is(scanner, '.', '.')) {
        scanner->at++;
        if (!skip_digits(scanner))
            return false;
    }
    if (next_is(scanner, 'e', 'E')) {
        scanner->at++;
        if (next_is(scanner, '+', '-'))
            scanner->at++;
        return skip_digits(scanner);
    }
    return true;
}

static bool skip_word(struct scanner *scanner) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i]);
        if ((size_t)(scanner->end - scanner->at) >= length &&
            memcmp(scanner->at, words[i], length) == 0) {
            scanner->at += length;
            return true;
        }
    }
    return fail(scanner, "here must be a JSON value");
}

static bool skip_scalar(struct scanner *scanner) {
    struct slice inner;
    bool has_escapes;
    char first = peek(scanner);
    if (first == '"')
        return skip_string(scanner, &inner, &has_escapes);
    return first == '-' || (first >= '0' && first <= '9') ? skip_number(scanner)
                                                          : skip_word(scanner);
}

/* The lists and objects that are open. */
struct nesting {
    uint32_t depth; /* of values, the line's own object included */
    unsigned char is_object[BATCH_DEEPEST + 1];
};

static bool skip_name(struct scanner *scanner) {
    struct slice inner;
    bool has_escapes;
    if (peek(scanner) != '"')
        return fail(scanner, "here must be a name in quotes");
    return skip_string(scanner, &inner, &has_escapes) &&
           (take(scanner, ':') || fail(scanner, "here must be a ':'"));
}

/* After a value: closes what ends here; then a ',' means that another value follows in what is still open. False also if all is closed. */
static bool close_values(struct scanner *scanner, struct nesting *nesting) {
    while (nesting->depth > 1) {
        bool is_object = nesting->is_object[nesting->depth];
        char next = peek(scanner);
        if (next == ',') {
            scanner->at++;
            return !is_object || skip_name(scanner);
        }
        if (next != (is_object ? '}' : ']'))
            return fail(scanner,
                        is_object ? "here must be a ',' or a '}'" : "here must be a ',' or a ']'");
        scanner->at++;
        nesting->depth--;
    }
    return false;
}

/* Any value. Without recursion: how deep it goes is for the sender to choose. */
static bool skip_value(struct scanner *scanner) {
    struct nesting nesting;
    nesting.depth = 1;
    for (;;) {
        char first = peek(scanner);
        if (nesting.depth >= BATCH_DEEPEST)
            return fail(scanner, "too many lists and objects within each other");
        if (first == '{' || first == '[') {
            bool is_object = first == '{';
            scanner->at++;
            nesting.is_object[++nesting.depth] = is_object;
            if (peek(scanner) != (is_object ? '}' : ']')) {
                if (is_object && !skip_name(scanner))
                    return false;
                continue; /* with its first value */
            }
        } else if (!skip_scalar(scanner)) {
            return false;
        }
        if (!close_values(scanner, &nesting))
            return scanner->wrong == NULL;
    }
}

/* ---- the line ---- */

enum member {
    MEMBER_DESTINATION,
    MEMBER_TYPE,
    MEMBER_KEY,
    MEMBER_CONTENT_TYPE,
    MEMBER_PAYLOAD,
    MEMBER_COUNT,
};

static enum member member_named(struct slice name) {
    static const char *const names[] = {"destination", "type", "key", "content_type", "payload"};
    for (int i = 0; i < MEMBER_COUNT; i++)
        if (strlen(names[i]) == name.length && memcmp(names[i], name.text, name.length) == 0)
            return (enum member)i;
    return MEMBER_COUNT;
}

static bool read_payload(struct scanner *scanner, struct batch_line *parsed) {
    parsed->is_text = peek(scanner) == '"';
    if (parsed->is_text)
        return read_string(scanner, &parsed->payload);
    const char *start = scanner->at;
    if (!skip_value(scanner))
        return false;
    parsed->payload = (struct slice){start, (size_t)(scanner->at - start)};
    return true;
}

static bool read_text(struct scanner *scanner, struct slice *text) {
    char first = peek(scanner);
    if (first == '"')
        return read_string(scanner, text);
    /* Programs write null for what they do not have. */
    return first == 'n' ? skip_word(scanner) : fail(scanner, "here must be a string");
}

static bool read_member(struct scanner *scanner, struct batch_line *parsed, uint32_t *seen) {
    struct slice *const texts[] = {&parsed->destination, &parsed->type, &parsed->key,
                                   &parsed->content_type};
    struct slice name;
    if (peek(scanner) != '"')
        return fail(scanner, "here must be a name in quotes");
    char *start = scanner->at;
    if (!read_string(scanner, &name))
        return false;
    enum member member = member_named(name);
    if (member == MEMBER_COUNT || (*seen >> member & 1) != 0) {
        scanner->at = start;
        return fail(scanner, member == MEMBER_COUNT
                                 ? "there is no such member; there are destination, type, key, "
                                   "content_type and payload"
                                 : "this member is given twice");
    }
    *seen |= UINT32_C(1) << member;
    if (!take(scanner, ':'))
        return fail(scanner, "here must be a ':'");
    return member == MEMBER_PAYLOAD ? read_payload(scanner, parsed)
                                    : read_text(scanner, texts[member]);
}

static bool read_object(struct scanner *scanner, struct batch_line *parsed, uint32_t *seen) {
    if (!take(scanner, '{'))
        return fail(scanner, "a line must be a JSON object");
    if (!take(scanner, '}')) {
        do {
            if (!read_member(scanner, parsed, seen))
                return false;
        } while (take(scanner, ','));
        if (!take(scanner, '}'))
            return fail(scanner, "here must be a ',' or a '}'");
    }
    skip_blanks(scanner);
    return scanner->at == scanner->end || fail(scanner, "something follows the object");
}

/* What is wrong with its parts; NULL: nothing. */
static const char *wrong_part(const struct batch_line *parsed, uint32_t seen) {
    const char *wrong = NULL;
    if ((seen >> MEMBER_PAYLOAD & 1) == 0)
        return "payload is missing";
    if (parsed->destination.text == NULL && parsed->type.text == NULL)
        return "destination or type is missing";
    if (parsed->type.text != NULL && (wrong = event_wrong_type(parsed->type)) != NULL)
        return wrong;
    if (parsed->key.text != NULL && (wrong = event_wrong_key(parsed->key)) != NULL)
        return wrong;
    return parsed->content_type.text != NULL ? event_wrong_content_type(parsed->content_type)
                                             : NULL;
}

bool batch_read(char *line, size_t length, struct batch_line *parsed,
                char message[BATCH_MESSAGE_SIZE]) {
    struct scanner scanner = {.at = line, .end = line + length};
    uint32_t seen = 0;
    *parsed = (struct batch_line){0};
    if (!read_object(&scanner, parsed, &seen)) {
        snprintf(message, BATCH_MESSAGE_SIZE, "column %zu: %s", (size_t)(scanner.at - line) + 1,
                 scanner.wrong);
        return false;
    }
    const char *wrong = wrong_part(parsed, seen);
    if (wrong != NULL)
        snprintf(message, BATCH_MESSAGE_SIZE, "%s", wrong);
    return wrong == NULL;
}
