#include "echo.h"

#include <jansson.h>
#include <stdlib.h>

/* A name that comes twice has its values joined, as RFC 9110 allows for fields. */
static enum MHD_Result collect(void *object, enum MHD_ValueKind kind, const char *name,
                               const char *value) {
    const char *before = json_string_value(json_object_get(object, name));
    json_t *text = before != NULL ? json_sprintf("%s, %s", before, value == NULL ? "" : value)
                                  : json_sprintf("%s", value == NULL ? "" : value);
    (void)kind;
    if (text == NULL) /* no UTF-8 */
        text = json_null();
    json_object_set_new(object, name, text);
    return MHD_YES;
}

static json_t *collected(struct MHD_Connection *http, enum MHD_ValueKind kind) {
    json_t *object = json_object();
    MHD_get_connection_values(http, kind, collect, object);
    return object;
}

static json_t *hexadecimal(const struct upload *upload) {
    char *digits = malloc(2 * upload->size + 1);
    if (digits == NULL)
        return NULL;
    for (size_t i = 0; i < upload->size; i++)
        snprintf(digits + 2 * i, 3, "%02x", (unsigned char)upload->bytes[i]);
    json_t *text = json_stringn(digits, 2 * upload->size);
    free(digits);
    return text;
}

struct blob *echo_body(const struct request *request) {
    struct MHD_Connection *http = request->connection->http;
    const struct upload *upload = &request->upload;
    json_t *body = json_stringn(upload->size > 0 ? upload->bytes : "", upload->size);
    json_t *root = json_object();
    json_object_set_new(root, "method", json_sprintf("%s", request->method));
    json_object_set_new(root, "path", json_sprintf("%s", request->path));
    json_object_set_new(root, "query", collected(http, MHD_GET_ARGUMENT_KIND));
    json_object_set_new(root, "headers", collected(http, MHD_HEADER_KIND));
    if (body != NULL)
        json_object_set_new(root, "body", body);
    else
        json_object_set_new(root, "body_hex", hexadecimal(upload));
    if (upload->cut)
        json_object_set_new(root, "body_cut", json_true());
    char *text = json_dumps(root, JSON_COMPACT);
    struct blob *blob = text == NULL ? NULL : blob_of_text(text);
    free(text);
    json_decref(root);
    return blob;
}
