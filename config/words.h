/* Sentences about what somebody wrote: their own words quoted safely, and what they may have meant.
 *
 *   quote("12k")                                  "12k"
 *   quote of 60 bytes                             cut after 40, with a "…"
 *   quote of a terminal's codes                   each control character is a '?'
 *
 *   struct names names = names_for("banc");
 *   names_offer(&names, "bank"), names_offer(&names, "catalog");
 *   names_advice(&names, text, sizeof text);      did you mean bank? There are bank, catalog
 */
#ifndef CONFIG_WORDS_H
#define CONFIG_WORDS_H

#include "suggest.h"

#define QUOTE_SIZE 52
#define QUOTE_LONGEST 40 /* bytes of the text that are shown */

/* `text` as it may be shown on a terminal. Returns `tamed`. */
char *tame(const char *text, char tamed[QUOTE_SIZE]);

/* The same in quotation marks. Returns `quoted`. */
char *quote(const char *text, char quoted[QUOTE_SIZE]);

/* The length of the control character (C0, DEL, C1) at `text`; 0 if there is none. */
size_t control_character(const char *text);

/* The names there are, and the one nearest to what was typed. Names are borrowed. */
struct names {
    struct suggestion best;
    char list[400]; /* "bank, catalog", cut if there are very many */
    size_t length;
    unsigned count;
};

struct names names_for(const char *typed);
void names_offer(struct names *names, const char *name);

/* "did you mean bank? There are bank, catalog", or the second half alone. Returns `text`. */
char *names_advice(const struct names *names, char *text, size_t size);

#endif
