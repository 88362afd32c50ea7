/* The store in memory: for simulations and tests. It keeps to the rules of the one on disk, forgets all when it ends, and
 * does the same for the same calls. Good for some hundred thousand deliveries.
 *
 * It does not report that memory has run out, it aborts: nothing that must not abort uses it. */
#ifndef STORE_MEMORY_H
#define STORE_MEMORY_H

#include "adapter.h"

struct store_adapter *store_memory_new(void); /* NULL: out of memory */
/* From now on every run fails with this problem, as if the disk were full (borrowed; NULL: it works again). */
void store_memory_fail(struct store_adapter *adapter, const char *problem);

#endif
