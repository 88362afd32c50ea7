/* Destinations of the configuration file, as the store keeps them. */
#ifndef SERVE_SETTINGS_H
#define SERVE_SETTINGS_H

#include "config/serve.h"
#include "engine/store.h"

/* The settings as JSON, malloc'd, as destination_settings_read reads them: what people look at first, without the secret and without the details
 * of jitter, breaker and budget. NULL: out of memory. */
char *settings_json(const struct destination_settings *settings);

/* The settings of a row of the store: those of the file, if it is there, else those kept with it. What can no longer be read (a policy that is
 * gone from the file) is replaced by the default, and logged. False: not even its
 * URL can be read; it must not send. */
bool settings_of_row(const struct serve_config *config, const struct destination_row *row,
                     struct destination_settings *settings);

/* The file's destination of that name; NULL: none. The alerts' webhook is one, too: `alerts` is where it is put together. */
const struct destination_settings *settings_find(const struct serve_config *config,
                                                 const char *name,
                                                 struct destination_settings *alerts);

#endif
