#include "json.h"

#include "../../cli/json.h"

#include <math.h>
#include <string.h>

/* ---- numbers: a fixed number of decimals, less the zeros at the end ---- */

static void number(FILE *stream, double value, int decimals) {
    char text[64];
    int length = snprintf(text, sizeof text, "%.*f", decimals, value);
    if (!isfinite(value) || length >= (int)sizeof text) {
        fputs("null", stream);
        return;
    }
    if (strchr(text, '.') != NULL)
        while (text[length - 1] == '0')
            text[--length] = '\0';
    if (text[length - 1] == '.')
        text[--length] = '\0';
    fputs(strcmp(text, "-0") == 0 ? "0" : text, stream);
}

static void seconds(FILE *stream, lull_duration duration) {
    number(stream, (double)duration / (double)LULL_SECOND, 3);
}

/* ,"key":value */
static void text_field(FILE *stream, const char *key, const char *value) {
    fprintf(stream, ",\"%s\":", key);
    print_json_string(stream, value);
}

static void number_field(FILE *stream, const char *key, double value, int decimals) {
    fprintf(stream, ",\"%s\":", key);
    number(stream, value, decimals);
}

static void optional_field(FILE *stream, const char *key, bool there, double value, int decimals) {
    if (there)
        number_field(stream, key, value, decimals);
    else
        fprintf(stream, ",\"%s\":null", key);
}

static void count_field(FILE *stream, const char *key, uint64_t count) {
    fprintf(stream, ",\"%s\":%llu", key, (unsigned long long)count);
}

/* ---- the scenario ---- */

static void write_fault(const struct study *study, const struct sim_service *service,
                        const struct sim_fault *fault, FILE *stream) {
    fputs("{\"service\":", stream);
    print_json_string(stream, service->name);
    text_field(stream, "kind", fault_kind_name(fault->kind));
    fputs(",\"from_s\":", stream);
    seconds(stream, fault->at);
    fputs(",\"to_s\":", stream);
    seconds(stream, study_fault_end(study, fault));
    if (fault->kind == SIM_FAULT_HANG || fault->kind == SIM_FAULT_ERROR)
        number_field(stream, "share", fault->share > 0 ? fault->share : 1, 4);
    if (fault->kind == SIM_FAULT_SLOW || fault->kind == SIM_FAULT_CAPACITY)
        number_field(stream, "factor", fault->factor, 4);
    fputc('}', stream);
}

static void write_faults(const struct study *study, FILE *stream) {
    const char *comma = "";
    fputs(",\"faults\":[", stream);
    for (uint32_t s = 0; s < study->scenario->service_count; s++) {
        const struct sim_service *service = &study->scenario->services[s];
        for (uint32_t i = 0; i < service->fault_count; i++, comma = ",") {
            fputs(comma, stream);
            write_fault(study, service, &service->faults[i], stream);
        }
    }
    fputc(']', stream);
}

static void write_scenario(const struct study *study, FILE *stream) {
    const struct sim_scenario *scenario = study->scenario;
    double capacity = study_capacity(study);
    fputs("{\"scenario\":", stream);
    print_json_string(stream, scenario->name);
    text_field(stream, "title", scenario->title);
    text_field(stream, "text", scenario->text);
    count_field(stream, "seed", study->seed);
    number_field(stream, "scale", scenario->scale > 0 ? scenario->scale : 1, 6);
    fputs(",\"duration_s\":", stream);
    seconds(stream, scenario->duration);
    text_field(stream, "watch", study_watched(study)->name);
    optional_field(stream, "capacity", capacity > 0, capacity, 3);
    number_field(stream, "normal_load", study_normal_load(study), 3);
    write_faults(study, stream);
}

/* ---- a policy ---- */

static void write_groups(const struct sim_result *result, FILE *stream) {
    fputs(",\"groups\":[", stream);
    for (uint32_t i = 0; i < result->group_count; i++) {
        const struct sim_group *group = &result->groups[i];
        fputs(i == 0 ? "{\"name\":" : ",{\"name\":", stream);
        print_json_string(stream, group->name);
        count_field(stream, "requests", group->requests);
        count_field(stream, "succeeded", group->succeeded);
        count_field(stream, "failed", group->failed);
        count_field(stream, "refused", group->refused);
        number_field(stream, "goodput", group_goodput(group), 6);
        number_field(stream, "p50_ms", group->p50_ms, 3);
        number_field(stream, "p99_ms", group->p99_ms, 3);
        fputc('}', stream);
    }
    fputc(']', stream);
}

static void write_services(const struct sim_result *result, bool faults, FILE *stream) {
    fputs(",\"services\":[", stream);
    for (uint32_t i = 0; i < result->service_count; i++) {
        const struct sim_service_result *service = &result->services[i];
        fputs(i == 0 ? "{\"name\":" : ",{\"name\":", stream);
        print_json_string(stream, service->name);
        count_field(stream, "attempts", service->attempts);
        count_field(stream, "wasted", service->wasted);
        count_field(stream, "turned_away", service->turned_away);
        number_field(stream, "peak_load", service->peak_load, 4);
        optional_field(stream, "peak_after", faults, service->calm_peak, 4);
        fputc('}', stream);
    }
    fputc(']', stream);
}

enum merging { HIGHEST, MEAN };

static double merged(const double *series, uint32_t from, uint32_t to, enum merging merging) {
    double sum = 0, most = 0;
    for (uint32_t i = from; i < to; i++) {
        sum += series[i];
        most = series[i] > most ? series[i] : most;
    }
    return merging == MEAN ? sum / (to - from) : most;
}

/* NULL: the seconds themselves. */
static void write_series(const char *key, const double *series, uint32_t length, uint32_t step,
                         enum merging merging, FILE *stream) {
    fprintf(stream, "\"%s\":[", key);
    for (uint32_t from = 0; from < length; from += step) {
        uint32_t to = length - from > step ? from + step : length;
        if (from > 0)
            fputc(',', stream);
        if (series == NULL)
            fprintf(stream, "%u", from);
        else
            number(stream, merged(series, from, to, merging), 3);
    }
    fputc(']', stream);
}

static void write_policy(const struct study *study, uint32_t index, uint32_t step, FILE *stream) {
    const struct sim_result *result = &study->results[index];
    bool faults = study_has_faults(study);
    uint32_t length = result->length;
    fputs("{\"name\":", stream);
    print_json_string(stream, result->policy);
    text_field(stream, "note", study->scenario->policies[index].note);
    number_field(stream, "attempts_per_request", result->attempts_per_request, 4);
    number_field(stream, "peak_load", result->peak_load, 4);
    optional_field(stream, "peak_after", faults, result->calm_peak, 4);
    number_field(stream, "goodput", result->goodput, 6);
    count_field(stream, "errors", result->errors);
    optional_field(stream, "recovery_s", faults && result->recovery_s >= 0, result->recovery_s, 3);
    number_field(stream, "p50_ms", result->p50_ms, 3);
    number_field(stream, "p99_ms", result->p99_ms, 3);
    write_groups(result, stream);
    write_services(result, faults, stream);
    fputs(",\"series\":{", stream);
    write_series("t", NULL, length, step, HIGHEST, stream);
    fputc(',', stream);
    write_series("offered", result->offered, length, step, HIGHEST, stream);
    fputc(',', stream);
    write_series("goodput", result->succeeded, length, step, MEAN, stream);
    fputc(',', stream);
    write_series("backlog", result->backlog, length, step, HIGHEST, stream);
    fputc(',', stream);
    write_series("open", result->open, length, step, MEAN, stream);
    fputs("}}", stream);
}

void study_json(const struct study *study, uint32_t step, FILE *stream) {
    write_scenario(study, stream);
    fputs(",\"policies\":[", stream);
    for (uint32_t i = 0; i < study->scenario->policy_count; i++) {
        if (i > 0)
            fputc(',', stream);
        write_policy(study, i, step, stream);
    }
    fputs("]}", stream);
}
