#include "api/process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static uint64_t resident(void) {
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*u %llu", &pages) != 1) /* NOLINT(cert-err34-c): the kernel wrote it */
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t open_files(void) {
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count > 0 ? count - 1 : 0; /* but the folder itself */
}

void process_measure(struct process_figures *figures) {
    struct rusage usage;
    struct rlimit limit;
    *figures = (struct process_figures){0};
    if (getrusage(RUSAGE_SELF, &usage) == 0)
        figures->cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        figures->most_files = limit.rlim_cur;
    figures->resident_bytes = resident();
    figures->open_files = open_files();
}
