// SPDX-License-Identifier: Apache-2.0
// Opening a device, its registers, counters, fence and admission.
#include "device.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/accelsdp.h"

enum { CONTROL_PAUSE = 2, CONTROL_LOSSLESS = 4, STATUS_IDLE = 2, MOST_CLOCK_KHZ = 10000000 };

static _Thread_local char error_text[256] = "no error";
static pthread_mutex_t default_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sluice_device *default_device;

const char *sluice_error_text(void) {
    return error_text;
}

int sluice_fail(int error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error_text, sizeof error_text, format, arguments);
    va_end(arguments);
    return error;
}

static int explain(int error, const char *verb, uint32_t address) {
    if (error == -ENODEV)
        return error; // the transport has told why
    if (error == -ETIMEDOUT)
        return sluice_fail(-ENODEV, "register %#x: the device does not answer a %s", address, verb);
    return error ? sluice_fail(error, "register %#x: the device refuses a %s", address, verb) : 0;
}

// A bus without a device reads all ones, wherever: where a register does, the magic tells whether the device is there.
static int check_present(struct sluice_device *device, uint32_t address, uint32_t value) {
    uint32_t magic = 0;
    if (value != UINT32_MAX)
        return 0;
    int result = device->transport->reg_read(device->transport, SLUICE_SHELL_REGISTERS_MAGIC, &magic);
    if (result)
        return explain(result, "read", SLUICE_SHELL_REGISTERS_MAGIC);
    return magic == SLUICE_DEVICE_MAGIC
               ? 0
               : sluice_fail(-ENODEV, "register %#x reads %#x and the magic %#x: the device is gone", address, value,
                             magic);
}

int sluice_read_locked(struct sluice_device *device, uint32_t address, uint32_t *value) {
    int result = sluice_tell_rings_locked(device);
    result = result ? result : device->transport->reg_read(device->transport, address, value);
    sluice_hear_rings_locked(device);
    return result ? explain(result, "read", address) : check_present(device, address, *value);
}

int sluice_read_fact_locked(struct sluice_device *device, uint32_t address, uint32_t most, uint32_t *value) {
    int result = sluice_read_locked(device, address, value);
    return result ? result : sluice_check_fact(address, *value, most);
}

int sluice_check_fact(uint32_t address, uint32_t value, uint32_t most) {
    return value <= most ? 0 : sluice_fail(-EPROTO, "register %#x reads %u; the most is %u", address, value, most);
}

int sluice_write_locked(struct sluice_device *device, uint32_t address, uint32_t value) {
    int result = sluice_tell_rings_locked(device);
    result = result ? result : device->transport->reg_write(device->transport, address, value);
    sluice_hear_rings_locked(device);
    return explain(result, "write", address);
}

int sluice_check_response(const struct sluice_response *response) {
    switch (response->status) {
    case SLUICE_STATUS_OK:
        return 0;
    case SLUICE_STATUS_ENOENT:
    case SLUICE_STATUS_EEXIST:
    case SLUICE_STATUS_EINVAL:
    case SLUICE_STATUS_ENOSPC:
        return sluice_fail(-(int)response->status, "rule %u: the device refuses it (errno %u)", response->rule_id,
                           response->status);
    default:
        return sluice_fail(-EPROTO, "rule %u: the device answers %u, which means nothing", response->rule_id,
                           response->status);
    }
}

static int one_by_one(struct sluice_device *device, struct sluice_access *accesses, unsigned count) {
    int result = 0;
    for (unsigned i = 0; i < count && result == 0; i++)
        result = accesses[i].is_read ? sluice_read_locked(device, accesses[i].address, &accesses[i].value)
                                     : sluice_write_locked(device, accesses[i].address, accesses[i].value);
    return result;
}

int sluice_batch_locked(struct sluice_device *device, struct sluice_access *accesses, unsigned count) {
    unsigned done = 0;
    if (!device->transport->reg_batch)
        return one_by_one(device, accesses, count);
    int result = sluice_tell_rings_locked(device);
    result = result ? result : device->transport->reg_batch(device->transport, accesses, count, &done);
    sluice_hear_rings_locked(device);
    if (result)
        return explain(result, accesses[done].is_read ? "read" : "write", accesses[done].address);
    for (unsigned i = 0; i < count && result == 0; i++)
        result = accesses[i].is_read ? check_present(device, accesses[i].address, accesses[i].value) : 0;
    return result;
}

int sluice_register_read(struct sluice_device *device, uint32_t address, uint32_t *value) {
    pthread_mutex_lock(&device->lock);
    int result = sluice_read_locked(device, address, value);
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_register_write(struct sluice_device *device, uint32_t address, uint32_t value) {
    pthread_mutex_lock(&device->lock);
    int result = sluice_write_locked(device, address, value);
    pthread_mutex_unlock(&device->lock);
    return result;
}

// The elements of the windows; in window 0 and that of the receive queues, how much of them there is.
static int identify_windows(struct sluice_device *device) {
    uint32_t value;
    for (unsigned i = 0; i < device->windows; i++) {
        uint32_t address = SLUICE_SHELL_REGISTERS_CAPABILITY + 4 * i;
        int result = sluice_read_locked(device, address, &value);
        if (result)
            return result;
        device->window[i].kind = (uint16_t)value;
        if (device->window[i].kind == UINT16_MAX)
            return sluice_fail(-EPROTO, "register %#x reads %#x: there is no such element", address, value);
        device->queues = device->window[i].kind == SLUICE_ELEMENT_HOST ? value >> 16 : device->queues;
        device->host_lanes = i == 0 ? value >> 24 : device->host_lanes;
    }
    if (device->queues > SLUICE_HOST_QUEUES || (device->host_lanes && device->host_lanes != device->lanes))
        return sluice_fail(-EPROTO, "the device says that it has %u queues a lane and %u host lanes for %u lanes",
                           device->queues, device->host_lanes, device->lanes);
    return 0;
}

// Page 0 says what the device is; a device of other layouts would be misread bit by bit.
static int identify(struct sluice_device *device) {
    uint32_t magic, version, hash;
    int result;
    if ((result = sluice_read_locked(device, SLUICE_SHELL_REGISTERS_MAGIC, &magic)) ||
        (result = sluice_read_locked(device, SLUICE_SHELL_REGISTERS_VERSION, &version)) ||
        (result = sluice_read_locked(device, SLUICE_SHELL_REGISTERS_LAYOUT_HASH, &hash)))
        return result;
    if (magic != SLUICE_DEVICE_MAGIC)
        return sluice_fail(-ENODEV, "this is no Sluice device: its magic is %#x", magic);
    if (version != SLUICE_DEVICE_VERSION || hash != SLUICE_LAYOUT_HASH)
        return sluice_fail(-EPROTO, "the device has layouts %#x, the library %#x; build both from the same sources",
                           hash, SLUICE_LAYOUT_HASH);
    if ((result = sluice_read_fact_locked(device, SLUICE_SHELL_REGISTERS_LANES, SLUICE_HOST_PORT, &device->lanes)) ||
        (result =
             sluice_read_fact_locked(device, SLUICE_SHELL_REGISTERS_CLOCK_KHZ, MOST_CLOCK_KHZ, &device->clock_khz)) ||
        (result =
             sluice_read_fact_locked(device, SLUICE_SHELL_REGISTERS_WINDOWS, SLUICE_MAX_WINDOWS, &device->windows)))
        return result;
    if (device->lanes == 0)
        return sluice_fail(-EPROTO, "the device says that it has no lanes");
    return identify_windows(device);
}

static int attach_rings(struct sluice_device *device) {
    struct sluice_transport *transport = device->transport;
    device->from_host = transport->ring_attach(transport, SLUICE_RING_FROM_HOST, SLUICE_RING_MOST);
    if (!device->from_host || sluice_queue_attach(device, &device->common, SLUICE_RING_TO_HOST, SLUICE_RING_BUFFERS))
        return sluice_fail(-ENOMEM, "no memory for the rings");
    return 0;
}

static int reach(const char *uri, struct sluice_transport **transport) {
    static const struct {
        const char *scheme;
        struct sluice_transport *(*open)(const char *options);
    } transports[] = {{"sim:", sluice_transport_sim},
                      {"sim-process:", sluice_transport_process},
                      {"functional:", sluice_transport_functional}};
    for (unsigned i = 0; i < sizeof transports / sizeof *transports; i++)
        if (strncmp(uri, transports[i].scheme, strlen(transports[i].scheme)) == 0) {
            *transport = transports[i].open(uri + strlen(transports[i].scheme));
            return *transport ? 0 : -ENODEV;
        }
    return sluice_fail(-EINVAL, "'%s': the transports are sim:lib=PATH, sim-process:lib=PATH and functional:", uri);
}

static void free_device(struct sluice_device *device) {
    pthread_mutex_destroy(&device->lock);
    pthread_mutex_destroy(&device->receive_lock);
    pthread_mutex_destroy(&device->send_lock);
    free(device->common.chained);
    for (unsigned i = 0; i < device->open_queues; i++) {
        free(device->queue[i]->chained);
        free(device->queue[i]);
    }
    free(device);
}

static int check_abi(const struct sluice_abi *theirs) {
    const struct sluice_abi *ours = SLUICE_ABI;
    if (theirs->size == ours->size && memcmp(theirs, ours, sizeof *ours) == 0)
        return 0;
    return sluice_fail(
        -EPROTO, "the program was compiled for version %u of sluice.h, %s; the library is %u: build both again",
        theirs->version, theirs->version == ours->version ? "with other sizes or layouts" : "another", ours->version);
}

int sluice_device_open_abi(const char *uri, struct sluice_device **out, const struct sluice_abi *abi) {
    struct sluice_device *device;
    pthread_mutexattr_t recursive;
    int result = check_abi(abi);
    if (result)
        return result;
    if (!(device = calloc(1, sizeof *device)))
        return sluice_fail(-ENOMEM, "out of memory");
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&device->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    pthread_mutex_init(&device->receive_lock, NULL);
    pthread_mutex_init(&device->send_lock, NULL);
    if ((result = reach(uri, &device->transport))) {
        free_device(device);
        return result;
    }
    if ((result = identify(device)) || (result = attach_rings(device))) {
        sluice_device_close(device);
        return result;
    }
    pthread_mutex_lock(&default_lock);
    if (!default_device)
        default_device = device;
    pthread_mutex_unlock(&default_lock);
    *out = device;
    return 0;
}

// For who finds it by its name in the library, and says nothing of what was compiled.
int(sluice_device_open)(const char *uri, struct sluice_device **out) {
    return sluice_device_open_abi(uri, out, SLUICE_ABI);
}

void sluice_device_close(struct sluice_device *device) {
    if (!device)
        return;
    pthread_mutex_lock(&default_lock);
    if (default_device == device)
        default_device = NULL;
    pthread_mutex_unlock(&default_lock);
    for (unsigned i = 0; i < SLUICE_MAX_WINDOWS; i++)
        sluice_rule_store_free(device->window[i].rules);
    device->transport->close(device->transport);
    free_device(device);
}

unsigned sluice_device_lanes(const struct sluice_device *device) {
    return device->lanes;
}

unsigned sluice_device_host_lanes(const struct sluice_device *device) {
    return device->host_lanes;
}

uint32_t sluice_device_clock_khz(const struct sluice_device *device) {
    return device->clock_khz;
}

uint64_t sluice_device_cycles(struct sluice_device *device) {
    pthread_mutex_lock(&device->lock);
    uint64_t cycles = device->transport->cycles ? device->transport->cycles(device->transport) : 0;
    pthread_mutex_unlock(&device->lock);
    return cycles;
}

void sluice_device_advance(struct sluice_device *device, uint32_t cycles) {
    pthread_mutex_lock(&device->lock);
    sluice_fence_step_locked(device);
    if (device->transport->advance) {
        sluice_tell_rings_locked(device);
        device->transport->advance(device->transport, cycles);
        sluice_hear_rings_locked(device);
    }
    pthread_mutex_unlock(&device->lock);
}

bool sluice_device_idle(struct sluice_device *device) {
    uint32_t status = 0;
    pthread_mutex_lock(&device->lock);
    sluice_tell_rings_locked(device);
    bool idle = device->transport->idle ? device->transport->idle(device->transport)
                                        : !sluice_read_locked(device, SLUICE_SHELL_REGISTERS_STATUS, &status) &&
                                              (status & STATUS_IDLE) != 0;
    idle = idle && !sluice_fence_has_news(device);
    pthread_mutex_unlock(&device->lock);
    return idle;
}

uint32_t sluice_device_push_cycles(const struct sluice_device *device) {
    return __atomic_load_n(&device->push_cycles, __ATOMIC_RELAXED);
}

static int set_control(struct sluice_device *device, uint32_t bit, bool on) {
    uint32_t control = on ? device->control | bit : device->control & ~bit;
    int result = sluice_write_locked(device, SLUICE_SHELL_REGISTERS_CONTROL, control);
    if (result == 0)
        device->control = control;
    return result;
}

int sluice_device_set_lossless(struct sluice_device *device, bool on) {
    pthread_mutex_lock(&device->lock);
    int result = set_control(device, CONTROL_LOSSLESS, on);
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_device_pause(struct sluice_device *device) {
    pthread_mutex_lock(&device->lock);
    int result = set_control(device, CONTROL_PAUSE, true);
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_device_resume(struct sluice_device *device) {
    pthread_mutex_lock(&device->lock);
    int result = set_control(device, CONTROL_PAUSE, false);
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_device_drained(struct sluice_device *device) {
    uint32_t status = 0;
    pthread_mutex_lock(&device->lock);
    // The ring first: what the device has not taken yet, its status does not know.
    bool taken = device->transport->ring_sent(device->transport) == device->submitted;
    int result = sluice_read_locked(device, SLUICE_SHELL_REGISTERS_STATUS, &status);
    pthread_mutex_unlock(&device->lock);
    return result ? result : taken && (status & STATUS_IDLE) != 0;
}

int sluice_device_set_tick(struct sluice_device *device, uint32_t microseconds) {
    pthread_mutex_lock(&device->lock);
    int result = sluice_write_locked(device, SLUICE_SHELL_REGISTERS_TICK_SOURCE, 0);
    result = result ? result : sluice_write_locked(device, SLUICE_SHELL_REGISTERS_TICK, microseconds);
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_device_run_tick(struct sluice_device *device) {
    return sluice_register_write(device, SLUICE_SHELL_REGISTERS_TICK_SOURCE, 1);
}

// Counters are records of 32-bit words, read one by one.
static int read_words(struct sluice_device *device, uint32_t address, uint8_t *bytes, unsigned size) {
    int result = 0;
    pthread_mutex_lock(&device->lock);
    for (unsigned i = 0; i < size && result == 0; i += 4) {
        uint32_t word = 0;
        result = sluice_read_locked(device, address + i, &word);
        for (unsigned b = 0; b < 4; b++)
            bytes[i + b] = (uint8_t)(word >> 8 * b);
    }
    pthread_mutex_unlock(&device->lock);
    return result;
}

int sluice_lane_counters_read(struct sluice_device *device, unsigned lane, struct sluice_lane_counters *counters) {
    uint8_t bytes[SLUICE_LANE_COUNTERS_BYTES];
    if (lane >= device->lanes + device->host_lanes)
        return sluice_fail(-EINVAL, "lane %u: the device has %u", lane, device->lanes + device->host_lanes);
    int result = read_words(device, SLUICE_SHELL_REGISTERS_LANE_COUNTERS + 64 * lane, bytes, sizeof bytes);
    if (result == 0)
        sluice_lane_counters_unpack(counters, bytes);
    return result;
}

int sluice_host_counters_read(struct sluice_device *device, struct sluice_host_counters *counters) {
    uint8_t bytes[SLUICE_HOST_COUNTERS_BYTES];
    int result = read_words(device, SLUICE_SHELL_REGISTERS_HOST_COUNTERS, bytes, sizeof bytes);
    if (result == 0)
        sluice_host_counters_unpack(counters, bytes);
    return result;
}

int sluice_graph_counters_read(struct sluice_device *device, struct sluice_graph_counters *counters) {
    uint8_t bytes[SLUICE_GRAPH_COUNTERS_BYTES];
    int result = read_words(device, SLUICE_SHELL_REGISTERS_GRAPH_COUNTERS, bytes, sizeof bytes);
    if (result == 0)
        sluice_graph_counters_unpack(counters, bytes);
    return result;
}

int sluice_window_of(const struct sluice_device *device, uint16_t kind) {
    for (unsigned i = 1; i < device->windows; i++)
        if (device->window[i].kind == kind)
            return (int)i;
    return sluice_fail(-ENOENT, "the device has no element of kind %u", kind);
}

static uint32_t word_at(const uint8_t *bytes) {
    return (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

int sluice_admit_set(struct sluice_device *device, unsigned required_tables, unsigned flags) {
    int window = sluice_window_of(device, SLUICE_ELEMENT_ADMIT);
    if (window < 0)
        return window;
    return sluice_register_write(device, (uint32_t)window * SLUICE_WINDOW_SIZE + SLUICE_ADMIT_REGISTERS_CONTROL,
                                 required_tables | flags);
}

int sluice_admit_set_mac(struct sluice_device *device, unsigned lane, const uint8_t mac[6]) {
    int window = sluice_window_of(device, SLUICE_ELEMENT_ADMIT);
    if (window < 0)
        return window;
    if (lane >= device->lanes)
        return sluice_fail(-EINVAL, "lane %u: the device has %u", lane, device->lanes);
    uint32_t address = (uint32_t)window * SLUICE_WINDOW_SIZE + SLUICE_ADMIT_REGISTERS_LANE_MAC + 8 * lane;
    uint32_t low = (uint32_t)mac[2] << 24 | (uint32_t)mac[3] << 16 | (uint32_t)mac[4] << 8 | mac[5];
    int result = sluice_register_write(device, address, low);
    return result ? result : sluice_register_write(device, address + 4, (uint32_t)mac[0] << 8 | mac[1]);
}

int sluice_admit_set_tunnels(struct sluice_device *device, const uint8_t ipv4[4], const uint8_t ipv6[16]) {
    int window = sluice_window_of(device, SLUICE_ELEMENT_ADMIT), result = 0;
    if (window < 0)
        return window;
    uint32_t base = (uint32_t)window * SLUICE_WINDOW_SIZE, control = base + SLUICE_ADMIT_REGISTERS_TUNNEL_CONTROL;
    result = sluice_register_write(device, control, 0); // closed while the addresses change
    if (result == 0 && ipv4)
        result = sluice_register_write(device, base + SLUICE_ADMIT_REGISTERS_TUNNEL_IPV4, word_at(ipv4));
    for (uint32_t n = 0; ipv6 && n < 16 && result == 0; n += 4)
        result = sluice_register_write(device, base + SLUICE_ADMIT_REGISTERS_TUNNEL_IPV6 + n, word_at(ipv6 + n));
    return result ? result : sluice_register_write(device, control, (ipv4 ? 1U : 0U) | (ipv6 ? 2U : 0U));
}

static int on_default(int (*call)(struct sluice_device *, uint16_t, struct sluice_rule_op *), uint16_t id,
                      struct sluice_rule_op *op) {
    pthread_mutex_lock(&default_lock);
    int result = default_device ? call(default_device, id, op) : sluice_fail(-ENODEV, "no device is open");
    pthread_mutex_unlock(&default_lock);
    return result;
}

static int call_init(struct sluice_device *device, uint16_t id, struct sluice_rule_op *op) {
    (void)op;
    return sluice_ofu_init(device, id);
}

static int call_uninit(struct sluice_device *device, uint16_t id, struct sluice_rule_op *op) {
    (void)op;
    return sluice_ofu_uninit(device, id);
}

int ofu_init(uint16_t ofu_id) {
    return on_default(call_init, ofu_id, NULL);
}

int rule_table_ops(uint16_t ofu_id, struct sluice_rule_op *op) {
    return on_default(sluice_rule_ops, ofu_id, op);
}

int ofu_uninit(uint16_t ofu_id) {
    return on_default(call_uninit, ofu_id, NULL);
}
