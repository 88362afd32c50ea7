#include "inbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

int inbox_init(struct inbox *inbox) {
    inbox->first = NULL;
    inbox->last = &inbox->first;
    inbox->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->event < 0)
        return LULL_ESYSTEM;
    if (pthread_mutex_init(&inbox->lock, NULL) != 0) {
        close(inbox->event);
        inbox->event = -1;
        return LULL_ESYSTEM;
    }
    return LULL_OK;
}

void inbox_clean_up(struct inbox *inbox) {
    if (inbox->event < 0)
        return;
    close(inbox->event);
    pthread_mutex_destroy(&inbox->lock);
}

void inbox_push(struct inbox *inbox, struct letter *first, struct letter *last) {
    last->next = NULL;
    pthread_mutex_lock(&inbox->lock);
    bool was_empty = inbox->first == NULL;
    *inbox->last = first;
    inbox->last = &last->next;
    /* Under the lock: the loop cannot have taken the letters and missed the event. It can only fail
     * if 2^64 - 2 are unread, and then the loop is awake. */
    if (was_empty)
        (void)!write(inbox->event, &(uint64_t){1}, sizeof(uint64_t));
    pthread_mutex_unlock(&inbox->lock);
}

void inbox_open(struct inbox *inbox) {
    pthread_mutex_lock(&inbox->lock);
    struct letter *letter = inbox->first;
    inbox->first = NULL;
    inbox->last = &inbox->first;
    if (letter != NULL)
        (void)!read(inbox->event, &(uint64_t){0}, sizeof(uint64_t));
    pthread_mutex_unlock(&inbox->lock);
    while (letter != NULL) {
        struct letter *next = letter->next; /* once opened, it may be gone */
        letter->open(letter);
        letter = next;
    }
}
