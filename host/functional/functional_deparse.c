// SPDX-License-Identifier: Apache-2.0
// elements/deparse as software: what becomes of a packet (its README, first table), and the window of its header
// templates (rtl/packet/sl_deparse_registers.sv). The edits themselves are host/packet/deparse.c.
#include <errno.h>

#include "functional.h"

enum { TO_HOST = 1 << SLUICE_HOST_PORT };

void functional_deparse_reset(struct functional_deparse *deparse) {
    functional_window_reset(&deparse->window);
    for (unsigned i = 0; i < SLUICE_TEMPLATES; i++)
        deparse->templates[i].info.size = 0;
}

int functional_deparse_write(struct functional_deparse *deparse, uint32_t offset, uint32_t value) {
    const uint8_t *bytes = deparse->window.bytes;
    struct sluice_template_info info;
    if (functional_window_write(&deparse->window, offset, value))
        return -EFAULT;
    if (offset != SLUICE_DEPARSE_REGISTERS_TEMPLATE_INDEX)
        return 0;
    sluice_template_info_unpack(&info, bytes + SLUICE_DEPARSE_REGISTERS_TEMPLATE_INFO);
    if (value >= SLUICE_TEMPLATES || info.size % 2 || info.size > SLUICE_TEMPLATE_BYTES)
        return -EFAULT;
    deparse->templates[value].info = info;
    memcpy(deparse->templates[value].bytes, bytes + SLUICE_DEPARSE_REGISTERS_TEMPLATE_BYTES, SLUICE_TEMPLATE_BYTES);
    return 0;
}

static struct functional_job drop(const struct sluice_phv_record *record, struct sluice_graph_counters *counters) {
    if (record->verdict == SLUICE_VERDICT_FORWARD || record->drop_cause == SLUICE_DROP_NO_PORT)
        counters->drop_no_port++;
    else if (record->drop_cause == SLUICE_DROP_TTL)
        counters->drop_ttl++;
    else
        counters->drop_rule++;
    return (struct functional_job){.is_dropped = true};
}

struct functional_job functional_deparse_decide(const struct sluice_phv_record *record,
                                                struct sluice_graph_counters *counters) {
    struct functional_job job = {.verdict = SLUICE_VERDICT_TO_HOST, .egress_mask = TO_HOST};
    bool is_wrapped = record->info.outer_length && !record->edits.strip_outer;
    if (record->fault)
        counters->faults++;
    else if (!record->eligible)
        counters->not_eligible++;
    else if (!record->hits || (record->required & ~record->hits))
        counters->misses++;
    else if (record->verdict == SLUICE_VERDICT_DROP ||
             (record->verdict == SLUICE_VERDICT_FORWARD && !record->egress_mask))
        return drop(record, counters);
    else if (record->verdict == SLUICE_VERDICT_FORWARD && is_wrapped)
        counters->not_stripped++;
    else
        job.is_edited = true;
    if (job.is_edited && record->verdict == SLUICE_VERDICT_FORWARD) {
        job.verdict = SLUICE_VERDICT_FORWARD;
        job.egress_mask = record->egress_mask;
        counters->forwarded_packets++;
        return job;
    }
    if (job.is_edited && record->verdict == SLUICE_VERDICT_TO_CONTROLLER)
        job.verdict = SLUICE_VERDICT_TO_CONTROLLER;
    counters->to_host_packets++;
    return job;
}
