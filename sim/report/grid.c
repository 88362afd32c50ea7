#include "grid.h"

#include <string.h>

enum { GAP = 2 };

void tone_set(enum tone tone, const struct style *style, FILE *stream) {
    static const char *const codes[] = {
        [TONE_PLAIN] = "\033[0m", [TONE_STRONG] = "\033[1m", [TONE_QUIET] = "\033[2m",
        [TONE_GOOD] = "\033[32m", [TONE_BAD] = "\033[1;31m",
    };
    if (style->colour)
        fputs(codes[tone], stream);
}

uint32_t text_width(const char *text) {
    uint32_t width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80; /* not the tail of a UTF-8 letter */
    return width;
}

static uint32_t wider(uint32_t width, const char *text) {
    uint32_t other = text == NULL ? 0 : text_width(text);
    return other > width ? other : width;
}

static uint32_t column_width(const struct grid *grid, uint32_t column) {
    uint32_t width = wider(wider(0, grid->column[column].head[0]), grid->column[column].head[1]);
    for (uint32_t row = 0; row < grid->rows; row++)
        width = wider(width, grid->cell[row][column].text);
    return width;
}

/* The widths of all columns, 0 for those that are left out. */
static void fit(const struct grid *grid, uint32_t room, uint32_t widths[GRID_COLUMNS]) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < grid->columns; i++) {
        widths[i] = column_width(grid, i);
        sum += widths[i] + (i > 0 ? GAP : 0);
    }
    while (sum > room) {
        uint32_t victim = 0;
        for (uint32_t i = 1; i < grid->columns; i++)
            if (widths[i] > 0 && grid->column[i].rank > grid->column[victim].rank)
                victim = i;
        if (grid->column[victim].rank == 0)
            return; /* all that is left is needed; the terminal will break the lines */
        sum -= widths[victim] + GAP;
        widths[victim] = 0;
    }
}

/* Blanks are written before the next word, so that no line ends in them. */
static void print_cells(const struct grid_cell *cells, uint32_t count, const uint32_t *widths,
                        const struct style *style, FILE *stream) {
    uint32_t blanks = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (widths[i] == 0)
            continue;
        uint32_t padding = widths[i] - text_width(cells[i].text);
        if (i > 0)
            blanks += GAP + padding;
        if (cells[i].text[0] != '\0') {
            fprintf(stream, "%*s", (int)blanks, "");
            blanks = 0;
            if (cells[i].tone != TONE_PLAIN)
                tone_set(cells[i].tone, style, stream);
            fputs(cells[i].text, stream);
            if (cells[i].tone != TONE_PLAIN)
                tone_set(TONE_PLAIN, style, stream);
        }
        if (i == 0)
            blanks = padding;
    }
    fputc('\n', stream);
}

static void print_head(const struct grid *grid, int line, const uint32_t *widths,
                       const struct style *style, FILE *stream) {
    struct grid_cell cells[GRID_COLUMNS] = {0};
    bool empty = true;
    for (uint32_t i = 0; i < grid->columns; i++) {
        const char *head = grid->column[i].head[line];
        snprintf(cells[i].text, sizeof cells[i].text, "%s", head == NULL ? "" : head);
        cells[i].tone = TONE_QUIET;
        empty = empty && head == NULL;
    }
    if (!empty)
        print_cells(cells, grid->columns, widths, style, stream);
}

void grid_print(const struct grid *grid, const struct style *style, FILE *stream) {
    uint32_t widths[GRID_COLUMNS];
    fit(grid, style->width, widths);
    print_head(grid, 0, widths, style, stream);
    print_head(grid, 1, widths, style, stream);
    for (uint32_t row = 0; row < grid->rows; row++)
        print_cells(grid->cell[row], grid->columns, widths, style, stream);
}

void paragraph_print(const char *text, uint32_t indent, const struct style *style, FILE *stream) {
    uint32_t room = style->width > indent + 20 ? style->width - indent : 20;
    uint32_t used = 0;
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        char word[SIM_TEXT_SIZE];
        size_t length = strcspn(text, " ");
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        uint32_t width = text_width(word);
        bool starts_line = used == 0 || used + 1 + width > room;
        if (starts_line && used > 0)
            fputc('\n', stream);
        fprintf(stream, "%*s%s", starts_line ? (int)indent : 1, "", word);
        used = starts_line ? width : used + 1 + width;
        text += length;
    }
    if (used > 0)
        fputc('\n', stream);
}
