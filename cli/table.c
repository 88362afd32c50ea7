#include "table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 2 };

const char *tint_begin(const struct screen *screen, enum tint tint) {
    static const char *const codes[TINT_COUNT] = {
        [TINT_NONE] = "",        [TINT_GOOD] = "\033[32m", [TINT_WARN] = "\033[33m",
        [TINT_BAD] = "\033[31m", [TINT_FAINT] = "\033[2m",
    };
    return screen->colour ? codes[tint] : "";
}

const char *tint_end(const struct screen *screen, enum tint tint) {
    return screen->colour && tint != TINT_NONE ? "\033[0m" : "";
}

void table_init(struct table *table, const struct table_column *columns, size_t count,
                const struct screen *screen) {
    *table = (struct table){.screen = *screen};
    table->column_count = count < TABLE_COLUMNS ? count : TABLE_COLUMNS;
    for (size_t i = 0; i < table->column_count; i++) {
        table->columns[i] = columns[i];
        table->widths[i] = strlen(columns[i].title);
    }
}

static void forget_cells(struct table *table) {
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].text);
    table->cell_count = 0;
}

void table_clean_up(struct table *table) {
    forget_cells(table);
    free(table->cells);
    *table = (struct table){0};
}

void table_add(struct table *table, const char *text, enum tint tint) {
    if (table->cell_count == table->room) {
        table->room = table->room == 0 ? 256 : table->room * 2;
        table->cells = screen_memory(realloc(table->cells, table->room * sizeof table->cells[0]));
    }
    size_t column = table->cell_count % table->column_count;
    char *safe = screen_safe(&table->screen, text, strlen(text), false);
    size_t columns = screen_columns(safe);
    if (columns > table->widths[column])
        table->widths[column] = columns;
    table->cells[table->cell_count++] = (struct table_cell){.text = safe, .tint = tint};
}

/* ---- fitting ---- */

static size_t total(const size_t *widths, size_t count) {
    size_t sum = GAP * (count - 1);
    for (size_t i = 0; i < count; i++)
        sum += widths[i];
    return sum;
}

static void shrink(const struct table *table, size_t widths[TABLE_COLUMNS]) {
    memcpy(widths, table->widths, sizeof table->widths);
    if (table->screen.width == 0)
        return;
    for (size_t over = total(widths, table->column_count); over > table->screen.width; over--) {
        size_t widest = table->column_count;
        for (size_t i = 0; i < table->column_count; i++) {
            if (table->columns[i].shrinks && widths[i] > TABLE_NARROWEST &&
                (widest == table->column_count || widths[i] > widths[widest]))
                widest = i;
        }
        if (widest == table->column_count)
            return;
        widths[widest]--;
    }
}

/* ---- writing ---- */

static size_t write_whole(const char *text, size_t room, FILE *stream) {
    size_t used = 0, length = strlen(text);
    while (length > 0) {
        int columns = 0;
        size_t count = screen_character(text, length, &columns);
        size_t wide = columns > 0 ? (size_t)columns : 0;
        if (used + wide > room)
            break;
        fwrite(text, 1, count, stream);
        used += wide;
        text += count;
        length -= count;
    }
    return used;
}

/* At most `room` columns; says so if something is missing. How many it took. */
static size_t write_cut(const struct screen *screen, const char *text, size_t room, FILE *stream) {
    if (screen_columns(text) <= room)
        return write_whole(text, room, stream);
    if (room == 0)
        return 0;
    size_t used = write_whole(text, room - 1, stream);
    fputs(screen->unicode ? "…" : "~", stream);
    return used + 1;
}

static void write_row(const struct table *table, const size_t *widths,
                      const struct table_cell *cells, FILE *stream) {
    const struct screen *screen = &table->screen;
    size_t left = screen->width == 0 ? SIZE_MAX : screen->width, owed = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        size_t columns = screen_columns(cells[i].text);
        size_t width = widths[i];
        if (owed >= left)
            break;
        if (width > left - owed)
            width = left - owed;
        size_t shown = columns < width ? columns : width;
        owed += table->columns[i].right ? width - shown : 0;
        left -= owed + shown;
        /* Blanks are written when something follows them: no line ends in any. */
        if (shown > 0) {
            fprintf(stream, "%*s%s", (int)owed, "", tint_begin(screen, cells[i].tint));
            shown = write_cut(screen, cells[i].text, width, stream);
            fputs(tint_end(screen, cells[i].tint), stream);
            owed = 0;
        } else {
            left += owed;
        }
        owed += (table->columns[i].right ? 0 : width - shown) + GAP;
    }
    fputc('\n', stream);
}

static void write_head(const struct table *table, const size_t *widths, FILE *stream) {
    struct table_cell cells[TABLE_COLUMNS];
    char titles[TABLE_COLUMNS][32];
    for (size_t i = 0; i < table->column_count; i++) {
        snprintf(titles[i], sizeof titles[i], "%s", table->columns[i].title);
        for (char *at = titles[i]; *at != '\0'; at++)
            *at = (char)toupper((unsigned char)*at);
        cells[i] = (struct table_cell){.text = titles[i], .tint = TINT_FAINT};
    }
    write_row(table, widths, cells, stream);
}

void table_flush(struct table *table, FILE *stream) {
    size_t widths[TABLE_COLUMNS];
    if (table->cell_count == 0)
        return;
    shrink(table, widths);
    if (!table->headless)
        write_head(table, widths, stream);
    table->headless = true;
    for (size_t at = 0; at + table->column_count <= table->cell_count; at += table->column_count)
        write_row(table, widths, &table->cells[at], stream);
    forget_cells(table);
}
