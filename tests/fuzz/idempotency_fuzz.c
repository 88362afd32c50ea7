/* A history of begin, complete and fail, with stale and made-up tickets and a clock that jumps,
 * against the reference model. */
#include "input.h"

#define MODEL_CHECK CHECK
#include "idempotency_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct input input = {data, size};
    struct model model;
    model_init(&model, take(&input, 8));
    while (input.left > 0)
        model_step(&model, take(&input, 4));
    model_clean_up(&model);
    return 0;
}
