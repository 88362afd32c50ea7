#include "reader.h"

#include "document.h"
#include "value.h"
#include "words.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    yaml_document_t document;
    yaml_node_t *node;          /* being read or checked */
    char path[READER_KEY_SIZE]; /* of that node */
    struct reader_error *error;
};

/* ---- errors ---- */

char *reader_error_format(const struct reader_error *error, char *text, size_t size) {
    char line[16] = "";
    if (error->line > 0)
        snprintf(line, sizeof line, ":%d", error->line);
    snprintf(text, size, "%s%s: %s%s%s", error->file, line, error->key,
             error->key[0] != '\0' ? ": " : "", error->message);
    return text;
}

/* "services[1]" and "calls" make "services[1].calls"; "services" and "[1]" make "services[1]".
 * Cut, if it is too long. */
static void join(char path[READER_KEY_SIZE], const char *key) {
    size_t length = strlen(path);
    bool dot = length > 0 && key[0] != '\0' && key[0] != '[';
    snprintf(path + length, READER_KEY_SIZE - length, "%s%s", dot ? "." : "", key);
}

bool reader_wrong(struct reader *reader, const char *key, const char *format, ...) {
    struct reader_error *error = reader->error;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    error->line = document_line(document_walk(&reader->document, reader->node, key));
    snprintf(error->key, sizeof error->key, "%s", reader->path);
    join(error->key, key);
    return false;
}

bool reader_given(const struct reader *reader, const char *key) {
    struct reader *looked = (struct reader *)reader; /* libyaml asks for it; nothing is changed */
    return document_find(&looked->document, reader->node, key, strlen(key), NULL) != NULL;
}

/* ---- stepping into the tree and back ---- */

struct step {
    yaml_node_t *node;
    size_t path_length;
};

static struct step enter(struct reader *reader, yaml_node_t *node, const char *key) {
    struct step back = {reader->node, strlen(reader->path)};
    reader->node = node;
    join(reader->path, key);
    return back;
}

static void leave(struct reader *reader, struct step back) {
    reader->node = back.node;
    reader->path[back.path_length] = '\0';
}

static struct step enter_entry(struct reader *reader, const yaml_node_item_t *item, size_t index) {
    char key[24];
    snprintf(key, sizeof key, "[%zu]", index);
    return enter(reader, yaml_document_get_node(&reader->document, *item), key);
}

/* ---- reading ---- */

/* As deep as the schema, which is a constant. NOLINTBEGIN(misc-no-recursion) */

static bool read_map(struct reader *reader, const struct schema *schema, void *object);

static const char *type_name(const yaml_node_t *node) {
    return node->type == YAML_SCALAR_NODE     ? "a single value"
           : node->type == YAML_SEQUENCE_NODE ? "a list"
                                              : "a map of keys";
}

/* The node is not of the type that the field needs. */
static bool wrong_type(struct reader *reader, const struct field *field) {
    const char *advice = value_advice(field->kind);
    if (document_is_null(reader->node))
        return reader_wrong(reader, "", "has no value; it must be %s", value_noun(field->kind));
    return reader_wrong(reader, "", "must be %s, not %s%s%s", value_noun(field->kind),
                        type_name(reader->node), advice[0] != '\0' ? "; " : "", advice);
}

static bool read_scalar(struct reader *reader, const struct field *field, void *member) {
    const yaml_node_t *node = reader->node;
    if (node->type != YAML_SCALAR_NODE || document_is_null(node))
        return wrong_type(reader, field);
    const char *text = (const char *)node->data.scalar.value;
    if (strlen(text) != node->data.scalar.length)
        return reader_wrong(reader, "", "has a control character in it; remove it");
    char message[READER_MESSAGE_SIZE];
    if (!value_read(field, text, member, message, sizeof message))
        return reader_wrong(reader, "", "%s", message);
    return true;
}

static bool read_set(struct reader *reader, const struct field *field, uint32_t *set) {
    const yaml_node_t *list = reader->node;
    const struct field choice = {
        .kind = FIELD_CHOICE, .size = sizeof(uint32_t), .choices = field->choices};
    if (list->type != YAML_SEQUENCE_NODE)
        return wrong_type(reader, field);
    for (yaml_node_item_t *item = list->data.sequence.items.start;
         item < list->data.sequence.items.top; item++) {
        uint32_t value = 0;
        struct step back =
            enter_entry(reader, item, (size_t)(item - list->data.sequence.items.start));
        if (!read_scalar(reader, &choice, &value))
            return false;
        if ((*set & value) != 0)
            return reader_wrong(reader, "", "is named twice");
        *set |= value;
        leave(reader, back);
    }
    return true;
}

static bool read_list(struct reader *reader, const struct field *field, char *entries,
                      uint32_t *count) {
    const yaml_node_t *list = reader->node;
    if (list->type != YAML_SEQUENCE_NODE)
        return wrong_type(reader, field);
    size_t length = (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
    size_t most = field->size / field->entry->size;
    if (length > most)
        return reader_wrong(reader, "", "has %zu entries; at most %zu are allowed", length, most);
    if (length < (size_t)field->lowest)
        return reader_wrong(reader, "", "has too few entries; at least %lld must be there",
                            (long long)field->lowest);
    for (size_t i = 0; i < length; i++) {
        struct step back = enter_entry(reader, &list->data.sequence.items.start[i], i);
        char *entry = entries + i * field->entry->size;
        if (field->entry->kind == FIELD_MAP ? !read_map(reader, field->entry->schema, entry)
                                            : !read_scalar(reader, field->entry, entry))
            return false;
        leave(reader, back);
    }
    *count = (uint32_t)length;
    return true;
}

/* ---- maps ---- */

static const struct field *find_field(const struct schema *schema, const yaml_node_t *key) {
    const char *text = (const char *)key->data.scalar.value;
    for (size_t i = 0; i < schema->field_count; i++)
        if (strlen(schema->fields[i].key) == key->data.scalar.length &&
            strcmp(schema->fields[i].key, text) == 0)
            return &schema->fields[i];
    return NULL;
}

static bool unknown_key(struct reader *reader, const struct schema *schema, const char *key) {
    struct names names = names_for(key);
    for (size_t i = 0; i < schema->field_count; i++)
        names_offer(&names, schema->fields[i].key);
    if (names.best.name != NULL)
        return reader_wrong(reader, "", "there is no such key; did you mean %s?", names.best.name);
    return reader_wrong(reader, "", "there is no such key; there %s %s",
                        names.count == 1 ? "is" : "are", names.list);
}

/* Each key is a known one, and there once. */
static bool check_key(struct reader *reader, const struct schema *schema, yaml_node_t *key) {
    yaml_node_t *map = reader->node, *first;
    if (key->type != YAML_SCALAR_NODE) {
        reader->node = key;
        return reader_wrong(reader, "", "has %s for a key; a key is a word", type_name(key));
    }
    const char *text = (const char *)key->data.scalar.value;
    char tamed[QUOTE_SIZE]; /* it may be anything yet */
    struct step back = enter(reader, key, tame(text, tamed));
    if (find_field(schema, key) == NULL)
        return unknown_key(reader, schema, text);
    document_find(&reader->document, map, text, key->data.scalar.length, &first);
    if (first != key)
        return reader_wrong(reader, "", "is given twice, first in line %d", document_line(first));
    leave(reader, back);
    return true;
}

static bool read_value(struct reader *reader, const struct field *field, char *object) {
    void *member = object + field->offset;
    switch (field->kind) {
    case FIELD_MAP:
        return read_map(reader, field->schema, member);
    case FIELD_LIST:
        return read_list(reader, field, member, (void *)(object + field->count));
    case FIELD_SET:
        return read_set(reader, field, member);
    default:
        return read_scalar(reader, field, member);
    }
}

static bool read_member(struct reader *reader, const struct field *field, char *object) {
    yaml_node_t *value =
        document_find(&reader->document, reader->node, field->key, strlen(field->key), NULL);
    if (value == NULL)
        return !field->required || reader_wrong(reader, field->key, "is missing");
    struct step back = enter(reader, value, field->key);
    if (!read_value(reader, field, object))
        return false;
    leave(reader, back);
    return true;
}

static bool read_map(struct reader *reader, const struct schema *schema, void *object) {
    const yaml_node_t *map = reader->node;
    if (map->type != YAML_MAPPING_NODE)
        return wrong_type(reader, &(struct field){.kind = FIELD_MAP});
    for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
         pair < map->data.mapping.pairs.top; pair++)
        if (!check_key(reader, schema, yaml_document_get_node(&reader->document, pair->key)))
            return false;
    if (schema->prepare != NULL)
        schema->prepare(object);
    for (size_t i = 0; i < schema->field_count; i++)
        if (!read_member(reader, &schema->fields[i], object))
            return false;
    return schema->check == NULL || schema->check(reader, object);
}

/* NOLINTEND(misc-no-recursion) */

/* ---- the front doors ---- */

int reader_read_text(const char *file, const char *text, size_t length, const struct schema *schema,
                     void *object, struct reader_error *error) {
    struct reader reader = {.error = error};
    *error = (struct reader_error){.file = file};
    memset(object, 0, schema->size);
    int result = document_open(&reader.document, text, length, error);
    if (result != LULL_OK)
        return result;
    reader.node = yaml_document_get_root_node(&reader.document);
    if (!read_map(&reader, schema, object)) {
        memset(object, 0, schema->size);
        result = LULL_EINVAL;
    }
    yaml_document_delete(&reader.document);
    return result;
}

static int cannot(struct reader_error *error, const char *what) {
    snprintf(error->message, sizeof error->message, "cannot be %s: %s", what, strerror(errno));
    return LULL_ESYSTEM;
}

int reader_read_file(const char *file, const struct schema *schema, void *object,
                     struct reader_error *error) {
    *error = (struct reader_error){.file = file};
    memset(object, 0, schema->size);
    FILE *stream = fopen(file, "rbe");
    if (stream == NULL)
        return cannot(error, "opened");
    int result;
    size_t room = READER_LONGEST + 1; /* one more than allowed, to see that it is too long */
    char *text = malloc(room);
    if (text == NULL) {
        snprintf(error->message, sizeof error->message, "there is not enough memory to read it");
        result = LULL_ENOMEM;
    } else {
        size_t length = fread(text, 1, room, stream);
        result = ferror(stream) ? cannot(error, "read")
                                : reader_read_text(file, text, length, schema, object, error);
    }
    free(text);
    fclose(stream);
    return result;
}
