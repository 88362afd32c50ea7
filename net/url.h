/* Is this a URL that events may be sent to? Strict, for it was typed by somebody and is used a million times.
 *
 *   https://shop.example/hooks?team=7      yes
 *   http://[::1]:8080/                     yes (whether the address may be called is another matter: address.h)
 *   https://user:secret@shop.example/      no: secrets belong into a header
 *   https://shop.example/#top, ftp://…, http:shop, http://shop:0/, "http://shop/a b", http://shop\@evil/       no
 *
 * What two programs could read in two ways is refused, not repaired. */
#ifndef NET_URL_H
#define NET_URL_H

#include <lull/base.h>

#define URL_LONGEST 2047
#define URL_MESSAGE_SIZE 160

/* True; or false, and `message` (of `size` bytes; cut if that is too few) says what is wrong, to be read after the name of a setting: "must
 * begin with http:// or https://". It never repeats the URL: it may hold a password. */
bool url_check(const char *url, char *message, size_t size);

struct cidr;

/* Can it be told by the URL alone that its address will be refused (address.h)? True, and `message` says so: "the address 127.0.0.1 is loopback
 * and not allowed; see addresses.allow". Only of addresses as such, and of localhost: what a name leads to is known when it is called. */
bool url_will_be_refused(const char *url, const struct cidr *allow, uint32_t allow_count,
                         char *message, size_t size);

#endif
