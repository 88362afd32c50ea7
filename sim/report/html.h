/* A study as one HTML page that needs nothing else: charts, figures and the data they are drawn
 * from.
 *
 * The page is page.html with page.css and page*.js, put into the program by embed_page.py when it
 * is built. All that changes from study to study is one JSON object in it, with each '<' written as
 * \u003c: no name or title, whatever is in it, can end the element that holds it. The page shows
 * texts as texts, never as markup, and its Content-Security-Policy allows no script but its own and
 * no connection at all.
 */
#ifndef SIM_REPORT_HTML_H
#define SIM_REPORT_HTML_H

#include "study.h"

#include <stdio.h>

/* Values of each kind in a page, over all policies. Longer runs are put together (study_json): a
 * page stays under 1 MB. */
#define PAGE_VALUES 24000

/* LULL_OK or LULL_ENOMEM. Whether all could be written is for the caller to ask of the stream. */
LULL_MUST_USE int study_html(const struct study *study, FILE *stream);

#endif
