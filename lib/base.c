#include <lull/base.h>

const char *lull_strerror(int error) {
    switch (error) {
    case LULL_OK:
        return "success";
#define LULL_X(name, value, text)                                                                  \
    case LULL_##name:                                                                              \
        return text;
        LULL_ERROR_MAP(LULL_X)
#undef LULL_X
    default:
        return "unknown error";
    }
}

const char *lull_error_name(int error) {
    switch (error) {
    case LULL_OK:
        return "LULL_OK";
#define LULL_X(name, value, text)                                                                  \
    case LULL_##name:                                                                              \
        return "LULL_" #name;
        LULL_ERROR_MAP(LULL_X)
#undef LULL_X
    default:
        return "unknown";
    }
}

const char *lull_policy_name(enum lull_policy policy) {
    static const char *const names[] = {
#define LULL_X(name, text) text,
        LULL_POLICY_MAP(LULL_X)
#undef LULL_X
    };
    return (unsigned)policy < LULL_POLICY_COUNT ? names[policy] : "unknown";
}

const char *lull_reason_text(enum lull_reason reason) {
    static const char *const texts[] = {
#define LULL_X(name, text) text,
        LULL_REASON_MAP(LULL_X)
#undef LULL_X
    };
    return (unsigned)reason < LULL_REASON_COUNT ? texts[reason] : "unknown";
}

const char *lull_decision_name(enum lull_decision decision) {
    static const char *const names[] = {"go", "no", "wait", "done", "retry", "stop"};
    return (unsigned)decision < sizeof names / sizeof names[0] ? names[decision] : "unknown";
}
