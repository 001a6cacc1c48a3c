// SPDX-License-Identifier: Apache-2.0
// The order fence of the flow table as software (rtl/match/sl_flow_fence.sv, docs/design/fence.md): a packet that a
// rule matches goes to the host all the same while an earlier packet of its flow is still on its way through the host.
#include <errno.h>

#include "flow_words.h"
#include "functional.h"

enum { LANES = 8, HASH_BITS = 9, TURN = 11, WORD = 64 };

void functional_fence_reset(struct functional_fence *fence) {
    static const struct sluice_flow_key common = {.eth_dst = 0xffffffffffff,
                                                  .eth_src = 0xffffffffffff,
                                                  .eth_type = 0xffff,
                                                  .vlan_tci = 0x0fff,
                                                  .ip_src = {[0 ... 15] = 0xff},
                                                  .ip_dst = {[0 ... 15] = 0xff},
                                                  .ip_protocol = 0xff,
                                                  .l4_src = 0xffff,
                                                  .l4_dst = 0xffff};
    uint8_t mask[SLUICE_FLOW_KEY_BYTES];
    memset(fence, 0, sizeof *fence);
    sluice_flow_key_pack(&common, mask);
    sluice_flow_words(fence->common, mask);
}

// Which word a flow has: lane, and a hash of what all of its packets have in common (sl_flow_pkg::fence_flow).
static struct functional_fence_word *word_of(struct functional_fence *fence, const uint8_t *key, uint8_t lane) {
    uint64_t words[SLUICE_FLOW_WORDS], sum = 0;
    uint32_t hash = 0;
    sluice_flow_words(words, key);
    for (unsigned n = 0; n < SLUICE_FLOW_WORDS; n++) {
        unsigned turn = TURN * n % WORD;
        uint64_t word = le64toh(words[n] & fence->common[n]);
        sum ^= turn ? word << turn | word >> (WORD - turn) : word;
    }
    for (; sum; sum >>= HASH_BITS)
        hash ^= (uint32_t)sum & ((1U << HASH_BITS) - 1);
    return &fence->words[(uint32_t)(lane % LANES) << HASH_BITS | hash];
}

bool functional_fence_passes(struct functional_fence *fence, const uint8_t *key, uint8_t lane, uint64_t now, bool hit,
                             bool to_host) {
    if (!fence->control)
        return hit;
    struct functional_fence_word *word = word_of(fence, key, lane);
    bool pending = word->is_pending && fence->done[lane % LANES] < word->last;
    bool over = word->is_held && (uint32_t)now - word->since >= fence->bound;
    if (hit && !to_host && (!pending || over)) {
        fence->forced += pending;
        *word = (struct functional_fence_word){0};
        return true;
    }
    bool was_held = pending && word->is_held, is_held = hit && !to_host;
    fence->held += is_held;
    *word = (struct functional_fence_word){.is_pending = true,
                                           .is_held = is_held || was_held,
                                           .last = now,
                                           .since = was_held ? word->since : (uint32_t)now};
    return hit && to_host;
}

// The register at an offset in the window; NULL: it is another's.
static uint32_t *register_at(struct functional_fence *fence, uint32_t address) {
    switch (address) {
    case SLUICE_FLOW_REGISTERS_FENCE_CONTROL:
        return &fence->control;
    case SLUICE_FLOW_REGISTERS_FENCE_BOUND:
        return &fence->bound;
    case SLUICE_FLOW_REGISTERS_FENCE_HELD:
        return &fence->held;
    case SLUICE_FLOW_REGISTERS_FENCE_FORCED:
        return &fence->forced;
    default:
        return NULL;
    }
}

// Twice the lane, and 1 for the high word; -1: another register.
static int done_place(uint32_t address) {
    uint32_t place = address - SLUICE_FLOW_REGISTERS_FENCE_DONE;
    return place % 4 == 0 && place / 4 < SLUICE_FLOW_REGISTERS_FENCE_DONE_COUNT ? (int)(place / 4) : -1;
}

int functional_fence_read(struct functional_fence *fence, uint32_t address, uint32_t *value) {
    const uint32_t *at = register_at(fence, address);
    int place = done_place(address);
    if (!at && place < 0)
        return -EFAULT;
    *value = at ? *at : (uint32_t)(fence->done[place / 2] >> 32 * (place % 2));
    return 0;
}

int functional_fence_write(struct functional_fence *fence, uint32_t address, uint32_t value) {
    uint32_t *at = register_at(fence, address);
    int place = done_place(address);
    if ((!at && place < 0) || (at && (at == &fence->held || at == &fence->forced)) ||
        (at == &fence->bound && value > INT32_MAX))
        return -EFAULT;
    if (at)
        *at = at == &fence->control ? value & 1 : value;
    else if (place % 2 == 0)
        fence->done_low = value;
    else
        fence->done[place / 2] = (uint64_t)value << 32 | fence->done_low;
    return 0;
}
