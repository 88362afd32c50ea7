/* Many events from a file of lines (NDJSON), sent in slices below the server's limit.
 *
 *   {"destination":"shop","payload":{…}}
 *   {"type":"order.paid","payload":"text","key":"K"}
 *
 * The server takes a slice whole or not at all. So that a mistake in a later one does not leave the
 * file half sent, a file is read through and checked before its first slice goes out; what comes
 * from a pipe is checked as it comes. Lines without a key are given one, NAME-LINE: that makes
 * every slice safe to send again, and with a NAME of the user's, the whole file.
 */
#ifndef CLI_SEND_BATCH_H
#define CLI_SEND_BATCH_H

#include "remote_command.h"

#define SEND_BATCH_BYTES ((size_t)8 << 20) /* half of what a server takes if not told otherwise */
#define SEND_BATCH_LINES 10000

/* The file, "-" for stdin; `key`: the NAME above, NULL for a random one. The exit code. */
int send_batch(struct call *call, const char *file, const char *key);

#endif
