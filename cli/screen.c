#include "screen.h"

#include "problem.h"

#include <langinfo.h>
#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

enum { BAR = 24, USUAL_WIDTH = 80 };

void *screen_memory(void *memory) {
    if (memory == NULL) {
        complain("out of memory");
        exit(EXIT_FAILURE);
    }
    return memory;
}

/* ---- the screen ---- */

/* The locale is asked, not set: numbers are to be written the same way everywhere. */
static bool locale_is_utf8(void) {
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (locale == (locale_t)0)
        return false;
    bool result = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return result;
}

struct screen screen_of(int descriptor) {
    const char *no_colour = getenv("NO_COLOR"), *kind = getenv("TERM");
    struct screen screen = {.terminal = isatty(descriptor) != 0, .unicode = true};
    struct winsize size;
    if (!screen.terminal)
        return screen;
    screen.unicode = locale_is_utf8();
    screen.colour =
        (no_colour == NULL || no_colour[0] == '\0') && (kind == NULL || strcmp(kind, "dumb") != 0);
    screen.width = USUAL_WIDTH;
    if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        screen.width = size.ws_col;
    return screen;
}

/* ---- characters ---- */

/* How many bytes the UTF-8 character has, and which it is; 0 if it is none. Overlong forms,
 * surrogates and what is past U+10FFFF are none. */
static size_t decode(const unsigned char *text, size_t length, uint32_t *point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t count = text[0] < 0x80             ? 1
                   : (text[0] & 0xE0) == 0xC0 ? 2
                   : (text[0] & 0xF0) == 0xE0 ? 3
                   : (text[0] & 0xF8) == 0xF0 ? 4
                                              : 0;
    if (count == 0 || count > length)
        return 0;
    *point = count == 1 ? text[0] : text[0] & (0x7FU >> count);
    for (size_t i = 1; i < count; i++) {
        if ((text[i] & 0xC0) != 0x80)
            return 0;
        *point = *point << 6 | (text[i] & 0x3F);
    }
    if (*point < least[count] || *point > 0x10FFFF || (*point >= 0xD800 && *point <= 0xDFFF))
        return 0;
    return count;
}

static bool turns_direction(uint32_t point) {
    return point == 0x61C || point == 0x200E || point == 0x200F ||
           (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

/* wcwidth goes by the locale, which is C here: it is lent another. */
static int columns_of(uint32_t point) {
    static locale_t locale;
    if (point < 0x80)
        return point >= 0x20 && point != 0x7F ? 1 : -1;
    if (point < 0xA0 || turns_direction(point))
        return -1;
    if (locale == (locale_t)0)
        locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (locale == (locale_t)0)
        return 1;
    locale_t before = uselocale(locale);
    int columns = wcwidth((wchar_t)point);
    uselocale(before);
    return columns;
}

size_t screen_character(const char *text, size_t length, int *columns) {
    uint32_t point = 0;
    size_t count = decode((const unsigned char *)text, length, &point);
    *columns = count == 0 ? -1 : columns_of(point);
    return count == 0 ? 1 : count;
}

size_t screen_columns(const char *text) {
    size_t sum = 0, length = strlen(text);
    while (length > 0) {
        int columns = 0;
        size_t count = screen_character(text, length, &columns);
        sum += columns > 0 ? (size_t)columns : 0;
        text += count;
        length -= count;
    }
    return sum;
}

static void write_safe(const struct screen *screen, const char *text, size_t count, int columns,
                       bool lines, FILE *stream) {
    uint32_t point = 0;
    if (count == 1 && (*text == '\n' || *text == '\t'))
        fputc(lines ? *text : ' ', stream);
    else if (count == 1 && *text == '\r') /* of "\r\n", mostly */
        fputs(lines ? "\\r" : "", stream);
    else if (columns < 0 && decode((const unsigned char *)text, count, &point) > 0)
        fprintf(stream, "\\u%04x", point); /* right in JSON, too */
    else if (columns < 0)
        fprintf(stream, "\\x%02x", (unsigned char)*text);
    else if (count > 1 && !screen->unicode)
        fputc('?', stream);
    else
        fwrite(text, 1, count, stream);
}

char *screen_safe(const struct screen *screen, const char *text, size_t length, bool lines) {
    char *copy = NULL;
    size_t size = 0;
    FILE *stream = screen_memory(open_memstream(&copy, &size));
    while (length > 0) {
        int columns = 0;
        size_t count = screen_character(text, length, &columns);
        write_safe(screen, text, count, columns, lines, stream);
        text += count;
        length -= count;
    }
    fclose(stream);
    return screen_memory(copy);
}

/* ---- the line on stderr ---- */

void status_line_init(struct status_line *line, bool wanted) {
    const char *kind = getenv("TERM");
    *line = (struct status_line){.screen = screen_of(STDERR_FILENO)};
    line->shown = wanted && line->screen.terminal && (kind == NULL || strcmp(kind, "dumb") != 0);
}

/* A line that is wrapped could not be wiped away: it is cut one column short of the edge. */
static void draw(struct status_line *line, const char *text, size_t length) {
    size_t left = line->screen.width - 1;
    fputc('\r', stderr);
    while (length > 0) {
        int columns = 0;
        size_t count = screen_character(text, length, &columns);
        if (columns > 0 && (size_t)columns > left)
            break;
        left -= columns > 0 ? (size_t)columns : 0;
        fwrite(text, 1, count, stderr);
        text += count;
        length -= count;
    }
    fputs("\033[K", stderr);
    fflush(stderr);
    line->drawn = true;
}

void status_line_text(struct status_line *line, const char *format, ...) {
    char text[512];
    va_list arguments;
    if (!line->shown)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *safe = screen_safe(&line->screen, text, strlen(text), false);
    draw(line, safe, strlen(safe));
    free(safe);
}

void status_line_bar(struct status_line *line, const char *label, double part) {
    char bar[BAR * 3 + 1] = "";
    size_t length = 0;
    double share = part < 0 ? 0 : part > 1 ? 1 : part;
    for (int i = 0; i < BAR; i++) {
        bool full = i < (int)(share * BAR + 0.5);
        const char *block = line->screen.unicode ? (full ? "█" : "░") : (full ? "#" : "-");
        length += (size_t)snprintf(bar + length, sizeof bar - length, "%s", block);
    }
    status_line_text(line, "%.200s  %s  %2.0f %%", label, bar, share * 100);
}

void status_line_clean_up(struct status_line *line) {
    if (line->drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    line->drawn = false;
}
