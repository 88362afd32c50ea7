#include "testing.h"

#include "address.h"

#include <arpa/inet.h>
#include <sys/un.h>

static struct sockaddr_storage address_of(const char *text) {
    struct sockaddr_storage storage = {0};
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&storage;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)(void *)&storage;
    if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
        storage.ss_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
        storage.ss_family = AF_INET6;
    else
        fail_msg("%s is no address", text);
    return storage;
}

static const char *refusal_of(const char *text, const struct cidr *allow, uint32_t count) {
    struct sockaddr_storage storage = address_of(text);
    return address_refusal((const struct sockaddr *)&storage, allow, count);
}

static void assert_kind(const char *text, const char *kind) {
    const char *refusal = refusal_of(text, NULL, 0);
    if (kind == NULL && refusal != NULL)
        fail_msg("%s is refused as %s", text, refusal);
    if (kind != NULL && (refusal == NULL || strcmp(refusal, kind) != 0))
        fail_msg("%s is %s, not %s", text, refusal != NULL ? refusal : "allowed", kind);
}

/* The first and the last of each range, and the neighbours of both. */
static void test_edges(void **state) {
    (void)state;
    static const struct {
        const char *before, *first, *last, *after, *kind;
        const char *before_kind, *after_kind; /* NULL: may be called */
    } rows[] = {
        {NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0", "unspecified", NULL, NULL},
        {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0", "private", NULL, NULL},
        {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0",
         "of a carrier's own network", NULL, NULL},
        {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0", "loopback", NULL, NULL},
        {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0", "link-local", NULL,
         NULL},
        {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0", "private", NULL, NULL},
        {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0", "reserved", NULL, NULL},
        {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0", "for documentation", NULL, NULL},
        {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0", "reserved", NULL, NULL},
        {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0", "private", NULL, NULL},
        {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0", "for benchmarking", NULL,
         NULL},
        {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0", "for documentation",
         NULL, NULL},
        {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0", "for documentation", NULL,
         NULL},
        {"223.255.255.255", "224.0.0.0", "239.255.255.255", "240.0.0.0", "multicast", NULL,
         "reserved"},
        {"239.255.255.255", "240.0.0.0", "255.255.255.254", "255.255.255.255", "reserved",
         "multicast", "broadcast"},
        {NULL, "::", "::", "::1", "unspecified", NULL, "loopback"},
        {"::", "::1", "::1", "::2", "loopback", "unspecified", "reserved"},
        {"::1", "::2", "::ffff:ffff", "::1:0:0", "reserved", "loopback", NULL},
        {"64:ff9b:0:ffff:ffff:ffff:ffff:ffff", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
         "64:ff9b:2::", "private", NULL, NULL},
        {"ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "100::", "100::ffff:ffff:ffff:ffff",
         "100:0:0:1::", "reserved", NULL, NULL},
        {"2001:1:ffff:ffff:ffff:ffff:ffff:ffff", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff",
         "2001:2:1::", "for benchmarking", NULL, NULL},
        {"2001:f:ffff:ffff:ffff:ffff:ffff:ffff", "2001:10::",
         "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", "2001:20::", "reserved", NULL, "reserved"},
        {"2001:1f::", "2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", "2001:30::", "reserved",
         "reserved", NULL},
        {"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::",
         "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::", "for documentation", NULL, NULL},
        {"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::",
         "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::", "for documentation", NULL, NULL},
        {"5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "5f01::", "reserved", NULL, NULL},
        {"fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
         "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::", "private", NULL, NULL},
        {"fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80::",
         "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fec0::", "link-local", NULL, "site-local"},
        {"febf::", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ff00::", "site-local",
         "link-local", "multicast"},
        {"feff::", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL, "multicast",
         "site-local", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (rows[i].before != NULL)
            assert_kind(rows[i].before, rows[i].before_kind);
        assert_kind(rows[i].first, rows[i].kind);
        assert_kind(rows[i].last, rows[i].kind);
        if (rows[i].after != NULL)
            assert_kind(rows[i].after, rows[i].after_kind);
    }
}

/* IPv6 that leads to IPv4 is what it leads to. */
static void test_carriers(void **state) {
    (void)state;
    static const struct {
        const char *text, *kind;
    } rows[] = {
        {"::ffff:127.0.0.1", "loopback"},
        {"::ffff:10.0.0.1", "private"},
        {"::ffff:169.254.169.254", "link-local"},
        {"::ffff:0.0.0.0", "unspecified"},
        {"::ffff:255.255.255.255", "broadcast"},
        {"::ffff:93.184.216.34", NULL},
        {"::fffe:10.0.0.1", NULL},
        {"::127.0.0.1", "reserved"},
        {"64:ff9b::10.0.0.1", "private"},
        {"64:ff9b::169.254.169.254", "link-local"},
        {"64:ff9b::93.184.216.34", NULL},
        {"2002:7f00:1::", "loopback"},
        {"2002:7f00:1:ffff:ffff:ffff:ffff:ffff", "loopback"},
        {"2002:a00:1::1", "private"},
        {"2002:5db8:d822::1", NULL},
        {"2003:a00:1::1", NULL},
        /* Teredo: the server is as it is, the client inverted: 10.0.0.1 is f5ff:fffe. */
        {"2001:0:5db8:d822:8000:0:f5ff:fffe", "private"},
        {"2001:0:a00:1:8000:0:a247:27dd", "private"},
        {"2001:0:5db8:d822:8000:0:a247:27dd", NULL},
        {"2001:1:a00:1:8000:0:f5ff:fffe", NULL},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_kind(rows[i].text, rows[i].kind);
}

static void test_public(void **state) {
    (void)state;
    static const char *const texts[] = {"8.8.8.8", "93.184.216.34", "1.1.1.1",
                                        "2606:4700:4700::1111", "2a00:1450:4001:81b::200e"};
    for (size_t i = 0; i < COUNT(texts); i++)
        assert_kind(texts[i], NULL);
}

static void test_allowed(void **state) {
    (void)state;
    static const struct {
        const char *allow, *text;
        bool fine;
    } rows[] = {
        {"10.0.0.0/8", "10.1.2.3", true},
        {"10.0.0.0/8", "11.0.0.1", true},
        {"10.0.0.0/8", "192.168.0.1", false},
        {"10.4.0.0/14", "10.7.255.255", true},
        {"10.4.0.0/14", "10.8.0.0", false},
        {"10.4.0.0/14", "10.3.255.255", false},
        {"127.0.0.1", "127.0.0.1", true},
        {"127.0.0.1", "127.0.0.2", false},
        {"127.0.0.1", "::ffff:127.0.0.1", true},
        {"10.0.0.0/8", "64:ff9b::10.0.0.1", true},
        {"10.0.0.0/8", "2001:0:a00:1:8000:0:f5ff:fffe", true},
        {"10.0.0.0/8", "2001:0:a00:1:8000:0:3f57:fffe", false}, /* its client is 192.168.0.1 */
        {"127.0.0.1", "::1", false},
        {"::1", "::1", true},
        {"::1", "127.0.0.1", false},
        {"::/0", "127.0.0.1", false},
        {"::/0", "::ffff:127.0.0.1", true},
        {"0.0.0.0/0", "127.0.0.1", true},
        {"0.0.0.0/0", "::1", false},
        {"fc00::/7", "fd00::1", true},
        {"fd00::/9", "fd80::1", false},
        {"a00::/8", "10.0.0.1", false}, /* the same first byte */
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        /* The one that counts is not the first. */
        struct cidr allow[2] = {{.address = {192, 0, 2, 1}, .bits = 32}};
        assert_true(cidr_parse(rows[i].allow, &allow[1]));
        if ((refusal_of(rows[i].text, allow, 2) == NULL) != rows[i].fine)
            fail_msg("%s, allowing %s", rows[i].text, rows[i].allow);
    }
    struct cidr unused;
    assert_true(cidr_parse("10.0.0.0/8", &unused));
    assert_non_null(refusal_of("10.0.0.1", &unused, 0));
}

static void test_other_families(void **state) {
    (void)state;
    struct sockaddr_un path = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
    struct cidr all;
    char text[ADDRESS_TEXT_SIZE];
    assert_true(cidr_parse("0.0.0.0/0", &all));
    assert_string_equal(address_refusal((const struct sockaddr *)&path, &all, 1),
                        "neither IPv4 nor IPv6");
    assert_string_equal(address_format((const struct sockaddr *)&path, text), "?");
}

static void test_format(void **state) {
    (void)state;
    static const char *const texts[] = {"10.0.0.1", "::1", "2001:db8::7",
                                        "2606:4700:4700:1111:2222:3333:4444:5555"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct sockaddr_storage storage = address_of(texts[i]);
        char text[ADDRESS_TEXT_SIZE];
        assert_string_equal(address_format((const struct sockaddr *)&storage, text), texts[i]);
    }
}

static void test_cidr(void **state) {
    (void)state;
    static const struct {
        const char *text;
        struct cidr cidr;
    } rows[] = {
        {"10.0.0.0/8", {false, {10}, 8}},
        {"0.0.0.0/0", {false, {0}, 0}},
        {"192.168.1.7", {false, {192, 168, 1, 7}, 32}},
        {"192.168.1.7/32", {false, {192, 168, 1, 7}, 32}},
        {"192.168.1.6/31", {false, {192, 168, 1, 6}, 31}},
        {"::1/128", {true, {[15] = 1}, 128}},
        {"::1", {true, {[15] = 1}, 128}},
        {"::/0", {true, {0}, 0}},
        {"fc00::/7", {true, {0xfc}, 7}},
        {"::ffff:10.0.0.0/104", {true, {[10] = 0xff, 0xff, 10}, 104}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct cidr cidr;
        memset(&cidr, 0xa5, sizeof cidr);
        assert_true(cidr_parse(rows[i].text, &cidr));
        assert_int_equal(cidr.v6, rows[i].cidr.v6);
        assert_int_equal(cidr.bits, rows[i].cidr.bits);
        assert_memory_equal(cidr.address, rows[i].cidr.address, sizeof cidr.address);
    }
}

static void test_no_cidr(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",
        "/",
        "/8",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/+8",
        "10.0.0.0/08",
        "10.0.0.0/8 ",
        "10.0.0.0/ 8",
        " 10.0.0.0/8",
        "10.0.0.0/8/8",
        "10.0.0.0/255.0.0.0",
        "10.0.0.0/4294967304",
        "10.0.0.1/8", /* host bits */
        "10.128.0.0/8",
        "0.0.0.1/0",
        "192.168.1.7/31",
        "10.0/8",
        "10",
        "010.0.0.0/8",
        "256.0.0.0/8",
        "localhost",
        "::1/129",
        "::1/127",
        "fc00::1/7",
        "1::2::3",
        "fe80::1%eth0",
        "[::1]",
        "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000/8",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct cidr cidr, before;
        memset(&cidr, 0xa5, sizeof cidr);
        before = cidr;
        if (cidr_parse(texts[i], &cidr))
            fail_msg("\"%s\" was taken for a range", texts[i]);
        assert_memory_equal(&cidr, &before, sizeof cidr);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edges),          cmocka_unit_test(test_carriers),
        cmocka_unit_test(test_public),         cmocka_unit_test(test_allowed),
        cmocka_unit_test(test_other_families), cmocka_unit_test(test_format),
        cmocka_unit_test(test_cidr),           cmocka_unit_test(test_no_cidr),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
