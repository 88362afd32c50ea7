#include "testing.h"

#include "address.h"
#include "url.h"

static void test_fine(void **state) {
    (void)state;
    static const char *const urls[] = {
        "http://shop",
        "https://shop.example/hooks?team=7&x=%20",
        "HTTPS://Shop.Example:443/",
        "http://127.0.0.1:8080/",
        "http://[::1]:8080/a",
        "http://[2001:db8::7]",
        "http://a_b-c.example:1",
        "http://shop:65535?x=1",
        "http://shop/@user:x", /* past the host it is no user */
        "http://shop?who=a@b",
        "http://shop/a//b/../c;d=1",
        "http://0x7f.1/",
    };
    for (size_t i = 0; i < COUNT(urls); i++) {
        char message[URL_MESSAGE_SIZE] = "";
        if (!url_check(urls[i], message, sizeof message))
            fail_msg("%s: %s", urls[i], message);
    }
}

static void test_wrong(void **state) {
    (void)state;
    static const char scheme[] = "must begin with http:// or https://";
    static const char user[] = "must not have a user or password before the host; use a header";
    static const char host[] = "has a host with other characters than letters, digits, - . and _";
    static const char port[] = "has a port that is not 1 to 65535";
    static const char brackets[] = "has no IPv6 address in its brackets";
    static const struct {
        const char *url, *message;
    } rows[] = {
        {"", "is empty"},
        {"shop.example", scheme},
        {"ftp://shop.example/", scheme},
        {"file:///etc/passwd", scheme},
        {"http:/shop", scheme},
        {"http:shop", scheme},
        {"//shop", scheme},
        {"javascript:alert(1)", scheme},
        {"http://", "has no host"},
        {"https://", "has no host"},
        {"http:///path", "has no host"},
        {"http://?x", "has no host"},
        {"http://:80/", "has no host"},
        {"http://user@shop/", user},
        {"http://user:secret@shop/", user},
        {"http://@shop/", user},
        {"http://shop:80@evil/", user},
        {"http://[::1]@evil/", user},
        {"http://shop/#top", "must not have a fragment (#…): it is never sent"},
        {"http://shop#@evil/", "must not have a fragment (#…): it is never sent"},
        {"http://shop/a b", "must not contain blanks; write %20"},
        {" http://shop/", "must not contain blanks; write %20"},
        {"http://shop/ ", "must not contain blanks; write %20"},
        {"http://shop/a\r\nHost: evil", "must not contain control characters"},
        {"http://shop/\t", "must not contain control characters"},
        {"http://shop/\x7f", "must not contain control characters"},
        {"http://shop\\@evil/", "must not contain a backslash"},
        {"http:\\\\shop/", "must not contain a backslash"},
        {"http://caf\xC3\xA9/",
         "must be plain ASCII: write other letters as %C3%A9, and of a host as xn--…"},
        {"http://shop:/", port},
        {"http://shop:0/", port},
        {"http://shop:00000/", port},
        {"http://shop:65536/", port},
        {"http://shop:099999999999/", port},
        {"http://shop:80x/", port},
        {"http://shop:-1/", port},
        {"http://shop:http/", port},
        {"http://a:80:80/", host},
        {"http://a%2eb/", host},
        {"http://a,b/", host},
        {"http://a;b/", host},
        {"http://a*/", host},
        {"http://::1/", host},
        {"http://[::1/", brackets},
        {"http://[]/", "is not a URL"},
        {"http://[fe80::1%25eth0]/", brackets},
        {"http://[::1]x/", brackets},
        {"http://[::1]:0/", port},
        {"http://[:::1]/", "is not a URL"},
        {"http://[", brackets},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        char message[URL_MESSAGE_SIZE] = "";
        if (url_check(rows[i].url, message, sizeof message))
            fail_msg("%s was taken", rows[i].url);
        if (strcmp(message, rows[i].message) != 0)
            fail_msg("%s: %s, not: %s", rows[i].url, message, rows[i].message);
    }
}

static void test_length(void **state) {
    (void)state;
    char url[URL_LONGEST + 2], message[URL_MESSAGE_SIZE];
    memset(url, 'a', sizeof url);
    memcpy(url, "http://shop/", 12);
    url[URL_LONGEST] = '\0';
    assert_true(url_check(url, message, sizeof message));
    url[URL_LONGEST] = 'a';
    url[URL_LONGEST + 1] = '\0';
    assert_false(url_check(url, message, sizeof message));
    assert_string_equal(message, "is longer than 2047 bytes");
}

static void test_little_room(void **state) {
    (void)state;
    char message[6] = "12345";
    assert_false(url_check("", message, 3));
    assert_string_equal(message, "is");
    assert_false(url_check("", NULL, 0));
}

/* What will be refused, as far as the URL itself tells. */
static void test_refused(void **state) {
    (void)state;
    static const struct {
        const char *url, *address; /* NULL: no telling */
    } rows[] = {
        {"http://127.0.0.1:9000/", "127.0.0.1 is loopback"},
        {"http://localhost/", "127.0.0.1 is loopback"},
        {"https://LOCALHOST:1/", "127.0.0.1 is loopback"},
        {"http://[::1]/", "::1 is loopback"},
        {"http://2130706433/", "127.0.0.1 is loopback"},
        {"http://0x7f.1/", "127.0.0.1 is loopback"},
        {"http://10.0.0.1/", "10.0.0.1 is private"},
        {"http://169.254.169.254/", "169.254.169.254 is link-local"},
        {"http://192.168.7.7/", NULL}, /* allowed here */
        {"http://93.184.216.34/", NULL},
        {"https://shop.example/", NULL},
        {"https://127.0.0.1.shop.example/", NULL},
        {"no URL", NULL},
    };
    struct cidr allow;
    assert_true(cidr_parse("192.168.0.0/16", &allow));
    for (size_t i = 0; i < COUNT(rows); i++) {
        char message[URL_MESSAGE_SIZE] = "";
        bool refused = url_will_be_refused(rows[i].url, &allow, 1, message, sizeof message);
        assert_int_equal(refused, rows[i].address != NULL);
        if (refused)
            assert_non_null(strstr(message, rows[i].address));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),     cmocka_unit_test(test_fine),
        cmocka_unit_test(test_wrong),       cmocka_unit_test(test_length),
        cmocka_unit_test(test_little_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
