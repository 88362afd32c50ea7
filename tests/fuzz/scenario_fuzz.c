/* Scenario files: any bytes are a scenario that makes sense, or an error that can be shown. What
 * follows a NUL byte is read as policies of the command line. */
#include "input.h"

#include "builtin.h"
#include "policy.h"
#include "scenario_file.h"

#include <string.h>

/* Only texts are read here; the built-in ones are made by the build. */
const struct builtin *builtin_at(size_t index) {
    (void)index;
    return NULL;
}

const char *builtin_scenario(const char *name) {
    (void)name;
    return NULL;
}

static void check_text(const char *text, size_t size) {
    CHECK(memchr(text, '\0', size) != NULL);
    for (; *text != '\0'; text++)
        CHECK((unsigned char)*text >= 0x20 && *text != 0x7F);
}

static void check_error(const struct reader_error *error) {
    char text[2000];
    CHECK(error->line >= 0);
    CHECK(error->message[0] != '\0');
    check_text(error->key, sizeof error->key);
    check_text(error->message, sizeof error->message);
    check_text(reader_error_format(error, text, sizeof text), sizeof text);
}

static bool is_service(const struct sim_scenario *scenario, const char *name) {
    for (uint32_t i = 0; i < scenario->service_count; i++)
        if (strcmp(scenario->services[i].name, name) == 0)
            return true;
    return false;
}

static void check_client(const struct sim_scenario *scenario, const struct sim_client *client) {
    check_text(client->name, sizeof client->name);
    CHECK(client->name[0] != '\0' && is_service(scenario, client->calls));
    CHECK((client->rate > 0) != (client->users > 0));
    CHECK((client->users > 0) == (client->think > 0));
    CHECK(client->instances > 0);
    CHECK((client->pool[0] != '\0') == (client->threads > 0));
}

static void check_service(const struct sim_scenario *scenario, const struct sim_service *service) {
    check_text(service->name, sizeof service->name);
    CHECK(service->name[0] != '\0' && service->latency.mean > 0);
    CHECK(service->calls[0] == '\0' || is_service(scenario, service->calls));
    CHECK(service->fault_count <= SIM_MAX_FAULTS);
    for (uint32_t i = 0; i < service->fault_count; i++) {
        const struct sim_fault *fault = &service->faults[i];
        CHECK(fault->at >= 0 && fault->at < scenario->duration && fault->length > 0);
        CHECK(fault->share >= 0 && fault->share <= 1);
    }
}

static void check_scenario(const struct sim_scenario *scenario) {
    CHECK(scenario->duration >= LULL_SECOND && scenario->duration <= LULL_DAY);
    CHECK(scenario->watch[0] == '\0' || is_service(scenario, scenario->watch));
    CHECK(scenario->client_count > 0 && scenario->client_count <= SIM_MAX_CLIENTS);
    CHECK(scenario->service_count > 0 && scenario->service_count <= SIM_MAX_SERVICES);
    CHECK(scenario->policy_count <= SIM_MAX_POLICIES);
    for (uint32_t i = 0; i < scenario->client_count; i++)
        check_client(scenario, &scenario->clients[i]);
    for (uint32_t i = 0; i < scenario->service_count; i++)
        check_service(scenario, &scenario->services[i]);
    for (uint32_t i = 0; i < scenario->policy_count; i++) {
        CHECK(scenario->policies[i].name[0] != '\0');
        CHECK(lull_guard_check(&scenario->policies[i].guard, NULL) == LULL_OK);
    }
}

static void check_policy(const struct sim_scenario *scenario, const uint8_t *data, size_t size) {
    char expression[200], message[READER_MESSAGE_SIZE];
    struct sim_policy policy;
    snprintf(expression, sizeof expression, "%.*s", (int)(size < 199 ? size : 199),
             (const char *)data);
    if (policy_parse(scenario, expression, &policy, message) == LULL_OK) {
        CHECK(message[0] == '\0' && policy.name[0] != '\0');
        CHECK(lull_guard_check(&policy.guard, NULL) == LULL_OK);
    } else {
        CHECK(message[0] != '\0');
        check_text(message, sizeof message);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct sim_scenario scenario;
    struct reader_error error;
    const uint8_t *end = memchr(data, 0, size);
    size_t length = end != NULL ? (size_t)(end - data) : size;
    memset(&scenario, 0xa5, sizeof scenario);
    int result = scenario_read_text("fuzz.yaml", (const char *)data, length, &scenario, &error);
    if (result == LULL_OK) {
        check_scenario(&scenario);
    } else {
        static const struct sim_scenario zero;
        CHECK(result == LULL_EINVAL);
        CHECK(memcmp(&scenario, &zero, sizeof zero) == 0);
        check_error(&error);
    }
    if (end != NULL)
        check_policy(&scenario, end + 1, size - length - 1);
    return 0;
}
