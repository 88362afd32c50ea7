/* Reads YAML into structs by table.
 *
 *   struct shop { char name[20]; lull_duration patience; double rate; };
 *
 *   static const struct field shop_fields[] = {
 *       {"name", FIELD_TEXT, PLACE(struct shop, name), .required = true},
 *       {"patience", FIELD_DURATION, PLACE(struct shop, patience), .lowest = LULL_MILLISECOND},
 *       {"rate", FIELD_RATE, PLACE(struct shop, rate), .most = 1e6},
 *   };
 *   static const struct schema shop_schema = SCHEMA(struct shop, shop_fields);
 *
 *   struct shop shop;
 *   struct reader_error error;
 *   if (reader_read_file("shop.yaml", &shop_schema, &shop, &error) != LULL_OK)
 *       puts(reader_error_format(&error, text, sizeof text));
 *
 *           shop.yaml:2: rate: "12k" is not a rate; write for example 1000/s or 100/m
 *
 * Strict: unknown and repeated keys, values of another type or out of range, keys without a
 * value, anchors, aliases, tags, directives, a second document, text that is not UTF-8 and files
 * over 1 MiB are errors. Each names the file, the line, the path of the key
 * (services[1].latency.mean), what is wrong and what would be right. The first one found is told.
 *
 * Fields are read in the order of the table, not of the file: one may lay the ground for the
 * next. A key that is not given leaves its field as it was: zero, or what `prepare` put there.
 *
 * Built on libyaml itself: libcyaml, which reads into structs too, cannot tell the line of a
 * value that is well-formed YAML but wrong.
 *
 * Nothing stays allocated but lists on the heap, which are the caller's, and nothing is kept
 * between calls; any thread may read.
 */
#ifndef CONFIG_READER_H
#define CONFIG_READER_H

#include <lull/base.h>

#define READER_LONGEST (1024 * 1024) /* bytes of a file */
#define READER_DEEPEST 32            /* maps and lists within each other */
#define READER_KEY_SIZE 160
#define READER_MESSAGE_SIZE 640

struct reader_error {
    const char *file;          /* borrowed: the name the caller gave */
    int line;                  /* from 1; 0: of no line */
    char key[READER_KEY_SIZE]; /* "services[1].latency.mean"; "": of no key */
    char message[READER_MESSAGE_SIZE];
};

/* "checkout.yaml:12: services[0].capacity: …", as much as fits. Returns `text`. */
char *reader_error_format(const struct reader_error *error, char *text, size_t size);

enum field_kind {
    FIELD_DURATION, /* lull_duration: 500ms 2s 5m 1h */
    FIELD_RATE,     /* double, per second: 1000/s 100/m 5/h */
    FIELD_SIZE,     /* int64_t or uint64_t, bytes: 64k 1m */
    FIELD_INTEGER,  /* an integer of 1, 2, 4 or 8 bytes, not negative */
    FIELD_NUMBER,   /* double, not negative */
    FIELD_FLAG,     /* bool: true false */
    FIELD_TEXT,     /* char array: one line, no control characters */
    FIELD_CHOICE,   /* an enum, integer or bool: one of `choices` */
    FIELD_SET,      /* uint32_t: a list of `choices`, or-ed into it */
    FIELD_MAP,      /* a struct: a map, by `schema` */
    FIELD_LIST,     /* an array of `entry` (a map or one value), and a uint32_t count of them */
    FIELD_CUSTOM,   /* one value, read by `read` */
    FIELD_LOOKUP,   /* one value, read by `look_up` */
    /* A pointer (at .offset) to `entry`s on the heap, and a uint32_t count of them; at most `highest`. The caller
     * frees it; after an error there is nothing to free. */
    FIELD_HEAP_LIST,
    /* A map whose keys are free: an array of structs by `schema`, of which the first field takes the
     * key and the second its value, and a uint32_t count of them. */
    FIELD_PAIRS,
    /* The fields of `schema`, as if they stood here: their keys are keys of this map. Its prepare
     * and check are not called. */
    FIELD_INCLUDE,
};

struct choice {
    const char *name; /* NULL: the end of the list */
    int64_t value;
};

struct schema;

/* The reader at work, for the functions of a schema. */
struct reader;

/* Reads `text` into `member`; or false, and `message` says what is wrong with it. */
typedef bool field_read_fn(const char *text, void *member, char *message, size_t size);

/* The same for what depends on more than the text, see reader_context; or reader_wrong(reader, "", …). */
typedef bool field_look_up_fn(struct reader *reader, const char *text, void *member);

/* Where a member is. */
#define PLACE(type, member) .offset = offsetof(type, member), .size = sizeof(((type *)0)->member)

struct field {
    const char *key;
    enum field_kind kind;
    bool required; /* and a text not empty */
    /* "none" may be written, too. It is stored as -1 (LULL_NONE); of a map, by setting `bit` in the
     * uint32_t at `count`, which the map itself clears. */
    bool none;
    size_t offset, size; /* PLACE(…) */
    /* Bounds, both included. Of durations, sizes, integers, and of a list's length: */
    int64_t lowest, highest; /* highest 0: what the type can hold */
    double least, most;      /* of rates and numbers; most 0: any */
    const struct choice *choices;
    const struct schema *schema;
    const struct field *entry; /* of a list; its size is one element's */
    size_t count;              /* a list's count: offsetof */
    uint32_t bit;
    field_read_fn *read;
    field_look_up_fn *look_up;
};

struct schema {
    const struct field *fields;
    size_t field_count;
    size_t size; /* of the struct */
    /* May be NULL. Before the fields are read, the struct being all zero: defaults that are not. */
    void (*prepare)(void *object);
    /* May be NULL. After the fields were read: what no field can check alone. Returns true, or
     * reader_wrong(…). */
    bool (*check)(struct reader *reader, void *object);
};

#define SCHEMA(type, list)                                                                         \
    { (list), sizeof(list) / sizeof((list)[0]), sizeof(type), NULL, NULL }
#define SCHEMA_WITH(type, list, prepare_, check_)                                                  \
    { (list), sizeof(list) / sizeof((list)[0]), sizeof(type), (prepare_), (check_) }

/* For `check`: something is wrong with the value at `key`, a path relative to the map that is
 * being checked ("calls", "services[1].calls"; "": the map itself). If there is no such key, the
 * line is that of what would hold it. Always false. */
bool reader_wrong(struct reader *reader, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* For `check`: the map being checked has that key. */
bool reader_given(const struct reader *reader, const char *key);

/* For messages: the line of what is at `key`, a path as above. */
int reader_line(struct reader *reader, const char *key);

/* What the caller gave along. */
const void *reader_context(const struct reader *reader);

/* Reads `length` bytes of YAML into the struct `object`. `file` is what errors call it. LULL_OK; or
 * LULL_EINVAL or LULL_ENOMEM, with `error` filled and the struct all zero. */
LULL_MUST_USE int reader_read_text(const char *file, const char *text, size_t length,
                                   const struct schema *schema, void *object,
                                   struct reader_error *error);

/* How to read, where the usual will not do. */
struct reading {
    const void *context; /* for the functions of the schema, borrowed */
    size_t longest;      /* bytes; 0: READER_LONGEST */
};
LULL_MUST_USE int reader_read_text_as(const struct reading *how, const char *file, const char *text,
                                      size_t length, const struct schema *schema, void *object,
                                      struct reader_error *error);

/* The same for a file (a pipe will do); LULL_ESYSTEM if it cannot be read. */
LULL_MUST_USE int reader_read_file(const char *file, const struct schema *schema, void *object,
                                   struct reader_error *error);
LULL_MUST_USE int reader_read_file_as(const struct reading *how, const char *file,
                                      const struct schema *schema, void *object,
                                      struct reader_error *error);

#endif
