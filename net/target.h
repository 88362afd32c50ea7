/* Makes a target (engine/transport.h) of a destination's settings. */
#ifndef NET_TARGET_H
#define NET_TARGET_H

#include "destination.h"
#include "transport.h"

struct target_secret {
    const char *text; /* "whsec_…"; NULL or "": none */
    lull_time until;  /* no longer used then, on the wall clock; LULL_NEVER */
};

/* Copies everything; the secret of the settings is not looked at, the newest of `secrets` comes first. One reference, the caller's. NULL: out
 * of memory, or a secret that secret_decode would refuse. */
struct target *target_new(const struct destination_settings *settings,
                          const struct target_secret secrets[TARGET_SECRETS]);

#endif
