/* An inbox: what other threads hand to an event loop. Letters are pushed from any thread; the loop waits for `event` with its
 * epoll and takes them all at once, in the order pushed. One wake-up for many letters. */
#ifndef NET_INBOX_H
#define NET_INBOX_H

#include <lull/base.h>
#include <pthread.h>

struct letter {
    struct letter *next;
    void (*open)(
        struct letter *letter); /* called on the loop's thread; the letter is then the opener's */
};

struct inbox {
    pthread_mutex_t lock;
    struct letter *first, **last;
    int event; /* an eventfd, readable while there are letters */
};

LULL_MUST_USE int inbox_init(struct inbox *inbox); /* LULL_ESYSTEM */
void inbox_clean_up(struct inbox *inbox);          /* fine if `event` is -1 */
/* A chain of letters, linked by `next`, as one. */
void inbox_push(struct inbox *inbox, struct letter *first, struct letter *last);
/* Opens all there are now. */
void inbox_open(struct inbox *inbox);

#endif
