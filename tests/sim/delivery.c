/* The delivery engine in simulated worlds.
 *
 *   delivery [--seed N] [--seeds COUNT] [--from N] [--verbose]
 *
 * Without --seed: the fixed worlds, and COUNT random ones from seed N on. With it: that random world alone. A world that fails is told
 * with the command that runs it again; --verbose shows what happened last. */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 500
#define GROUP 50

struct options {
    const char *program;
    uint64_t seed, from, seeds;
    bool one, verbose;
};

struct sums {
    uint64_t accepted, attempts, crashes, replays, duplicates;
};

static int told;
static int failures;

static void tell_failure(const struct world *world) {
    printf("# at step %llu, %.6f s: %s\n", (unsigned long long)world->step,
           (double)(world->now - WORLD_BEGIN) / (double)LULL_SECOND, world->failure);
    uint64_t first = world->trace_count > TRACE_LINES ? world->trace_count - TRACE_LINES : 0;
    for (uint64_t i = first; i < world->trace_count; i++)
        printf("#   %s\n", world->trace[i % TRACE_LINES]);
}

/* True: all held. */
static bool run_seed(const struct options *options, uint64_t seed, struct sums *sums) {
    static struct world world;
    world_init(&world, seed, options->verbose);
    chaos_run(&world);
    bool good = !world.failed;
    if (!good) {
        printf("# seed %llu failed; replay it with: %s --seed %llu --verbose\n",
               (unsigned long long)seed, options->program, (unsigned long long)seed);
        tell_failure(&world);
    }
    sums->accepted += world.accepted;
    sums->attempts += world.attempts;
    sums->crashes += world.crashes;
    sums->replays += world.replays;
    sums->duplicates += world.duplicates;
    world_clean_up(&world);
    return good;
}

static void run_fixed(const struct options *options, const char *name,
                      void (*run)(struct world *)) {
    static struct world world;
    world_init(&world, 1, options->verbose);
    run(&world);
    printf("%s %d - %s\n", world.failed ? "not ok" : "ok", ++told, name);
    failures += world.failed;
    if (world.failed)
        tell_failure(&world);
    world_clean_up(&world);
    fflush(stdout);
}

static void run_group(const struct options *options, uint64_t from, uint64_t count) {
    struct sums sums = {0};
    uint64_t failed = 0;
    for (uint64_t i = 0; i < count; i++)
        failed += !run_seed(options, from + i, &sums);
    failures += failed > 0;
    printf("%s %d - seeds %llu to %llu: %llu deliveries, %llu attempts, %llu restarts, %llu "
           "replays, %llu duplicates\n",
           failed > 0 ? "not ok" : "ok", ++told, (unsigned long long)from,
           (unsigned long long)(from + count - 1), (unsigned long long)sums.accepted,
           (unsigned long long)sums.attempts, (unsigned long long)sums.crashes,
           (unsigned long long)sums.replays, (unsigned long long)sums.duplicates);
    fflush(stdout);
}

static bool read_options(struct options *options, int count, char **arguments) {
    *options = (struct options){.program = arguments[0], .from = 1, .seeds = SEEDS};
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i];
        if (strcmp(name, "--verbose") == 0) {
            options->verbose = true;
            continue;
        }
        if (i + 1 == count)
            return false;
        uint64_t value = strtoull(arguments[++i], NULL, 0);
        if (strcmp(name, "--seed") == 0)
            options->seed = value, options->one = true;
        else if (strcmp(name, "--seeds") == 0)
            options->seeds = value;
        else if (strcmp(name, "--from") == 0)
            options->from = value;
        else
            return false;
    }
    return true;
}

int main(int count, char **arguments) {
    struct options options;
    if (!read_options(&options, count, arguments)) {
        fprintf(stderr, "usage: delivery [--seed N] [--seeds COUNT] [--from N] [--verbose]\n");
        return 2;
    }
    if (options.one) {
        run_group(&options, options.seed, 1);
    } else {
        run_fixed(&options, "after an outage no more than the destination can take", gentle_run);
        run_fixed(&options, "a dead destination costs the others nothing", isolation_run);
        run_fixed(&options, "a replay keeps its pace", replay_run);
        for (uint64_t i = 0; i < options.seeds; i += GROUP)
            run_group(&options, options.from + i,
                      options.seeds - i < GROUP ? options.seeds - i : GROUP);
    }
    printf("1..%d\n", told);
    return failures > 0;
}
