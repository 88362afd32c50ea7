/* The bar of a long simulation, on stderr.
 *
 *   checkout  policy 3 of 7  ███████████░░░░░░░░░░░░░  47 %  12 s left
 *
 * Drawn at most ten times a second, only if stderr is a terminal, and wiped away at the end. Any
 * thread may tell how far its run has come. */
#ifndef CLI_STORM_PROGRESS_H
#define CLI_STORM_PROGRESS_H

#include "scenario.h"

#include <pthread.h>

struct storm_progress {
    pthread_mutex_t lock; /* guards all that follows */
    bool shown, unicode;
    const char *scenario;
    uint32_t count;
    double parts[SIM_MAX_POLICIES]; /* of each run, 0 … 1; negative: not begun */
    lull_time began, drawn;
};

/* `wanted`: false draws nothing, terminal or not. The name is borrowed. */
void storm_progress_init(struct storm_progress *progress, const struct sim_scenario *scenario,
                         bool wanted, bool unicode);
void storm_progress_tell(struct storm_progress *progress, uint32_t run, double part);
void storm_progress_clean_up(struct storm_progress *progress);

#endif
