/* Misbehaviour below HTTP, done to a connection's socket itself, behind the back of
 * libmicrohttpd.
 *
 * libmicrohttpd speaks nothing but HTTP. What it would not do is written to its socket by hand,
 * in the one moment at which that is safe: inside the handler of a request that has been read to
 * its end and has no answer queued. All earlier answers on the connection are in the kernel by
 * then, and nothing of this one is. The handler then gives up the request, which makes
 * libmicrohttpd close.
 *
 * A reset cannot be left to close(): with SO_LINGER 0 it would be sent by the last close of the
 * socket, but libmicrohttpd shuts the socket down first, and a client that reads the FIN before
 * the RST sees an orderly end. Disconnecting the socket (connect() to AF_UNSPEC) sends the RST
 * at once, and leaves a socket on which everything that libmicrohttpd still does fails
 * harmlessly.
 */
#ifndef FLAKY_WIRE_H
#define FLAKY_WIRE_H

#include "body.h"

/* Sends a RST. */
void wire_reset(int socket);

/* Sends a FIN, after what has been written. */
void wire_end(int socket);

/* Ends both directions: libmicrohttpd will find out and close. */
void wire_close(int socket);

/* Is there something to be read? */
bool wire_has_input(int socket);

/* The head of an answer that promises `body`, and half of the body. `head_only`: half of the
 * head, as for an answer to HEAD, which has no body to break off in. */
void wire_send_part(int socket, unsigned status, const struct blob *body, bool head_only);

/* Bytes that are no HTTP: the same for the same word. */
void wire_send_garbage(int socket, uint64_t word);

#endif
