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

static bool cannot(const char *name, int error, struct problem *problem) {
    return problem_say(problem, "cannot write %.200s: %s", name,
                       strerror(error != 0 ? error : EIO));
}

static void forget(struct output *output) {
    free(output->target);
    free(output->temporary);
}

/* Decides where to write, and opens it. */
static bool open_output(struct output *output, const char *name, struct problem *problem) {
    struct stat found;
    *output = (struct output){.name = name};
    if (strcmp(name, "-") == 0) {
        output->stream = stdout;
        return true;
    }
    bool there = stat(name, &found) == 0;
    if (there && access(name, W_OK) != 0)
        return cannot(name, errno, problem);
    if (there && !S_ISREG(found.st_mode)) {
        output->stream = fopen(name, "we");
        return output->stream != NULL || cannot(name, errno, problem);
    }
    output->target = there ? realpath(name, NULL) : strdup(name);
    if (output->target == NULL || asprintf(&output->temporary, "%s.tmp", output->target) < 0) {
        output->temporary = NULL; /* asprintf leaves it undefined */
        forget(output);
        return cannot(name, errno, problem);
    }
    int file = open(output->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file >= 0 && there)
        (void)!fchmod(file, found.st_mode & 0777);
    output->stream = file >= 0 ? fdopen(file, "w") : NULL;
    if (output->stream != NULL)
        return true;
    int error = errno;
    if (file >= 0) {
        close(file);
        unlink(output->temporary);
    }
    forget(output);
    return cannot(name, error, problem);
}

/* Puts the file in its place, or removes it if `keep` is false. False: something could not be written; errno says what. */
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
    /* Opening what is no file may wait for a reader, or do something. */
    if (stat(name, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
        return access(name, W_OK) == 0 || cannot(name, errno, problem);
    if (!open_output(&output, name, problem))
        return false;
    return close_output(&output, false) || cannot(name, errno, problem);
}

bool output_write(const char *name, int (*write)(const struct study *, FILE *),
                  const struct study *study, struct problem *problem) {
    struct output output;
    if (!open_output(&output, name, problem))
        return false;
    errno = 0;
    int code = write(study, output.stream);
    bool written = close_output(&output, code == LULL_OK);
    if (code != LULL_OK)
        return cannot(name, ENOMEM, problem);
    return written || cannot(name, errno, problem);
}
