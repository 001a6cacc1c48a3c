// SPDX-License-Identifier: Apache-2.0
// Receive interrupts. Each receive queue of a port that was configured for them has an event of the service thread,
// which a program waits for through DPDK (rte_eth_dev_rx_intr_ctl_q, rte_epoll_wait). An event comes once for each time
// that the queue is armed; until then nothing is different from polling.
#include <errno.h>
#include <rte_interrupts.h>

#include "pmd.h"

static int fill(struct rte_intr_handle *handle, const struct pmd_port *port, uint16_t queues) {
    int result = rte_intr_type_set(handle, RTE_INTR_HANDLE_VDEV);
    result = result ? result : rte_intr_efd_counter_size_set(handle, sizeof(uint64_t));
    result = result ? result : rte_intr_max_intr_set(handle, queues + RTE_INTR_VEC_RXTX_OFFSET);
    result = result ? result : rte_intr_nb_efd_set(handle, queues);
    result = result ? result : rte_intr_vec_list_alloc(handle, NULL, queues);
    for (uint16_t i = 0; i < queues && result == 0; i++) {
        int event = service_event(port->device->service, port->lane, i);
        result = event < 0 ? event : rte_intr_efds_index_set(handle, i, event);
        result = result ? result : rte_intr_vec_list_index_set(handle, i, RTE_INTR_VEC_RXTX_OFFSET + i);
    }
    return result;
}

void pmd_interrupts_forget(struct rte_eth_dev *ethdev) {
    const struct pmd_port *port = ethdev->data->dev_private;
    if (!ethdev->intr_handle)
        return;
    for (uint16_t i = 0; i < SLUICE_HOST_QUEUES; i++)
        service_disarm(port->device->service, port->lane, i);
    rte_intr_free_epoll_fd(ethdev->intr_handle); // nobody waits for it any more
    rte_intr_vec_list_free(ethdev->intr_handle);
    rte_intr_instance_free(ethdev->intr_handle);
    ethdev->intr_handle = NULL;
}

int pmd_interrupts_configure(struct rte_eth_dev *ethdev) {
    const struct pmd_port *port = ethdev->data->dev_private;
    pmd_interrupts_forget(ethdev);
    if (!ethdev->data->dev_conf.intr_conf.rxq || ethdev->data->nb_rx_queues == 0)
        return 0;
    ethdev->intr_handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    int result = ethdev->intr_handle ? fill(ethdev->intr_handle, port, ethdev->data->nb_rx_queues) : -ENOMEM;
    if (result) {
        PMD_LOG(ERR, "%s: no receive interrupts: %s\n", ethdev->data->name, strerror(-result));
        pmd_interrupts_forget(ethdev);
    }
    return result;
}

int pmd_interrupt_enable(struct rte_eth_dev *ethdev, uint16_t number) {
    struct pmd_port *port = ethdev->data->dev_private;
    struct pmd_rx_queue *queue = port->rx[number];
    if (!ethdev->intr_handle)
        return -ENOTSUP; // it was not configured for them
    if (!queue || !queue->pool)
        return -EINVAL;
    pmd_rx_handled(queue); // who arms a queue is as far as who polls it again
    service_arm(port->device->service, port->lane, number, queue->ring);
    return 0;
}

int pmd_interrupt_disable(struct rte_eth_dev *ethdev, uint16_t number) {
    struct pmd_port *port = ethdev->data->dev_private;
    if (!ethdev->intr_handle)
        return -ENOTSUP;
    service_disarm(port->device->service, port->lane, number);
    return 0;
}
