#include "json.h"

#include "utf8.h"

#include <string.h>

void print_json_string(FILE *stream, const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', stream);
    while (*at != '\0') {
        size_t length = utf8_character((const char *)at, 4);
        if (length == 0) {
            fputs("\\ufffd", stream);
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            fprintf(stream, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7F) {
            fprintf(stream, "\\u%04x", *at);
        } else {
            fwrite(at, 1, length, stream);
        }
        at += length;
    }
    fputc('"', stream);
}

void print_json_milliseconds(FILE *stream, lull_duration duration) {
    lull_duration microseconds = duration / LULL_MICROSECOND;
    fprintf(stream, "%lld.%03lld", (long long)(microseconds / 1000),
            (long long)(microseconds % 1000));
}
