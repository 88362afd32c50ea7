#include "storm_output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
    const char *name;
    char *target;    /* the file itself, behind any links */
    char *temporary; /* NULL: written to directly */
    FILE *stream;
};

static void cannot(const char *name, int error, struct problem *problem) {
    problem_say(problem, "cannot write %.200s: %s", name, strerror(error != 0 ? error : EIO));
}

static void forget(struct output *output) {
    free(output->target);
    free(output->temporary);
    output->target = output->temporary = NULL;
}

/* Opens FILE.tmp beside the file; `found` is the file there is, or NULL. False, and errno says
 * why. */
static bool open_temporary(struct output *output, const struct stat *found) {
    char *temporary;
    output->target = found != NULL ? realpath(output->name, NULL) : strdup(output->name);
    if (output->target == NULL || asprintf(&temporary, "%s.tmp", output->target) < 0)
        return false;
    output->temporary = temporary;
    int file = open(output->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file < 0)
        return false;
    if (found != NULL)
        (void)!fchmod(file, found->st_mode & 0777);
    output->stream = fdopen(file, "w");
    if (output->stream == NULL) {
        close(file);
        unlink(output->temporary);
    }
    return output->stream != NULL;
}

/* Decides where to write, and opens it. False, and errno says why. */
static bool open_output(struct output *output, const char *name) {
    struct stat found;
    *output = (struct output){.name = name};
    if (strcmp(name, "-") == 0) {
        output->stream = stdout;
        return true;
    }
    bool there = stat(name, &found) == 0;
    if (there && access(name, W_OK) != 0)
        return false;
    if (there && !S_ISREG(found.st_mode)) {
        output->stream = fopen(name, "we");
        return output->stream != NULL;
    }
    if (open_temporary(output, there ? &found : NULL))
        return true;
    forget(output);
    return false;
}

/* Puts the file in its place, or removes it if `keep` is false. False: something could not be
 * written; errno says what. */
static bool close_output(struct output *output, bool keep) {
    bool fine = ferror(output->stream) == 0 && fflush(output->stream) == 0;
    int error = errno;
    if (output->stream != stdout && fclose(output->stream) != 0 && fine) {
        error = errno;
        fine = false;
    }
    if (output->temporary != NULL && fine && keep &&
        rename(output->temporary, output->target) != 0) {
        error = errno;
        fine = false;
    }
    if (output->temporary != NULL && !(fine && keep))
        unlink(output->temporary);
    forget(output);
    errno = error;
    return fine;
}

bool output_check(const char *name, struct problem *problem) {
    struct output output;
    struct stat found;
    bool fine;
    /* Opening what is no file may wait for a reader, or do something. */
    if (stat(name, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
        fine = access(name, W_OK) == 0;
    else
        fine = open_output(&output, name) && close_output(&output, false);
    if (!fine)
        cannot(name, errno, problem);
    return fine;
}

bool output_write(const char *name, int (*write)(const struct study *, FILE *),
                  const struct study *study, struct problem *problem) {
    struct output output;
    if (!open_output(&output, name)) {
        cannot(name, errno, problem);
        return false;
    }
    errno = 0;
    bool complete = write(study, output.stream) == LULL_OK;
    bool written = close_output(&output, complete);
    if (!complete || !written)
        cannot(name, complete ? errno : ENOMEM, problem);
    return complete && written;
}
