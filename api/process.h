/* What the system says about this process, for /metrics. What it does not say is 0. */
#ifndef API_PROCESS_H
#define API_PROCESS_H

#include <lull/base.h>

struct process_figures {
    double cpu_seconds;
    uint64_t resident_bytes;
    uint64_t open_files, most_files;
};

void process_measure(struct process_figures *figures);

#endif
