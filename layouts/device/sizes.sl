// SPDX-License-Identifier: Apache-2.0
/// Default sizes of a device: of the shell's parameters, of the simulated device and of the command line.

constexpr uint LPM_ENTRIES4 = 512;          /// routes of the LPM rule table, IPv4
constexpr uint LPM_ENTRIES6 = 512;          /// the same for IPv6
constexpr uint EXACT_ENTRIES4 = 4096;       /// slots and rule ids of the exact rule table, IPv4
constexpr uint EXACT_ENTRIES6 = 1024;       /// the same for IPv6
constexpr uint FLOW_GROUP_ENTRIES = 256;    /// slots of a mask group of the flow table
constexpr uint FLOW_TERNARY_ENTRIES = 64;   /// rules of any mask in the flow table
constexpr uint PIPELINE_EXACT_ENTRIES = 256;    /// of a unit of the programmable pipeline
constexpr uint PIPELINE_TERNARY_ENTRIES = 64;   /// the same, of any mask
