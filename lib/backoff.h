/* For the guard: a backoff configuration checked under the guard's name for it. */
#ifndef LULL_LIB_BACKOFF_H
#define LULL_LIB_BACKOFF_H

#include "private.h"

#include <lull/backoff.h>

/* LULL_OK and *settled is `config` with the defaults filled in; or LULL_EINVAL, and `error` says why. */
int backoff_check(const struct lull_backoff_config *config, struct lull_backoff_config *settled,
                  struct lull_error *error);
void backoff_apply(struct lull_backoff *backoff, const struct lull_backoff_config *settled);

#endif
