// SPDX-License-Identifier: Apache-2.0
/// Connection tracking between the hosts of INSIDE and all others: packets from inside open connections, packets from outside pass
/// if they belong to one. TCP follows the handshake and the end of a connection; UDP has a pseudo-state, a request and an answer.
/// Each state has its time-out.

import "record.sl";

constexpr ushort INSIDE = 0x0a00;       /// 10.0.0.0/16
constexpr uint MILLISECOND = 1000;      /// microseconds
constexpr uchar UDP = 17;
constexpr uchar FIN = 0x01;
constexpr uchar SYN = 0x02;
constexpr uchar RST = 0x04;
constexpr uchar ACK = 0x10;

enum state_t : uint<3> { NONE = 0, REQUESTED = 1, ESTABLISHED = 2, CLOSING = 3, SENT = 4, ANSWERED = 5 }

struct connection_t { state_t state; uint<32> last; }   /// `last`: the time of the packet before
struct answer_t { bool passes; state_t state; }

/// How long a connection lives without packets, microseconds.
uint limit_of(state_t state) {
    if (state == ESTABLISHED) return 600 * MILLISECOND;
    if (state == ANSWERED) return 180 * MILLISECOND;
    if (state == CLOSING) return 10 * MILLISECOND;
    return 30 * MILLISECOND;
}

.element Tracking <ENTRIES = 4096, WAYS = 4, TIMEOUT = 0, EVICT = 1> (record_t in -> answer_t out) {
    flow<flow_t, connection_t> connections[ENTRIES] (ways = WAYS, timeout = TIMEOUT, evict = EVICT);
    .state { uint elapsed; }            // counted by a timer, where there is one
    .handler {
        record_t packet = read(in);
        uint time = packet.time + elapsed;
        flow_t key = packet.flow;
        bool from_inside = key.source >> 16 == INSIDE;
        if (!from_inside) {
            flow_t reply = {key.destination, key.source, key.destination_port, key.source_port, key.protocol};
            key = reply;
        }
        connection_t c;
        bool is_known = connections.find(key, c, time);
        uint age = time - c.last;
        if (age >= limit_of(c.state)) c.state = NONE;
        uchar flags = packet.flags;
        bool opens = from_inside && (key.protocol == UDP || (flags & SYN && !(flags & ACK)));
        bool passes = true;
        if (key.protocol == UDP) {
            if (opens && c.state != ANSWERED) c.state = SENT;
            else if (c.state != NONE) c.state = ANSWERED;
            else passes = false;
        } else if (opens) {
            c.state = REQUESTED;
        } else if (c.state == NONE) {
            passes = false;
        } else if (flags & RST) {
            c.state = NONE;
        } else if (c.state == REQUESTED) {
            if (!from_inside) {
                passes = flags & SYN && flags & ACK;
                if (passes) c.state = ESTABLISHED;
            }
        } else if (c.state != CLOSING) {
            c.state = flags & FIN ? CLOSING : ESTABLISHED;
        }
        c.last = time;
        if (is_known || opens) connections.insert(key, c, time);
        answer_t answer = {passes, c.state};
        write(out, answer);
    }
}
