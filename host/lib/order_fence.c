// SPDX-License-Identifier: Apache-2.0
// The host's half of the flow table's order fence (docs/design/fence.md): the device is told up to which timestamp the
// packets of each lane are through the host. Through means past the merge: whoever polls says that it has handled them
// (sluice_poll_done); what it had submitted by then must be in the device, and then on its way to the lanes.
#include <errno.h>

#include "device.h"

enum { PAUSE_CYCLES = 128 }; // between two rounds: a round takes some ten register accesses

static uint32_t fence_register(const struct sluice_order_fence *fence, uint32_t address) {
    return fence->window + address;
}

int sluice_fence_set(struct sluice_device *device, bool on, uint32_t bound) {
    int window = sluice_window_of(device, SLUICE_ELEMENT_FLOW_TABLE);
    if (window < 0)
        return window;
    struct sluice_order_fence *fence = &device->fence;
    pthread_mutex_lock(&device->lock);
    fence->window = (uint32_t)window * SLUICE_WINDOW_SIZE;
    int result = sluice_write_locked(device, fence_register(fence, SLUICE_FLOW_REGISTERS_FENCE_BOUND), bound);
    result =
        result ? result : sluice_write_locked(device, fence_register(fence, SLUICE_FLOW_REGISTERS_FENCE_CONTROL), on);
    if (result == 0)
        __atomic_store_n(&fence->is_on, on, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_fence_read(struct sluice_device *device, uint32_t *held, uint32_t *forced) {
    int window = sluice_window_of(device, SLUICE_ELEMENT_FLOW_TABLE);
    if (window < 0)
        return window;
    uint32_t base = (uint32_t)window * SLUICE_WINDOW_SIZE;
    int result = sluice_register_read(device, base + SLUICE_FLOW_REGISTERS_FENCE_HELD, held);
    return result ? result : sluice_register_read(device, base + SLUICE_FLOW_REGISTERS_FENCE_FORCED, forced);
}

void sluice_poll_done(struct sluice_device *device, unsigned lane, uint64_t timestamp) {
    if (lane >= SLUICE_FENCE_LANES)
        return;
    uint64_t *handled = &device->fence.handled[lane], before = __atomic_load_n(handled, __ATOMIC_RELAXED);
    while (timestamp > before &&
           !__atomic_compare_exchange_n(handled, &before, timestamp, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ; // another poller of the lane was between
}

bool sluice_fence_has_news(const struct sluice_device *device) {
    const struct sluice_order_fence *fence = &device->fence;
    if (!__atomic_load_n(&fence->is_on, __ATOMIC_ACQUIRE))
        return false;
    for (unsigned lane = 0; lane < SLUICE_FENCE_LANES; lane++)
        if (__atomic_load_n(&fence->handled[lane], __ATOMIC_ACQUIRE) != fence->told[lane])
            return true;
    return false;
}

// What is handled by now; and what has been submitted by then, in this order.
static void begin_round(struct sluice_device *device) {
    struct sluice_order_fence *fence = &device->fence;
    for (unsigned lane = 0; lane < SLUICE_FENCE_LANES; lane++)
        fence->wanted[lane] = __atomic_load_n(&fence->handled[lane], __ATOMIC_ACQUIRE);
    fence->goal = __atomic_load_n(&device->submitted, __ATOMIC_ACQUIRE);
    fence->step = SLUICE_FENCE_SUBMITTED;
}

// Where a counter stands in the shell's registers: `only` has nothing but that one.
static uint32_t place_of(const struct sluice_host_counters *only) {
    uint8_t bytes[SLUICE_HOST_COUNTERS_BYTES];
    uint32_t place = 0;
    sluice_host_counters_pack(only, bytes);
    while (bytes[place] == 0)
        place++;
    return SLUICE_SHELL_REGISTERS_HOST_COUNTERS + place;
}

// All of the round's packets are in the device: how many packets came in up to now.
static int count_taken(struct sluice_device *device) {
    uint32_t place = place_of(&(struct sluice_host_counters){.from_host_packets = 1}), high;
    int result = sluice_read_locked(device, place + 4, &high); // first: the count of the last packet needs a moment
    result = result ? result : sluice_read_locked(device, place, &device->fence.taken);
    if (result == 0)
        device->fence.step = SLUICE_FENCE_TAKEN;
    return result;
}

static int tell(struct sluice_device *device) {
    struct sluice_order_fence *fence = &device->fence;
    int result = 0;
    for (unsigned lane = 0; lane < SLUICE_FENCE_LANES && result == 0; lane++) {
        uint32_t address = fence_register(fence, SLUICE_FLOW_REGISTERS_FENCE_DONE + 8 * lane);
        uint64_t wanted = fence->wanted[lane];
        if (wanted == fence->told[lane])
            continue;
        result = sluice_write_locked(device, address, (uint32_t)wanted);
        result = result ? result : sluice_write_locked(device, address + 4, (uint32_t)(wanted >> 32));
        fence->told[lane] = wanted;
    }
    fence->step = SLUICE_FENCE_NOTHING;
    fence->cycle = device->transport->cycles ? device->transport->cycles(device->transport) : 0;
    return result;
}

static bool may_begin(const struct sluice_device *device) {
    struct sluice_transport *transport = device->transport;
    return sluice_fence_has_news(device) &&
           (!transport->cycles || transport->cycles(transport) - device->fence.cycle >= PAUSE_CYCLES);
}

void sluice_fence_step_locked(struct sluice_device *device) {
    struct sluice_order_fence *fence = &device->fence;
    uint32_t merged;
    if (!fence->is_on)
        return;
    if (fence->step == SLUICE_FENCE_NOTHING && may_begin(device))
        begin_round(device);
    if (fence->step == SLUICE_FENCE_SUBMITTED && device->sent >= fence->goal && count_taken(device))
        return;
    if (fence->step != SLUICE_FENCE_TAKEN)
        return;
    uint32_t place = place_of(&(struct sluice_host_counters){.from_host_merged = 1});
    if (sluice_read_locked(device, place, &merged) == 0 && (int32_t)(merged - fence->taken) >= 0)
        tell(device);
}
