/* Files that reports are written to: whole or not at all.
 *
 * What is written goes to FILE.tmp, which then takes the place of FILE. Where that cannot be, it
 * is written to directly: "-" is stdout, and what is there already but is no file (a pipe,
 * /dev/null) stays what it is. A link is followed. */
#ifndef CLI_STORM_OUTPUT_H
#define CLI_STORM_OUTPUT_H

#include "problem.h"
#include "report/study.h"

#include <stdio.h>

/* Can it be written? Asked before a long run, so as not to lose its results. */
bool output_check(const char *name, struct problem *problem);

/* Writes a report. False, and the problem names the file and the reason; then the file is as it
 * was. */
bool output_write(const char *name, int (*write)(const struct study *, FILE *),
                  const struct study *study, struct problem *problem);

#endif
