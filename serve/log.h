/* The log: one line of key=value for each event, on stderr. At info level a healthy hour is quiet.
 *
 *   log_event(LOG_WARN, "breaker_opened", "destination=%s until=%s", name, time);
 *   2026-03-01T12:00:00.000Z warn breaker_opened destination=shop until=2026-03-01T12:00:30.000Z */
#ifndef SERVE_LOG_H
#define SERVE_LOG_H

#include <lull/base.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

#define LOG_TIME_SIZE 32
#define LOG_QUOTED_SIZE 400

void log_set_level(enum log_level level);
void log_event(enum log_level level, const char *event, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* RFC 3339, to the millisecond. Returns `text`. */
char *log_time(lull_time at, char text[LOG_TIME_SIZE]);
/* "…", with what would break the line escaped, and cut to fit. Returns `quoted`. */
char *log_quote(const char *text, char quoted[LOG_QUOTED_SIZE]);

#endif
