#include "url.h"

#include "address.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool wrong(char *message, size_t size, const char *text) {
    if (size > 0)
        snprintf(message, size, "%s", text);
    return false;
}

/* What no URL may contain, wherever. */
static const char *wrong_characters(const char *url) {
    for (const unsigned char *at = (const unsigned char *)url; *at != '\0'; at++) {
        if (*at < 0x20 || *at == 0x7f)
            return "must not contain control characters";
        if (*at == ' ')
            return "must not contain blanks; write %20";
        if (*at == '\\')
            return "must not contain a backslash";
        if (*at > 0x7f)
            return "must be plain ASCII: write other letters as %C3%A9, and of a host as xn--…";
        if (*at == '#')
            return "must not have a fragment (#…): it is never sent";
    }
    return NULL;
}

/* "shop.example", "[::1]": of the letters that are read the same by everybody. */
static const char *wrong_host(const char *host, size_t length) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (length == 0)
        return "has no host";
    if (host[0] == '[')
        return strspn(host + 1, "0123456789abcdefABCDEF:.") == length - 2 && host[length - 1] == ']'
                   ? NULL
                   : "has no IPv6 address in its brackets";
    for (size_t i = 0; i < length; i++)
        if (strchr(letters, host[i]) == NULL && strchr("-._", host[i]) == NULL)
            return "has a host with other characters than letters, digits, - . and _";
    return NULL;
}

static const char *wrong_port(const char *port, size_t length) {
    static const char *const text = "has a port that is not 1 to 65535";
    unsigned number = 0;
    if (length == 0 || length > 5)
        return text;
    for (size_t i = 0; i < length; i++) {
        if (port[i] < '0' || port[i] > '9')
            return text;
        number = number * 10 + (unsigned)(port[i] - '0');
    }
    return number >= 1 && number <= 65535 ? NULL : text;
}

static const char *wrong_authority(const char *authority, size_t length) {
    if (memchr(authority, '@', length) != NULL)
        return "must not have a user or password before the host; use a header";
    /* The colons of an IPv6 address are inside its brackets. */
    const char *bracket = memrchr(authority, ']', length);
    const char *colon = memrchr(authority, ':', length);
    if (colon != NULL && bracket != NULL && colon < bracket)
        colon = NULL;
    size_t host_length = colon != NULL ? (size_t)(colon - authority) : length;
    const char *text = wrong_host(authority, host_length);
    if (text == NULL && colon != NULL)
        text = wrong_port(colon + 1, length - host_length - 1);
    return text;
}

/* The last word is with the library that will use it. */
static const char *wrong_for_curl(const char *url) {
    CURLU *parsed = curl_url();
    if (parsed == NULL)
        return "could not be checked: out of memory";
    CURLUcode code = curl_url_set(parsed, CURLUPART_URL, url, 0);
    curl_url_cleanup(parsed);
    return code == CURLUE_OK ? NULL : "is not a URL";
}

bool url_check(const char *url, char *message, size_t size) {
    size_t length = strnlen(url, URL_LONGEST + 1);
    if (length == 0)
        return wrong(message, size, "is empty");
    if (length > URL_LONGEST)
        return wrong(message, size, "is longer than 2047 bytes");
    const char *text = wrong_characters(url);
    if (text != NULL)
        return wrong(message, size, text);

    size_t scheme = strncasecmp(url, "http://", 7) == 0    ? 7
                    : strncasecmp(url, "https://", 8) == 0 ? 8
                                                           : 0;
    if (scheme == 0)
        return wrong(message, size, "must begin with http:// or https://");
    text = wrong_authority(url + scheme, strcspn(url + scheme, "/?"));
    if (text == NULL)
        text = wrong_for_curl(url);
    return text == NULL || wrong(message, size, text);
}

/* False: the host is a name, and not localhost. */
static bool address_of(const char *host, struct sockaddr_storage *address) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)address;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;
    char bare[INET6_ADDRSTRLEN + 1];
    size_t length = strlen(host);
    *address = (struct sockaddr_storage){.ss_family = AF_INET};
    if (inet_pton(AF_INET, strcasecmp(host, "localhost") == 0 ? "127.0.0.1" : host,
                  &v4->sin_addr) == 1)
        return true;
    if (length < 3 || length > sizeof bare || host[0] != '[')
        return false;
    memcpy(bare, host + 1, length - 2);
    bare[length - 2] = '\0';
    address->ss_family = AF_INET6;
    return inet_pton(AF_INET6, bare, &v6->sin6_addr) == 1;
}

bool url_will_be_refused(const char *url, const struct cidr *allow, uint32_t allow_count,
                         char *message, size_t size) {
    CURLU *parsed = curl_url();
    char *host = NULL, text[ADDRESS_TEXT_SIZE];
    struct sockaddr_storage address;
    const char *refusal = NULL;
    /* It writes 0x7f.1 and 2130706433 as 127.0.0.1, which is what it calls. */
    if (parsed != NULL && curl_url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parsed, CURLUPART_HOST, &host, 0) == CURLUE_OK && address_of(host, &address))
        refusal = address_refusal((const struct sockaddr *)&address, allow, allow_count);
    if (refusal != NULL)
        snprintf(message, size, "the address %s is %s and not allowed; see addresses.allow",
                 address_format((const struct sockaddr *)&address, text), refusal);
    curl_free(host);
    curl_url_cleanup(parsed);
    return refusal != NULL;
}
