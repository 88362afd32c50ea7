#include "html.h"

#include "json.h"

#include <stdlib.h>

/* static const char page_before[], page_after[]: the page around its data; made by embed_page.py */
#include "report_page.h"

static uint32_t step_of(const struct study *study) {
    uint64_t values = (uint64_t)study->results[0].length * study->scenario->policy_count;
    return (uint32_t)((values + PAGE_VALUES - 1) / PAGE_VALUES);
}

/* In JSON a '<' can be in a string only, and there this is the same letter. */
static void write_harmless(const char *json, size_t length, FILE *stream) {
    for (size_t i = 0; i < length; i++)
        if (json[i] == '<')
            fputs("\\u003c", stream);
        else
            fputc(json[i], stream);
}

int study_html(const struct study *study, FILE *stream) {
    char *json = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&json, &length);
    uint32_t step = step_of(study);
    if (memory == NULL)
        return LULL_ENOMEM;
    study_json(study, step > 0 ? step : 1, memory);
    bool complete = fflush(memory) == 0 && ferror(memory) == 0;
    if (fclose(memory) != 0 || !complete) {
        free(json);
        return LULL_ENOMEM;
    }
    fwrite(page_before, 1, sizeof page_before - 1, stream);
    write_harmless(json, length, stream);
    fwrite(page_after, 1, sizeof page_after - 1, stream);
    free(json);
    return LULL_OK;
}
