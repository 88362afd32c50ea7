/* What only the store on disk can do: refuse a file, survive its process, and a disk that fails. */
#include "store_fixture.h"

#include "fault_vfs.h"
#include "sqlite.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/lull-store-XXXXXX";
static char path[64];
static char problem[STORE_PROBLEM_SIZE];

static int try_open(void) {
    return store_sqlite_open(&(struct store_sqlite_config){.path = path, .vfs = FAULT_VFS},
                             &adapter, problem);
}

static void open_file(void) {
    if (try_open() != LULL_OK)
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

static int set_up(void **state) {
    (void)state;
    now = START;
    adapter = NULL;
    memset(&fault_vfs, 0, sizeof fault_vfs);
    remove_files();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    memset(&fault_vfs, 0, sizeof fault_vfs);
    if (adapter != NULL)
        adapter->destroy(adapter);
    remove_files();
    return 0;
}

static void run_sql(const char *sql) {
    sqlite3 *database;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

static void close_file(void) {
    adapter->destroy(adapter);
    adapter = NULL;
}

static void assert_refused(int result, const char *because) {
    assert_int_equal(try_open(), result);
    assert_null(adapter);
    assert_non_null(strstr(problem, path));
    if (strstr(problem, because) == NULL)
        fail_msg("no \"%s\" in \"%s\"", because, problem);
}

static void write_file(const char *text, size_t length, off_t offset) {
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(pwrite(file, text, length, offset), (ssize_t)length);
    close(file);
}

/* ---- refusals ---- */

static void test_a_newer_file_is_refused(void **state) {
    (void)state;
    open_file();
    close_file();
    run_sql("PRAGMA user_version = 2");
    assert_refused(LULL_EINVAL, "newer lull");
    run_sql("PRAGMA user_version = 1");
    open_file();
}

static void test_a_foreign_file_is_refused(void **state) {
    (void)state;
    run_sql("CREATE TABLE mine(a)");
    assert_refused(LULL_EINVAL, "another program");
    assert_int_equal(store_sqlite_verify(path, problem), LULL_EINVAL);
    run_sql("SELECT a FROM mine"); /* and left alone */
}

static void test_a_file_that_is_no_database_is_refused(void **state) {
    (void)state;
    char text[5000];
    memset(text, 'x', sizeof text);
    write_file(text, sizeof text, 0);
    assert_refused(LULL_EINVAL, "not a store of lull");
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_size, sizeof text);
}

static void test_a_damaged_file_is_refused(void **state) {
    (void)state;
    open_file();
    int64_t shop = create("shop");
    for (int i = 0; i < 200; i++)
        accept_one(shop, "0123456789012345678901234567890123456789");
    close_file();
    char noise[3000];
    memset(noise, 0xA5, sizeof noise);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    for (off_t page = 4; page < info.st_size / 4096; page++)
        write_file(noise, sizeof noise, page * 4096);
    assert_refused(LULL_EMALFORMED, "damaged");
    assert_int_equal(store_sqlite_verify(path, problem), LULL_EMALFORMED);
}

static void test_verify_counts(void **state) {
    (void)state;
    open_file();
    int64_t shop = create("shop");
    accept_one(shop, "a");
    assert_int_equal(store_sqlite_verify(path, problem), LULL_OK);
    close_file();
    run_sql("UPDATE tally SET fresh = 2");
    assert_int_equal(store_sqlite_verify(path, problem), LULL_EMALFORMED);
    assert_non_null(strstr(problem, "the totals of shop are wrong"));
    run_sql("UPDATE tally SET fresh = 1; DELETE FROM event");
    assert_int_equal(store_sqlite_verify(path, problem), LULL_EMALFORMED);
    assert_non_null(strstr(problem, "has no event"));
}

static void test_a_folder_that_is_not_there(void **state) {
    (void)state;
    char right[64];
    memcpy(right, path, sizeof right);
    snprintf(path, sizeof path, "%s/absent/lull.db", folder);
    assert_refused(LULL_ESYSTEM, "No such file");
    memcpy(path, right, sizeof right);
}

static void test_one_process_at_a_time(void **state) {
    (void)state;
    open_file();
    struct store_adapter *first = adapter;
    char expected[60];
    snprintf(expected, sizeof expected, "in use by another lull (process %ld)", (long)getpid());
    assert_refused(LULL_EINVAL, expected);
    first->destroy(first);
    open_file();
    run_sql("SELECT count(*) FROM event"); /* others may read */
}

/* ---- a process that is killed ---- */

static void test_what_was_committed_survives_a_kill(void **state) {
    (void)state;
    int told[2];
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        open_file();
        int64_t shop = create("shop");
        for (;;) {
            struct place place = accept_one(shop, "a");
            if (write(told[1], &place.id, sizeof place.id) != sizeof place.id)
                _exit(1);
        }
    }
    close(told[1]);
    static int64_t ids[200];
    for (size_t i = 0; i < COUNT(ids); i++)
        assert_int_equal(read(told[0], &ids[i], sizeof ids[i]), sizeof ids[i]);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(told[0]);
    open_file();
    for (size_t i = 0; i < COUNT(ids); i++)
        assert_int_equal(look_up(ids[i], true), LULL_OK);
    assert_int_equal(store_sqlite_verify(path, problem), LULL_OK);
}

/* The process ends in the middle of the n-th write or sync, for every n there is. */
static void test_a_process_that_ends_anywhere(void **state) {
    (void)state;
    int status = -1;
    for (int calls = 0; status != 0; calls++) {
        remove_files();
        pid_t child = fork();
        if (child == 0) {
            fault_vfs.exit_code = 7;
            fault_vfs.after = calls;
            fault_vfs.write = fault_vfs.sync = SQLITE_IOERR_WRITE;
            open_file();
            int64_t shop = create("shop");
            for (int i = 0; i < 3; i++)
                settle(shop, accept_one(shop, "a"), DELIVERY_FRESH, DELIVERY_RETRY, now);
            fault_vfs.exit_code = 0;
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_true(WEXITSTATUS(status) == 7 || WEXITSTATUS(status) == 0);
        open_file();
        assert_int_equal(store_sqlite_verify(path, problem), LULL_OK);
        close_file();
    }
}

/* ---- a disk that fails ---- */

static void assert_nothing_left(const struct store_accept *accept) {
    assert_int_equal(accept->request.result, LULL_ESYSTEM);
    assert_int_equal(accept->events[0].id, 0);
    assert_int_equal(accept->events[0].message->id, 0);
    assert_int_equal(accept->events[0].message->accepted, 0);
    assert_int_equal(accept->deliveries[0].place.id, 0);
}

/* A failing run of several kinds: nothing of it happens, nothing is left to free, and it works afterwards. */
static void fail_once(atomic_int *call, int code, int after) {
    int64_t shop = 1;
    struct message *message = message_of("a");
    struct accept_delivery delivery = {.destination = shop};
    struct accept_event event = {
        .message = message, .count = 1, .key = "key", .key_length = 3, .fingerprint = 1};
    struct store_accept accept = {{.kind = STORE_ACCEPT}, &event, &delivery, 1, 1};
    struct store_load load = {.request = {.kind = STORE_LOAD},
                              .destination = shop,
                              .until = now + SECOND,
                              .limit = ROWS,
                              .bytes = 1 << 20,
                              .rows = rows};
    struct store_put put = {.request = {.kind = STORE_PUT}, .row = {.name = "new"}};
    struct store_destinations all = {.request = {.kind = STORE_DESTINATIONS}};
    accept.request.next = &load.request;
    load.request.next = &put.request;
    put.request.next = &all.request;
    fault_vfs.after = after;
    *call = code;
    int result = adapter->run(adapter, &accept.request, now);
    *call = 0;
    if (result == LULL_OK) { /* it has no such call, or fewer than that */
        store_load_clean_up(&load);
        store_destinations_clean_up(&all);
        message_release(message);
        return;
    }
    assert_int_equal(result, LULL_ESYSTEM);
    assert_non_null(strstr(adapter->problem(adapter), path));
    assert_nothing_left(&accept);
    assert_int_equal(load.request.result, LULL_ESYSTEM);
    assert_int_equal(load.count, 0);
    assert_int_equal(put.row.id, 0);
    assert_null(all.rows);
    message_release(message);
}

static void test_a_disk_that_fails(void **state) {
    (void)state;
    open_file();
    int64_t shop = create("shop");
    assert_int_equal(shop, 1);
    accept_one(shop, "before");
    for (int after = 0; after < 6; after++) {
        fault_vfs.failures = 0;
        fail_once(&fault_vfs.write, after % 2 ? SQLITE_FULL : SQLITE_IOERR_WRITE, after);
        assert_true(fault_vfs.failures > 0);
        assert_totals(shop, 1, 0, 0, 0);
        assert_int_equal(count_of(shop, DELIVERY_FRESH, now + SECOND), 1);
    }
    fail_once(&fault_vfs.sync, SQLITE_IOERR_FSYNC, 0);
    assert_true(fault_vfs.failures > 0);
    assert_totals(shop, 1, 0, 0, 0);
    struct store_put put = {.request = {.kind = STORE_PUT}, .row = {.name = "new"}};
    assert_int_equal(ask(&put.request), LULL_OK); /* the name was not taken */
    accept_one(put.row.id, "after");
    close_file();
    assert_int_equal(store_sqlite_verify(path, problem), LULL_OK);
    open_file();
    assert_totals(shop, 1, 0, 0, 0);
    assert_totals(put.row.id, 1, 0, 0, 0);
}

static void test_a_disk_that_cannot_be_read(void **state) {
    (void)state;
    open_file();
    int64_t shop = create("shop");
    const size_t length = 32 << 20; /* more than is kept in memory */
    char *large = malloc(length + 1);
    assert_non_null(large);
    memset(large, 'l', length);
    large[length] = '\0';
    struct place place = accept_one(shop, large);
    free(large);
    fault_vfs.read = SQLITE_IOERR_READ;
    struct store_get get = {.request = {.kind = STORE_GET}, .id = place.id, .delivery = true};
    assert_int_equal(adapter->run(adapter, &get.request, now), LULL_ESYSTEM);
    assert_null(get.message);
    fault_vfs.read = 0;
    assert_int_equal(look_up(place.id, true), LULL_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_newer_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_foreign_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_file_that_is_no_database_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_damaged_file_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_verify_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_folder_that_is_not_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_one_process_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_was_committed_survives_a_kill, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_process_that_ends_anywhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_disk_that_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_disk_that_cannot_be_read, set_up, tear_down),
    };
    if (mkdtemp(folder) == NULL || fault_vfs_register() != SQLITE_OK)
        return 1;
    snprintf(path, sizeof path, "%s/lull.db", folder);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
