/* The OpenAPI 3.1 document, api/openapi.json, as part of the program. */
#ifndef API_OPENAPI_H
#define API_OPENAPI_H

#include <stddef.h>

const char *openapi_document(size_t *length);

#endif
