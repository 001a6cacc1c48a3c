// SPDX-License-Identifier: Apache-2.0
// The order fence of the flow table as software (rtl/match/sl_flow_fence.sv, docs/design/fence.md): a packet that a
// rule matches goes to the host all the same while an earlier packet of its flow is still on its way through the host.
#include "flow_words.h"
#include "functional.h"

enum { LANES = 8, HASH_BITS = 9, TURN = 11, WORD = 64 };

static uint32_t get(const struct functional_fence *fence, uint32_t offset) {
    return functional_window_get(fence->window, offset);
}

// The timestamp up to which packets of a lane are through the host.
static uint64_t done_of(const struct functional_fence *fence, uint32_t lane) {
    uint32_t offset = SLUICE_FLOW_REGISTERS_FENCE_DONE + 8 * lane;
    return (uint64_t)get(fence, offset + 4) << 32 | get(fence, offset);
}

static void count(struct functional_fence *fence, uint32_t offset) {
    functional_window_set(fence->window, offset, get(fence, offset) + 1);
}

void functional_fence_reset(struct functional_fence *fence, struct functional_window *window) {
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
    fence->window = window;
    memset(window->bytes + SLUICE_FLOW_REGISTERS_FENCE_DONE, 0, 4 * SLUICE_FLOW_REGISTERS_FENCE_DONE_COUNT);
    functional_window_set(window, SLUICE_FLOW_REGISTERS_FENCE_HELD, 0);
    functional_window_set(window, SLUICE_FLOW_REGISTERS_FENCE_FORCED, 0);
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
    if (!get(fence, SLUICE_FLOW_REGISTERS_FENCE_CONTROL))
        return hit;
    struct functional_fence_word *word = word_of(fence, key, lane);
    bool pending = word->is_pending && done_of(fence, lane % LANES) < word->last;
    bool over = word->is_held && (uint32_t)now - word->since >= get(fence, SLUICE_FLOW_REGISTERS_FENCE_BOUND);
    if (hit && !to_host && (!pending || over)) {
        if (pending)
            count(fence, SLUICE_FLOW_REGISTERS_FENCE_FORCED);
        *word = (struct functional_fence_word){0};
        return true;
    }
    bool was_held = pending && word->is_held, is_held = hit && !to_host;
    if (is_held)
        count(fence, SLUICE_FLOW_REGISTERS_FENCE_HELD);
    *word = (struct functional_fence_word){.is_pending = true,
                                           .is_held = is_held || was_held,
                                           .last = now,
                                           .since = was_held ? word->since : (uint32_t)now};
    return hit && to_host;
}

void functional_fence_done(struct functional_fence *fence, uint32_t place, uint32_t value) {
    uint32_t offset = SLUICE_FLOW_REGISTERS_FENCE_DONE + 4 * place;
    if (place % 2 == 0) {
        fence->done_low = value;
    } else {
        functional_window_set(fence->window, offset - 4, fence->done_low);
        functional_window_set(fence->window, offset, value);
    }
}
