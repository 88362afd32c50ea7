/* A disk that fails when told to: an SQLite VFS, "fault", on top of the system's.
 *
 *   fault_vfs_register();
 *   store_sqlite_open(&(struct store_sqlite_config){.path = path, .vfs = FAULT_VFS}, …);
 *   fault_vfs.sync = SQLITE_IOERR_FSYNC;           from now on no sync succeeds
 *   fault_vfs.sync = 0;                            all is well again
 */
#ifndef TESTS_FAULT_VFS_H
#define TESTS_FAULT_VFS_H

#include <stdatomic.h>

#define FAULT_VFS "fault"

/* What the calls on all files give; 0: what the system gives. Any thread may set them. */
struct fault_vfs {
    atomic_int write; /* SQLITE_FULL, SQLITE_IOERR_WRITE, … */
    atomic_int sync;
    atomic_int read;
    atomic_int after; /* so many calls still succeed */
    atomic_int
        exit_code; /* not 0: a call that would fail ends the process instead, half-way through a write */
    atomic_int failures; /* counts the calls that failed */
};
extern struct fault_vfs fault_vfs;

int fault_vfs_register(void); /* SQLITE_OK */

#endif
