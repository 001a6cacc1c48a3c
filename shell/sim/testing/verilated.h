// SPDX-License-Identifier: Apache-2.0
// Of Verilator's run time, what sim_model.cc needs for a device that is none (Vsh_sim.h).
#ifndef VERILATED_H
#define VERILATED_H

struct VerilatedContext {
    void randReset(int) {}
    void randSeed(int) {}
};

#endif
