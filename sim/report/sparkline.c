#include "sparkline.h"

struct stretch sparkline_stretch(uint32_t column, uint32_t columns, uint32_t length) {
    struct stretch stretch = {
        .from = (uint32_t)((uint64_t)column * length / columns),
        .to = (uint32_t)(((uint64_t)column + 1) * length / columns),
    };
    if (stretch.to == stretch.from)
        stretch.to++;
    return stretch;
}

int sparkline_level(double value, double top) {
    if (value <= 0 || top <= 0)
        return 0;
    double level = value / top * SPARKLINE_LEVELS + 0.5;
    return level < 1 ? 1 : level >= SPARKLINE_LEVELS ? SPARKLINE_LEVELS : (int)level;
}

const char *sparkline_letter(int level, bool unicode) {
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    return unicode ? blocks[level] : ascii[level];
}

double sparkline_highest(const double *series, struct stretch stretch) {
    double most = 0;
    for (uint32_t i = stretch.from; i < stretch.to; i++)
        most = series[i] > most ? series[i] : most;
    return most;
}
