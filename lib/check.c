#include "check.h"

#include <stdarg.h>
#include <stdio.h>

void complain_about(struct lull_error *error, const char *field, const char *format, ...) {
    if (error == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    int used = snprintf(error->message, sizeof error->message, "%s ", field);
    if (used > 0 && (size_t)used < sizeof error->message)
        vsnprintf(error->message + used, sizeof error->message - (size_t)used, format, arguments);
    va_end(arguments);
    error->field = field;
}

const char *duration_text(lull_duration duration, char *buffer, size_t size) {
    static const struct {
        lull_duration length;
        const char *name;
    } units[] = {
        {LULL_HOUR, "h"},         {LULL_MINUTE, "m"},       {LULL_SECOND, "s"},
        {LULL_MILLISECOND, "ms"}, {LULL_MICROSECOND, "us"},
    };
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (duration >= units[i].length || duration <= -units[i].length) {
            snprintf(buffer, size, "%.6g%s", (double)duration / (double)units[i].length,
                     units[i].name);
            return buffer;
        }
    snprintf(buffer, size, "%lldns", (long long)duration);
    return buffer;
}

int check_duration(struct lull_error *error, const char *field, lull_duration value,
                   lull_duration low, lull_duration high) {
    if (value >= low && value <= high)
        return LULL_OK;
    char is[32], from[32], to[32];
    return invalid(error, field, "is %s; it must be from %s to %s",
                   duration_text(value, is, sizeof is), duration_text(low, from, sizeof from),
                   duration_text(high, to, sizeof to));
}

int check_integer(struct lull_error *error, const char *field, int64_t value, int64_t low,
                  int64_t high) {
    if (value >= low && value <= high)
        return LULL_OK;
    return invalid(error, field, "is %lld; it must be from %lld to %lld", (long long)value,
                   (long long)low, (long long)high);
}

int check_number(struct lull_error *error, const char *field, double value, double low,
                 double high) {
    if (value >= low && value <= high)
        return LULL_OK;
    return invalid(error, field, "is %g; it must be from %g to %g", value, low, high);
}
