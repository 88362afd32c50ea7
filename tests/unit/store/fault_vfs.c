#include "fault_vfs.h"

#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

struct fault_vfs fault_vfs;

/* The system's file comes right behind. */
struct fault_file {
    sqlite3_file base;
};

static sqlite3_file *real(sqlite3_file *file) {
    return (sqlite3_file *)(void *)((struct fault_file *)(void *)file + 1);
}

/* Is this the call that fails? */
static int fault(atomic_int *code) {
    int result = atomic_load(code);
    if (result == 0 || atomic_fetch_sub(&fault_vfs.after, 1) > 0)
        return 0;
    atomic_store(&fault_vfs.after, 0);
    atomic_fetch_add(&fault_vfs.failures, 1);
    return result;
}

static int fault_close(sqlite3_file *file) {
    return real(file)->pMethods->xClose(real(file));
}

static int fault_read(sqlite3_file *file, void *buffer, int amount, sqlite3_int64 offset) {
    int result = fault(&fault_vfs.read);
    return result ? result : real(file)->pMethods->xRead(real(file), buffer, amount, offset);
}

static int fault_write(sqlite3_file *file, const void *buffer, int amount, sqlite3_int64 offset) {
    int result = fault(&fault_vfs.write);
    if (result == 0)
        return real(file)->pMethods->xWrite(real(file), buffer, amount, offset);
    /* A write may fail half-way. */
    real(file)->pMethods->xWrite(real(file), buffer, amount / 2, offset);
    int code = atomic_load(&fault_vfs.exit_code);
    if (code != 0)
        _exit(code);
    return result;
}

static int fault_sync(sqlite3_file *file, int flags) {
    int result = fault(&fault_vfs.sync);
    int code = atomic_load(&fault_vfs.exit_code);
    if (result != 0 && code != 0)
        _exit(code);
    return result ? result : real(file)->pMethods->xSync(real(file), flags);
}

#define PASS(name, result, parameters, arguments)                                                  \
    static result name parameters {                                                                \
        return real(file)->pMethods->arguments;                                                    \
    }
PASS(fault_truncate, int, (sqlite3_file * file, sqlite3_int64 size), xTruncate(real(file), size))
PASS(fault_size, int, (sqlite3_file * file, sqlite3_int64 *size), xFileSize(real(file), size))
PASS(fault_lock, int, (sqlite3_file * file, int lock), xLock(real(file), lock))
PASS(fault_unlock, int, (sqlite3_file * file, int lock), xUnlock(real(file), lock))
PASS(fault_check_lock, int, (sqlite3_file * file, int *held), xCheckReservedLock(real(file), held))
PASS(fault_control, int, (sqlite3_file * file, int what, void *argument),
     xFileControl(real(file), what, argument))
PASS(fault_sector, int, (sqlite3_file * file), xSectorSize(real(file)))
PASS(fault_device, int, (sqlite3_file * file), xDeviceCharacteristics(real(file)))
PASS(fault_map, int, (sqlite3_file * file, int page, int size, int extend, void volatile **memory),
     xShmMap(real(file), page, size, extend, memory))
PASS(fault_shm_lock, int, (sqlite3_file * file, int offset, int count, int flags),
     xShmLock(real(file), offset, count, flags))
PASS(fault_shm_unmap, int, (sqlite3_file * file, int delete), xShmUnmap(real(file), delete))

static void fault_barrier(sqlite3_file *file) {
    real(file)->pMethods->xShmBarrier(real(file));
}

/* Version 2: no memory-mapped files, which would pass all of this by. */
static const sqlite3_io_methods fault_methods = {
    2,
    fault_close,
    fault_read,
    fault_write,
    fault_truncate,
    fault_sync,
    fault_size,
    fault_lock,
    fault_unlock,
    fault_check_lock,
    fault_control,
    fault_sector,
    fault_device,
    fault_map,
    fault_shm_lock,
    fault_barrier,
    fault_shm_unmap,
    NULL,
    NULL,
};

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                      int *flags_out) {
    sqlite3_vfs *system = vfs->pAppData;
    file->pMethods = NULL;
    int result = system->xOpen(system, name, real(file), flags, flags_out);
    if (result == SQLITE_OK)
        file->pMethods = &fault_methods;
    return result;
}

static sqlite3_vfs vfs;

int fault_vfs_register(void) {
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    if (system == NULL)
        return SQLITE_ERROR;
    vfs = *system;
    vfs.zName = FAULT_VFS;
    vfs.szOsFile = (int)sizeof(struct fault_file) + system->szOsFile;
    vfs.pAppData = system;
    vfs.pNext = NULL;
    vfs.xOpen = fault_open;
    return sqlite3_vfs_register(&vfs, 0);
}
