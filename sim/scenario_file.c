#include "scenario_file.h"

#include "builtin.h"
#include "policy.h"
#include "words.h"

#include <stdio.h>
#include <string.h>

#define SHORTEST LULL_MICROSECOND
#define LONGEST LULL_DAY
#define SLOWEST_RATE 0.0001
#define FASTEST_RATE 1e6
#define MOST_INSTANCES 10000 /* each has a guard of 4 kB */
#define MOST_AT_ONCE 1000000 /* users, workers, threads, places in a queue */

/* ---- faults ---- */

static const struct choice fault_kinds[] = {
    {"refuse", SIM_FAULT_REFUSE}, {"hang", SIM_FAULT_HANG},         {"error", SIM_FAULT_ERROR},
    {"slow", SIM_FAULT_SLOW},     {"capacity", SIM_FAULT_CAPACITY}, {NULL, 0},
};

static bool check_fault(struct reader *reader, void *object) {
    struct sim_fault *fault = object;
    bool has_share = fault->kind == SIM_FAULT_HANG || fault->kind == SIM_FAULT_ERROR;
    bool has_factor = fault->kind == SIM_FAULT_SLOW || fault->kind == SIM_FAULT_CAPACITY;
    if (reader_given(reader, "share") && !has_share)
        return reader_wrong(reader, "share", "is for hang and error only");
    if (reader_given(reader, "factor") != has_factor)
        return reader_wrong(reader, "factor",
                            has_factor ? "is missing" : "is for slow and capacity only");
    if (fault->kind == SIM_FAULT_SLOW && fault->factor <= 1)
        return reader_wrong(reader, "factor",
                            "must be above 1: work takes that many times as long");
    if (fault->kind == SIM_FAULT_CAPACITY && fault->factor >= 1)
        return reader_wrong(reader, "factor", "must be below 1: it is the share that is left");
    if (has_share && !reader_given(reader, "share"))
        fault->share = 1;
    return true;
}

static const struct field fault_fields[] = {
    {"kind", FIELD_CHOICE, PLACE(struct sim_fault, kind), .required = true, .choices = fault_kinds},
    {"at", FIELD_DURATION, PLACE(struct sim_fault, at), .required = true, .highest = LONGEST},
    {"for", FIELD_DURATION, PLACE(struct sim_fault, length), .required = true, .lowest = SHORTEST,
     .highest = LONGEST},
    {"share", FIELD_NUMBER, PLACE(struct sim_fault, share), .least = 0.001, .most = 1},
    {"factor", FIELD_NUMBER, PLACE(struct sim_fault, factor), .most = 1000},
};
static const struct schema fault_schema =
    SCHEMA_WITH(struct sim_fault, fault_fields, NULL, check_fault);
static const struct field fault_entry = {
    .kind = FIELD_MAP, .size = sizeof(struct sim_fault), .schema = &fault_schema};

/* ---- services ---- */

static const struct choice latency_kinds[] = {
    {"fixed", SIM_LATENCY_FIXED},
    {"exponential", SIM_LATENCY_EXPONENTIAL},
    {"lognormal", SIM_LATENCY_LOGNORMAL},
    {NULL, 0},
};

static bool check_latency(struct reader *reader, void *object) {
    struct sim_latency *latency = object;
    bool lognormal = latency->kind == SIM_LATENCY_LOGNORMAL;
    if (reader_given(reader, "sigma") && !lognormal)
        return reader_wrong(reader, "sigma", "is for lognormal only");
    if (lognormal && !reader_given(reader, "sigma"))
        latency->sigma = SCENARIO_SIGMA;
    return true;
}

static const struct field latency_fields[] = {
    {"kind", FIELD_CHOICE, PLACE(struct sim_latency, kind), .choices = latency_kinds},
    {"mean", FIELD_DURATION, PLACE(struct sim_latency, mean), .required = true, .lowest = SHORTEST,
     .highest = LULL_HOUR},
    {"sigma", FIELD_NUMBER, PLACE(struct sim_latency, sigma), .least = 0.01, .most = 3},
};
static const struct schema latency_schema =
    SCHEMA_WITH(struct sim_latency, latency_fields, NULL, check_latency);

static bool check_service(struct reader *reader, void *object) {
    const struct sim_service *service = object;
    if (service->capacity > 0 && service->workers > 0)
        return reader_wrong(
            reader, "workers",
            "is given beside capacity, which makes as many as it needs; remove one");
    for (uint32_t i = 0; i < service->fault_count; i++)
        if (service->faults[i].kind == SIM_FAULT_CAPACITY && service->capacity <= 0 &&
            service->workers == 0) {
            char key[32];
            snprintf(key, sizeof key, "faults[%u].kind", i);
            return reader_wrong(reader, key,
                                "the service has no limit to lose; give it a capacity or workers");
        }
    return true;
}

static const struct field service_fields[] = {
    {"name", FIELD_TEXT, PLACE(struct sim_service, name), .required = true},
    {"capacity", FIELD_RATE, PLACE(struct sim_service, capacity), .least = SLOWEST_RATE,
     .most = FASTEST_RATE},
    {"workers", FIELD_INTEGER, PLACE(struct sim_service, workers), .lowest = 1,
     .highest = MOST_AT_ONCE},
    {"latency", FIELD_MAP, PLACE(struct sim_service, latency), .required = true,
     .schema = &latency_schema},
    {"queue", FIELD_INTEGER, PLACE(struct sim_service, queue), .highest = MOST_AT_ONCE},
    {"admission", FIELD_RATE, PLACE(struct sim_service, admission), .least = SLOWEST_RATE,
     .most = FASTEST_RATE},
    {"calls", FIELD_TEXT, PLACE(struct sim_service, calls)},
    {"faults", FIELD_LIST, PLACE(struct sim_service, faults), .entry = &fault_entry,
     .count = offsetof(struct sim_service, fault_count)},
};
static const struct schema service_schema =
    SCHEMA_WITH(struct sim_service, service_fields, NULL, check_service);
static const struct field service_entry = {
    .kind = FIELD_MAP, .size = sizeof(struct sim_service), .schema = &service_schema};

/* ---- clients ---- */

static const struct choice arrivals[] = {{"poisson", false}, {"steady", true}, {NULL, 0}};

static bool check_client(struct reader *reader, void *object) {
    struct sim_client *client = object;
    bool open = client->rate > 0, closed = client->users > 0;
    if (open && closed)
        return reader_wrong(
            reader, "users",
            "is given beside rate; an open loop has a rate, a closed one has users");
    if (!open && !closed)
        return reader_wrong(reader, "", "has neither rate nor users; how many requests are there?");
    if (open && reader_given(reader, "think"))
        return reader_wrong(reader, "think", "is for a closed loop, which has users, only");
    if (closed && reader_given(reader, "arrivals"))
        return reader_wrong(reader, "arrivals", "is for an open loop, which has a rate, only");
    if (client->pool[0] != '\0' && client->threads == 0)
        return reader_wrong(reader, "threads", "is missing: how many has the pool?");
    if (client->pool[0] == '\0' && client->threads > 0)
        return reader_wrong(reader, "pool", "is missing: which pool has these threads?");
    if (closed && client->think == 0)
        client->think = SCENARIO_THINK;
    return true;
}

static void prepare_client(void *object) {
    struct sim_client *client = object;
    client->instances = 1;
}

static const struct field client_fields[] = {
    {"name", FIELD_TEXT, PLACE(struct sim_client, name), .required = true},
    {"calls", FIELD_TEXT, PLACE(struct sim_client, calls), .required = true},
    {"instances", FIELD_INTEGER, PLACE(struct sim_client, instances), .lowest = 1,
     .highest = MOST_INSTANCES},
    {"rate", FIELD_RATE, PLACE(struct sim_client, rate), .least = SLOWEST_RATE,
     .most = FASTEST_RATE},
    {"users", FIELD_INTEGER, PLACE(struct sim_client, users), .lowest = 1, .highest = MOST_AT_ONCE},
    {"think", FIELD_DURATION, PLACE(struct sim_client, think), .lowest = SHORTEST,
     .highest = LONGEST},
    {"arrivals", FIELD_CHOICE, PLACE(struct sim_client, steady), .choices = arrivals},
    {"durable", FIELD_FLAG, PLACE(struct sim_client, durable)},
    {"deadline", FIELD_DURATION, PLACE(struct sim_client, deadline), .lowest = SHORTEST,
     .highest = LONGEST},
    {"pool", FIELD_TEXT, PLACE(struct sim_client, pool)},
    {"threads", FIELD_INTEGER, PLACE(struct sim_client, threads), .lowest = 1,
     .highest = MOST_AT_ONCE},
};
static const struct schema client_schema =
    SCHEMA_WITH(struct sim_client, client_fields, prepare_client, check_client);
static const struct field client_entry = {
    .kind = FIELD_MAP, .size = sizeof(struct sim_client), .schema = &client_schema};

/* ---- all of it together ---- */

/* "services[2].calls" */
static const char *key_of(const char *list, uint32_t index, const char *key, char text[64]) {
    snprintf(text, 64, "%s[%u].%s", list, index, key);
    return text;
}

/* No two of `count` names are the same; they are `stride` bytes apart. */
static bool check_names(struct reader *reader, const char *list, const char *first, uint32_t count,
                        size_t stride) {
    char key[64], quoted[QUOTE_SIZE];
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (strcmp(first + i * stride, first + j * stride) == 0)
                return reader_wrong(reader, key_of(list, i, "name", key),
                                    "%s is the name of %s[%u], too; choose another",
                                    quote(first + i * stride, quoted), list, j);
    return true;
}

static const struct sim_service *find_service(const struct sim_scenario *scenario,
                                              const char *name) {
    for (uint32_t i = 0; i < scenario->service_count; i++)
        if (strcmp(scenario->services[i].name, name) == 0)
            return &scenario->services[i];
    return NULL;
}

static bool check_calls(struct reader *reader, const struct sim_scenario *scenario, const char *key,
                        const char *name) {
    if (name[0] == '\0' || find_service(scenario, name) != NULL)
        return true;
    struct names names = names_for(name);
    for (uint32_t i = 0; i < scenario->service_count; i++)
        names_offer(&names, scenario->services[i].name);
    char quoted[QUOTE_SIZE], advice[500];
    return reader_wrong(reader, key, "there is no service %s; %s", quote(name, quoted),
                        names_advice(&names, advice, sizeof advice));
}

/* Each service calls at most one other: a chain longer than there are services never ends. */
static bool check_chain(struct reader *reader, const struct sim_scenario *scenario,
                        uint32_t index) {
    const struct sim_service *start = &scenario->services[index], *at = start;
    char chain[(SIM_NAME_SIZE + 4) * (SIM_MAX_SERVICES + 1)], key[64];
    size_t length = (size_t)snprintf(chain, sizeof chain, "%s", start->name);
    for (uint32_t i = 0; i < scenario->service_count && at->calls[0] != '\0'; i++) {
        at = find_service(scenario, at->calls);
        if (at == NULL) /* told elsewhere */
            return true;
        length += (size_t)snprintf(chain + length, sizeof chain - length, " -> %s", at->name);
        if (at == start)
            return reader_wrong(reader, key_of("services", index, "calls", key),
                                "goes round in a circle: %s", chain);
    }
    return true;
}

/* A pool is the same for all that share it. */
static bool check_pool(struct reader *reader, const struct sim_scenario *scenario, uint32_t index) {
    const struct sim_client *client = &scenario->clients[index];
    char key[64];
    for (uint32_t i = 0; i < index && client->pool[0] != '\0'; i++) {
        const struct sim_client *other = &scenario->clients[i];
        if (strcmp(client->pool, other->pool) != 0)
            continue;
        if (client->threads != other->threads)
            return reader_wrong(reader, key_of("clients", index, "threads", key),
                                "is %u, but clients[%u] shares the pool and says %u",
                                client->threads, i, other->threads);
        if (client->instances != other->instances)
            return reader_wrong(reader, key_of("clients", index, "instances", key),
                                "is %u, but clients[%u] shares the pool, a pool per instance, and "
                                "has %u",
                                client->instances, i, other->instances);
    }
    return true;
}

static bool check_faults(struct reader *reader, const struct sim_scenario *scenario,
                         uint32_t index) {
    const struct sim_service *service = &scenario->services[index];
    for (uint32_t i = 0; i < service->fault_count; i++)
        if (service->faults[i].at >= scenario->duration) {
            char key[64];
            snprintf(key, sizeof key, "services[%u].faults[%u].at", index, i);
            return reader_wrong(reader, key, "is not before the end of the run (duration)");
        }
    return true;
}

static bool check_scenario(struct reader *reader, void *object) {
    const struct sim_scenario *scenario = object;
    char key[64];
    if (!check_names(reader, "clients", scenario->clients[0].name, scenario->client_count,
                     sizeof scenario->clients[0]) ||
        !check_names(reader, "services", scenario->services[0].name, scenario->service_count,
                     sizeof scenario->services[0]) ||
        !check_names(reader, "policies", scenario->policies[0].name, scenario->policy_count,
                     sizeof scenario->policies[0]) ||
        !check_calls(reader, scenario, "watch", scenario->watch))
        return false;
    for (uint32_t i = 0; i < scenario->client_count; i++)
        if (!check_calls(reader, scenario, key_of("clients", i, "calls", key),
                         scenario->clients[i].calls) ||
            !check_pool(reader, scenario, i))
            return false;
    for (uint32_t i = 0; i < scenario->service_count; i++)
        if (!check_calls(reader, scenario, key_of("services", i, "calls", key),
                         scenario->services[i].calls) ||
            !check_faults(reader, scenario, i))
            return false;
    for (uint32_t i = 0; i < scenario->service_count; i++)
        if (!check_chain(reader, scenario, i))
            return false;
    return true;
}

static void prepare_scenario(void *object) {
    struct sim_scenario *scenario = object;
    scenario->seed = SCENARIO_SEED;
}

static const struct field policy_entry = {
    .kind = FIELD_MAP, .size = sizeof(struct sim_policy), .schema = &policy_schema};

static const struct field scenario_fields[] = {
    {"name", FIELD_TEXT, PLACE(struct sim_scenario, name), .required = true},
    {"title", FIELD_TEXT, PLACE(struct sim_scenario, title)},
    {"text", FIELD_TEXT, PLACE(struct sim_scenario, text)},
    {"duration", FIELD_DURATION, PLACE(struct sim_scenario, duration), .required = true,
     .lowest = LULL_SECOND, .highest = LULL_DAY},
    {"seed", FIELD_INTEGER, PLACE(struct sim_scenario, seed)},
    {"watch", FIELD_TEXT, PLACE(struct sim_scenario, watch)},
    {"clients", FIELD_LIST, PLACE(struct sim_scenario, clients), .required = true, .lowest = 1,
     .entry = &client_entry, .count = offsetof(struct sim_scenario, client_count)},
    {"services", FIELD_LIST, PLACE(struct sim_scenario, services), .required = true, .lowest = 1,
     .entry = &service_entry, .count = offsetof(struct sim_scenario, service_count)},
    {"policies", FIELD_LIST, PLACE(struct sim_scenario, policies), .entry = &policy_entry,
     .count = offsetof(struct sim_scenario, policy_count)},
};
static const struct schema scenario_schema =
    SCHEMA_WITH(struct sim_scenario, scenario_fields, prepare_scenario, check_scenario);

/* ---- the front doors ---- */

int scenario_read_text(const char *file, const char *text, size_t length,
                       struct sim_scenario *scenario, struct reader_error *error) {
    return reader_read_text(file, text, length, &scenario_schema, scenario, error);
}

int scenario_read_file(const char *file, struct sim_scenario *scenario,
                       struct reader_error *error) {
    return reader_read_file(file, &scenario_schema, scenario, error);
}

int scenario_read(const char *name_or_file, struct sim_scenario *scenario,
                  struct reader_error *error) {
    const char *text = builtin_scenario(name_or_file);
    if (text != NULL)
        return scenario_read_text(name_or_file, text, strlen(text), scenario, error);
    int result = scenario_read_file(name_or_file, scenario, error);
    if (result != LULL_ESYSTEM || strpbrk(name_or_file, "./") != NULL)
        return result;
    /* It looks like a name rather than a file. */
    struct names names = names_for(name_or_file);
    for (size_t i = 0; builtin_at(i) != NULL; i++)
        names_offer(&names, builtin_at(i)->name);
    char advice[500];
    snprintf(error->message, sizeof error->message,
             "there is no such scenario, and no such file; %s",
             names_advice(&names, advice, sizeof advice));
    return result;
}
