#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct place {
    struct sockaddr_storage address;
    socklen_t size;
};

static bool resolve(struct place *place, const char *text, const char *host, const char *port,
                    struct problem *problem) {
    struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
    };
    struct addrinfo *found = NULL;
    int error = getaddrinfo(*host == '\0' ? NULL : host, port, &hints, &found);
    if (error != 0)
        return problem_say(problem, "cannot listen on %s: %s", text, gai_strerror(error));
    memcpy(&place->address, found->ai_addr, found->ai_addrlen);
    place->size = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static bool is_port(const char *text) {
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 5 || text[digits] != '\0')
        return false;
    long number = 0;
    for (; *text != '\0'; text++)
        number = number * 10 + (*text - '0');
    return number <= 65535;
}

static bool parse(struct place *place, const char *text, struct problem *problem) {
    char copy[300];
    if (strlen(text) >= sizeof copy)
        return problem_say(problem, "the address to listen on is longer than 299 characters");
    memcpy(copy, text, strlen(text) + 1);
    char *port = strrchr(copy, ':');
    char *host = copy;
    bool good = port != NULL && is_port(port + 1);
    if (good) {
        *port++ = '\0';
        size_t length = strlen(host);
        bool bracketed = length >= 2 && *host == '[' && host[length - 1] == ']';
        if (bracketed) {
            host[length - 1] = '\0';
            host++;
        }
        /* ::1:8080 could be read in two ways. */
        good = bracketed || strchr(host, ':') == NULL;
    }
    if (!good)
        return problem_say(problem,
                           "cannot listen on %s: must be ADDR:PORT, as in 127.0.0.1:8080 or "
                           "[::1]:8080",
                           text);
    return resolve(place, text, host, port, problem);
}

static void close_keeping_error(int fd) {
    int error = errno;
    close(fd);
    errno = error;
}

/* A socket bound to the place; -1 if that cannot be. */
static int bind_one(const struct place *place, bool shared) {
    int fd = socket(place->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        (!shared || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0) &&
        bind(fd, (const struct sockaddr *)&place->address, place->size) == 0)
        return fd;
    close_keeping_error(fd);
    return -1;
}

static bool open_all(const struct place *place, size_t count, int sockets[]) {
    for (size_t i = 0; i < count; i++) {
        sockets[i] = bind_one(place, true);
        if (sockets[i] >= 0 && listen(sockets[i], SOMAXCONN) == 0)
            continue;
        for (size_t j = 0; j <= i; j++) {
            if (sockets[j] >= 0)
                close_keeping_error(sockets[j]);
        }
        return false;
    }
    return true;
}

static void name(const struct place *place, char address[HTTP_ADDRESS_SIZE]) {
    char host[INET6_ADDRSTRLEN] = "";
    if (place->address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&place->address;
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        snprintf(address, HTTP_ADDRESS_SIZE, "[%s]:%d", host, ntohs(six->sin6_port));
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&place->address;
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        snprintf(address, HTTP_ADDRESS_SIZE, "%s:%d", host, ntohs(four->sin_port));
    }
}

/* The sockets that share the port would be joined by those of a second server of the same user,
 * which would then get every other connection. So one that does not share asks for the port first
 * (and picks it, if any will do); while it is there and does not listen, the others may follow. */
bool http_listen(const char *text, size_t count, int sockets[], char address[HTTP_ADDRESS_SIZE],
                 struct problem *problem) {
    struct place place = {0};
    if (!parse(&place, text, problem))
        return false;
    int placeholder = bind_one(&place, false);
    bool open = placeholder >= 0;
    if (open) {
        place.size = sizeof place.address;
        open = getsockname(placeholder, (struct sockaddr *)&place.address, &place.size) == 0 &&
               open_all(&place, count, sockets);
        close_keeping_error(placeholder);
    }
    if (!open)
        return problem_say(problem, "cannot listen on %s: %s", text, strerror(errno));
    name(&place, address);
    return true;
}
