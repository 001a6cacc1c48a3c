# SPDX-License-Identifier: Apache-2.0
"""Every proof of this folder, in one table: how it is made, what must be reachable, and which broken parts it must refuse.

`test_proofs.py` runs all of it; `docs/reference/proofs.md` is written from it (`python -m testing.formal.proofs`).
A proof without covers or without a broken part cannot be put into the table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from compiler.layouts import main as layouts
from toolchain import ROOT
from toolchain.lock import locked
from toolchain.prove import prove_files
from toolchain.simulate import GENERATED, closure

FOLDER = Path(__file__).resolve().parent
PAGE = ROOT / "docs" / "reference" / "proofs.md"
HEAD = """# Proofs

Written by `python -m testing.formal.proofs` from `testing/formal/proofs.py` and the first lines of the harnesses. Yosys and
Bitwuzla prove each row in `make test`: by induction for runs of every length, or bounded for all runs of so many steps from
reset. For each, every cover is reached, so that the assumptions do leave the interesting runs, and each part broken on purpose is
refuted, in `make test` the first of each proof.

| harness | proved by | covers | broken parts refuted | what is assumed and promised |
| --- | --- | --- | --- | --- |"""
# Modules that harnesses are made of, and a stand-in for tables in certificates of elements.
HELPERS = {"fv_watch", "fv_packet_watch", "fv_any_table", "fv_any_flows"}


@dataclass(frozen=True)
class Broken:
    """A part broken on purpose: in `module`, `text` is replaced; the assertion `caught_by` must fail."""

    module: str
    text: str
    replacement: str
    caught_by: str


@dataclass(frozen=True)
class Proof:
    """A harness with one set of parameters. Mode `prove` is k-induction over `depth` steps, for runs of every length; `bmc` is all
    runs of `depth` steps. All covers must be reached in `cover_depth` steps, all broken parts refuted in that many or `depth`."""

    harness: str
    mode: str
    depth: int
    cover_depth: int
    broken: tuple[Broken, ...]
    parameters: Mapping[str, int] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)  # of the layouts, smaller than usual
    synthesis: bool = False
    flat: bool = False
    multiclock: bool = False

    def __post_init__(self) -> None:
        if self.mode not in ("prove", "bmc"):
            raise ValueError(f"{self.name}: {self.mode} proves nothing")
        if not self.broken:
            raise ValueError(f"{self.name}: what does it refuse? Name a broken part.")
        if not self.covers():
            raise ValueError(f"{self.harness}.sv has no cover: its assumptions may leave no run at all")

    @property
    def name(self) -> str:
        given = [f"{key}={value}" for key, value in {**self.parameters, **self.constants}.items()]
        return " ".join([self.harness, *given])

    @property
    def text(self) -> str:
        return (FOLDER / f"{self.harness}.sv").read_text()

    def covers(self) -> list[str]:
        """The labels of the harness's covers."""
        return re.findall(r"(\w+) : cover \(", self.text)

    def promise(self) -> str:
        """The first lines of the harness, without the comment signs."""
        lines = self.text.splitlines()[1:]
        end = next(number for number, line in enumerate(lines) if not line.startswith("//"))
        return " ".join(line[3:] for line in lines[:end])

    def reach(self) -> str:
        """For which runs it holds."""
        return "induction" if self.mode == "prove" else f"bounded, {self.depth} steps"


NO_METADATA = (
    ".in_data_i(word)",
    ".in_data_i({META_BITS'(0), word[FLIT_BITS-META_BITS-1:0]})",
    "a_leaves_unchanged_and_in_order",
)
NARROW = {"DATA_BYTES": 4}  # where the data is not only passed on
PROOFS = (
    Proof(
        "fv_skid", "prove", 2, 6,
        (
            Broken("sl_skid", "spare_valid_q ? spare_q : in_data_i", "in_data_i", "a_leaves_unchanged_and_in_order"),
            Broken("sl_skid", "<= spare_valid_q || in_valid_i;", "<= spare_valid_q;", "a_offers_what_is_inside"),
        ),
    ),
    Proof(
        "fv_fifo", "prove", 3, 14,
        (
            Broken("sl_fifo", "count_o != CountBits'(Depth - 1)", "1'b1", "a_takes_words_until_full"),
            Broken("sl_fifo", "assign fetch = stored_any_q && out_free;", "assign fetch = 1'b0;", "a_is_on_its_way_out_in_time"),
        ),
    ),
    Proof(
        "fv_fifo", "prove", 3, 14,
        (
            Broken("sl_fifo", ".read_valid_i(fetch)", ".read_valid_i(1'b1)", "a_leaves_unchanged_and_in_order"),
            Broken("sl_fifo", "(!read_valid_q || out_free);", "out_free && !read_valid_q;", "a_is_on_its_way_out_in_time"),
        ),
        {"Style": 1},
    ),
    Proof(
        "fv_fifo", "prove", 3, 14,
        (Broken("sl_fifo", "(push || Steady)", "(push && !Steady)", "a_leaves_unchanged_and_in_order"),),
        {"Steady": 1},
    ),
    Proof(
        "fv_register_arbiter", "prove", 2, 8,
        (
            Broken("sl_register_arbiter", "busy_q || offered_q ? owner_q", "busy_q ? owner_q", "a_request_holds"),
            Broken("sl_register_arbiter", "behind != '0 ? behind : ", "", "a_passed_over_once"),
            Broken("sl_register_arbiter", "32'(owner_q) && response_valid_i", "0 && response_valid_i", "a_answer_to_its_master"),
            Broken("sl_register_arbiter", "_valid_i[owner] && !busy_q", "_valid_i[owner]", "a_one_in_flight"),
        ),
    ),
    Proof(
        "fv_register_arbiter", "prove", 2, 14,
        (Broken("sl_register_arbiter", "m > 32'(owner_q) && ", "m > 1 && ", "a_passed_over_once"),),
        {"Masters": 5},
    ),
    Proof(
        "fv_register_lock", "prove", 2, 14,
        (
            Broken("sl_register_lock", "!has && 32'(window)", "other && 32'(window)", "a_writes_are_the_owners"),
            Broken("sl_register_lock", "idle_q == '1 && !(taken && has)", "idle_q == '1", "a_state"),
            Broken("sl_register_lock", "if (taken && has) idle_q <= '0;", "", "a_state"),
            Broken("sl_register_lock", "is_lock ? other :", "is_lock ? 1'b0 :", "a_writes_are_the_owners"),
            Broken("sl_register_lock", "answered_q ? answer_q : out_response_i", "out_response_i", "a_answered_here"),
        ),
    ),
    Proof(
        "fv_pipe_output", "prove", 3, 22,
        (
            Broken("sl_pipe_output", "in_flight_q != CountBits'(Depth - 1)", "1'b1", "a_credit_until_full"),
            Broken("sl_pipe_output", "2'(leave_q) + 2'(return_q)", "2'(leave_q || return_q)", "a_credit_until_full"),
            Broken("sl_fifo", "assign fetch = stored_any_q && out_free;", "assign fetch = 1'b0;", "a_offers_in_time"),
        ),
    ),
    Proof(
        "fv_passes", "bmc", 12, 21,
        (
            Broken("sl_passes", ".Depth(Flits)", ".Depth(2)", "a_room_for_every_pass"),
            Broken("sl_passes", "&& needed <= free_q;", ";", "a_keeps_free_what_there_is"),
            Broken("sl_passes", ">= 2 * Longest;", ">= Longest;", "a_keeps_free_what_there_is"),
            Broken("sl_passes", "left_again_i > left_pass_i.begins", "left_again_i != '0", "a_begins_higher"),
            Broken("sl_passes", "ends_o ? flits_of(left_pass_i.longest, 0) : '0;", "'0;", "a_takes_what_fits"),
            Broken("sl_passes", ": waiting_valid;", ": waiting_valid && !in_valid_i;", "a_enters_before_new_ones"),
        ),
        constants={"DATA_BYTES": 4, "MTU_BYTES": 8, "EGRESS_BYTES": 144, "PASS_GROWTH": 4},
        synthesis=True,
        flat=True,
    ),
    Proof(
        "fv_merge", "prove", 3, 8,
        (
            Broken("sl_merge", "<= !word.eop;", "<= word.sop;", "a_takes_a_flit_when_there_is_room"),
            Broken("sl_merge", *NO_METADATA),
            Broken("sl_merge", "(!fast_valid_i || credit_q > 18'sd0)", "!fast_valid_i", "a_credit_gives_the_way"),
        ),
    ),
    Proof(
        "fv_packet_arbiter", "prove", 3, 10,
        (
            Broken("sl_packet_arbiter", "room && ends : !locked_q", "room && ends : 1'b1", "a_packets_are_whole_and_unmixed"),
            Broken("sl_packet_arbiter", "(enter & in_last)", "enter", "a_takes_a_flit_when_there_is_a_place"),
            Broken("sl_packet_arbiter", "in_ready_o = free & (pause_i ?", "in_ready_o = free & (1'b0 ?", "a_pause_begins_none"),
            Broken("sl_packet_arbiter", "(spent | ~arrive)", "spent", "a_a_flit_leaves_when_there_is_room"),
            Broken("sl_packet_arbiter", *NO_METADATA),
            Broken("sl_packet_arbiter", "= credit_q[i][CreditBits-1];", "= 1'b0;", "a_waiting_port_gets_its_turn"),
        ),
        constants=NARROW,
    ),
    Proof(
        "fv_splice_join", "prove", 3, 8,
        (
            Broken("sl_splice_join", "else if (fire && !spills) hold_valid_q", "else if (out_ready_i && !spills) hold_valid_q",
                   "a_offers_what_can_leave"),
            Broken("sl_splice_join", "waits && in_data_i.flit.eop && !in_data_i.over", "waits && in_data_i.flit.eop", "a_ends"),
            Broken("sl_splice_join", "waits ? in_data_i.flit.data[16*c +: 16] : '0", "in_data_i.flit.data[16*c +: 16]",
                   "a_other_columns_are_the_next"),
            Broken("sl_splice_join", "(8 * DATA_BYTES)'(hold_q.tail)", "hold_q.flit.data", "a_tail_is_last"),
        ),
        constants=NARROW,
    ),
    Proof(
        "fv_packet_guard", "prove", 2, 5,
        (
            Broken("sl_packet_guard", "(inside_q || in_data_i.sop)", "1'b1", "a_first_flits_begin_packets"),
            Broken("sl_packet_guard", "(inside_q && in_data_i.sop) ||", "", "a_first_flits_begin_packets"),
            Broken("sl_packet_guard", "= !inside_q;", "= 1'b1;", "a_first_flits_begin_packets"),
            Broken("sl_packet_guard", "in_valid_i && (inside_q || in_data_i.sop)", "in_valid_i && inside_q", "a_first_flits_leave"),
        ),
    ),
    Proof(
        "fv_lane_guard", "prove", 2, 8,
        (
            Broken("sh_lane_guard", "&& !broken_q && (waits_i", "&& (waits_i", "a_each_leaves_or_is_counted_once"),
            Broken("sh_lane_guard", "refused && inside_q;", "refused;", "a_begins_with_a_sop"),
            Broken("sh_lane_guard", "(in_data_i.sop || broken_q)", "!inside_q", "a_each_leaves_or_is_counted_once"),
            Broken("sh_lane_guard", "discard_q <= 1'b1;", "discard_q <= 1'b0;", "a_begins_with_a_sop"),
            Broken("sh_lane_guard", "(refused || (discard_q && !in_data_i.sop))", "refused", "a_has_all_its_words"),
            Broken("sh_lane_guard", "if (broken_q && out_ready_i) inside_q <= 1'b0;", "", "a_refuses_for_want_of_room_only"),
        ),
    ),
    Proof(
        "fv_forward_ram", "prove", 3, 12,
        (
            Broken("sl_forward_ram", "inside_q && hit_q == '0", "inside_q && !hit_q[1]", "a_reads_the_latest_write"),
            Broken("sl_forward_ram", "write_q && write_address_q ==", "1'b0 && write_address_q ==", "a_reads_the_latest_write"),
            Broken("sl_forward_ram", "third_q ? write_data_q :", "third_q ? write_data_q2 :", "a_reads_the_latest_write"),
            Broken("sl_forward_ram", "hit_q[2]}} & write_data_q)", "hit_q[2]}} & write_data_q2)", "a_reads_the_latest_write"),
            Broken("sl_forward_ram", "inside_q && hit_q == '0", "hit_q == '0", "a_reads_zero_outside"),
        ),
    ),
    Proof(
        "fv_forward_ram", "prove", 3, 12,
        (
            Broken("sl_forward_ram", "newest ? write_data_i :", "1'b0 ? write_data_i :", "a_reads_the_latest_write"),
            Broken("sl_forward_ram", "== read_address_q2 && inside_q2", "== read_address_q2", "a_reads_zero_outside"),
            Broken("sl_forward_ram", "newest = write &&", "newest =", "a_reads_the_latest_write"),
        ),
        {"Entries": 2, "Register": 1},
    ),
    Proof(
        "fv_forward_ram", "prove", 3, 12,
        (
            Broken("sl_forward_ram", "newest_q ? write_data_q", "newest_q ? write_data_q2", "a_reads_the_latest_write"),
            Broken("sl_forward_ram", "newest_q <= newest", "newest_q <= newest && third_q", "a_reads_the_latest_write"),
        ),
        {"Register": 2},
    ),
    Proof(
        "fv_forward_ram", "prove", 3, 12,
        (
            Broken("sl_forward_ram", "Spread && write_q2", "1'b0", "a_reads_the_latest_write"),
            Broken("sl_forward_ram", "& write_data_q3", "& write_data_q2", "a_reads_the_latest_write"),
            Broken("sl_forward_ram", ", write_data_q[Low", ", write_data_q2[Low", "a_reads_the_latest_write"),
        ),
        {"Copies": 2},
    ),
    Proof(
        "fv_forward_ram", "prove", 3, 12,
        (
            Broken("sl_forward_ram", "(write_index_i) == read_address_q &&", "(write_index_i) == read_address &&",
                   "a_reads_the_latest_write"),
            Broken("sl_forward_ram", "== read_address && is_inside(read_index);", "== read_address;", "a_reads_zero_outside"),
        ),
        {"Entries": 2, "Register": 1, "EarlyIndex": 1},
    ),
    Proof(
        "fv_forward_ram", "prove", 3, 12,
        (
            Broken("sl_forward_ram", "(write_index_i) == read_address &&", "(write_index_i) == read_address_q &&",
                   "a_reads_the_latest_write"),
            Broken("sl_forward_ram", "write && same_third", "1'b0", "a_reads_the_latest_write"),
        ),
        {"Copies": 2, "EarlyIndex": 1},
    ),
    Proof(
        "fv_toeplitz", "prove", 4, 6,
        (Broken("sl_toeplitz", "key[62 - bit_ -: 32]", "key[62 - (bit_ & 30) -: 32]", "a_adds_the_bits_of_the_key"),),
    ),
    Proof(
        "fv_process_alu", "prove", 1, 2,
        (
            Broken("sl_process_pkg", "? BITS_ONES", "? BITS_ZERO", "a_writes_the_field"),
            Broken("sl_process_pkg", "(n == 0 || !lanes[n-1])", "1'b1", "a_writes_the_field"),
            Broken("sl_process_alu", "return ~b", "return b", "a_writes_the_field"),
            Broken("sl_process_condition", "less || none", "less", "a_compares"),
            Broken("sl_process_condition", "difference[31]", "less", "a_compares"),
        ),
    ),
    Proof(
        "fv_flit_sum", "prove", 2, 10,
        (
            Broken("sl_flit_sum", "word_q[i][7:0]  <= base + 16'(2 * i) >= from_i && base + 16'(2 * i + 1) < to_i",
                   "word_q[i][7:0]  <= base + 16'(2 * i) >= from_i && base + 16'(2 * i) < to_i", "a_sum_is_that_of_the_range"),
            Broken("sl_flit_sum", "fold_q[15:0] + 16'(fold_q[16])", "fold_q[15:0]", "a_zero_is_of_zeros"),
            Broken("sl_flit_sum", "if (valid_q[2]) total_q", "total_q", "a_sum_is_that_of_the_range"),
            Broken("sl_flit_sum", "if (valid_i) base_q", "base_q", "a_sum_is_that_of_the_range"),
        ),
        constants={"DATA_BYTES": 8},
    ),
    Proof(
        "fv_checksum_fill", "prove", 2, 14,
        (
            Broken("sl_checksum_fill", "kept.meta.mark = '0;", "kept.meta.mark[30:0] = '0;", "a_fills_in_the_checksums_alone"),
            Broken("sl_checksum_fill", "done_q[Latency-1])", "done_q[Latency-2])", "a_waits_for_the_sums"),
            Broken("sl_checksum_fill", "in_data_i.eop && fills}", "in_data_i.eop && fills_q}", "a_is_offered_in_time"),
            Broken("sl_checksum_fill", "head_take && head_fills && head.eop", "1'b0", "a_waits_for_the_sums"),
            Broken("sl_checksum_fill", "head_fills && !result_valid;", "!result_valid;", "a_others_do_not_wait"),
            Broken("sl_checksum_fill", "in_data_i.sop ? l4 : sum_l4_q), .to_i(in_data_i.sop ? length",
                   "in_data_i.sop ? l4 : sum_l3_q), .to_i(in_data_i.sop ? length", "a_l4_sum_is_of_its_range"),
        ),
        constants={"DATA_BYTES": 16},
        synthesis=True,
        flat=True,
    ),
    Proof(
        "fv_replicate", "prove", 3, 6,
        (
            Broken("el_replicate", "in_ready_o ? '0 : done_q | (mask & out_ready_i)", "'0", "a_offers_each_flit_once"),
            Broken("el_replicate", "(mask & ~done_q & ~out_ready_i) == '0", "(~out_ready_i) == '0", "a_waits_for_nobody_else"),
            Broken("el_replicate", "? mask & ~done_q : '0", "? in_data_i.meta.egress_mask[Ports-1:0] & ~done_q : '0",
                   "a_offers_each_flit_once"),
        ),
    ),
    Proof(
        "fv_register_router", "prove", 4, 16,
        (
            Broken("sh_register_router", "patience_q == '0 ||", "", "a_answers_in_time"),
            Broken("sh_register_router", "dead_q[i]        <= 1'b1;", "", "a_answer_is_of_this_request"),
            Broken("sh_register_router", "|| window_reset_i[i])", ")", "a_answers_in_a_reset"),
            Broken("sh_register_router", "response_valid_o <= state_q != StIdle;", "", "a_answers_in_a_reset"),
            Broken("sh_register_router", "!response_valid_o && !rst_i;", "!response_valid_o;", "a_takes_the_next_after_the_answer"),
        ),
    ),
    Proof(
        "fv_to_axis", "prove", 3, 6,
        (
            Broken("sl_to_axis", "in_data_i.eop && in_data_i.error", "in_data_i.error", "a_leaves_unchanged_and_in_order"),
            Broken("sl_to_axis", "in_data_i.eop ? in_data_i.empty : '0", "in_data_i.empty", "a_leaves_unchanged_and_in_order"),
        ),
        constants=NARROW,
    ),
    Proof(
        "fv_from_axis", "prove", 3, 6,
        (
            Broken("sl_from_axis", "(inside_q && bad_q)", "bad_q", "a_leaves_unchanged_and_in_order"),
            Broken("sl_from_axis", "(axis_tkeep_i & (axis_tkeep_i + 1'b1)) != '0 ||", "", "a_leaves_unchanged_and_in_order"),
        ),
        constants=NARROW,
    ),
    Proof(
        "fv_to_avalon", "prove", 3, 6,
        (
            Broken("sl_to_avalon", "in_data_i.sop ? in_data_i.meta.ingress_port : channel_q", "in_data_i.meta.ingress_port",
                   "a_leaves_unchanged_and_in_order"),
            Broken("sl_to_avalon", "8*(DATA_BYTES-1-i)", "8*i", "a_leaves_unchanged_and_in_order"),
        ),
        constants=NARROW,
    ),
    Proof(
        "fv_from_avalon", "prove", 3, 6,
        (
            Broken("sl_from_avalon", "(!avalon_startofpacket_i && bad_q)", "1'b0", "a_leaves_unchanged_and_in_order"),
            Broken("sl_from_avalon", "keep[i] ?", "1'b1 ?", "a_leaves_unchanged_and_in_order"),
        ),
        constants=NARROW,
    ),
    Proof(
        "fv_width_convert", "prove", 3, 8,
        (
            Broken("sl_width_convert", "eop ? in_empty_i[OutEmptyBits-1:0] : '0", "'0", "a_leaves_unchanged_and_in_order"),
            Broken("sl_width_convert", "room && last;", "room;", "a_takes_words_when_there_is_room"),
        ),
        {"InBytes": 8, "OutBytes": 2},
    ),
    Proof(
        "fv_width_convert", "prove", 3, 8,
        (
            Broken("sl_width_convert", "index_q == '0 ? in_sop_i : sop_q", "in_sop_i", "a_leaves_unchanged_and_in_order"),
            Broken("sl_width_convert", "in_eop_i || index_q ==", "index_q ==", "a_offers_what_is_inside"),
        ),
        {"InBytes": 2, "OutBytes": 8},
    ),
    Proof(
        "fv_cdc_fifo", "prove", 4, 24,
        (
            Broken("sl_cdc_fifo", "_gray_q <= gray(write_next);", "_gray_q <= write_next;", "a_one_bit_at_a_time_forward"),
            Broken("sl_cdc_fifo", "(read_gray_seen ^ Ahead)", "(read_gray_seen ^ 3'b111)", "a_leaves_unchanged_and_in_order"),
            Broken("sl_cdc_fifo", "any && out_free", "1'b0", "a_is_offered_in_time"),
        ),
        multiclock=True,
    ),
    Proof(
        "fv_cdc_fifo", "prove", 4, 28,
        (
            Broken("sl_cdc_fifo", "_gray_q <= gray(read_q + 1'b1);", "_gray_q <= read_q + 1'b1;", "a_one_bit_at_a_time_back"),
            Broken("sl_cdc_fifo", "if (out_free) out_valid_o <= read_valid_q", "out_valid_o <= read_valid_q", "a_valid_holds"),
        ),
        {"Style": 1},
        multiclock=True,
    ),
    Proof(
        "fv_cdc_count", "prove", 4, 24,
        (
            Broken("sl_cdc_count", "<= gray(count);", "<= count;", "a_one_bit_at_a_time"),
            Broken("sl_cdc_count", "count_q + Bits'(in_pulse_i)", "count_q | Bits'(in_pulse_i)", "a_is_offered_in_time"),
            Broken("sl_cdc_count", "out_valid_o && out_ready_i", "out_valid_o", "a_valid_holds"),
            Broken("sl_cdc_count", "out_valid_o && out_ready_i", "1'b0", "a_nothing_comes_out_that_did_not_go_in"),
        ),
        multiclock=True,
    ),
    Proof(
        "fv_packet_fifo", "bmc", 9, 14,
        (
            Broken("sl_packet_fifo", "&& !out_valid_o && !inside_q;", "&& !out_valid_o;", "a_empty"),
            Broken("sl_packet_fifo", "length > 16'(LargestPacket)", "length >= 16'(LargestPacket)", "a_knows_oversize"),
            Broken("sl_packet_fifo", "!overflow && !bad && !runt;", "!overflow && !runt;", "a_one_outcome_of_each"),
            Broken("sl_packet_fifo", "whole_q != '0 && (!read_valid_q", "whole_q > 1 && (!read_valid_q", "a_is_offered_in_time"),
        ),
        constants=NARROW,
        synthesis=True,
        flat=True,
    ),
    Proof(
        "fv_queues", "bmc", 8, 12,
        (
            Broken("sl_queues", "in_data_i.eop && !overflow) whole_q", "in_data_i.eop) whole_q", "a_empty"),
            Broken("sl_queues", "assign fetch = any &&", "assign fetch = 1'b0 &&", "a_is_offered_in_time"),
            Broken("sl_queues", "&& !inside_q && !read_valid_q", "&& !read_valid_q", "a_empty"),
        ),
        constants=NARROW,
        synthesis=True,
        flat=True,
    ),
    # Steps enough for a whole write beside a live entry and a lookup behind it.
    *(
        Proof(
            "fv_tcam", "bmc", 25 + block_ram, 28 + block_ram,
            (Broken("sl_tcam_bank", ".Delay(Latency - 1)", ".Delay(Latency)", "a_matches_what_it_holds"),),
            {"BlockRam": block_ram},
            synthesis=True,
        )
        for block_ram in (0, 1)
    ),
    # Twice around the ring, a reset between.
    Proof(
        "fv_delay_block", "bmc", 14, 16,
        (
            Broken("sl_delay_block", "AddressBits'(2)", "AddressBits'(1)", "a_leaves_as_it_entered"),
            Broken("sl_delay_block", "valid_q[Cycles-3]", "valid_q[Cycles-2]", "a_leaves_as_it_entered"),
            Broken("sl_delay_block", "valid_q       <= '0;", "", "a_leaves_in_time"),
        ),
        synthesis=True,
    ),
    # Four words, a key, and its answer.
    Proof(
        "fv_program_match", "bmc", 11, 13,
        (
            Broken("sl_program_match", "(int e = Fan - 2; e >= 0; e--)", "(int e = 0; e < Fan - 1; e++)", "a_finds_the_lowest"),
            Broken("sl_program_match", "(int n = Fans - 1; n >= 0; n--)", "(int n = 0; n < Fans; n++)", "a_finds_the_lowest"),
            Broken("sl_program_match", ", .write_group_i, .", ", .write_group_i('1), .", "a_hits_when_an_entry_accepts"),
            Broken("sl_tcam_slice", "Entries'(memory[key_q[", "Entries'(memory[key_i[", "a_hits_when_an_entry_accepts"),
        ),
        synthesis=True,
    ),
    # Sweep of the states, two records of a flow, and the second result. Tags that collide.
    Proof(
        "fv_scheduler", "bmc", 18, 21,
        (
            Broken("sl_scheduler", "? done_state_i : state", "? state : state", "a_leaves_unchanged_and_in_order"),
            Broken("sl_schedule_core", "&& address[Done-1] == address[Issue-1]", "", "a_leaves_unchanged_and_in_order"),
            Broken("sl_schedule_queue", "entries_q[i].tag == wake_tag_i)", "1'b1)", "a_leaves_unchanged_and_in_order"),
        ),
        synthesis=True,
        flat=True,
    ),
    # State through the RAM, a tag a flow.
    Proof(
        "fv_scheduler", "bmc", 16, 24,
        (
            Broken("sl_schedule_core", "Awake       = Distance - 1", "Awake       = Distance - 2",
                   "a_leaves_unchanged_and_in_order"),
            Broken("sl_schedule_queue", "if (enter && !in_free_i) busy_q[in_tag_i] <= 1'b1;", "",
                   "a_leaves_unchanged_and_in_order"),
            Broken("sl_schedule_queue", "|| (wake_valid_i && wake_tag_i == in_tag_i && !wake_hit)", "", "a_is_offered_in_time"),
            Broken("sl_schedule_results", "done_q[oldest_q] && (", "(", "a_nothing_comes_that_is_not_inside"),
        ),
        {"AddressBits": 1, "Forward": 0},
        synthesis=True,
        flat=True,
    ),
    # One entry: what waits holds up all.
    Proof(
        "fv_scheduler", "bmc", 16, 24,
        (Broken("sl_schedule_core", "id[0]      = Reorder ? queued_id : place", "id[0] = '0", "a_is_offered_in_time"),),
        {"AddressBits": 1, "Forward": 0, "Depth": 1},
        synthesis=True,
        flat=True,
    ),
    Proof(
        "fv_scheduler", "bmc", 15, 19,
        (
            Broken("sl_schedule_turns", "&& !resting_q[i]", "", "a_leaves_unchanged_and_in_order"),
            Broken("sl_schedule_turns", "resting_q[wake_tag_i] <= 1'b0;", "resting_q <= '0;", "a_leaves_unchanged_and_in_order"),
        ),
        {"Turns": 1, "Forward": 0, "Reorder": 0, "Latency": 1},
        synthesis=True,
        flat=True,
    ),
    Proof(
        "fv_composed", "bmc", 15, 18,
        (
            Broken("sl_composed", "own[2*k-1], ahead[k-1]", "ahead[k-1], own[2*k-1]", "a_leaves_unchanged_and_in_order"),
            Broken("sl_composed", "k <= Lag; k++", "k < Lag; k++", "a_leaves_unchanged_and_in_order"),
            Broken("sl_composed", "StateWidth + 1 + $clog2(Lag + 1)", "StateWidth + 1", "a_leaves_unchanged_and_in_order"),
            Broken("sl_composed", "add_low < add_high ? add_low : add_high", "add_low", "a_leaves_unchanged_and_in_order"),
            Broken("sl_composed", "valid[2*k-1] && address", "address", "a_leaves_unchanged_and_in_order"),
        ),
        synthesis=True,
        flat=True,
    ),
    Proof(
        "fv_composed_state", "bmc", 13, 16,
        (
            Broken("sl_composed_state", "valid[3] && keeps[3] && address", "valid[3] && address",
                   "a_finds_what_the_one_before_left"),
            Broken("sl_composed_state", "&& !fresh[2];", ";", "a_finds_what_the_one_before_left"),
            Broken("sl_composed_state", "valid[4] && keeps[4] && address[4] == address[2]", "1'b0",
                   "a_finds_what_the_one_before_left"),
            Broken("sl_composed_state", "follows_q ? new_rest_q : rest_q", "rest_q", "a_finds_what_the_one_before_left"),
            Broken("sl_composed_state", "(valid[4] && keeps[4]) || write_valid_i", "valid[4] && keeps[4]",
                   "a_waiting_reads_what_was_left"),
        ),
        synthesis=True,
        flat=True,
    ),
    # The results of one mode, and of the next.
    Proof(
        "fv_schedule_free", "bmc", 10, 20,
        (
            Broken("sl_schedule_core", "empty || in_mode_i == mode_q", "1'b1", "a_one_mode_is_inside"),
            Broken("sl_schedule_core", "keeps[Done] && !free", "keeps[Done]", "a_keeps_no_state"),
        ),
        synthesis=True,
        flat=True,
    ),
    # Thirteen results: some see what a key did that is no longer inside, and a removal.
    Proof(
        "fv_flow_place", "bmc", 28, 30,
        (
            Broken("sl_flow_core", "same_q[5][1] <= place_q[4]", "same_q[5][1] <= 1'b0", "a_inserts_what_is_not"),
            Broken("sl_flow_core", "now_q[2] - now_q[2+d]", "now_q[2] - now_q[3]", "a_finds_what_is_there"),
            Broken("sl_flow_hand", "known6_q  <= same_i[5] || same11_i;", "known6_q  <= same_i[5];", "a_is_in_its_way"),
            Broken("sl_flow_way", "touch[8] ? stale_i[8]", "touch[8] ? 1'b0", "a_finds_what_is_there"),
            Broken("sl_flow_way", "touch[5] ? stale_i[5] : stale11_i}", "touch[5] && stale_i[5]}", "a_finds_what_is_there"),
            Broken("sl_flow_way", "_i, same_next_i ? stale_next_i", "_i, same_next_i ? 1'b0", "a_finds_what_is_there"),
            Broken("sl_flow_way", "own8 && !(same_next_i && forget_next_i)", "own8", "a_finds_what_is_there"),
            Broken("sl_flow_way", "free8 || (same_next_i && forget_next_i)", "free8", "a_is_in_its_way"),
            Broken("sl_flow_way", "touch[5] ? forget10_i : forget11_i}", "touch[5] && forget10_i}", "a_finds_what_is_there"),
            Broken("sl_flow_way", "(take[9] || !free9_q)", "1'b1", "a_counts_expirations"),
            Broken("sl_flow_way", "remove_i && remove_set_i == set5_i;", "1'b0;", "a_finds_what_is_there"),
        ),
        synthesis=True,
        flat=True,
    ),
    Proof(
        "fv_flow_place", "bmc", 28, 30,
        (Broken("sl_flow_way", "touched_q[8] ? stale_q[8] : expired8_q", "expired8_q", "a_finds_what_is_there"),),
        parameters={"TimeJumps": 0},
        synthesis=True,
        flat=True,
    ),
    # The slower timer's first period, and what follows it.
    Proof(
        "fv_timers", "bmc", 26, 34,
        (
            Broken("sl_timers", "? 16'd0 : count_q[n])", "? count_q[n] : count_q[n])", "a_counted_once"),
            Broken("sl_timers", "Share - 1", "0", "a_share"),
            Broken("sl_timers", "started_q && !since_q[31];", "started_q && !since_q[31] && since_q != '0;", "a_nothing_is_left"),
            Broken("sl_timers", "take_i) state_q <= StBusy;", "take_i) state_q <= StIdle;", "a_answers"),
            Broken("sl_timers", "ends && !is_timer_q", "ends", "a_answers"),
            Broken("sl_timers", "choose       = state_q == StIdle &&", "choose       = state_q != StBusy &&", "a_stays"),
        ),
    ),
    # A count in the first cycle, and its bound.
    Proof(
        "fv_counter_push", "bmc", 13, 13,
        (Broken("sl_counter_push", "<= StampBits'(1);", "<= StampBits'(0);", "a_nothing_is_lost_or_late"),),
        synthesis=True,
        flat=True,
    ),
)  # fmt: skip


def generated(proof: Proof) -> Path:
    """Where the layouts are that this proof is about: the usual ones, or smaller ones, made here."""
    if not proof.constants:
        return GENERATED
    folder = ROOT / "build" / "formal" / "-".join(["layouts", *(f"{key}-{value}" for key, value in proof.constants.items())])
    with locked(folder.with_suffix(".lock")):
        sets = [text for key, value in proof.constants.items() for text in ("--set", f"{key}={value}")]
        if layouts(["--out", str(folder), *sets]) != 0:
            raise ValueError(f"{proof.name}: no layouts")
    return folder


def run(proof: Proof, mode: str, depth: int, broken: Broken | None = None) -> None:
    """One run of the prover; raises ProofError. Of a broken part only the promise that it must break is left to prove."""
    files = {path.name: path.read_text() for path in closure(proof.harness, (), generated(proof))}
    if broken is not None:
        module = f"{broken.module}.sv"
        if broken.text not in files[module]:
            raise ValueError(f"{module} has no {broken.text!r}")
        files[module] = files[module].replace(broken.text, broken.replacement)
        others = re.compile(rf"\b(?!{broken.caught_by}\b)\w+ : assert \(.*?\);", re.DOTALL)
        files = {name: others.sub("begin end", text) for name, text in files.items()}
    prove_files(
        proof.harness,
        files,
        mode,
        depth,
        proof.parameters,
        synthesis=proof.synthesis,
        flat=proof.flat,
        multiclock=proof.multiclock,
    )


def page() -> str:
    """The reference page."""
    rows = [
        f"| `{proof.name}` | {proof.reach()} | {len(proof.covers())} | {len(proof.broken)} | {proof.promise()} |"
        for proof in PROOFS
    ]
    return "\n".join([HEAD, *rows, ""])


if __name__ == "__main__":
    PAGE.write_text(page())
