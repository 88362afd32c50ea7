#include "descendants.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct process {
    pid_t pid, parent, group;
    char state;
    bool ours;
};

struct table {
    struct process *rows;
    size_t count, room;
};

static bool read_process(const char *name, struct process *process) {
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    /* "42 (name) S 1 42 …": the name may hold blanks and brackets, so what follows its last one
     * counts. */
    const char *after = strrchr(text, ')');
    *process = (struct process){.pid = (pid_t)strtol(name, NULL, 10)};
    return after != NULL &&
           sscanf(after + 1, " %c %d %d", &process->state, &process->parent, &process->group) == 3;
}

static bool append(struct table *table, const struct process *process) {
    if (table->count == table->room) {
        size_t room = table->room == 0 ? 256 : table->room * 2;
        struct process *rows = reallocarray(table->rows, room, sizeof *rows);
        if (rows == NULL)
            return false;
        table->rows = rows;
        table->room = room;
    }
    table->rows[table->count++] = *process;
    return true;
}

static int by_pid(const void *one, const void *other) {
    pid_t a = ((const struct process *)one)->pid, b = ((const struct process *)other)->pid;
    return (a > b) - (a < b);
}

/* Every process there is, by number. */
static struct table read_all(void) {
    struct table table = {0};
    DIR *directory = opendir("/proc");
    struct process process;
    struct dirent *entry = NULL;
    if (directory == NULL)
        return table;
    while ((entry = readdir(directory)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0]) && read_process(entry->d_name, &process) &&
            !append(&table, &process))
            break;
    }
    closedir(directory);
    if (table.count > 0)
        qsort(table.rows, table.count, sizeof *table.rows, by_pid);
    return table;
}

static bool is_stranger(const struct descendants *descendants, pid_t pid) {
    for (size_t i = 0; i < descendants->stranger_count; i++) {
        if (descendants->strangers[i] == pid)
            return true;
    }
    return false;
}

static bool has_our_parent(const struct table *table, const struct process *process) {
    if (process->parent == getpid())
        return true;
    struct process key = {.pid = process->parent};
    const struct process *parent =
        bsearch(&key, table->rows, table->count, sizeof *table->rows, by_pid);
    return parent != NULL && parent->ours;
}

/* Marks children, then their children, until a round finds none. */
static void mark(struct table *table, const struct descendants *descendants) {
    bool found = table->count > 0;
    while (found) {
        found = false;
        for (size_t i = 0; i < table->count; i++) {
            struct process *process = &table->rows[i];
            if (!process->ours && !is_stranger(descendants, process->pid) &&
                has_our_parent(table, process))
                found = process->ours = true;
        }
    }
}

void descendants_init(struct descendants *descendants) {
    *descendants = (struct descendants){0};
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct table table = read_all();
    descendants->strangers = calloc(table.count + 1, sizeof *descendants->strangers);
    for (size_t i = 0; i < table.count && descendants->strangers != NULL; i++) {
        if (table.rows[i].parent == getpid())
            descendants->strangers[descendants->stranger_count++] = table.rows[i].pid;
    }
    free(table.rows);
}

void descendants_clean_up(struct descendants *descendants) {
    free(descendants->strangers);
    *descendants = (struct descendants){0};
}

size_t descendants_signal(const struct descendants *descendants, pid_t group, int signal) {
    size_t alive = 0;
    kill(-group, signal);
    struct table table = read_all();
    mark(&table, descendants);
    for (size_t i = 0; i < table.count; i++) {
        const struct process *process = &table.rows[i];
        if (!process->ours || process->state == 'Z' || process->state == 'X')
            continue;
        alive++;
        if (process->group != group)
            kill(process->pid, signal);
    }
    free(table.rows);
    return alive;
}
