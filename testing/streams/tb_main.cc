// SPDX-License-Identifier: Apache-2.0
// Turns the clock of a generated test bench until it says that it is at its end.
#include <memory>

#include "Vtb.h"
#include "verilated.h"

int main(int argc, char **argv) {
    const std::unique_ptr<VerilatedContext> context{new VerilatedContext};
    context->commandArgs(argc, argv);
    const std::unique_ptr<Vtb> tb{new Vtb{context.get()}};
    while (!context->gotFinish()) {
        tb->clk = !tb->clk;
        tb->eval();
        context->timeInc(1);
    }
    tb->final();
    return 0;
}
