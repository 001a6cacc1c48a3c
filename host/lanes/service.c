// SPDX-License-Identifier: Apache-2.0
#include "service.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { STEP = 16, SLEEP_MILLISECONDS = 250, WAITERS = SERVICE_LANES * SLUICE_HOST_QUEUES };
_Static_assert(WAITERS <= 64, "a bit of `armed` each");

// Who sleeps until a packet is in a ring.
struct waiter {
    _Atomic(const struct sluice_queue *) ring;
    int event; // one more than the eventfd; 0: none
};

struct service {
    struct sluice_device *device;
    unsigned lanes;
    int event;
    atomic_bool stop, sleeping;
    atomic_int status;
    atomic_ullong armed; // bit: of a waiter that has not been woken since it asked for it
    struct waiter waiters[WAITERS];
    pthread_mutex_t turn; // a caller's, or nobody's
    struct lane *lane[SERVICE_LANES];
    atomic_bool on[SERVICE_LANES];
    atomic_ulong lost[SERVICE_LANES]; // while the lane was off
    bool gone[SERVICE_LANES];         // what was at the other end
    uint32_t quiet;                   // cycles since nothing was in the device, as far as they were counted
    uint32_t held[SERVICE_LANES];     // size of the frame that the device has not taken yet; 0: none
    uint8_t frames[SERVICE_LANES][PORT_FRAME], packet[PORT_FRAME];
};

int service_new(struct service **out, struct sluice_device *device, const char *const *texts, unsigned lanes,
                port_note note, void *context) {
    struct service *it = calloc(1, sizeof *it);
    int result = 0;
    if (!it)
        return sluice_fail(-ENOMEM, "out of memory");
    it->device = device;
    it->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    pthread_mutex_init(&it->turn, NULL);
    if (it->event < 0)
        result = sluice_fail(-errno, "eventfd: %s", strerror(errno));
    if (lanes > SERVICE_LANES || lanes > sluice_device_lanes(device))
        result = sluice_fail(-EINVAL, "%u lanes; the device has %u", lanes, sluice_device_lanes(device));
    for (; result == 0 && it->lanes < lanes; it->lanes += result == 0)
        result = lane_open(&it->lane[it->lanes], it->lanes, texts[it->lanes], note, context);
    if (result)
        service_free(it);
    else
        *out = it;
    return result;
}

int service_free(struct service *service) {
    int result = 0;
    for (unsigned lane = 0; lane < service->lanes; lane++) {
        int closed = lane_close(service->lane[lane]);
        result = closed ? closed : result;
    }
    for (unsigned i = 0; i < WAITERS; i++)
        if (service->waiters[i].event)
            close(service->waiters[i].event - 1);
    if (service->event >= 0)
        close(service->event);
    pthread_mutex_destroy(&service->turn);
    free(service);
    return result;
}

static unsigned place_of(unsigned lane, unsigned queue) {
    return lane * SLUICE_HOST_QUEUES + queue;
}

// The waiter is woken if a packet is there for it, once.
static void wake_waiter(struct service *it, unsigned place) {
    const struct sluice_queue *ring = atomic_load(&it->waiters[place].ring);
    uint64_t bit = 1ULL << place, one = 1;
    if (!atomic_load(&it->on[place / SLUICE_HOST_QUEUES]) || !sluice_queue_waits(ring))
        return;
    if (atomic_fetch_and(&it->armed, ~bit) & bit && write(it->waiters[place].event - 1, &one, sizeof one) < 0)
        return; // it is full: awake already
}

// After packets may have come into rings. Whoever asks to be woken looks into its ring afterwards, so one of both sees
// the other.
static void wake_waiters(struct service *it) {
    atomic_thread_fence(memory_order_seq_cst);
    for (uint64_t left = atomic_load_explicit(&it->armed, memory_order_relaxed); left; left &= left - 1)
        wake_waiter(it, (unsigned)__builtin_ctzll(left));
}

static int feed(struct service *it, unsigned lane) {
    int moved = 0;
    bool on = atomic_load_explicit(&it->on[lane], memory_order_relaxed);
    if (!on && lane_keeps(it->lane[lane]))
        return 0;
    for (unsigned i = 0; i < STEP; i++) {
        if (!it->held[lane]) {
            int size = it->gone[lane] ? 0 : lane_receive(it->lane[lane], it->frames[lane]);
            it->gone[lane] |= size < 0; // from now on it is silent
            if (size <= 0)
                return moved;
            // Asked anew: the lane may have been set on before this frame was sent.
            if (!atomic_load(&it->on[lane])) {
                atomic_fetch_add_explicit(&it->lost[lane], 1, memory_order_relaxed);
                continue;
            }
            it->held[lane] = (uint32_t)size < UINT16_MAX ? (uint32_t)size : UINT16_MAX;
        }
        int result = sluice_lane_send(it->device, lane, it->frames[lane], it->held[lane], 0);
        if (result)
            return result == -EAGAIN ? moved : result;
        it->held[lane] = 0;
        moved = 1;
    }
    return moved;
}

static int collect(struct service *it, unsigned lane) {
    int moved = 0, size;
    while ((size = sluice_lane_receive(it->device, lane, it->packet, sizeof it->packet, NULL)) >= 0) {
        moved = 1;
        if (lane < it->lanes && atomic_load_explicit(&it->on[lane], memory_order_relaxed))
            lane_send(it->lane[lane], it->packet, (uint32_t)size);
        else if (lane < it->lanes)
            atomic_fetch_add_explicit(&it->lost[lane], 1, memory_order_relaxed);
    }
    return size == -EAGAIN ? moved : size;
}

// 1 where there may be more to do at once, 0, or a negative errno.
static int step(struct service *it) {
    int fed = 0, collected = 0;
    for (unsigned lane = 0; lane < it->lanes; lane++) {
        int result = feed(it, lane);
        if (result < 0)
            return result;
        fed |= result;
    }
    bool idle = !fed && sluice_device_idle(it->device);
    // What packets counted is on its way into host memory for so long.
    it->quiet = idle ? it->quiet : 0;
    if (idle && it->quiet < sluice_device_push_cycles(it->device)) {
        it->quiet += STEP;
        idle = false;
    }
    if (!idle)
        sluice_device_advance(it->device, STEP);
    for (unsigned lane = 0; lane < sluice_device_lanes(it->device); lane++) {
        int result = collect(it, lane);
        if (result < 0)
            return result;
        collected |= result;
    }
    wake_waiters(it);
    return !idle || collected;
}

static bool has_work(struct service *it) {
    for (unsigned lane = 0; lane < it->lanes; lane++)
        if (it->held[lane] || (lane_waits(it->lane[lane]) && atomic_load(&it->on[lane])))
            return true;
    return !sluice_device_idle(it->device);
}

// 0, or a negative errno: a device that is asked nothing does not tell that it is gone.
static int sleep_until_work(struct service *it) {
    struct pollfd waits[SERVICE_LANES + 1] = {{.fd = it->event, .events = POLLIN}};
    nfds_t count = 1;
    uint64_t ignored;
    uint32_t value;
    int woken = 1;
    for (unsigned lane = 0; lane < it->lanes; lane++)
        if (lane_fd(it->lane[lane]) >= 0 && !it->gone[lane])
            waits[count++] = (struct pollfd){.fd = lane_fd(it->lane[lane]), .events = POLLIN};
    atomic_store(&it->sleeping, true);
    wake_waiters(it); // of a lane that was set on just now
    if (!has_work(it) && !atomic_load(&it->stop))
        woken = poll(waits, count, SLEEP_MILLISECONDS);
    atomic_store(&it->sleeping, false);
    if (read(it->event, &ignored, sizeof ignored) > 0 || woken)
        return 0;
    return sluice_register_read(it->device, SLUICE_SHELL_REGISTERS_MAGIC, &value);
}

int service_run(struct service *service) {
    int result = 0;
    while (!atomic_load(&service->stop)) {
        // A caller that stands in line for a register has the device's lock next.
        pthread_mutex_lock(&service->turn);
        pthread_mutex_unlock(&service->turn);
        if ((result = step(service)) < 0)
            break;
        if (result == 0 && (result = sleep_until_work(service)) < 0)
            break;
    }
    atomic_store(&service->status, result < 0 ? result : 0);
    return result < 0 ? result : 0;
}

void service_stop(struct service *service) {
    atomic_store(&service->stop, true);
    atomic_store(&service->sleeping, true); // wake it whatever it does
    service_wake(service);
}

void service_wake(struct service *service) {
    uint64_t one = 1;
    atomic_thread_fence(memory_order_seq_cst);
    if (!atomic_load_explicit(&service->sleeping, memory_order_relaxed) || !atomic_exchange(&service->sleeping, false))
        return;
    if (write(service->event, &one, sizeof one) < 0)
        return; // it is full: awake already
}

void service_begin(struct service *service) {
    pthread_mutex_lock(&service->turn);
}

void service_end(struct service *service) {
    wake_waiters(service); // time passes while a register is read or written
    pthread_mutex_unlock(&service->turn);
}

int service_event(struct service *service, unsigned lane, unsigned queue) {
    if (lane >= service->lanes || queue >= SLUICE_HOST_QUEUES)
        return -EINVAL;
    struct waiter *waiter = &service->waiters[place_of(lane, queue)];
    if (!waiter->event)
        waiter->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) + 1;
    return waiter->event ? waiter->event - 1 : -errno;
}

void service_arm(struct service *service, unsigned lane, unsigned queue, const struct sluice_queue *ring) {
    unsigned place = place_of(lane, queue);
    atomic_store(&service->waiters[place].ring, ring);
    atomic_fetch_or(&service->armed, 1ULL << place);
    atomic_thread_fence(memory_order_seq_cst);
    wake_waiter(service, place);
}

void service_disarm(struct service *service, unsigned lane, unsigned queue) {
    atomic_fetch_and(&service->armed, ~(1ULL << place_of(lane, queue)));
}

bool service_is_armed(const struct service *service, unsigned lane, unsigned queue) {
    return atomic_load(&service->armed) >> place_of(lane, queue) & 1;
}

void service_lane_set(struct service *service, unsigned lane, bool on) {
    atomic_store(&service->on[lane], on);
    service_wake(service);
}

int service_status(const struct service *service) {
    return atomic_load(&service->status);
}

uint64_t service_drops(struct service *service, unsigned lane, enum port_drop why) {
    uint64_t lost = why == PORT_UNREAD ? atomic_load(&service->lost[lane]) : 0;
    return lane_drops(service->lane[lane], why) + lost;
}
