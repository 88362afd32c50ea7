#include "testing.h"

#include "reader.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

/* One of each kind. */
struct part {
    char name[8];
    double weight;
};

struct box {
    char label[16];
    lull_duration wait, pause;
    double rate, number, share;
    int64_t size;
    int64_t whole;
    uint64_t large;
    uint8_t tiny;
    uint16_t small;
    int32_t places;
    bool flag;
    enum colour { RED = 3, GREEN = 5 } colour;
    uint32_t set;
    struct part part;
    struct part parts[2];
    uint32_t part_count;
    lull_duration steps[3];
    uint32_t step_count;
    int custom;
    bool prepared;
};

static bool read_custom(const char *text, void *member, char *message, size_t size) {
    int *custom = member;
    *custom = 42;
    if (strcmp(text, "magic") == 0)
        return true;
    snprintf(message, size, "is not magic");
    return false;
}

static bool check_part(struct reader *reader, void *object) {
    const struct part *part = object;
    if (strcmp(part->name, "bad") == 0)
        return reader_wrong(reader, "", "is a bad part");
    if (strcmp(part->name, "light") == 0 && !reader_given(reader, "weight"))
        return reader_wrong(reader, "weight", "must be told of a light part");
    return true;
}

static const struct field part_fields[] = {
    {"name", FIELD_TEXT, PLACE(struct part, name), .required = true},
    {"weight", FIELD_NUMBER, PLACE(struct part, weight)},
};
static const struct schema part_schema = SCHEMA_WITH(struct part, part_fields, NULL, check_part);
static const struct field part_entry = {
    .kind = FIELD_MAP, .size = sizeof(struct part), .schema = &part_schema};
static const struct field step_entry = {.kind = FIELD_DURATION, .size = sizeof(lull_duration)};

static const struct choice colours[] = {{"red", RED}, {"green", GREEN}, {NULL, 0}};
static const struct choice bits[] = {{"one", 1}, {"two", 2}, {"four", 4}, {NULL, 0}};

static void prepare_box(void *object) {
    struct box *box = object;
    box->prepared = true;
    box->places = 7;
}

/* Points at what has another name elsewhere: the paths are what is tested. */
static bool check_box(struct reader *reader, void *object) {
    const struct box *box = object;
    if (strcmp(box->label, "deep") == 0)
        return reader_wrong(reader, "parts[1].name", "is the second part's");
    if (strcmp(box->label, "far") == 0)
        return reader_wrong(reader, "parts[7].name", "is of no part");
    if (strcmp(box->label, "odd") == 0)
        return reader_wrong(reader, "wait[0].x.y", "is in no list");
    return true;
}

static const struct field box_fields[] = {
    {"label", FIELD_TEXT, PLACE(struct box, label)},
    {"wait", FIELD_DURATION, PLACE(struct box, wait), .lowest = LULL_SECOND, .highest = LULL_DAY},
    {"pause", FIELD_DURATION, PLACE(struct box, pause), .none = true, .lowest = LULL_MICROSECOND},
    {"rate", FIELD_RATE, PLACE(struct box, rate), .least = 0.01, .most = 1e6},
    {"number", FIELD_NUMBER, PLACE(struct box, number), .least = 1},
    {"share", FIELD_NUMBER, PLACE(struct box, share), .none = true, .least = 0.001, .most = 1},
    {"size", FIELD_SIZE, PLACE(struct box, size), .lowest = 1024, .highest = 3 << 20},
    {"whole", FIELD_INTEGER, PLACE(struct box, whole), .lowest = 1, .highest = 65536},
    {"large", FIELD_INTEGER, PLACE(struct box, large)},
    {"tiny", FIELD_INTEGER, PLACE(struct box, tiny)},
    {"small", FIELD_INTEGER, PLACE(struct box, small)},
    {"places", FIELD_INTEGER, PLACE(struct box, places), .none = true, .lowest = 1},
    {"flag", FIELD_FLAG, PLACE(struct box, flag)},
    {"colour", FIELD_CHOICE, PLACE(struct box, colour), .choices = colours},
    {"set", FIELD_SET, PLACE(struct box, set), .choices = bits},
    {"part", FIELD_MAP, PLACE(struct box, part), .schema = &part_schema},
    {"parts", FIELD_LIST, PLACE(struct box, parts), .entry = &part_entry, .lowest = 1,
     .count = offsetof(struct box, part_count)},
    {"steps", FIELD_LIST, PLACE(struct box, steps), .entry = &step_entry,
     .count = offsetof(struct box, step_count)},
    {"custom", FIELD_CUSTOM, PLACE(struct box, custom), .read = read_custom},
};
static const struct schema box_schema = SCHEMA_WITH(struct box, box_fields, prepare_box, check_box);

static int read_text(const char *text, size_t length, struct box *box, char said[1000]) {
    struct reader_error error;
    memset(box, 0xa5, sizeof *box);
    int result = reader_read_text("box.yaml", text, length, &box_schema, box, &error);
    assert_string_equal(error.file, "box.yaml");
    reader_error_format(&error, said, 1000);
    return result;
}

static void assert_refused(const char *text, size_t length, const char *expected) {
    static const struct box zero;
    struct box box;
    char said[1000];
    assert_int_equal(read_text(text, length, &box, said), LULL_EINVAL);
    assert_string_equal(said, expected);
    assert_memory_equal(&box, &zero, sizeof box);
}

struct row {
    const char *text, *said;
};

static void assert_all_refused(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_refused(rows[i].text, strlen(rows[i].text), rows[i].said);
}

static const char full_text[] = "# all of it\n"
                                "label: a box\n"
                                "wait: 1h30m\n"
                                "pause: 500ms\n"
                                "rate: 120/m\n"
                                "number: 1.5\n"
                                "share: 0.25\n"
                                "size: 64k\n"
                                "whole: 100\n"
                                "large: 9223372036854775807\n"
                                "tiny: 127\n"
                                "small: 32767\n"
                                "places: \"3\"\n"
                                "flag: true\n"
                                "colour: green\n"
                                "set: [one, four]\n"
                                "part: {name: lid, weight: 2}\n"
                                "parts:\n"
                                "  - name: nail\n"
                                "  - name: 'screw'\n"
                                "    weight: 0.5\n"
                                "steps: [1s, 2s]\n"
                                "custom: magic\n";

static void test_every_kind(void **state) {
    (void)state;
    struct box box;
    char said[1000];
    assert_int_equal(read_text(full_text, strlen(full_text), &box, said), LULL_OK);
    assert_string_equal(box.label, "a box");
    assert_int_equal(box.wait, 90 * LULL_MINUTE);
    assert_int_equal(box.pause, 500 * MS);
    assert_true(box.rate == 2);
    assert_true(box.number == 1.5);
    assert_true(box.share == 0.25);
    assert_int_equal(box.size, 65536);
    assert_int_equal(box.whole, 100);
    assert_int_equal(box.large, INT64_MAX);
    assert_int_equal(box.tiny, 127);
    assert_int_equal(box.small, 32767);
    assert_int_equal(box.places, 3);
    assert_true(box.flag);
    assert_int_equal(box.colour, GREEN);
    assert_int_equal(box.set, 5);
    assert_string_equal(box.part.name, "lid");
    assert_true(box.part.weight == 2);
    assert_int_equal(box.part_count, 2);
    assert_string_equal(box.parts[0].name, "nail");
    assert_true(box.parts[0].weight == 0);
    assert_string_equal(box.parts[1].name, "screw");
    assert_true(box.parts[1].weight == 0.5);
    assert_int_equal(box.step_count, 2);
    assert_int_equal(box.steps[1], 2 * SECOND);
    assert_int_equal(box.custom, 42);
}

static void test_defaults_and_none(void **state) {
    (void)state;
    static const char text[] = "pause: none\nshare: none\nplaces: none\nflag: no\n";
    struct box box;
    char said[1000];
    assert_int_equal(read_text("{}", 2, &box, said), LULL_OK);
    assert_true(box.prepared);
    assert_int_equal(box.places, 7);
    assert_string_equal(box.label, "");
    assert_int_equal(box.part_count, 0);
    assert_int_equal(read_text(text, strlen(text), &box, said), LULL_OK);
    assert_int_equal(box.pause, LULL_NONE);
    assert_true(box.share == LULL_NONE);
    assert_int_equal(box.places, LULL_NONE);
    assert_false(box.flag);
    assert_int_equal(read_text("flag: yes", 9, &box, said), LULL_OK);
    assert_true(box.flag);
}

static void test_texts(void **state) {
    (void)state;
    static const struct {
        const char *yaml, *label;
    } rows[] = {
        {"label: 12", "12"},
        {"label: true", "true"},
        {"label: none", "none"},
        {"label: \"\"", ""},
        {"label: 'null'", "null"},
        {"label: \"caf\\u00e9 \\u263a\"", "caf\xC3\xA9 \xE2\x98\xBA"},
        {"label: >\n  one\n  two\n", "one two"},
        {"label: |\n  one line\n", "one line"},
        {"label: 123456789012345", "123456789012345"},
        {"\xEF\xBB\xBFlabel: bom", "bom"},
        {"label: crlf\r\nflag: true\r\n", "crlf"},
        {"---\nlabel: marked\n...\n", "marked"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct box box;
        char said[1000];
        assert_int_equal(read_text(rows[i].yaml, strlen(rows[i].yaml), &box, said), LULL_OK);
        assert_string_equal(box.label, rows[i].label);
    }
}

static void test_wrong_values(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"wait: 5",
         "box.yaml:1: wait: \"5\" is not a duration; write for example 500ms, 2s, 5m, 1h or 1h30m"},
        {"pause: soon",
         "box.yaml:1: pause: \"soon\" is not a duration; write for example 500ms, 2s, "
         "5m, 1h or 1h30m, or none"},
        {"\n\nrate: 12k",
         "box.yaml:3: rate: \"12k\" is not a rate; write for example 1000/s or 100/m"},
        {"size: big", "box.yaml:1: size: \"big\" is not a size; write for example 64k or 1m"},
        {"whole: 1.5", "box.yaml:1: whole: \"1.5\" is not a whole number; write for example 100"},
        {"whole: -1", "box.yaml:1: whole: \"-1\" is not a whole number; write for example 100"},
        {"whole: ''", "box.yaml:1: whole: \"\" is not a whole number; write for example 100"},
        {"number: ten", "box.yaml:1: number: \"ten\" is not a number; write for example 2 or 1.5"},
        {"flag: maybe", "box.yaml:1: flag: \"maybe\" is not a flag; write true or false"},
        {"colour: gren",
         "box.yaml:1: colour: \"gren\" is not known; did you mean green? There are red, green"},
        {"colour: yellow", "box.yaml:1: colour: \"yellow\" is not known; there are red, green"},
        {"set: [one, tow]",
         "box.yaml:1: set[1]: \"tow\" is not known; did you mean two? There are one, two, four"},
        {"set:\n  - one\n  - two\n  - one", "box.yaml:4: set[2]: is named twice"},
        {"custom: dull", "box.yaml:1: custom: is not magic"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_out_of_range(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"wait: 500ms", "box.yaml:1: wait: \"500ms\" is out of range; it must be from 1s to 1d"},
        {"wait: 25h", "box.yaml:1: wait: \"25h\" is out of range; it must be from 1s to 1d"},
        {"pause: 0", "box.yaml:1: pause: \"0\" is out of range; it must be at least 1us, or none"},
        {"rate: 0/s",
         "box.yaml:1: rate: \"0/s\" is out of range; it must be from 0.01/s to 1000000/s"},
        {"rate: 2000000/s",
         "box.yaml:1: rate: \"2000000/s\" is out of range; it must be from 0.01/s to 1000000/s"},
        {"number: 0.9", "box.yaml:1: number: \"0.9\" is out of range; it must be at least 1"},
        {"share: 2",
         "box.yaml:1: share: \"2\" is out of range; it must be from 0.001 to 1, or none"},
        {"size: 1", "box.yaml:1: size: \"1\" is out of range; it must be from 1k to 3m"},
        {"size: 4m", "box.yaml:1: size: \"4m\" is out of range; it must be from 1k to 3m"},
        {"whole: 0", "box.yaml:1: whole: \"0\" is out of range; it must be from 1 to 65536"},
        {"whole: 65537",
         "box.yaml:1: whole: \"65537\" is out of range; it must be from 1 to 65536"},
        {"whole: 99999999999999999999",
         "box.yaml:1: whole: \"99999999999999999999\" is out of range; it must be from 1 to 65536"},
        {"large: 9223372036854775808",
         "box.yaml:1: large: is too large; it must be at most 9223372036854775807"},
        {"tiny: 128", "box.yaml:1: tiny: \"128\" is out of range; it must be from 0 to 127"},
        {"small: 32768",
         "box.yaml:1: small: \"32768\" is out of range; it must be from 0 to 32767"},
        {"places: 2147483648",
         "box.yaml:1: places: \"2147483648\" is out of range; it must be from "
         "1 to 2147483647, or none"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_wrong_texts(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"label: 1234567890123456", "box.yaml:1: label: is 16 bytes long; at most 15 are kept"},
        {"label: |\n  a\n  b\n",
         "box.yaml:1: label: has more than one line; write > instead of | to "
         "fold them into one"},
        {"label: \"a\\eb\"", "box.yaml:1: label: has a control character in it; remove it"},
        {"label: \"a\\u009bb\"", "box.yaml:1: label: has a control character in it; remove it"},
        {"label: \"a\\0b\"", "box.yaml:1: label: has a control character in it; remove it"},
        {"rate: \"1/s\\0\"", "box.yaml:1: rate: has a control character in it; remove it"},
        {"part: {name: \"\"}", "box.yaml:1: part.name: must not be empty"},
        {"part: {name: \"  \"}", "box.yaml:1: part.name: must not be empty"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_wrong_types(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"- label: x", "box.yaml:1: must be a map of keys, not a list"},
        {"just words", "box.yaml:1: must be a map of keys, not a single value"},
        {"~", "box.yaml:1: has no value; it must be a map of keys"},
        {"---\n", "box.yaml:2: has no value; it must be a map of keys"},
        {"label: [a", "box.yaml:1: is not YAML: did not find expected ',' or ']' while parsing a "
                      "flow sequence"},
        {"rate: [1/s]",
         "box.yaml:1: rate: must be a rate, not a list; write for example 1000/s or 100/m"},
        {"label: {a: b}", "box.yaml:1: label: must be a text, not a map of keys"},
        {"colour: [red]", "box.yaml:1: colour: must be a name, not a list"},
        {"custom: []", "box.yaml:1: custom: must be a value, not a list"},
        {"set: one", "box.yaml:1: set: must be a list of names, not a single value"},
        {"set: [[one]]", "box.yaml:1: set[0]: must be a name, not a list"},
        {"part: lid", "box.yaml:1: part: must be a map of keys, not a single value"},
        {"parts: {name: lid}", "box.yaml:1: parts: must be a list, not a map of keys"},
        {"parts:\n  - name: lid\n  - nail\n",
         "box.yaml:3: parts[1]: must be a map of keys, not a single value"},
        {"steps: [1s, 2]",
         "box.yaml:1: steps[1]: \"2\" is not a duration; write for example 500ms, "
         "2s, 5m, 1h or 1h30m"},
        {"flag: true\nlabel:\n", "box.yaml:2: label: has no value; it must be a text"},
        {"rate: ~", "box.yaml:1: rate: has no value; it must be a rate"},
        {"rate: null", "box.yaml:1: rate: has no value; it must be a rate"},
        {"parts:\n", "box.yaml:1: parts: has no value; it must be a list"},
        {"parts:\n  -\n", "box.yaml:2: parts[0]: has no value; it must be a map of keys"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_keys(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"lable: x", "box.yaml:1: lable: there is no such key; did you mean label?"},
        {"flag: true\nparts:\n  - name: lid\n    wieght: 2\n",
         "box.yaml:4: parts[0].wieght: there is no such key; did you mean weight?"},
        {"part: {material: wood}",
         "box.yaml:1: part.material: there is no such key; there are name, weight"},
        {"<<: {label: x}",
         "box.yaml:1: <<: there is no such key; there are label, wait, pause, rate, number, share, "
         "size, whole, large, tiny, small, places, flag, colour, set, part, parts, steps, custom"},
        {"part: {\"name\\0\": x}",
         "box.yaml:1: part.name: there is no such key; did you mean name?"},
        {"part: {\"a\\nb\": x}",
         "box.yaml:1: part.a?b: there is no such key; there are name, weight"},
        {"part: {? [a] : b}", "box.yaml:1: part: has a list for a key; a key is a word"},
        {"part: {? {a: b} : c}", "box.yaml:1: part: has a map of keys for a key; a key is a word"},
        {"flag: true\nlabel: x\nflag: false\n",
         "box.yaml:3: flag: is given twice, first in line 1"},
        {"parts:\n  - weight: 2\n", "box.yaml:2: parts[0].name: is missing"},
        {"part: {}", "box.yaml:1: part.name: is missing"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_list_lengths(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"parts: []", "box.yaml:1: parts: has too few entries; at least 1 must be there"},
        {"steps: [1s, 1s, 1s, 1s]", "box.yaml:1: steps: has 4 entries; at most 3 are allowed"},
    };
    assert_all_refused(rows, COUNT(rows));
    struct box box;
    char said[1000];
    assert_int_equal(read_text("steps: []", 9, &box, said), LULL_OK);
    assert_int_equal(box.step_count, 0);
}

/* The line and the path of what a schema's own check complains about. */
static void test_checks(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"part:\n  name: bad\n", "box.yaml:2: part: is a bad part"},
        {"parts:\n  - name: lid\n  - weight: 2\n    name: bad\n",
         "box.yaml:3: parts[1]: is a bad part"},
        {"label: x\npart:\n  name: light\n",
         "box.yaml:3: part.weight: must be told of a light part"},
        {"label: deep\nparts:\n  - name: a\n  -\n    weight: 1\n    name: b\n",
         "box.yaml:6: parts[1].name: is the second part's"},
        {"label: far\nparts:\n  - name: a\n", "box.yaml:3: parts[7].name: is of no part"},
        {"label: far\n", "box.yaml:1: parts[7].name: is of no part"},
        {"label: odd\nwait: 1s\n", "box.yaml:2: wait[0].x.y: is in no list"},
    };
    assert_all_refused(rows, COUNT(rows));
}

static void test_length(void **state) {
    (void)state;
    char *text = malloc(READER_LONGEST + 1);
    assert_non_null(text);
    memset(text, ' ', READER_LONGEST + 1);
    memcpy(text, "flag: yes\n", 10);
    struct box box;
    char said[1000];
    assert_int_equal(read_text(text, READER_LONGEST, &box, said), LULL_OK);
    assert_true(box.flag);
    assert_refused(text, READER_LONGEST + 1,
                   "box.yaml: is longer than 1024 KiB, too long for a file of settings");
    free(text);
}

/* ---- lists on the heap, free keys, included fields, lookups ---- */

struct cupboard {
    struct part *parts;
    uint32_t part_count;
    struct part *spare;
    uint32_t spare_count;
    struct pair {
        char key[8], value[8];
    } pairs[2];
    uint32_t pair_count;
    struct part top; /* its fields are the cupboard's own */
    struct part drawer;
    uint32_t without;
    int looked_up;
};

static bool look_up(struct reader *reader, const char *text, void *member) {
    const char *const *word = reader_context(reader);
    *(int *)member = 7;
    return strcmp(text, *word) == 0 ||
           reader_wrong(reader, "", "is not %s; it is in line %d", *word, reader_line(reader, ""));
}

static bool check_pair(struct reader *reader, void *object) {
    const struct pair *pair = object;
    return strcmp(pair->key, pair->value) != 0 || reader_wrong(reader, "", "is its own key");
}

static const struct field pair_fields[] = {
    {"key", FIELD_TEXT, PLACE(struct pair, key), .required = true},
    {"value", FIELD_TEXT, PLACE(struct pair, value)},
};
static const struct schema pair_schema = SCHEMA_WITH(struct pair, pair_fields, NULL, check_pair);

static bool check_cupboard(struct reader *reader, void *object) {
    const struct cupboard *cupboard = object;
    if (cupboard->part_count > 0 && strcmp(cupboard->parts[0].name, "last") == 0)
        return reader_wrong(reader, "parts[0].name", "is last, in line %d, and first",
                            reader_line(reader, "parts[1].name"));
    return true;
}

static const struct field cupboard_fields[] = {
    {"parts", FIELD_HEAP_LIST, .offset = offsetof(struct cupboard, parts), .entry = &part_entry,
     .highest = 1000, .count = offsetof(struct cupboard, part_count)},
    {"spare", FIELD_HEAP_LIST, .offset = offsetof(struct cupboard, spare), .entry = &part_entry,
     .lowest = 1, .highest = 2, .count = offsetof(struct cupboard, spare_count)},
    {"pairs", FIELD_PAIRS, PLACE(struct cupboard, pairs), .schema = &pair_schema,
     .count = offsetof(struct cupboard, pair_count)},
    {NULL, FIELD_INCLUDE, PLACE(struct cupboard, top), .schema = &part_schema},
    {"drawer", FIELD_MAP, PLACE(struct cupboard, drawer), .schema = &part_schema, .none = true,
     .bit = 4, .count = offsetof(struct cupboard, without)},
    {"word", FIELD_LOOKUP, PLACE(struct cupboard, looked_up), .look_up = look_up},
};
static const struct schema cupboard_schema =
    SCHEMA_WITH(struct cupboard, cupboard_fields, NULL, check_cupboard);

static int read_cupboard(const char *text, struct cupboard *cupboard, char said[1000]) {
    struct reader_error error;
    const char *word = "sesame";
    memset(cupboard, 0xa5, sizeof *cupboard);
    int result =
        reader_read_text_as(&(struct reading){.context = &word, .longest = 60000}, "cupboard.yaml",
                            text, strlen(text), &cupboard_schema, cupboard, &error);
    reader_error_format(&error, said, 1000);
    return result;
}

static void test_cupboard(void **state) {
    (void)state;
    struct cupboard cupboard;
    char said[1000];
    assert_int_equal(read_cupboard("name: oak\nweight: 5\nword: sesame\ndrawer: {name: one}\n"
                                   "parts: [{name: a}, {name: b, weight: 2}]\nspare: [{name: c}]\n"
                                   "pairs: {x: 1, y.z: two}\n",
                                   &cupboard, said),
                     LULL_OK);
    assert_string_equal(cupboard.top.name, "oak");
    assert_true(cupboard.top.weight == 5);
    assert_int_equal(cupboard.looked_up, 7);
    assert_string_equal(cupboard.drawer.name, "one");
    assert_int_equal(cupboard.without, 0);
    assert_int_equal(cupboard.part_count, 2);
    assert_string_equal(cupboard.parts[1].name, "b");
    assert_true(cupboard.parts[1].weight == 2);
    assert_int_equal(cupboard.spare_count, 1);
    assert_string_equal(cupboard.spare[0].name, "c");
    assert_int_equal(cupboard.pair_count, 2);
    assert_string_equal(cupboard.pairs[0].key, "x");
    assert_string_equal(cupboard.pairs[0].value, "1");
    assert_string_equal(cupboard.pairs[1].key, "y.z");
    assert_string_equal(cupboard.pairs[1].value, "two");
    free(cupboard.parts);
    free(cupboard.spare);
    /* An empty list needs no memory; a map may be none. */
    assert_int_equal(
        read_cupboard("{name: a, parts: [], drawer: none, pairs: {}}", &cupboard, said), LULL_OK);
    assert_null(cupboard.parts);
    assert_int_equal(cupboard.part_count, 0);
    assert_int_equal(cupboard.without, 4);
}

static void test_long_list(void **state) {
    (void)state;
    static char text[60001];
    struct cupboard cupboard;
    char said[1000];
    size_t length = (size_t)snprintf(text, sizeof text, "name: oak\nparts:\n");
    for (int i = 0; i < 1000; i++)
        length += (size_t)snprintf(text + length, sizeof text - length,
                                   "  - {name: p%d, weight: %d}\n", i, i);
    assert_int_equal(read_cupboard(text, &cupboard, said), LULL_OK);
    assert_int_equal(cupboard.part_count, 1000);
    assert_string_equal(cupboard.parts[999].name, "p999");
    free(cupboard.parts);
    snprintf(text + length, sizeof text - length, "  - {name: more}\n");
    assert_int_equal(read_cupboard(text, &cupboard, said), LULL_EINVAL);
    assert_string_equal(said, "cupboard.yaml:3: parts: has 1001 entries; at most 1000 are allowed");
    memset(text, ' ', 60000);
    memcpy(text, "name: oak\n", 10);
    text[60000] = '\0';
    assert_int_equal(read_cupboard(text, &cupboard, said), LULL_OK);
    char longer[60002];
    snprintf(longer, sizeof longer, "%s ", text);
    assert_int_equal(read_cupboard(longer, &cupboard, said), LULL_EINVAL);
    assert_string_equal(said,
                        "cupboard.yaml: is longer than 58 KiB, too long for a file of settings");
}

/* Whatever was allocated by then is freed: the address sanitizer looks. */
static void test_wrong_cupboards(void **state) {
    (void)state;
    static const struct cupboard zero;
    static const struct row rows[] = {
        {"weight: 5", "cupboard.yaml:1: name: is missing"},
        {"name: a\nname: b", "cupboard.yaml:2: name: is given twice, first in line 1"},
        {"name: a\nweihgt: 1",
         "cupboard.yaml:2: weihgt: there is no such key; did you mean weight?"},
        {"name: a\nquantity: 1",
         "cupboard.yaml:2: quantity: there is no such key; there are parts, "
         "spare, pairs, name, weight, drawer, word"},
        {"name: a\nparts: {}", "cupboard.yaml:2: parts: must be a list, not a map of keys"},
        {"name: a\nparts: [{name: b}]\nspare: [{name: bad}]",
         "cupboard.yaml:3: spare[0]: is a bad part"},
        {"name: a\nparts: [{name: b}, {weight: 1}]", "cupboard.yaml:2: parts[1].name: is missing"},
        {"name: a\nspare: []",
         "cupboard.yaml:2: spare: has too few entries; at least 1 must be there"},
        {"name: a\nparts:\n- name: last\n- name: x\n",
         "cupboard.yaml:3: parts[0].name: is last, in line 4, and first"},
        {"name: a\npairs: [x]", "cupboard.yaml:2: pairs: must be a map of keys, not a list"},
        {"name: a\npairs: {a: b, c: d, e: f}",
         "cupboard.yaml:2: pairs: has 3 entries; at most 2 are allowed"},
        {"name: a\npairs: {a: b, a: c}",
         "cupboard.yaml:2: pairs.a: is given twice, first in line 2"},
        {"name: a\npairs: {a: [b]}", "cupboard.yaml:2: pairs.a: must be a text, not a list"},
        {"name: a\npairs: {\"\": b}", "cupboard.yaml:2: pairs: must not be empty"},
        {"name: a\npairs:\n  same: same\n", "cupboard.yaml:3: pairs.same: is its own key"},
        {"name: a\npairs: {\"a\\0b\": b}",
         "cupboard.yaml:2: pairs.a: has a control character in it; remove it"},
        {"name: a\npairs: {? [a] : b}",
         "cupboard.yaml:2: pairs: has a list for a key; a key is a word"},
        {"name: a\ndrawer: off", "cupboard.yaml:2: drawer: must be a map of keys, or none"},
        {"name: a\nword: open", "cupboard.yaml:2: word: is not sesame; it is in line 2"},
        {"name: a\nword: []", "cupboard.yaml:2: word: must be a value, not a list"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cupboard cupboard;
        char said[1000];
        assert_int_equal(read_cupboard(rows[i].text, &cupboard, said), LULL_EINVAL);
        assert_string_equal(said, rows[i].said);
        assert_memory_equal(&cupboard, &zero, sizeof zero);
    }
}

/* However long the words, all that is said fits. */
static void test_long_words(void **state) {
    (void)state;
    char text[3000] = "part: {", said[1000];
    struct box box;
    memset(text + 7, 'k', 1000);
    strcpy(text + 1007, ": 1}");
    assert_int_equal(read_text(text, strlen(text), &box, said), LULL_EINVAL);
    assert_string_equal(said,
                        "box.yaml:1: part.kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…: there is no "
                        "such key; there are name, weight");
    memcpy(text, "rate: '", 7);
    strcpy(text + 1007, "'");
    assert_int_equal(read_text(text, strlen(text), &box, said), LULL_EINVAL);
    assert_string_equal(said,
                        "box.yaml:1: rate: \"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk…\" is not "
                        "a rate; write for example 1000/s or 100/m");
}

static void test_format(void **state) {
    (void)state;
    struct reader_error error = {.file = "a.yaml", .line = 12, .key = "b.c", .message = "is wrong"};
    char text[100];
    assert_string_equal(reader_error_format(&error, text, sizeof text), "a.yaml:12: b.c: is wrong");
    assert_string_equal(reader_error_format(&error, text, 10), "a.yaml:12");
    error.key[0] = '\0';
    error.line = 0;
    assert_string_equal(reader_error_format(&error, text, sizeof text), "a.yaml: is wrong");
}

/* ---- files ---- */

static void test_file(void **state) {
    (void)state;
    char path[] = "/tmp/lull-reader-test-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, full_text, strlen(full_text)), (ssize_t)strlen(full_text));
    struct box box;
    struct reader_error error;
    assert_int_equal(reader_read_file(path, &box_schema, &box, &error), LULL_OK);
    assert_string_equal(box.label, "a box");
    assert_int_equal(write(file, "oops", 4), 4);
    assert_int_equal(reader_read_file(path, &box_schema, &box, &error), LULL_EINVAL);
    assert_string_equal(error.file, path);
    assert_int_equal(error.line, 24);
    assert_int_equal(ftruncate(file, READER_LONGEST + 1), 0);
    assert_int_equal(reader_read_file(path, &box_schema, &box, &error), LULL_EINVAL);
    assert_string_equal(error.message, "is longer than 1024 KiB, too long for a file of settings");
    close(file);
    unlink(path);
}

static void test_no_file(void **state) {
    (void)state;
    struct box box;
    struct reader_error error;
    char said[300];
    assert_int_equal(reader_read_file("no/such.yaml", &box_schema, &box, &error), LULL_ESYSTEM);
    assert_string_equal(reader_error_format(&error, said, sizeof said),
                        "no/such.yaml: cannot be opened: No such file or directory");
    assert_int_equal(reader_read_file("/", &box_schema, &box, &error), LULL_ESYSTEM);
    assert_string_equal(reader_error_format(&error, said, sizeof said),
                        "/: cannot be read: Is a directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),   cmocka_unit_test(test_defaults_and_none),
        cmocka_unit_test(test_texts),        cmocka_unit_test(test_wrong_values),
        cmocka_unit_test(test_out_of_range), cmocka_unit_test(test_wrong_texts),
        cmocka_unit_test(test_wrong_types),  cmocka_unit_test(test_keys),
        cmocka_unit_test(test_list_lengths), cmocka_unit_test(test_checks),
        cmocka_unit_test(test_length),       cmocka_unit_test(test_cupboard),
        cmocka_unit_test(test_long_list),    cmocka_unit_test(test_wrong_cupboards),
        cmocka_unit_test(test_long_words),   cmocka_unit_test(test_format),
        cmocka_unit_test(test_file),         cmocka_unit_test(test_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
