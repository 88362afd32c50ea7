#include "conformance.h"

#include "sqlite.h"

#include <unistd.h>

static char folder[] = "/tmp/lull-store-XXXXXX";
static char path[64];

static void open_file(void) {
    char problem[STORE_PROBLEM_SIZE];
    int result = store_sqlite_open(&(struct store_sqlite_config){.path = path}, &adapter, problem);
    if (result != LULL_OK)
        fail_msg("%s", problem);
}

static void remove_files(void) {
    static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
    for (size_t i = 0; i < COUNT(ends); i++) {
        char name[80];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        unlink(name);
    }
}

static void open_store(void) {
    remove_files();
    open_file();
}

/* Sound, whatever the test did. */
static void close_store(void) {
    char problem[STORE_PROBLEM_SIZE];
    if (store_sqlite_verify(path, problem) != LULL_OK)
        fail_msg("%s", problem);
    adapter->destroy(adapter);
    remove_files();
}

static void reopen_store(void) {
    adapter->destroy(adapter);
    open_file();
}

int main(void) {
    const struct CMUnitTest tests[] = {CONFORMANCE_TESTS};
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/lull.db", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
