#include "fixture.h"

#include "api/openapi.h"
#include "api/route.h"

static json_t *document(void) {
    size_t length;
    const char *text = openapi_document(&length);
    assert_int_equal(length, strlen(text));
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(value);
    return value;
}

static void lower(char *to, const char *from) {
    for (; *from != '\0'; from++)
        *to++ = (char)(*from | 0x20);
    *to = '\0';
}

/* Every route is described, and nothing else is. */
static void test_routes(void **state) {
    (void)state;
    json_t *api = document(), *paths = json_object_get(api, "paths"), *path, *operation;
    const struct route *route;
    const char *pattern, *method;
    size_t routes = 0, described = 0;
    for (; (route = route_at(routes)) != NULL; routes++) {
        char name[16];
        lower(name, route->method);
        if (json_object_get(json_object_get(paths, route->pattern), name) == NULL)
            fail_msg("%s %s is not in openapi.json", route->method, route->pattern);
    }
    json_object_foreach(paths, pattern, path) {
        json_object_foreach(path, method, operation) {
            described += strcmp(method, "parameters") != 0;
        }
    }
    assert_int_equal(described, routes);
    json_decref(api);
}

/* "#/components/schemas/Event" */
static void check_reference(json_t *api, const char *reference) {
    char copy[200], *rest;
    assert_int_equal(strncmp(reference, "#/", 2), 0);
    snprintf(copy, sizeof copy, "%s", reference + 2);
    json_t *at = api;
    for (char *part = strtok_r(copy, "/", &rest); part != NULL; part = strtok_r(NULL, "/", &rest))
        at = json_object_get(at, part);
    if (at == NULL)
        fail_msg("%s leads nowhere", reference);
}

static void check_references(json_t *api, json_t *value) {
    const char *name;
    json_t *inner;
    size_t i;
    json_object_foreach(value, name, inner) {
        if (strcmp(name, "$ref") == 0)
            check_reference(api, json_string_value(inner));
        check_references(api, inner);
    }
    if (json_is_array(value))
        json_array_foreach(value, i, inner) {
            check_references(api, inner);
        }
}

static void test_references(void **state) {
    (void)state;
    json_t *api = document();
    check_references(api, api);
    json_decref(api);
}

/* A parameter in braces is declared, and operations can be told apart. */
static void test_operations(void **state) {
    (void)state;
    json_t *api = document(), *paths = json_object_get(api, "paths"), *path, *operation;
    json_t *ids = json_object();
    const char *pattern, *method;
    json_object_foreach(paths, pattern, path) {
        assert_int_equal(strchr(pattern, '{') != NULL, json_object_get(path, "parameters") != NULL);
        json_object_foreach(path, method, operation) {
            if (strcmp(method, "parameters") == 0)
                continue;
            const char *id = json_string_value(json_object_get(operation, "operationId"));
            assert_non_null(id);
            assert_null(json_object_get(ids, id));
            json_object_set_new(ids, id, json_true());
        }
    }
    json_decref(ids);
    json_decref(api);
}

static void test_version(void **state) {
    (void)state;
    json_t *api = document();
    assert_string_equal(json_string_value(json_object_get(api, "openapi")), "3.1.0");
    assert_string_equal(json_string_value(json_object_get(json_object_get(api, "info"), "version")),
                        LULL_VERSION);
    json_decref(api);
}

static void test_served(void **state) {
    size_t length;
    char *expected = strdup(openapi_document(&length));
    expected[length - 1] = '\0'; /* the end of the line */
    assert_answer(get(*state, "/v1/openapi.json"), 200, expected);
    free(expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_version),
        cmocka_unit_test_setup_teardown(test_served, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
