#include "table.h"

#include "figures.h"
#include "sparkline.h"

#include <string.h>

#define QUICK 10.0 /* seconds of recovery that are worth a friendly colour */

enum { GAP = 2, NARROWEST_LINE = 16 };

static const char *nothing(const struct style *style) {
    return style->unicode ? "–" : "-";
}

static void set_cell(struct grid_cell *cell, const char *text, enum tone tone) {
    snprintf(cell->text, sizeof cell->text, "%s", text);
    cell->tone = tone;
}

/* ---- a line per policy ---- */

enum column { NAME, ATTEMPTS, PEAK, AFTER, GOODPUT, ERRORS, RECOVERY, P50, P99, COLUMNS };

static enum tone recovery_tone(double seconds) {
    return seconds < 0 ? TONE_BAD : seconds <= QUICK ? TONE_GOOD : TONE_PLAIN;
}

static void set_latency(struct grid_cell *cell, double milliseconds, const struct style *style) {
    char text[FIGURE_SIZE];
    /* 0: there was no success to measure. */
    set_cell(cell, milliseconds > 0 ? figure_latency(milliseconds, text) : nothing(style),
             TONE_PLAIN);
}

static void set_row(const struct study *study, const struct sim_result *result,
                    const struct style *style, struct grid_cell *row) {
    char text[FIGURE_SIZE];
    bool faults = study_has_faults(study);
    set_cell(&row[NAME], result->policy, TONE_STRONG);
    set_cell(&row[ATTEMPTS], figure_ratio(result->attempts_per_request, text), TONE_PLAIN);
    set_cell(&row[PEAK], figure_ratio(result->peak_load, text), TONE_PLAIN);
    set_cell(&row[GOODPUT], figure_share(result->goodput, text), TONE_PLAIN);
    set_cell(&row[ERRORS], figure_count(result->errors, text), TONE_PLAIN);
    if (faults) {
        set_cell(&row[AFTER], figure_ratio(result->calm_peak, text), TONE_PLAIN);
        set_cell(&row[RECOVERY], figure_recovery(result->recovery_s, text),
                 recovery_tone(result->recovery_s));
    } else {
        set_cell(&row[AFTER], nothing(style), TONE_PLAIN);
        set_cell(&row[RECOVERY], nothing(style), TONE_PLAIN);
    }
    set_latency(&row[P50], result->p50_ms, style);
    set_latency(&row[P99], result->p99_ms, style);
}

static void print_policies(const struct study *study, const struct style *style, FILE *stream) {
    struct grid grid = {
        .columns = COLUMNS,
        .rows = study->scenario->policy_count,
        .column =
            {
                [NAME] = {{NULL, "policy"}, 0},
                [ATTEMPTS] = {{"attempts/", "request"}, 2},
                [PEAK] = {{"peak load", style->unicode ? "× normal" : "x normal"}, 1},
                [AFTER] = {{"peak after", "the fault"}, 5},
                [GOODPUT] = {{"goodput", NULL}, 0},
                [ERRORS] = {{"errors", NULL}, 4},
                [RECOVERY] = {{"recovery", NULL}, 0},
                [P50] = {{"p50", NULL}, 6},
                [P99] = {{"p99", NULL}, 3},
            },
    };
    for (uint32_t i = 0; i < grid.rows; i++)
        set_row(study, &study->results[i], style, grid.cell[i]);
    grid_print(&grid, style, stream);
}

/* ---- load over time ---- */

struct lines {
    uint32_t names;  /* columns for the policies' names */
    uint32_t width;  /* of the lines themselves */
    uint32_t length; /* of the series */
    double top;
};

static struct lines lines_of(const struct study *study, const struct style *style) {
    struct lines lines = {.length = study->results[0].length};
    for (uint32_t i = 0; i < study->scenario->policy_count; i++) {
        uint32_t width = text_width(study->results[i].policy);
        double most =
            sparkline_highest(study->results[i].offered, (struct stretch){0, lines.length});
        lines.names = width > lines.names ? width : lines.names;
        lines.top = most > lines.top ? most : lines.top;
    }
    if (style->width > lines.names + GAP)
        lines.width = style->width - lines.names - GAP;
    return lines;
}

/* Does the fault reach into these seconds? */
static bool overlaps(const struct sim_fault *fault, struct stretch stretch) {
    return fault->at < (lull_time)stretch.to * LULL_SECOND &&
           fault->at + fault->length > (lull_time)stretch.from * LULL_SECOND;
}

static bool in_trouble(const struct study *study, struct stretch stretch) {
    for (uint32_t s = 0; s < study->scenario->service_count; s++)
        for (uint32_t i = 0; i < study->scenario->services[s].fault_count; i++)
            if (overlaps(&study->scenario->services[s].faults[i], stretch))
                return true;
    return false;
}

static void print_line(const struct study *study, const struct sim_result *result,
                       struct lines lines, const struct style *style, FILE *stream) {
    fprintf(stream, "%s%*s", result->policy, (int)(lines.names - text_width(result->policy) + GAP),
            "");
    bool bad = false;
    for (uint32_t i = 0; i < lines.width; i++) {
        struct stretch stretch = sparkline_stretch(i, lines.width, lines.length);
        if (in_trouble(study, stretch) != bad)
            tone_set((bad = !bad) ? TONE_BAD : TONE_PLAIN, style, stream);
        int level = sparkline_level(sparkline_highest(result->offered, stretch), lines.top);
        fputs(sparkline_letter(level, style->unicode), stream);
    }
    if (bad)
        tone_set(TONE_PLAIN, style, stream);
    fputc('\n', stream);
}

/* A bar below the seconds of the fault, and what it is: beside it where there is room, else
 * below. */
static void print_fault(const struct study *study, const struct sim_service *service,
                        const struct sim_fault *fault, struct lines lines,
                        const struct style *style, FILE *stream) {
    char from[FIGURE_SIZE], to[FIGURE_SIZE], label[SIM_NAME_SIZE + 3 * FIGURE_SIZE];
    uint32_t first = lines.width, last = 0;
    for (uint32_t i = 0; i < lines.width; i++)
        if (overlaps(fault, sparkline_stretch(i, lines.width, lines.length))) {
            first = i < first ? i : first;
            last = i;
        }
    if (first == lines.width)
        return; /* the run is over before it */
    snprintf(label, sizeof label, "%s: %s, %s - %s", service->name, fault_kind_name(fault->kind),
             figure_time(fault->at, from), figure_time(study_fault_end(study, fault), to));
    uint32_t width = text_width(label), margin = lines.names + GAP;
    bool before = first + margin > width, after = last + 1 + width + 1 <= lines.width;
    if (!after && before)
        fprintf(stream, "%*s%s ", (int)(margin + first - width - 1), "", label);
    else
        fprintf(stream, "%*s", (int)(margin + first), "");
    tone_set(TONE_BAD, style, stream);
    for (uint32_t i = first; i <= last; i++)
        fputs(style->unicode ? "━" : "=", stream);
    tone_set(TONE_PLAIN, style, stream);
    if (after)
        fprintf(stream, " %s", label);
    else if (!before)
        fprintf(stream, "\n%*s%s", (int)margin, "", label);
    fputc('\n', stream);
}

static void print_load(const struct study *study, const struct style *style, FILE *stream) {
    struct lines lines = lines_of(study, style);
    double normal = study_normal_load(study);
    char text[FIGURE_SIZE], what[2 * SIM_NAME_SIZE], scale[2 * FIGURE_SIZE] = "";
    if (lines.width < NARROWEST_LINE || lines.length == 0)
        return;
    if (normal > 0)
        snprintf(scale, sizeof scale, "; a full block is %s %s normal",
                 figure_ratio(lines.top / normal, text), style->unicode ? "×" : "x");
    snprintf(what, sizeof what, "Load on %s%s", study_watched(study)->name, scale);
    fputc('\n', stream);
    paragraph_print(what, 0, style, stream);
    for (uint32_t i = 0; i < study->scenario->policy_count; i++)
        print_line(study, &study->results[i], lines, style, stream);
    for (uint32_t s = 0; s < study->scenario->service_count; s++)
        for (uint32_t i = 0; i < study->scenario->services[s].fault_count; i++)
            print_fault(study, &study->scenario->services[s],
                        &study->scenario->services[s].faults[i], lines, style, stream);
    figure_time(study->scenario->duration, text);
    tone_set(TONE_QUIET, style, stream);
    fprintf(stream, "%*s0 s%*s\n", (int)(lines.names + GAP), "", (int)(lines.width - 3), text);
    tone_set(TONE_PLAIN, style, stream);
}

/* ---- the other clients ---- */

static void print_group(const struct study *study, uint32_t group, const struct style *style,
                        FILE *stream) {
    struct grid grid = {
        .columns = 6,
        .rows = study->scenario->policy_count,
        .column = {{{"policy", NULL}, 0},
                   {{"requests", NULL}, 3},
                   {{"goodput", NULL}, 0},
                   {{"errors", NULL}, 2},
                   {{"p50", NULL}, 1},
                   {{"p99", NULL}, 0}},
    };
    char text[FIGURE_SIZE], who[3 * SIM_NAME_SIZE];
    for (uint32_t i = 0; i < grid.rows; i++) {
        const struct sim_group *result = &study->results[i].groups[group];
        set_cell(&grid.cell[i][0], study->results[i].policy, TONE_STRONG);
        set_cell(&grid.cell[i][1], figure_count(result->requests, text), TONE_PLAIN);
        set_cell(&grid.cell[i][2], figure_share(group_goodput(result), text), TONE_PLAIN);
        set_cell(&grid.cell[i][3], figure_count(result->failed, text), TONE_PLAIN);
        set_latency(&grid.cell[i][4], result->p50_ms, style);
        set_latency(&grid.cell[i][5], result->p99_ms, style);
    }
    snprintf(who, sizeof who, "Beside them: %s, calling %s", study->scenario->clients[group].name,
             study->scenario->clients[group].calls);
    fputc('\n', stream);
    paragraph_print(who, 0, style, stream);
    grid_print(&grid, style, stream);
}

static void print_notes(const struct study *study, const struct style *style, FILE *stream) {
    fputc('\n', stream);
    for (uint32_t i = 0; i < study->scenario->policy_count; i++) {
        const struct sim_policy *policy = &study->scenario->policies[i];
        if (policy->note[0] == '\0')
            continue;
        tone_set(TONE_STRONG, style, stream);
        fputs(policy->name, stream);
        tone_set(TONE_PLAIN, style, stream);
        fputc('\n', stream);
        paragraph_print(policy->note, GAP, style, stream);
    }
}

void table_print(const struct study *study, const struct style *style, bool notes, FILE *stream) {
    const struct sim_scenario *scenario = study->scenario;
    char headline[SIM_NAME_SIZE + SIM_TEXT_SIZE + 2];
    snprintf(headline, sizeof headline, "%s%s%s", scenario->name,
             scenario->title[0] != '\0' ? ": " : "", scenario->title);
    tone_set(TONE_STRONG, style, stream);
    paragraph_print(headline, 0, style, stream);
    tone_set(TONE_PLAIN, style, stream);
    if (scenario->text[0] != '\0')
        paragraph_print(scenario->text, 0, style, stream);
    fputc('\n', stream);
    print_policies(study, style, stream);
    print_load(study, style, stream);
    for (uint32_t i = 1; i < scenario->client_count; i++)
        print_group(study, i, style, stream);
    if (notes)
        print_notes(study, style, stream);
}
