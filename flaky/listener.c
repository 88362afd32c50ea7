#include "listener.h"

#include "text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool resolve(struct listener *listener, const char *host, const char *port,
                    struct problem *problem) {
    struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
    };
    struct addrinfo *found = NULL;
    int error = getaddrinfo(*host == '\0' ? NULL : host, port, &hints, &found);
    if (error != 0)
        return problem_say(problem, "no such address: %s", gai_strerror(error));
    memcpy(&listener->address, found->ai_addr, found->ai_addrlen);
    listener->address_size = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

bool listener_init(struct listener *listener, const char *text, struct problem *problem) {
    char copy[300];
    *listener = (struct listener){.placeholder = -1, .socket = -1};
    if (!text_copy(copy, sizeof copy, text))
        return problem_say(problem, "longer than 299 characters");
    char *port = strrchr(copy, ':');
    if (port == NULL || port[1] == '\0' || strlen(port + 1) > 5 ||
        port[1 + strspn(port + 1, "0123456789")] != '\0')
        return problem_say(problem, "must be ADDR:PORT, as in 127.0.0.1:9000 or [::1]:9000");
    *port++ = '\0';
    char *host = copy;
    size_t length = strlen(host);
    if (*host == '[' && host[length - 1] == ']') {
        host[length - 1] = '\0';
        host++;
    }
    return resolve(listener, host, port, problem);
}

/* A socket bound to the address; -1 if that cannot be. */
static int bind_one(const struct listener *listener) {
    int fd = socket(listener->address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, (const struct sockaddr *)&listener->address, listener->address_size) == 0)
        return fd;
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static void name_url(struct listener *listener) {
    char host[INET6_ADDRSTRLEN] = "";
    if (listener->address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *address = (const struct sockaddr_in6 *)&listener->address;
        inet_ntop(AF_INET6, &address->sin6_addr, host, sizeof host);
        snprintf(listener->url, sizeof listener->url, "http://[%s]:%d", host,
                 ntohs(address->sin6_port));
    } else {
        const struct sockaddr_in *address = (const struct sockaddr_in *)&listener->address;
        inet_ntop(AF_INET, &address->sin_addr, host, sizeof host);
        snprintf(listener->url, sizeof listener->url, "http://%s:%d", host,
                 ntohs(address->sin_port));
    }
}

bool listener_open(struct listener *listener, struct problem *problem) {
    name_url(listener);
    listener->placeholder = bind_one(listener);
    if (listener->placeholder < 0)
        return problem_say(problem, "cannot listen on %s: %s", listener->url, strerror(errno));
    listener->address_size = sizeof listener->address;
    getsockname(listener->placeholder, (struct sockaddr *)&listener->address,
                &listener->address_size);
    name_url(listener);
    if (listener_accept_again(listener))
        return true;
    problem_say(problem, "cannot listen on %s: %s", listener->url, strerror(errno));
    listener_clean_up(listener);
    return false;
}

void listener_clean_up(struct listener *listener) {
    listener_refuse(listener);
    if (listener->placeholder >= 0)
        close(listener->placeholder);
    listener->placeholder = -1;
}

void listener_refuse(struct listener *listener) {
    if (listener->socket >= 0)
        close(listener->socket);
    listener->socket = -1;
}

bool listener_accept_again(struct listener *listener) {
    int fd = bind_one(listener);
    if (fd < 0)
        return false;
    if (listen(fd, SOMAXCONN) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return false;
    }
    listener->socket = fd;
    return true;
}
