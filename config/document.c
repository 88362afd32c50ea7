#include "document.h"

#include "words.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 4))) static int refuse(struct reader_error *error, size_t line,
                                                        const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    error->line = (int)line;
    return LULL_EINVAL;
}

/* ---- the first pass: is it YAML, and of the kind we read? ---- */

static int no_memory(struct reader_error *error) {
    refuse(error, 0, "there is not enough memory to read it");
    return LULL_ENOMEM;
}

static size_t line_of_byte(const char *text, size_t length, size_t offset) {
    size_t line = 1;
    for (size_t i = 0; i < offset && i < length; i++)
        line += text[i] == '\n';
    return line;
}

static int tell_problem(const yaml_parser_t *parser, const char *text, size_t length,
                        struct reader_error *error) {
    if (parser->error == YAML_MEMORY_ERROR || parser->problem == NULL) /* it does not always say */
        return no_memory(error);
    if (parser->error == YAML_READER_ERROR)
        return refuse(error, line_of_byte(text, length, parser->problem_offset),
                      "is not UTF-8 text: %s", parser->problem);
    /* What never ends is found at the end, which libyaml takes to be a line further than it is. */
    size_t last = line_of_byte(text, length, length) - (length > 0 && text[length - 1] == '\n');
    size_t line = parser->problem_mark.line < last ? parser->problem_mark.line + 1 : last;
    size_t began = parser->context_mark.line + 1;
    char where[48] = "";
    if (parser->context != NULL && began < line)
        snprintf(where, sizeof where, " that began in line %zu", began);
    return refuse(error, line, "is not YAML: %s%s%s%s", parser->problem,
                  parser->context != NULL ? " " : "",
                  parser->context != NULL ? parser->context : "", where);
}

static int check_extras(const yaml_event_t *event, const unsigned char *anchor,
                        const unsigned char *tag, struct reader_error *error) {
    if (anchor != NULL)
        return refuse(error, event->start_mark.line + 1,
                      "anchors (&%.20s) are not supported; write the value where it is needed",
                      anchor);
    char tamed[QUOTE_SIZE]; /* it may be anything: %1B in a tag is an escape character */
    if (tag != NULL)
        return refuse(error, event->start_mark.line + 1, "tags (%s) are not supported; remove it",
                      tame((const char *)tag, tamed));
    return LULL_OK;
}

/* What is known of the text so far. */
struct scan {
    unsigned depth, documents;
    bool ended;
};

static int check_event(struct scan *scan, const yaml_event_t *event, struct reader_error *error) {
    size_t line = event->start_mark.line + 1;
    switch (event->type) {
    case YAML_STREAM_END_EVENT:
        scan->ended = true;
        return LULL_OK;
    case YAML_DOCUMENT_START_EVENT:
        if (++scan->documents > 1)
            return refuse(error, line, "a second document begins here; a file holds one");
        return LULL_OK;
    case YAML_ALIAS_EVENT:
        return refuse(error, line,
                      "aliases (*%.20s) are not supported; write the value where it is needed",
                      event->data.alias.anchor);
    case YAML_SCALAR_EVENT:
        return check_extras(event, event->data.scalar.anchor, event->data.scalar.tag, error);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (++scan->depth > READER_DEEPEST)
            return refuse(error, line, "maps and lists are nested more than %d deep",
                          READER_DEEPEST);
        if (event->type == YAML_SEQUENCE_START_EVENT)
            return check_extras(event, event->data.sequence_start.anchor,
                                event->data.sequence_start.tag, error);
        return check_extras(event, event->data.mapping_start.anchor, event->data.mapping_start.tag,
                            error);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        scan->depth--;
        return LULL_OK;
    default:
        return LULL_OK;
    }
}

/* Before the tree is built, so that no alias can make it large or endless. */
static int check_events(const char *text, size_t length, struct reader_error *error) {
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return no_memory(error);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    struct scan scan = {0};
    int result = LULL_OK;
    while (result == LULL_OK && !scan.ended) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            result = tell_problem(&parser, text, length, error);
            break;
        }
        result = check_event(&scan, &event, error);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    return result;
}

/* ---- the second pass ---- */

static int build(yaml_document_t *document, const char *text, size_t length,
                 struct reader_error *error) {
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return no_memory(error);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    int result = LULL_OK;
    if (!yaml_parser_load(&parser, document))
        result = tell_problem(&parser, text, length, error);
    yaml_parser_delete(&parser);
    if (result == LULL_OK && yaml_document_get_root_node(document) == NULL) {
        yaml_document_delete(document);
        result = refuse(error, 0, "is empty");
    }
    return result;
}

/* Whether a line begins at `at`; YAML knows more ends of a line than most. */
static bool begins_line(const char *text, size_t at) {
    static const char *const ends[] = {"\n", "\r", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t length = strlen(ends[i]);
        if (at >= length && memcmp(text + at - length, ends[i], length) == 0)
            return true;
    }
    return at == 0;
}

/* A configuration needs no directives, and libyaml takes a minute for a megabyte of %TAG. */
static int check_directives(const char *text, size_t length, struct reader_error *error) {
    for (const char *at = text; (at = memchr(at, '%', length - (size_t)(at - text))) != NULL; at++)
        if (begins_line(text, (size_t)(at - text)))
            return refuse(error, line_of_byte(text, length, (size_t)(at - text)),
                          "a line must not begin with %%; directives are not supported");
    return LULL_OK;
}

int document_open(yaml_document_t *document, const char *text, size_t length,
                  struct reader_error *error) {
    int result = check_directives(text, length, error);
    if (result == LULL_OK)
        result = check_events(text, length, error);
    return result == LULL_OK ? build(document, text, length, error) : result;
}

/* ---- the tree ---- */

yaml_node_t *document_find(yaml_document_t *document, const yaml_node_t *map, const char *key,
                           size_t key_length, yaml_node_t **key_node) {
    for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
         pair < map->data.mapping.pairs.top; pair++) {
        yaml_node_t *node = yaml_document_get_node(document, pair->key);
        if (node->type != YAML_SCALAR_NODE || node->data.scalar.length != key_length ||
            memcmp(node->data.scalar.value, key, key_length) != 0)
            continue;
        if (key_node != NULL)
            *key_node = node;
        return yaml_document_get_node(document, pair->value);
    }
    return NULL;
}

yaml_node_t *document_walk(yaml_document_t *document, yaml_node_t *node, const char *path) {
    while (*path != '\0') {
        yaml_node_t *next = NULL;
        if (*path == '[') {
            char *end;
            unsigned long index = strtoul(path + 1, &end, 10);
            if (node->type == YAML_SEQUENCE_NODE &&
                index < (unsigned long)(node->data.sequence.items.top -
                                        node->data.sequence.items.start))
                next = yaml_document_get_node(document, node->data.sequence.items.start[index]);
            path = end + (*end == ']');
        } else {
            path += *path == '.';
            size_t length = strcspn(path, ".[");
            if (node->type == YAML_MAPPING_NODE)
                next = document_find(document, node, path, length, NULL);
            path += length;
        }
        if (next == NULL)
            return node;
        node = next;
    }
    return node;
}

int document_line(const yaml_node_t *node) {
    return (int)node->start_mark.line + 1;
}

bool document_is_null(const yaml_node_t *node) {
    if (node->type != YAML_SCALAR_NODE || node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    const char *text = (const char *)node->data.scalar.value;
    return *text == '\0' || strcmp(text, "~") == 0 || strcmp(text, "null") == 0;
}
