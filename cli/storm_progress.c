#include "storm_progress.h"

#include "duration.h"
#include "signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define REDRAW (LULL_SECOND / 10)
#define FIRST_GUESS LULL_SECOND /* no guess of what is left is made before this */

enum { BAR = 24 };

void storm_progress_init(struct storm_progress *progress, const struct sim_scenario *scenario,
                         bool wanted, bool unicode) {
    const char *terminal = getenv("TERM");
    *progress = (struct storm_progress){
        .shown =
            wanted && isatty(STDERR_FILENO) && (terminal == NULL || strcmp(terminal, "dumb") != 0),
        .unicode = unicode,
        .scenario = scenario->name,
        .count = scenario->policy_count,
        .began = clock_now(),
    };
    pthread_mutex_init(&progress->lock, NULL);
    for (uint32_t i = 0; i < progress->count; i++)
        progress->parts[i] = -1;
}

static void draw(const struct storm_progress *progress, lull_time now) {
    double sum = 0;
    uint32_t begun = 0;
    for (uint32_t i = 0; i < progress->count; i++)
        if (progress->parts[i] >= 0) {
            sum += progress->parts[i];
            begun++;
        }
    double part = sum / progress->count;
    fprintf(stderr, "\r%s  policy %u of %u  ", progress->scenario, begun, progress->count);
    for (int i = 0; i < BAR; i++)
        fputs(i < (int)(part * BAR + 0.5) ? (progress->unicode ? "█" : "#")
                                          : (progress->unicode ? "░" : "-"),
              stderr);
    fprintf(stderr, "  %2.0f %%", part * 100);
    if (now - progress->began >= FIRST_GUESS && part > 0) {
        char left[DURATION_TEXT_SIZE];
        double estimate = (double)(now - progress->began) * (1 - part) / part;
        lull_duration seconds = (lull_duration)(estimate / (double)LULL_SECOND + 1);
        fprintf(stderr, "  %s left", duration_format(seconds * LULL_SECOND, left));
    }
    fputs("\033[K", stderr);
    fflush(stderr);
}

void storm_progress_tell(struct storm_progress *progress, uint32_t run, double part) {
    if (!progress->shown)
        return;
    lull_time now = clock_now();
    pthread_mutex_lock(&progress->lock);
    progress->parts[run] = part;
    if (progress->drawn == 0 || now - progress->drawn >= REDRAW) {
        progress->drawn = now;
        draw(progress, now);
    }
    pthread_mutex_unlock(&progress->lock);
}

void storm_progress_clean_up(struct storm_progress *progress) {
    if (progress->drawn != 0) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    pthread_mutex_destroy(&progress->lock);
}
