/* A table for people: columns as wide as what stands in them, cut to the terminal's width.
 *
 *   struct table table;
 *   table_init(&table, (struct table_column[]){{"name"}, {"dead", .right = true}}, 2, &screen);
 *   table_add(&table, "shop", TINT_NONE), table_add(&table, "3", TINT_BAD);      a row
 *   table_flush(&table, stdout);
 *
 *   NAME  DEAD
 *   shop     3
 *
 * A row that is too long has its shrinking columns shortened, the widest first, down to
 * TABLE_NARROWEST; then it is cut at the edge. What is not a terminal has no width: nothing is cut.
 * Long lists are flushed a page at a time: the head is written once, and columns never get
 * narrower.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "screen.h"

#define TABLE_COLUMNS 12
#define TABLE_NARROWEST 6

enum tint { TINT_NONE, TINT_GOOD, TINT_WARN, TINT_BAD, TINT_FAINT, TINT_COUNT };

struct table_column {
    const char *title;
    bool right;   /* numbers */
    bool shrinks; /* text that says enough if its end is missing */
};

struct table_cell { /* private */
    char *text;
    enum tint tint;
};

struct table { /* private */
    struct screen screen;
    struct table_column columns[TABLE_COLUMNS];
    size_t column_count;
    size_t widths[TABLE_COLUMNS];
    struct table_cell *cells;
    size_t cell_count, room;
    bool headless; /* the head has been written, or is not wanted */
};

/* At most TABLE_COLUMNS; they are copied, their titles borrowed. */
void table_init(struct table *table, const struct table_column *columns, size_t count,
                const struct screen *screen);
void table_clean_up(struct table *table);

/* The next cell, from left to right, row after row. The text is copied and made safe. */
void table_add(struct table *table, const char *text, enum tint tint);

/* Writes the rows there are, which must be whole, and forgets them. Without any: nothing. */
void table_flush(struct table *table, FILE *stream);

/* Colour on and off: "" if the screen has none. */
const char *tint_begin(const struct screen *screen, enum tint tint);
const char *tint_end(const struct screen *screen, enum tint tint);

#endif
