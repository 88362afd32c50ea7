/* A study on a terminal: what the scenario is about, a line per policy, and the load over time as
 * sparklines, one under the other and on one scale, with the faults marked below.
 *
 *   checkout: A 30 s outage of a busy service
 *
 *             attempts/  peak load  peak after  goodput   errors  recovery    p50    p99
 *   policy      request   × normal   the fault
 *   naive          3.81       4.12        4.05   12.3 %  612,004     never  2.4 s  3.9 s
 *   lull           1.01       1.03        1.04   95.7 %   31,377       3 s  14 ms  96 ms
 *
 *   Load on checkout; a full block is 4.12 × normal
 *   naive  ▂▂▂▂▂▂▇▇▇██████████████
 *   lull   ▂▂▂▂▂▂▁▁▁▂▂▂▂▂▂▂▂▂▂▂▂▂▂
 *                ━━━ checkout: refuse, 60 s - 90 s
 *          0 s              12 min
 */
#ifndef SIM_REPORT_TABLE_H
#define SIM_REPORT_TABLE_H

#include "grid.h"
#include "study.h"

/* Lines are at most style->width letters wide, if that is 40 or more. `notes`: what each policy
 * is, too. */
void table_print(const struct study *study, const struct style *style, bool notes, FILE *stream);

#endif
