// SPDX-License-Identifier: Apache-2.0
// The API as the AccelSDP paper names it (Table 2), on the device that was opened first and not yet closed: for
// programs written for the paper. The calls of sluice.h of the same meaning take a device.
#ifndef SLUICE_ACCELSDP_H
#define SLUICE_ACCELSDP_H

#include "sluice/sluice.h"

#ifdef __cplusplus
extern "C" {
#endif

int ofu_init(uint16_t ofu_id);                                  // sluice_ofu_init
int rule_table_ops(uint16_t ofu_id, struct sluice_rule_op *op); // sluice_rule_ops
int ofu_uninit(uint16_t ofu_id);                                // sluice_ofu_uninit

#ifdef __cplusplus
}
#endif
#endif
