#include "log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_SIZE 2048

static _Atomic(int) most = LOG_INFO;
static const char *const names[] = {"error", "warn", "info", "debug"};

void log_set_level(enum log_level level) {
    atomic_store(&most, (int)level);
}

char *log_time(lull_time at, char text[LOG_TIME_SIZE]) {
    time_t seconds = (time_t)(at / LULL_SECOND);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t length = strftime(text, LOG_TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text + length, LOG_TIME_SIZE - length, ".%03dZ",
             (int)(at % LULL_SECOND / LULL_MILLISECOND));
    return text;
}

char *log_quote(const char *text, char quoted[LOG_QUOTED_SIZE]) {
    size_t length = 0;
    quoted[length++] = '"';
    for (; *text != '\0' && length < LOG_QUOTED_SIZE - 6; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\') {
            quoted[length++] = '\\';
            quoted[length++] = (char)byte;
        } else if (byte < 0x20 || byte == 0x7f) {
            length += (size_t)snprintf(quoted + length, 5, "\\x%02x", byte);
        } else {
            quoted[length++] = (char)byte;
        }
    }
    quoted[length++] = '"';
    quoted[length] = '\0';
    return quoted;
}

void log_event(enum log_level level, const char *event, const char *format, ...) {
    char line[LINE_SIZE], at[LOG_TIME_SIZE];
    struct timespec now;
    va_list arguments;
    if ((int)level > atomic_load_explicit(&most, memory_order_relaxed))
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    int length =
        snprintf(line, sizeof line, "%s %s %s ",
                 log_time(now.tv_sec * LULL_SECOND + now.tv_nsec, at), names[level], event);
    va_start(arguments, format);
    int added = vsnprintf(line + length, sizeof line - (size_t)length, format, arguments);
    va_end(arguments);
    length = length + added < LINE_SIZE - 1 ? length + added : LINE_SIZE - 2;
    line[length++] = '\n';
    /* One write, so that lines of several threads do not mix. */
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
}
