# SPDX-License-Identifier: Apache-2.0
# Timing constraints of every sl_cdc_fifo, sl_cdc_count, sl_sync and sl_reset_sync in a Vivado design: read_xdc -unmanaged after the clocks are
# defined. Without them a tool either times the paths between the clocks as if the clocks were related, or not at all.
#
# Gray pointers: one bit changes a step, so that a pointer read in the middle of a step is the old or the new one. That holds
# only while the bits arrive within one period of the clock that writes them of each other; a delay of at most that period,
# whatever the clocks' phases, gives it. Words in LUT RAM are still when they are read: their pointer took two cycles of the
# reading clock to come, so that one period of it is enough. Block RAM (Style 1) has a clock on either port and no such path.
#
# Other tools: the same bounds with their own commands (Quartus: set_net_delay -max and set_max_skew on the same registers).
# nextpnr has no such command: it does not constrain a path between clocks, but reports it ("Max delay posedge ... -> posedge
# ..."): that figure must be below the period of the clock at its beginning.

proc sl_period {cells} {
    return [get_property -min PERIOD [get_clocks -of_objects $cells]]
}

proc sl_gray {cell pointers} {
    foreach {pointer seen} $pointers {
        set from [get_cells "$cell/${pointer}_reg\[*\]"]
        set to [get_cells "$cell/$seen/chain_q_reg\[0\]\[*\]"]
        set_max_delay -datapath_only -from $from -to $to [sl_period $from]
        set_bus_skew -from $from -to $to [sl_period $from]
    }
}

foreach count [get_cells -hierarchical -filter {ORIG_REF_NAME == sl_cdc_count || REF_NAME == sl_cdc_count}] {
    sl_gray $count {count_gray_q u_count_seen}
}

foreach fifo [get_cells -hierarchical -filter {ORIG_REF_NAME == sl_cdc_fifo || REF_NAME == sl_cdc_fifo}] {
    sl_gray $fifo {write_gray_q u_write_seen read_gray_q u_read_seen}
    set words [get_cells -quiet -hierarchical -filter "NAME =~ $fifo/gen_lut.memory_reg*"]
    if {[llength $words] > 0} {
        set to [get_cells "$fifo/out_data_o_reg\[*\]"]
        set_max_delay -datapath_only -from $words -to $to [sl_period $to]
    }
}

# Single bits: when they arrive does not matter, only that the first flip-flop of the chain is not timed.
foreach sync [get_cells -hierarchical -filter {(ORIG_REF_NAME == sl_sync || REF_NAME == sl_sync) && NAME !~ *_seen}] {
    set_false_path -to [get_cells "$sync/chain_q_reg\[0\]\[*\]"]
}

# Resets: the chain ends one in step with its clock, so that only its beginning is not timed.
foreach reset [get_cells -hierarchical -filter {ORIG_REF_NAME == sl_reset_sync || REF_NAME == sl_reset_sync}] {
    set_false_path -to [get_pins "$reset/chain_q_reg\[*\]/PRE"]
}
