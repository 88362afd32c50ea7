#include "testing.h"

#include "document.h"

static void assert_refused(const char *text, size_t length, const char *expected) {
    struct reader_error error = {.file = "box.yaml"};
    yaml_document_t document;
    char said[1000];
    assert_int_equal(document_open(&document, text, length, &error), LULL_EINVAL);
    assert_string_equal(reader_error_format(&error, said, sizeof said), expected);
}

struct row {
    const char *text, *said;
};

static void assert_all_refused(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++)
        assert_refused(rows[i].text, strlen(rows[i].text), rows[i].said);
}

static void test_no_yaml(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"", "box.yaml: is empty"},
        {"# nothing but a comment\n", "box.yaml: is empty"},
        {"label: [a",
         "box.yaml:1: is not YAML: did not find expected ',' or ']' while parsing a flow "
         "sequence"},
        {"label: x\n  flag: true\n",
         "box.yaml:2: is not YAML: mapping values are not allowed in this context"},
        {"label: x\n\tflag: true\n", "box.yaml:2: is not YAML: found a tab character that violates "
                                     "indentation while scanning a "
                                     "plain scalar that began in line 1"},
        {"steps:\n  [1s,\n  2s\n", "box.yaml:3: is not YAML: did not find expected ',' or ']' "
                                   "while parsing a flow sequence that "
                                   "began in line 2"},
        {"label: 'x\n", "box.yaml:1: is not YAML: found unexpected end of stream while scanning a "
                        "quoted scalar"},
        {"flag: true\nlabel: \xFF\n", "box.yaml:2: is not UTF-8 text: invalid leading UTF-8 octet"},
        {"label: caf\xC3(\n", "box.yaml:1: is not UTF-8 text: invalid trailing UTF-8 octet"},
        {"label: caf\xC3", "box.yaml:1: is not UTF-8 text: incomplete UTF-8 octet sequence"},
        {"flag: true\n\nlabel: \x1b[0m\n",
         "box.yaml:3: is not UTF-8 text: control characters are not allowed"},
        {"label: \"\\uD800\"", "box.yaml:1: is not YAML: found invalid Unicode character escape "
                               "code while parsing a quoted "
                               "scalar"},
    };
    assert_all_refused(rows, COUNT(rows));
    assert_refused("a\0b", 3, "box.yaml:1: is not UTF-8 text: control characters are not allowed");
}

static void test_what_yaml_can_and_we_refuse(void **state) {
    (void)state;
    static const struct row rows[] = {
        {"label: x\nsteps: &s [1s]\n",
         "box.yaml:2: anchors (&s) are not supported; write the value "
         "where it is needed"},
        {"part: &p {name: x}",
         "box.yaml:1: anchors (&p) are not supported; write the value where it "
         "is needed"},
        {"label: &l x", "box.yaml:1: anchors (&l) are not supported; write the value where it is "
                        "needed"},
        {"label: x\nflag: *l\n",
         "box.yaml:2: aliases (*l) are not supported; write the value where "
         "it is needed"},
        {"label: !!str x", "box.yaml:1: tags (tag:yaml.org,2002:str) are not supported; remove it"},
        {"part: !p {name: x}", "box.yaml:1: tags (!p) are not supported; remove it"},
        {"label: !<a%1B> x", "box.yaml:1: tags (a?) are not supported; remove it"},
        {"label: x\n---\nlabel: y\n",
         "box.yaml:2: a second document begins here; a file holds one"},
        {"%YAML 1.1\n---\nlabel: x\n",
         "box.yaml:1: a line must not begin with %; directives are not supported"},
        {"label: x\n...\n%TAG ! x\n---\n",
         "box.yaml:3: a line must not begin with %; directives are not supported"},
        {"# \xE2\x80\xA8%TAG ! x\n---\n",
         "box.yaml:1: a line must not begin with %; directives are not supported"},
    };
    assert_all_refused(rows, COUNT(rows));
    /* % elsewhere, also after bytes that look like the end of a line */
    static const char percent[] = "label: \xC3\xA9% 5%";
    struct reader_error error = {0};
    yaml_document_t document;
    assert_int_equal(document_open(&document, percent, strlen(percent), &error), LULL_OK);
    yaml_document_delete(&document);
}

static void test_depth(void **state) {
    (void)state;
    char text[READER_DEEPEST + 2];
    memset(text, '[', sizeof text);
    assert_refused(text, sizeof text, "box.yaml:1: maps and lists are nested more than 32 deep");
    assert_refused(text, READER_DEEPEST,
                   "box.yaml:1: is not YAML: did not find expected node content "
                   "while parsing a flow node");
}

static void test_tree(void **state) {
    (void)state;
    static const char text[] = "a: 1\n"
                               "b:\n"
                               "  - c: 2\n"
                               "  - d:\n"
                               "      e: 'null'\n"
                               "f:\n";
    static const struct {
        const char *path;
        int line;
    } rows[] = {
        {"", 1},         {"a", 1},        {"b", 3},          {"b[0]", 3},   {"b[0].c", 3},
        {"b[1].d.e", 5}, {"b[1].d.x", 5}, {"b[1].x.e", 4},   {"b[2].c", 3}, {"a.x", 1},
        {"a[0]", 1},     {"b.x", 3},      {"b[9999999]", 3}, {"f", 6},      {"x", 1},
    };
    struct reader_error error = {0};
    yaml_document_t document;
    assert_int_equal(document_open(&document, text, strlen(text), &error), LULL_OK);
    yaml_node_t *root = yaml_document_get_root_node(&document), *key;
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(document_line(document_walk(&document, root, rows[i].path)), rows[i].line);
    yaml_node_t *f = document_find(&document, root, "f", 1, &key);
    assert_true(document_is_null(f));
    assert_false(document_is_null(root));
    assert_false(document_is_null(document_walk(&document, root, "b[1].d.e")));
    assert_int_equal(document_line(key), 6);
    assert_null(document_find(&document, root, "ff", 2, &key));
    yaml_document_delete(&document);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_yaml),
        cmocka_unit_test(test_what_yaml_can_and_we_refuse),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
