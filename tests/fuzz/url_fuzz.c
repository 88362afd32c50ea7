/* Any bytes as a destination's URL: what is taken must mean the same to libcurl, and nothing else; what is refused comes with a reason that can be
 * shown and does not repeat it. The same bytes are tried as a range of addresses and as a secret. */
#include "input.h"

#include "address.h"
#include "sign.h"
#include "url.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#define LONGEST 3000

static void check_message(const char *message, size_t size) {
    CHECK(memchr(message, '\0', size) != NULL);
    CHECK(message[0] != '\0');
    for (; *message != '\0'; message++)
        CHECK((unsigned char)*message >= 0x20 && *message != 0x7f);
}

static char *part_of(CURLU *parsed, CURLUPart part) {
    char *text = NULL;
    return curl_url_get(parsed, part, &text, 0) == CURLUE_OK ? text : NULL;
}

static void check_taken(const char *url) {
    CHECK(strlen(url) <= URL_LONGEST);
    CURLU *parsed = curl_url();
    CHECK(parsed != NULL);
    CHECK(curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK);
    char *scheme = part_of(parsed, CURLUPART_SCHEME), *host = part_of(parsed, CURLUPART_HOST),
         *port = part_of(parsed, CURLUPART_PORT);
    CHECK(scheme != NULL && (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0));
    CHECK(host != NULL && host[0] != '\0');
    CHECK(part_of(parsed, CURLUPART_USER) == NULL);
    CHECK(part_of(parsed, CURLUPART_PASSWORD) == NULL);
    CHECK(part_of(parsed, CURLUPART_OPTIONS) == NULL);
    CHECK(part_of(parsed, CURLUPART_FRAGMENT) == NULL);
    CHECK(part_of(parsed, CURLUPART_ZONEID) == NULL);
    CHECK(port == NULL || (atoi(port) >= 1 && atoi(port) <= 65535));
    /* The host is what a simple reader sees between the slashes; numbers are written in other ways, too. */
    const char *authority = strstr(url, "//") + 2;
    size_t length = strlen(host);
    struct in_addr number;
    if (inet_aton(host, &number) == 0 && host[0] != '[') {
        CHECK(strncasecmp(authority, host, length) == 0);
        CHECK(strchr(":/?", authority[length]) != NULL);
    }
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parsed);
}

static void check_cidr(const char *text) {
    struct cidr cidr;
    if (!cidr_parse(text, &cidr))
        return;
    /* What is allowed allows its own first address. */
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    memcpy(&in.sin_addr, cidr.address, 4);
    memcpy(&in6.sin6_addr, cidr.address, 16);
    const struct sockaddr *address =
        cidr.v6 ? (const struct sockaddr *)&in6 : (const struct sockaddr *)&in;
    CHECK(cidr.bits <= (cidr.v6 ? 128 : 32));
    CHECK(address_refusal(address, &cidr, 1) == NULL);
    char written[ADDRESS_TEXT_SIZE + 4];
    struct cidr again;
    address_format(address, written);
    snprintf(written + strlen(written), 5, "/%u", cidr.bits);
    CHECK(cidr_parse(written, &again) && memcmp(&again, &cidr, sizeof cidr) == 0);
}

static void check_secret(const char *text) {
    unsigned char key[SECRET_LONGEST];
    size_t length = 0;
    char message[200];
    if (secret_decode(text, key, &length, message, sizeof message)) {
        CHECK(length >= SECRET_SHORTEST && length <= SECRET_LONGEST);
        CHECK(strlen(text) < SECRET_TEXT_SIZE);
    } else {
        check_message(message, sizeof message);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char text[LONGEST + 1], message[URL_MESSAGE_SIZE];
    if (size > LONGEST)
        return -1;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    if (url_check(text, message, sizeof message))
        check_taken(text);
    else
        check_message(message, sizeof message);
    check_cidr(text);
    check_secret(text);
    return 0;
}
