/* What the library's own files call each other's functions, and what the linker calls them: in the static library every
 * name is visible, and a program may well have a `check_number` or a `window_init` of its own. ./test purity checks that
 * all names begin with lull_. */
#ifndef LULL_LIB_PRIVATE_H
#define LULL_LIB_PRIVATE_H

#define backoff_apply lull_private_backoff_apply
#define backoff_check lull_private_backoff_check
#define breaker_admit_slow lull_private_breaker_admit_slow
#define breaker_apply lull_private_breaker_apply
#define breaker_check lull_private_breaker_check
#define breaker_check_change lull_private_breaker_check_change
#define breaker_record_slow lull_private_breaker_record_slow
#define breaker_reset lull_private_breaker_reset
#define bucket_apply lull_private_bucket_apply
#define bucket_check lull_private_bucket_check
#define bucket_reset lull_private_bucket_reset
#define budget_apply lull_private_budget_apply
#define budget_check lull_private_budget_check
#define budget_reset lull_private_budget_reset
#define bulkhead_apply lull_private_bulkhead_apply
#define bulkhead_check lull_private_bulkhead_check
#define bulkhead_hand_over lull_private_bulkhead_hand_over
#define bulkhead_queue lull_private_bulkhead_queue
#define bulkhead_reset lull_private_bulkhead_reset
#define complain_about lull_private_complain_about
#define check_duration lull_private_check_duration
#define check_integer lull_private_check_integer
#define check_number lull_private_check_number
#define duration_text lull_private_duration_text
#define window_init lull_private_window_init
#define window_move lull_private_window_move
#define window_resize lull_private_window_resize

#endif
