/* The screen, and text that is safe to show on it.
 *
 * What a server says may hold anything: escape sequences that repaint the terminal, line ends that
 * forge a row, marks that turn the direction of writing. None of it is written as it is:
 *
 *   "red \033[31m"   →   red \u001b[31m          "two\nlines"   →   two lines
 *
 * Widths are counted in columns: 日本 has four, é has one whether it is one code point or two.
 */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct screen {
    bool terminal; /* people are watching */
    bool colour;   /* a terminal, and NO_COLOR is not set */
    bool unicode;  /* it shows more than ASCII; true for pipes, where bytes are kept */
    size_t width;  /* columns; 0: as many as it takes */
};

/* What is at the other end of this descriptor. */
struct screen screen_of(int descriptor);

/* One character at `text` (length ≥ 1): how many bytes it has, and how many columns it takes. It
 * takes -1 if it must not be shown: a control character, a direction mark, or no UTF-8 at all. */
size_t screen_character(const char *text, size_t length, int *columns);

/* The columns of a text that has been made safe. */
size_t screen_columns(const char *text);

/* A copy, safe to show; `lines`: tabs and line ends stay. On the heap; the caller frees it. */
char *screen_safe(const struct screen *screen, const char *text, size_t length, bool lines);

/* Ends the program with a complaint if there is none: for what a command allocates. */
void *screen_memory(void *memory);

/* A line on stderr that is redrawn in place, if that is a terminal; wiped away at the end.
 *
 *   events.ndjson  ███████████░░░░░░░░░░░░░  47 %
 */
struct status_line {
    struct screen screen;
    bool shown; /* false: nothing is drawn */
    bool drawn;
};
void status_line_init(struct status_line *line, bool wanted);
void status_line_text(struct status_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void status_line_bar(struct status_line *line, const char *label, double part);
void status_line_clean_up(struct status_line *line);

#endif
