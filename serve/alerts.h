#ifndef SERVE_ALERTS_H
#define SERVE_ALERTS_H

/* The operator's webhook, as a destination: its name begins with _, so no other can have it. */
#define ALERTS_DESTINATION "_alerts"

#endif
