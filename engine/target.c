#include "transport.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct target *target_share(struct target *target) {
    atomic_fetch_add_explicit(&target->references, 1, memory_order_relaxed);
    return target;
}

void target_release(struct target *target) {
    if (target == NULL ||
        atomic_fetch_sub_explicit(&target->references, 1, memory_order_acq_rel) > 1)
        return;
    if (target->free_transport_data != NULL)
        target->free_transport_data(target->transport_data);
    for (int i = 0; i < TARGET_SECRETS; i++) {
        if (target->secrets[i].length > 0)
            explicit_bzero(target->secrets[i].bytes, target->secrets[i].length);
        free(target->secrets[i].bytes);
    }
    free(target->url);
    free(target->headers);
    free(target);
}
