#include "wire.h"

#include <lull/random.h>
#include <microhttpd.h>
#include <sys/socket.h>

enum { PART_MOST = 32768, GARBAGE_SIZE = 256 };

/* What does not fit into the socket's buffer is not sent: all of this ends in the middle anyway. */
static void push(int socket, const void *bytes, size_t size) {
    ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)sent;
}

void wire_reset(int socket) {
    struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    (void)connect(socket, &nowhere, sizeof nowhere);
}

void wire_end(int socket) {
    (void)shutdown(socket, SHUT_WR);
}

void wire_close(int socket) {
    (void)shutdown(socket, SHUT_RDWR);
}

bool wire_has_input(int socket) {
    char byte;
    return recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

void wire_send_part(int socket, unsigned status, const struct blob *body, bool head_only) {
    char text[512];
    size_t promised = body->size > 1 ? body->size : 2;
    size_t half = body->size > 1 ? body->size / 2 : body->size;
    int length = snprintf(text, sizeof text,
                          "HTTP/1.1 %u %s\r\n"
                          "Content-Type: text/plain\r\n"
                          "Content-Length: %zu\r\n"
                          "\r\n",
                          status, MHD_get_reason_phrase_for(status), promised);
    push(socket, text, (size_t)(head_only ? length / 2 : length));
    if (!head_only)
        push(socket, body->bytes, half < PART_MOST ? half : PART_MOST);
}

void wire_send_garbage(int socket, uint64_t word) {
    unsigned char bytes[GARBAGE_SIZE];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(lull_random_next(&word) >> 56);
    bytes[0] |= 0x80; /* no letter: not even the start of "HTTP" */
    push(socket, bytes, sizeof bytes);
}
