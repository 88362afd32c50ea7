#include "study.h"

#include <string.h>

const struct sim_service *study_watched(const struct study *study) {
    const struct sim_scenario *scenario = study->scenario;
    for (uint32_t i = 0; i < scenario->service_count; i++)
        if (strcmp(scenario->services[i].name, scenario->watch) == 0)
            return &scenario->services[i];
    return &scenario->services[0];
}

double study_capacity(const struct study *study) {
    const struct sim_service *service = study_watched(study);
    double scale = study->scenario->scale > 0 ? study->scenario->scale : 1;
    double mean_s = (double)service->latency.mean / (double)LULL_SECOND;
    if (service->capacity > 0)
        return service->capacity * scale;
    return mean_s > 0 ? service->workers * scale / mean_s : 0;
}

/* Results tell loads as multiples of normal, and the series as they are: the ratio is normal. It
 * is taken where the load was highest, for there the peak is sure to lie after the warm-up,
 * which the multiples leave out. */
double study_normal_load(const struct study *study) {
    const struct sim_result *heaviest = &study->results[0];
    for (uint32_t i = 1; i < study->scenario->policy_count; i++)
        if (study->results[i].peak_load > heaviest->peak_load)
            heaviest = &study->results[i];
    double most = 0;
    for (uint32_t t = 0; t < heaviest->length; t++)
        most = heaviest->offered[t] > most ? heaviest->offered[t] : most;
    return heaviest->peak_load > 0 ? most / heaviest->peak_load : 0;
}

bool study_has_faults(const struct study *study) {
    for (uint32_t i = 0; i < study->scenario->service_count; i++)
        if (study->scenario->services[i].fault_count > 0)
            return true;
    return false;
}

const char *fault_kind_name(enum sim_fault_kind kind) {
    switch (kind) {
    case SIM_FAULT_REFUSE:
        return "refuse";
    case SIM_FAULT_HANG:
        return "hang";
    case SIM_FAULT_ERROR:
        return "error";
    case SIM_FAULT_SLOW:
        return "slow";
    case SIM_FAULT_CAPACITY:
        return "capacity";
    }
    return "fault";
}

lull_time study_fault_end(const struct study *study, const struct sim_fault *fault) {
    lull_time end = fault->at + fault->length;
    return end < study->scenario->duration ? end : study->scenario->duration;
}

double group_goodput(const struct sim_group *group) {
    uint64_t ended = group->succeeded + group->failed;
    return ended > 0 ? (double)group->succeeded / (double)ended : 0;
}
