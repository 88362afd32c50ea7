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
    const void *context;
    struct block *blocks; /* of lists on the heap, to be freed if reading fails */
    bool out_of_memory;
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

int reader_line(struct reader *reader, const char *key) {
    return document_line(document_walk(&reader->document, reader->node, key));
}

const void *reader_context(const struct reader *reader) {
    return reader->context;
}

/* ---- memory ---- */

/* Remembers what was allocated. */
struct block {
    struct block *next;
    void *memory;
};

static void *allocate(struct reader *reader, size_t count, size_t size) {
    struct block *block = malloc(sizeof *block);
    void *memory = calloc(count, size);
    if (block == NULL || memory == NULL) {
        free(block);
        free(memory);
        reader->out_of_memory = true;
        return NULL;
    }
    *block = (struct block){reader->blocks, memory};
    reader->blocks = block;
    return memory;
}

/* Done with remembering; after an error with what was remembered, too. */
static void forget_blocks(struct reader *reader, bool failed) {
    while (reader->blocks != NULL) {
        struct block *block = reader->blocks;
        reader->blocks = block->next;
        if (failed)
            free(block->memory);
        free(block);
    }
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
    if (field->kind == FIELD_LOOKUP)
        return field->look_up(reader, text, member);
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

static bool check_length(struct reader *reader, const struct field *field, size_t length,
                         size_t most) {
    if (length > most)
        return reader_wrong(reader, "", "has %zu entries; at most %zu are allowed", length, most);
    if (length < (size_t)field->lowest)
        return reader_wrong(reader, "", "has too few entries; at least %lld must be there",
                            (long long)field->lowest);
    return true;
}

static size_t list_length(const yaml_node_t *list) {
    return (size_t)(list->data.sequence.items.top - list->data.sequence.items.start);
}

static bool read_entries(struct reader *reader, const struct field *field, char *entries) {
    const yaml_node_t *list = reader->node;
    for (size_t i = 0; i < list_length(list); i++) {
        struct step back = enter_entry(reader, &list->data.sequence.items.start[i], i);
        char *entry = entries + i * field->entry->size;
        if (field->entry->kind == FIELD_MAP ? !read_map(reader, field->entry->schema, entry)
                                            : !read_scalar(reader, field->entry, entry))
            return false;
        leave(reader, back);
    }
    return true;
}

static bool read_list(struct reader *reader, const struct field *field, char *entries,
                      uint32_t *count) {
    const yaml_node_t *list = reader->node;
    if (list->type != YAML_SEQUENCE_NODE)
        return wrong_type(reader, field);
    if (!check_length(reader, field, list_length(list), field->size / field->entry->size) ||
        !read_entries(reader, field, entries))
        return false;
    *count = (uint32_t)list_length(list);
    return true;
}

static bool read_heap_list(struct reader *reader, const struct field *field, void **entries,
                           uint32_t *count) {
    const yaml_node_t *list = reader->node;
    if (list->type != YAML_SEQUENCE_NODE)
        return wrong_type(reader, field);
    size_t length = list_length(list);
    if (!check_length(reader, field, length, (size_t)field->highest))
        return false;
    if (length == 0)
        return true;
    *entries = allocate(reader, length, field->entry->size);
    if (*entries == NULL)
        return reader_wrong(reader, "", "there is not enough memory to read it");
    *count = (uint32_t)length; /* for the checks of entries: there are that many, zero at first */
    return read_entries(reader, field, *entries);
}

/* ---- maps ---- */

static const struct field *find_field(const struct schema *schema, const yaml_node_t *key) {
    const char *text = (const char *)key->data.scalar.value;
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i], *found = NULL;
        if (field->kind == FIELD_INCLUDE)
            found = find_field(field->schema, key);
        else if (strlen(field->key) == key->data.scalar.length && strcmp(field->key, text) == 0)
            found = field;
        if (found != NULL)
            return found;
    }
    return NULL;
}

static void offer_keys(const struct schema *schema, struct names *names) {
    for (size_t i = 0; i < schema->field_count; i++) {
        if (schema->fields[i].kind == FIELD_INCLUDE)
            offer_keys(schema->fields[i].schema, names);
        else
            names_offer(names, schema->fields[i].key);
    }
}

static bool unknown_key(struct reader *reader, const struct schema *schema, const char *key) {
    struct names names = names_for(key);
    offer_keys(schema, &names);
    if (names.best.name != NULL)
        return reader_wrong(reader, "", "there is no such key; did you mean %s?", names.best.name);
    return reader_wrong(reader, "", "there is no such key; there %s %s",
                        names.count == 1 ? "is" : "are", names.list);
}

/* Each key is a word, is known (`schema` NULL: any is) and there once. */
static bool check_key(struct reader *reader, const struct schema *schema, yaml_node_t *key) {
    yaml_node_t *map = reader->node, *first;
    if (key->type != YAML_SCALAR_NODE) {
        reader->node = key;
        return reader_wrong(reader, "", "has %s for a key; a key is a word", type_name(key));
    }
    const char *text = (const char *)key->data.scalar.value;
    char tamed[QUOTE_SIZE]; /* it may be anything yet */
    struct step back = enter(reader, key, tame(text, tamed));
    if (schema != NULL && find_field(schema, key) == NULL)
        return unknown_key(reader, schema, text);
    document_find(&reader->document, map, text, key->data.scalar.length, &first);
    if (first != key)
        return reader_wrong(reader, "", "is given twice, first in line %d", document_line(first));
    leave(reader, back);
    return true;
}

static bool check_keys(struct reader *reader, const struct schema *schema) {
    const yaml_node_t *map = reader->node;
    for (const yaml_node_pair_t *pair = map->data.mapping.pairs.start;
         pair < map->data.mapping.pairs.top; pair++)
        if (!check_key(reader, schema, yaml_document_get_node(&reader->document, pair->key)))
            return false;
    return true;
}

/* One key that is free, and its value. */
static bool read_pair(struct reader *reader, const struct schema *schema,
                      const yaml_node_pair_t *pair, char *object) {
    const struct field *name = &schema->fields[0], *value = &schema->fields[1];
    yaml_node_t *key = yaml_document_get_node(&reader->document, pair->key);
    char tamed[QUOTE_SIZE];
    struct step back = enter(reader, key, tame((const char *)key->data.scalar.value, tamed));
    if (!read_scalar(reader, name, object + name->offset))
        return false;
    reader->node = yaml_document_get_node(&reader->document, pair->value);
    if (!read_scalar(reader, value, object + value->offset) ||
        (schema->check != NULL && !schema->check(reader, object)))
        return false;
    leave(reader, back);
    return true;
}

static bool read_pairs(struct reader *reader, const struct field *field, char *entries,
                       uint32_t *count) {
    const yaml_node_t *map = reader->node;
    if (map->type != YAML_MAPPING_NODE)
        return wrong_type(reader, field);
    const yaml_node_pair_t *pairs = map->data.mapping.pairs.start;
    size_t length = (size_t)(map->data.mapping.pairs.top - pairs);
    if (!check_length(reader, field, length, field->size / field->schema->size) ||
        !check_keys(reader, NULL))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!read_pair(reader, field->schema, &pairs[i], entries + i * field->schema->size))
            return false;
    *count = (uint32_t)length;
    return true;
}

/* A map, or the word "none" in its place. */
static bool read_map_or_none(struct reader *reader, const struct field *field, void *member,
                             uint32_t *set) {
    const yaml_node_t *node = reader->node;
    if (node->type == YAML_SCALAR_NODE && strcmp((char *)node->data.scalar.value, "none") == 0) {
        *set |= field->bit;
        return true;
    }
    if (node->type != YAML_MAPPING_NODE)
        return reader_wrong(reader, "", "must be a map of keys, or none");
    *set &= ~field->bit;
    return read_map(reader, field->schema, member);
}

static bool read_value(struct reader *reader, const struct field *field, char *object) {
    void *member = object + field->offset;
    switch (field->kind) {
    case FIELD_MAP:
        if (field->none)
            return read_map_or_none(reader, field, member, (void *)(object + field->count));
        return read_map(reader, field->schema, member);
    case FIELD_LIST:
        return read_list(reader, field, member, (void *)(object + field->count));
    case FIELD_HEAP_LIST:
        return read_heap_list(reader, field, member, (void *)(object + field->count));
    case FIELD_PAIRS:
        return read_pairs(reader, field, member, (void *)(object + field->count));
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

static bool read_fields(struct reader *reader, const struct schema *schema, char *object) {
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        if (field->kind == FIELD_INCLUDE
                ? !read_fields(reader, field->schema, object + field->offset)
                : !read_member(reader, field, object))
            return false;
    }
    return true;
}

static bool read_map(struct reader *reader, const struct schema *schema, void *object) {
    if (reader->node->type != YAML_MAPPING_NODE)
        return wrong_type(reader, &(struct field){.kind = FIELD_MAP});
    if (!check_keys(reader, schema))
        return false;
    if (schema->prepare != NULL)
        schema->prepare(object);
    return read_fields(reader, schema, object) &&
           (schema->check == NULL || schema->check(reader, object));
}

/* NOLINTEND(misc-no-recursion) */

/* ---- the front doors ---- */

static size_t longest_of(const struct reading *how) {
    return how->longest != 0 ? how->longest : READER_LONGEST;
}

int reader_read_text_as(const struct reading *how, const char *file, const char *text,
                        size_t length, const struct schema *schema, void *object,
                        struct reader_error *error) {
    struct reader reader = {.error = error, .context = how->context};
    *error = (struct reader_error){.file = file};
    memset(object, 0, schema->size);
    if (length > longest_of(how)) {
        snprintf(error->message, sizeof error->message,
                 "is longer than %zu KiB, too long for a file of settings", longest_of(how) / 1024);
        return LULL_EINVAL;
    }
    int result = document_open(&reader.document, text, length, error);
    if (result != LULL_OK)
        return result;
    reader.node = yaml_document_get_root_node(&reader.document);
    if (!read_map(&reader, schema, object)) {
        memset(object, 0, schema->size);
        result = reader.out_of_memory ? LULL_ENOMEM : LULL_EINVAL;
    }
    forget_blocks(&reader, result != LULL_OK);
    yaml_document_delete(&reader.document);
    return result;
}

int reader_read_text(const char *file, const char *text, size_t length, const struct schema *schema,
                     void *object, struct reader_error *error) {
    return reader_read_text_as(&(struct reading){0}, file, text, length, schema, object, error);
}

static int cannot(struct reader_error *error, const char *what) {
    snprintf(error->message, sizeof error->message, "cannot be %s: %s", what, strerror(errno));
    return LULL_ESYSTEM;
}

int reader_read_file_as(const struct reading *how, const char *file, const struct schema *schema,
                        void *object, struct reader_error *error) {
    *error = (struct reader_error){.file = file};
    memset(object, 0, schema->size);
    FILE *stream = fopen(file, "rbe");
    if (stream == NULL)
        return cannot(error, "opened");
    int result;
    size_t room = longest_of(how) + 1; /* one more than allowed, to see that it is too long */
    char *text = malloc(room);
    if (text == NULL) {
        snprintf(error->message, sizeof error->message, "there is not enough memory to read it");
        result = LULL_ENOMEM;
    } else {
        size_t length = fread(text, 1, room, stream);
        result = ferror(stream)
                     ? cannot(error, "read")
                     : reader_read_text_as(how, file, text, length, schema, object, error);
    }
    free(text);
    fclose(stream);
    return result;
}

int reader_read_file(const char *file, const struct schema *schema, void *object,
                     struct reader_error *error) {
    return reader_read_file_as(&(struct reading){0}, file, schema, object, error);
}
