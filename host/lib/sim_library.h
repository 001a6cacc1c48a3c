// SPDX-License-Identifier: Apache-2.0
// A simulated device's shared library (shell/sim/build.py), loaded and started: for the transport that runs it in this
// process, and for the program that runs it in one of its own.
#ifndef SLUICE_SIM_LIBRARY_H
#define SLUICE_SIM_LIBRARY_H

#include <stddef.h>

#include "sim_model.h"

// clang-format off
#define SIM_LIBRARY_CALLS(X) \
    X(new) X(free) X(lanes) X(cycles) X(step) X(idle) X(reg_read) X(reg_write) X(lane_send) X(lane_recv) \
    X(ring_attach) X(ring_release) X(ring_submit) X(ring_sent) X(mirror_attach)
// clang-format on

struct sim_library {
    void *handle;
    struct sim_model *model;
#define SIM_LIBRARY_DECLARE(name) __typeof__(&sim_model_##name) name;
    SIM_LIBRARY_CALLS(SIM_LIBRARY_DECLARE)
#undef SIM_LIBRARY_DECLARE
};

// 0; -ENODEV with a sentence in `text`, and nothing to close.
int sim_library_open(struct sim_library *library, const char *path, char *text, size_t text_size);
void sim_library_close(struct sim_library *library);

#endif
