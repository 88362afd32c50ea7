#include "client_sockets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

void sockets_init(struct sockets *sockets, int epoll, uint64_t tag) {
    *sockets = (struct sockets){.epoll = epoll, .tag = tag};
}

void sockets_clean_up(struct sockets *sockets) {
    free(sockets->slots);
}

/* NULL: out of memory. */
static struct socket_slot *slot_of(struct sockets *sockets, int descriptor) {
    size_t index = (size_t)descriptor;
    if (index >= sockets->count) {
        size_t count = index < 32 ? 64 : 2 * index;
        struct socket_slot *slots = realloc(sockets->slots, count * sizeof *slots);
        if (slots == NULL)
            return NULL;
        memset(slots + sockets->count, 0, (count - sockets->count) * sizeof *slots);
        sockets->slots = slots;
        sockets->count = count;
    }
    return &sockets->slots[index];
}

int sockets_open(struct sockets *sockets, int family, int type, int protocol) {
    int descriptor = socket(family, type | SOCK_CLOEXEC, protocol);
    if (descriptor < 0)
        return -1;
    struct socket_slot *slot = slot_of(sockets, descriptor);
    if (slot == NULL) {
        close(descriptor);
        errno = ENOMEM;
        return -1;
    }
    *slot = (struct socket_slot){.ours = true};
    return descriptor;
}

static void leave(struct sockets *sockets, struct socket_slot *slot, int descriptor) {
    if (slot->registered != 0)
        epoll_ctl(sockets->epoll, EPOLL_CTL_DEL, descriptor, NULL);
    slot->registered = 0;
}

int sockets_close(struct sockets *sockets, int descriptor) {
    struct socket_slot *slot = slot_of(sockets, descriptor);
    if (slot != NULL) {
        leave(sockets, slot, descriptor);
        *slot = (struct socket_slot){0};
    }
    return close(descriptor);
}

/* If the kernel has no memory for it the transfer runs into its time-out: no reason to end all others, as telling libcurl would. */
static void enter(struct sockets *sockets, struct socket_slot *slot, int descriptor,
                  uint32_t events) {
    struct epoll_event event = {.events = events, .data.u64 = sockets->tag | (uint32_t)descriptor};
    int operation = slot->registered != 0 ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    slot->registered = epoll_ctl(sockets->epoll, operation, descriptor, &event) == 0 ? events : 0;
}

void sockets_watch(struct sockets *sockets, int descriptor, uint32_t events) {
    struct socket_slot *slot = slot_of(sockets, descriptor);
    if (slot == NULL)
        return;
    slot->asked = events != 0;
    if (events == 0 && !(slot->ours && slot->registered == EPOLLIN))
        leave(sockets, slot, descriptor);
    else if (events != 0 && events != slot->registered)
        enter(sockets, slot, descriptor, events);
}

bool sockets_ready(struct sockets *sockets, int descriptor) {
    struct socket_slot *slot = slot_of(sockets, descriptor);
    if (slot == NULL)
        return false;
    if (!slot->asked)
        leave(sockets, slot, descriptor);
    return slot->asked;
}
