#include "address.h"

#include <arpa/inet.h>
#include <string.h>

struct range {
    unsigned char address[16];
    uint8_t bits;
    const char *kind;
};

/* The special-purpose registries of IANA (RFC 6890 and after), as far as they are not globally reachable. The first that covers an
 * address names it. */
static const struct range ranges4[] = {
    {{0}, 8, "unspecified"},
    {{10}, 8, "private"},
    {{100, 64}, 10, "of a carrier's own network"},
    {{127}, 8, "loopback"},
    {{169, 254}, 16, "link-local"},
    {{172, 16}, 12, "private"},
    {{192, 0, 0}, 24, "reserved"},
    {{192, 0, 2}, 24, "for documentation"},
    {{192, 88, 99}, 24, "reserved"},
    {{192, 168}, 16, "private"},
    {{198, 18}, 15, "for benchmarking"},
    {{198, 51, 100}, 24, "for documentation"},
    {{203, 0, 113}, 24, "for documentation"},
    {{224}, 4, "multicast"},
    {{255, 255, 255, 255}, 32, "broadcast"},
    {{240}, 4, "reserved"},
};

static const struct range ranges6[] = {
    {{0}, 128, "unspecified"},
    {{[15] = 1}, 128, "loopback"},
    {{0}, 96, "reserved"},                        /* once IPv4-compatible */
    {{0, 0x64, 0xff, 0x9b, 0, 1}, 48, "private"}, /* NAT64 of a local network */
    {{1}, 64, "reserved"},                        /* discarded */
    {{0x20, 0x01, 0, 2}, 48, "for benchmarking"},
    {{0x20, 0x01, 0, 0x10}, 28, "reserved"}, /* ORCHID: no addresses at all */
    {{0x20, 0x01, 0, 0x20}, 28, "reserved"},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, "for documentation"},
    {{0x3f, 0xff}, 20, "for documentation"},
    {{0x5f}, 16, "reserved"}, /* segments of a router's */
    {{0xfc}, 7, "private"},
    {{0xfe, 0x80}, 10, "link-local"},
    {{0xfe, 0xc0}, 10, "site-local"},
    {{0xff}, 8, "multicast"},
};

/* IPv6 that carries IPv4: where in it, and whether its bits are inverted. */
static const struct {
    struct range range;
    uint8_t at, flip;
} carriers[] = {
    {{{[10] = 0xff, [11] = 0xff}, 96, "mapped"}, 12, 0},
    {{{0, 0x64, 0xff, 0x9b}, 96, "NAT64"}, 12, 0},
    {{{0x20, 0x02}, 16, "6to4"}, 2, 0},
    {{{0x20, 0x01}, 32, "Teredo's server"}, 4, 0},
    {{{0x20, 0x01}, 32, "Teredo's client"}, 12, 0xff},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool same_bits(const unsigned char *a, const unsigned char *b, unsigned bits) {
    unsigned whole = bits / 8, rest = bits % 8;
    return memcmp(a, b, whole) == 0 && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

static bool is_allowed(bool v6, const unsigned char *bytes, const struct cidr *allow,
                       uint32_t allow_count) {
    for (uint32_t i = 0; i < allow_count; i++)
        if (allow[i].v6 == v6 && same_bits(bytes, allow[i].address, allow[i].bits))
            return true;
    return false;
}

static const char *kind_of(const unsigned char *bytes, const struct range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (same_bits(bytes, ranges[i].address, ranges[i].bits))
            return ranges[i].kind;
    return NULL;
}

static const char *refusal4(const unsigned char *bytes, const struct cidr *allow,
                            uint32_t allow_count) {
    const char *kind = kind_of(bytes, ranges4, COUNT(ranges4));
    return kind != NULL && is_allowed(false, bytes, allow, allow_count) ? NULL : kind;
}

static const char *refusal6(const unsigned char *bytes, const struct cidr *allow,
                            uint32_t allow_count) {
    if (is_allowed(true, bytes, allow, allow_count))
        return NULL;
    for (size_t i = 0; i < COUNT(carriers); i++) {
        if (!same_bits(bytes, carriers[i].range.address, carriers[i].range.bits))
            continue;
        unsigned char carried[4];
        for (unsigned k = 0; k < sizeof carried; k++)
            carried[k] = bytes[carriers[i].at + k] ^ carriers[i].flip;
        const char *kind = refusal4(carried, allow, allow_count);
        if (kind != NULL)
            return kind;
    }
    return kind_of(bytes, ranges6, COUNT(ranges6));
}

const char *address_refusal(const struct sockaddr *address, const struct cidr *allow,
                            uint32_t allow_count) {
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        memcpy(&in, address, sizeof in);
        return refusal4((const unsigned char *)&in.sin_addr, allow, allow_count);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        return refusal6(in6.sin6_addr.s6_addr, allow, allow_count);
    }
    return "neither IPv4 nor IPv6";
}

char *address_format(const struct sockaddr *address, char text[ADDRESS_TEXT_SIZE]) {
    const void *bytes = NULL;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    if (address->sa_family == AF_INET) {
        memcpy(&in, address, sizeof in);
        bytes = &in.sin_addr;
    } else if (address->sa_family == AF_INET6) {
        memcpy(&in6, address, sizeof in6);
        bytes = &in6.sin6_addr;
    }
    if (bytes == NULL || inet_ntop(address->sa_family, bytes, text, ADDRESS_TEXT_SIZE) == NULL)
        memcpy(text, "?", 2);
    return text;
}

/* "0" … "128", without zeros in front. */
static bool parse_bits(const char *text, unsigned highest, unsigned *bits) {
    size_t length = strlen(text);
    if (length == 0 || length > 3 || strspn(text, "0123456789") != length ||
        (text[0] == '0' && length > 1))
        return false;
    *bits = 0;
    for (; *text != '\0'; text++)
        *bits = *bits * 10 + (unsigned)(*text - '0');
    return *bits <= highest;
}

static bool host_bits_clear(const unsigned char *address, unsigned bits, unsigned highest) {
    for (unsigned i = bits; i < highest; i++)
        if (address[i / 8] >> (7 - i % 8) & 1)
            return false;
    return true;
}

bool cidr_parse(const char *text, struct cidr *cidr) {
    char address[ADDRESS_TEXT_SIZE];
    size_t length = strcspn(text, "/");
    if (length >= sizeof address)
        return false;
    memcpy(address, text, length);
    address[length] = '\0';

    struct cidr parsed = {.v6 = memchr(address, ':', length) != NULL};
    unsigned highest = parsed.v6 ? 128 : 32, bits = highest;
    if (inet_pton(parsed.v6 ? AF_INET6 : AF_INET, address, parsed.address) != 1 ||
        (text[length] == '/' && !parse_bits(text + length + 1, highest, &bits)) ||
        !host_bits_clear(parsed.address, bits, highest))
        return false;
    parsed.bits = (uint8_t)bits;
    *cidr = parsed;
    return true;
}
