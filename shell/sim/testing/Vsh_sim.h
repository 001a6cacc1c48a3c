// SPDX-License-Identifier: Apache-2.0
// In place of the Verilated shell: ports whose values a test chooses. It answers register accesses, each at once
// with 1.
#ifndef VSH_SIM_H
#define VSH_SIM_H

#include <cstdint>

#include "verilated.h"

constexpr unsigned LANES = 4;

struct Vsh_sim {
    explicit Vsh_sim(VerilatedContext *) {}
    void eval() {}
    void final() {}

    uint8_t clk_i = 0, rst_i = 0, lane_clk_i = 0, lanes_wait_i = 0, lane_clocks_o = 0, idle_o = 1;
    uint32_t lane_rx_bytes_i[LANES][16] = {}, lane_rx_control_i[LANES] = {};
    uint8_t lane_rx_valid_i = 0, lane_rx_ready_o = 0;
    uint32_t lane_tx_bytes_o[LANES][16] = {}, lane_tx_control_o[LANES] = {};
    uint64_t lane_tx_timestamp_o[LANES] = {};
    uint8_t lane_tx_valid_o = 0, lane_tx_ready_i = 0;
    uint32_t to_host_bytes_o[16] = {}, to_host_control_o = 0, to_host_meta_o[5] = {}, to_host_info_o[3] = {},
             to_host_key_o[16] = {}, host_queues_o = 0;
    uint8_t to_host_valid_o = 0, to_host_ready_i = 0;
    uint64_t to_host_absent_i = 0, to_host_full_i = 0;
    uint32_t from_host_bytes_i[16] = {}, from_host_control_i = 0, from_host_meta_i[5] = {};
    uint8_t from_host_valid_i = 0, from_host_ready_o = 0;
    uint8_t reg_valid_i = 0, reg_write_i = 0, reg_ready_o = 1, reg_response_valid_o = 1, reg_response_error_o = 0;
    uint32_t reg_address_i = 0, reg_data_i = 0, reg_response_data_o = 1;
    uint32_t push_o[6] = {};
    uint8_t push_valid_o = 0;
};

#endif
