#include "api/openapi.h"

/* static const char openapi_json[] = {…}; made by embed.py */
#include "openapi_json.h"

const char *openapi_document(size_t *length) {
    *length = sizeof openapi_json - 1; /* a NUL follows */
    return openapi_json;
}
