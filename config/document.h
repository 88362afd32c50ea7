/* A YAML document as a tree of nodes that know their lines; libyaml's own, after the parts of YAML
 * that have no place in a configuration were refused. */
#ifndef CONFIG_DOCUMENT_H
#define CONFIG_DOCUMENT_H

#include "reader.h"

#include <yaml.h>

/* LULL_OK: `document` is to be deleted by yaml_document_delete, and has a root. Else there is
 * nothing to delete, and the line and the message of `error` are filled. */
LULL_MUST_USE int document_open(yaml_document_t *document, const char *text, size_t length,
                                struct reader_error *error);

/* The value of `key` in a map, or NULL; *key_node (may be NULL) is the key itself. */
yaml_node_t *document_find(yaml_document_t *document, const yaml_node_t *map, const char *key,
                           size_t key_length, yaml_node_t **key_node);

/* What is at `path` below `node` ("services[1].calls"), or as near to it as there is something. */
yaml_node_t *document_walk(yaml_document_t *document, yaml_node_t *node, const char *path);

int document_line(const yaml_node_t *node); /* from 1 */

/* A scalar whose text is empty, ~ or null, and not because somebody put it in quotation marks. */
bool document_is_null(const yaml_node_t *node);

#endif
