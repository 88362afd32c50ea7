/* Who may ask. With `auth.tokens`, whoever has one of them. Without, everybody who can reach the port, but not the pages of other
 * web sites in a browser on the same machine: their requests carry their own Origin. */
#ifndef API_AUTH_H
#define API_AUTH_H

#include "config/serve.h"
#include "net/http.h"

/* False: it has been answered with 401 or 403. */
/* It has a token, or needs none. Answers nothing. */
bool auth_known(const struct serve_config *config, const struct exchange *exchange);

bool auth_check(const struct serve_config *config, struct exchange *exchange);

#endif
