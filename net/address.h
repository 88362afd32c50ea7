/* The address guard: which addresses may a destination's URL lead to?
 *
 * A URL is what some user typed, and its name resolves to whatever its owner's DNS says at that moment. So it is the address that is
 * checked, after resolution, for the very connection that is being opened:
 *
 *   address_refusal(93.184.216.34)                      NULL: it may be called
 *   address_refusal(10.0.0.1)                           "private"
 *   address_refusal(169.254.169.254)                    "link-local": a cloud's metadata
 *   address_refusal(::ffff:127.0.0.1)                   "loopback": IPv6 that leads to IPv4 counts as what it leads to
 *   address_refusal(10.0.0.1), allowing 10.0.0.0/8      NULL */
#ifndef NET_ADDRESS_H
#define NET_ADDRESS_H

#include "serve.h"

#include <sys/socket.h>

#define ADDRESS_TEXT_SIZE 64

/* NULL: it may be called. Else what is wrong with it, to be read as "the address is …". */
const char *address_refusal(const struct sockaddr *address, const struct cidr *allow,
                            uint32_t allow_count);

/* "10.0.0.1", "::1"; "?" if it is neither IPv4 nor IPv6. Returns `text`. */
char *address_format(const struct sockaddr *address, char text[ADDRESS_TEXT_SIZE]);

/* "10.0.0.0/8", "::1/128", "192.168.1.7" (that one alone). False, and *cidr is left alone: not an address, not a length, or bits are
 * set beyond the length (10.0.0.1/8), which means that something else was meant. */
bool cidr_parse(const char *text, struct cidr *cidr);

#endif
