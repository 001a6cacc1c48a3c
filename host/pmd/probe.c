// SPDX-License-Identifier: Apache-2.0
// A vdev `net_sluiceN` becomes a device with a port for each of its lanes:
//   device=KIND[:LIB]  which device: `sim` in this process, `sim-process` in one of its own, without LIB the library
//                      that the environment's SLUICE_SIM_LIB names; `functional`: software, without time
//   lanes=[A,B]        what its lanes are connected to (lane.h), one port each; without it, all lanes, to nothing
//   lossless=1         full FIFOs press back instead of dropping, for captures
//   fence=0            packets may overtake those of their flow that are still in the host (docs/design/fence.md)
//   mac=ADDRESS        MAC address of the first port; port n has it with n added to its last byte
// The first port is on this vdev, each other one on a vdev `net_sluiceN_laneM`, which is made with it: so ports can be
// detached, and attached by these names, in any order. The device is there as long as one of its ports is, in a control
// thread where it is simulated.
#include "pmd.h"

#include <bus_vdev_driver.h>
#include <errno.h>
#include <rte_kvargs.h>
#include <rte_malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "flow_ops.h"

#define KEY_DEVICE "device"
#define KEY_LANES "lanes"
#define KEY_LOSSLESS "lossless"
#define KEY_FENCE "fence"
#define KEY_MAC "mac"

RTE_LOG_REGISTER(pmd_log, pmd.net.sluice, NOTICE);

struct arguments {
    char device[512], text[1024]; // text: the lanes, cut
    const char *lanes[SERVICE_LANES];
    unsigned count;
    bool lossless, fence, has_mac;
    struct rte_ether_addr mac;
};

static struct pmd_device *devices;
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER;

// `sim`, `sim:PATH`, `sim-process:PATH`: DPDK's arguments have no second `=` for the lib=PATH of the library's URI.
// What is behind `functional:` are its options.
static int read_device(const char *key, const char *value, void *context) {
    struct arguments *arguments = context;
    const char *path = strchr(value, ':');
    int kind = path ? (int)(path - value) : (int)strlen(value);
    bool has_library = path && path[1] && strncmp(value, "functional:", strlen("functional:")) != 0;
    int size = snprintf(arguments->device, sizeof arguments->device, "%.*s:%s%s", kind, value,
                        has_library ? "lib=" : "", path ? path + 1 : "");
    (void)key;
    return size < (int)sizeof arguments->device ? 0 : -EINVAL;
}

static int read_lanes(const char *key, const char *value, void *context) {
    struct arguments *arguments = context;
    size_t size = strlen(value);
    (void)key;
    if (size >= sizeof arguments->text)
        return -EINVAL;
    bool is_list = *value == '[' && value[size - 1] == ']';
    snprintf(arguments->text, sizeof arguments->text, "%.*s", (int)(is_list ? size - 2 : size), value + is_list);
    for (char *rest = arguments->text, *one; (one = strsep(&rest, ","));) {
        if (arguments->count == SERVICE_LANES) {
            PMD_LOG(ERR, "lanes: more than %d\n", SERVICE_LANES);
            return -EINVAL;
        }
        arguments->lanes[arguments->count++] = one;
    }
    return 0;
}

static int read_switch(const char *key, const char *value, void *on) {
    (void)key;
    *(bool *)on = value[0] == '1' && value[1] == 0;
    return strcmp(value, "0") && strcmp(value, "1") ? -EINVAL : 0;
}

static int read_mac(const char *key, const char *value, void *context) {
    struct arguments *arguments = context;
    (void)key;
    arguments->has_mac = true;
    if (rte_ether_unformat_addr(value, &arguments->mac) || !rte_is_valid_assigned_ether_addr(&arguments->mac) ||
        arguments->mac.addr_bytes[5] > UINT8_MAX - SERVICE_LANES)
        return -EINVAL;
    return 0;
}

static int read_arguments(const char *text, struct arguments *arguments) {
    static const char *const keys[] = {KEY_DEVICE, KEY_LANES, KEY_LOSSLESS, KEY_FENCE, KEY_MAC, NULL};
    struct rte_kvargs *list = rte_kvargs_parse(text ? text : "", keys);
    int result = list ? 0 : -EINVAL;
    strcpy(arguments->device, "sim:");
    if (result || (result = rte_kvargs_process(list, KEY_DEVICE, read_device, arguments)) ||
        (result = rte_kvargs_process(list, KEY_LANES, read_lanes, arguments)) ||
        (result = rte_kvargs_process(list, KEY_LOSSLESS, read_switch, &arguments->lossless)) ||
        (result = rte_kvargs_process(list, KEY_FENCE, read_switch, &arguments->fence)) ||
        (result = rte_kvargs_process(list, KEY_MAC, read_mac, arguments)))
        PMD_LOG(ERR,
                "'%s': the arguments are device=KIND[:LIB], lanes=[LANE,...], lossless=0 or 1, fence=0 or 1, "
                "mac=ADDRESS (of a "
                "station, its last byte below 0xf8)\n",
                text ? text : "");
    rte_kvargs_free(list);
    return result ? -EINVAL : 0;
}

static void note(void *context, const char *line) {
    (void)context;
    PMD_LOG(NOTICE, "%s", line);
}

static void *run(void *device) {
    struct service *service = ((struct pmd_device *)device)->service;
    int result = service_run(service);
    if (result)
        PMD_LOG(ERR, "the device has failed: %s\n", sluice_error_text());
    return NULL;
}

static void free_device(struct pmd_device *device) {
    if (device->service && service_free(device->service))
        PMD_LOG(ERR, "%s\n", sluice_error_text());
    pmd_flows_free(device->flows);
    sluice_device_close(device->sluice);
    free(device->name);
    free(device->arguments);
    free(device);
}

static struct pmd_device *find(const char *name) {
    pthread_mutex_lock(&devices_lock);
    struct pmd_device *found = devices;
    while (found && strcmp(found->name, name) != 0)
        found = found->next;
    pthread_mutex_unlock(&devices_lock);
    return found;
}

static void forget(const struct pmd_device *device) {
    for (struct pmd_device **at = &devices; *at; at = &(*at)->next)
        if (*at == device) {
            *at = device->next;
            return;
        }
}

static void hold(struct pmd_device *device) {
    pthread_mutex_lock(&devices_lock);
    device->holders++;
    pthread_mutex_unlock(&devices_lock);
}

static void release(struct pmd_device *device) {
    pthread_mutex_lock(&devices_lock);
    bool is_last = --device->holders == 0;
    if (is_last)
        forget(device);
    pthread_mutex_unlock(&devices_lock);
    if (!is_last)
        return;
    service_stop(device->service);
    pthread_join(device->thread, NULL);
    free_device(device);
}

void pmd_device_release(struct pmd_device *device, uint8_t lane) {
    device->ports[lane] = NULL;
    release(device);
}

static int open_device(struct pmd_device *device, const struct arguments *arguments) {
    int result = sluice_device_open(arguments->device, &device->sluice);
    if (result)
        return result;
    device->lanes = arguments->count ? arguments->count : sluice_device_lanes(device->sluice);
    if (sluice_device_host_lanes(device->sluice))
        return sluice_fail(-ENOTSUP, "the host's side of this device is lanes to a NIC");
    if (sluice_device_queues(device->sluice) == 0)
        return sluice_fail(-ENOTSUP, "the device has no receive queues: build it with --host-queues 4");
    if ((result = sluice_device_set_lossless(device->sluice, arguments->lossless)) ||
        (result = service_new(&device->service, device->sluice, arguments->lanes, device->lanes, note, NULL)) ||
        (result = pmd_flows_new(&device->flows, device)))
        return result;
    result = sluice_fence_set(device->sluice, arguments->fence, PMD_FENCE_BOUND);
    if (result && result != -ENOENT)
        return result;
    result = rte_ctrl_thread_create(&device->thread, "sluice-device", NULL, run, device);
    return result ? sluice_fail(result, "no thread for the device") : 0;
}

static struct rte_ether_addr first_address(const struct arguments *arguments, const char *name) {
    uint32_t hash = 2166136261U;
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619U;
    // Locally administered; the same each time for the same name.
    struct rte_ether_addr own = {{0x02, 0x53, (uint8_t)(hash >> 16), (uint8_t)(hash >> 8), (uint8_t)hash, 0}};
    return arguments->has_mac ? arguments->mac : own;
}

// The port of a lane on a vdev of its name.
static int make_port(struct pmd_device *device, struct rte_vdev_device *vdev, uint8_t lane) {
    const char *name = rte_vdev_device_name(vdev);
    struct rte_eth_dev *ethdev = rte_eth_dev_allocate(name);
    if (!ethdev)
        return sluice_fail(-ENOMEM, "%s: no room for a port", name);
    struct pmd_port *port = rte_zmalloc(name, sizeof *port, RTE_CACHE_LINE_SIZE);
    ethdev->data->dev_private = port;
    ethdev->data->mac_addrs = rte_zmalloc(name, PMD_MACS * sizeof(struct rte_ether_addr), 0);
    if (!port || !ethdev->data->mac_addrs) {
        rte_eth_dev_release_port(ethdev);
        return sluice_fail(-ENOMEM, "%s: out of memory", name);
    }
    *port = (struct pmd_port){.device = device, .ethdev = ethdev, .lane = lane};
    rte_spinlock_init(&port->filter);
    pthread_mutex_init(&port->statistics, NULL);
    ethdev->data->mac_addrs[0] = device->mac;
    ethdev->data->mac_addrs[0].addr_bytes[5] = (uint8_t)(device->mac.addr_bytes[5] + lane);
    ethdev->device = &vdev->device;
    ethdev->data->numa_node = vdev->device.numa_node;
    ethdev->data->dev_flags |= RTE_ETH_DEV_FLOW_OPS_THREAD_SAFE | RTE_ETH_DEV_AUTOFILL_QUEUE_XSTATS;
    ethdev->data->dev_link.link_duplex = RTE_ETH_LINK_FULL_DUPLEX;
    ethdev->dev_ops = &pmd_ops;
    ethdev->rx_pkt_burst = pmd_rx_burst;
    ethdev->tx_pkt_burst = pmd_tx_burst;
    ethdev->tx_pkt_prepare = pmd_tx_prepare;
    device->ports[lane] = port;
    hold(device);
    rte_eth_dev_probing_finish(ethdev);
    return 0;
}

// Close all ports of a device; where nobody else holds it, it is gone.
static void close_ports(struct pmd_device *device) {
    hold(device);
    for (unsigned lane = 0; lane < device->lanes; lane++)
        if (device->ports[lane]) {
            struct rte_eth_dev *ethdev = device->ports[lane]->ethdev;
            pmd_port_close(ethdev);
            rte_eth_dev_release_port(ethdev);
        }
    release(device);
}

// Whether a port of the device but that of lane 0 is started.
static bool is_in_use(const struct pmd_device *device) {
    bool found = false;
    for (unsigned lane = 1; lane < device->lanes; lane++)
        found |= device->ports[lane] && device->ports[lane]->ethdev->data->dev_started;
    return found;
}

// The name of a lane's vdev.
static void name_lane(const struct pmd_device *device, unsigned lane, char name[RTE_DEV_NAME_MAX_LEN]) {
    snprintf(name, RTE_DEV_NAME_MAX_LEN, "%s_lane%u", device->name, lane);
}

// The device that has a lane of this name; or NULL.
static struct pmd_device *device_of_lane(const char *name, uint8_t *lane) {
    char own[RTE_DEV_NAME_MAX_LEN];
    struct pmd_device *found = NULL;
    pthread_mutex_lock(&devices_lock);
    for (struct pmd_device *device = devices; device; device = device->next)
        for (uint8_t i = 1; i < device->lanes; i++) {
            name_lane(device, i, own);
            if (strcmp(name, own) == 0) {
                found = device;
                *lane = i;
            }
        }
    pthread_mutex_unlock(&devices_lock);
    return found;
}

// Vdevs of the other lanes come and go with the ports; that of one that was closed may still be there.
static int make_others(const struct pmd_device *device) {
    int result = 0;
    for (unsigned lane = 1; lane < device->lanes && result == 0; lane++) {
        char name[RTE_DEV_NAME_MAX_LEN];
        name_lane(device, lane, name);
        rte_vdev_uninit(name);
        result = rte_vdev_init(name, NULL);
    }
    return result;
}

static int make_device(struct rte_vdev_device *vdev, const char *text) {
    struct arguments arguments = {.fence = true};
    const char *name = rte_vdev_device_name(vdev);
    if (read_arguments(text, &arguments))
        return -EINVAL;
    struct pmd_device *device = calloc(1, sizeof *device);
    if (!device)
        return -ENOMEM;
    for (unsigned lane = 0; lane < SERVICE_LANES && arguments.count == 0; lane++)
        arguments.lanes[lane] = "none";
    device->name = strdup(name);
    device->arguments = strdup(text);
    device->mac = first_address(&arguments, name);
    int result = device->name && device->arguments ? open_device(device, &arguments) : -ENOMEM;
    if (result) {
        PMD_LOG(ERR, "%s: %s\n", name, sluice_error_text());
        free_device(device);
        return result;
    }
    pthread_mutex_lock(&devices_lock);
    device->holders = 1; // this function, until the ports are there
    device->next = devices;
    devices = device;
    pthread_mutex_unlock(&devices_lock);
    result = make_port(device, vdev, 0);
    result = result ? result : make_others(device);
    if (result) {
        PMD_LOG(ERR, "%s: %s\n", name, sluice_error_text());
        close_ports(device);
    }
    release(device);
    return result;
}

// The device whose ports were closed in part and that runs as it was asked for, with lane 0 once more; one that has
// failed, or runs otherwise, makes room for a new one when none of its ports is in use.
static int probe_device(struct rte_vdev_device *vdev, const char *text) {
    const char *name = rte_vdev_device_name(vdev);
    struct pmd_device *device = find(name);
    if (!device)
        return make_device(vdev, text);
    if (!service_status(device->service) && strcmp(device->arguments, text) == 0)
        return device->ports[0] ? -EEXIST : make_port(device, vdev, 0);
    if (is_in_use(device)) {
        PMD_LOG(ERR, "%s: the device that was made as '%s' %s; stop its other ports first\n", name, device->arguments,
                service_status(device->service) ? "has failed" : "is there");
        return -EBUSY;
    }
    close_ports(device);
    return make_device(vdev, text);
}

static int pmd_probe(struct rte_vdev_device *vdev) {
    const char *text = rte_vdev_device_args(vdev);
    uint8_t lane;
    if (rte_eal_process_type() != RTE_PROC_PRIMARY)
        return -ENOTSUP; // the rings are the primary process's
    struct pmd_device *device = text && *text ? NULL : device_of_lane(rte_vdev_device_name(vdev), &lane);
    if (device)
        return device->ports[lane] ? -EEXIST : make_port(device, vdev, lane);
    return probe_device(vdev, text ? text : "");
}

// The vdev of a lane takes its port away. That of the device takes all ports, unless another one is started.
static int pmd_remove(struct rte_vdev_device *vdev) {
    struct pmd_device *device = find(rte_vdev_device_name(vdev));
    struct rte_eth_dev *ethdev = rte_eth_dev_allocated(rte_vdev_device_name(vdev));
    if (device && !is_in_use(device)) {
        close_ports(device);
    } else if (ethdev) { // or else it was closed before
        pmd_port_close(ethdev);
        rte_eth_dev_release_port(ethdev);
    }
    return 0;
}

static struct rte_vdev_driver pmd_driver = {.probe = pmd_probe, .remove = pmd_remove};

RTE_PMD_REGISTER_VDEV(net_sluice, pmd_driver);
RTE_PMD_REGISTER_PARAM_STRING(net_sluice, KEY_DEVICE "=<string> " KEY_LANES "=[<string>,<string>] " KEY_LOSSLESS
                                                     "=<0|1> " KEY_FENCE "=<0|1> " KEY_MAC "=<address>");
