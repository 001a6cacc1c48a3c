// SPDX-License-Identifier: Apache-2.0
/// Follows each of 4,096 TCP connections through a machine of 16 states, driven by the flags of its packets; the state goes into
/// the mark. The next state of every present state is known before the state is read, so that only the choice is left to make.

constexpr uint FIN = 1;
constexpr uint SYN = 2;
constexpr uint RST = 4;
constexpr uint ACK = 16;

enum state_t : uint<4> {
    CLOSED, SYN_SENT, SYN_RECEIVED, ESTABLISHED, ACTIVE_1, ACTIVE_2, ACTIVE_3, ACTIVE_4, ACTIVE_5, ACTIVE_6, ACTIVE_7, ACTIVE_8,
    FIN_WAIT, CLOSE_WAIT, LAST_ACK, FAILED
}

.element StateMachine (packet in -> packet out) {
    .state { local uint<4> states[4096]; }
    .handler {
        flit x = read(in);
        ipv4_t *ip = (ipv4_t *) (&x.fd.data + 14);
        tcp_t *tcp = (tcp_t *) (&x.fd.data + 34);
        if (x.sop) {
            uint<12> flow = (uint<12>) ip->source;
            bool fin = (tcp->flags & FIN) != 0;
            bool syn = (tcp->flags & SYN) != 0;
            bool ack = (tcp->flags & ACK) != 0;
            uint<4> next[16] = {
                syn ? SYN_SENT : CLOSED, syn && ack ? SYN_RECEIVED : SYN_SENT, ack ? ESTABLISHED : SYN_RECEIVED,
                ack ? ACTIVE_1 : ESTABLISHED, fin ? FIN_WAIT : ACTIVE_2, fin ? FIN_WAIT : ACTIVE_3, fin ? FIN_WAIT : ACTIVE_4,
                fin ? FIN_WAIT : ACTIVE_5, fin ? FIN_WAIT : ACTIVE_6, fin ? FIN_WAIT : ACTIVE_7, fin ? FIN_WAIT : ACTIVE_8,
                fin ? FIN_WAIT : ACTIVE_1, ack ? CLOSE_WAIT : FIN_WAIT, fin ? LAST_ACK : CLOSE_WAIT, ack ? CLOSED : LAST_ACK,
                syn ? SYN_SENT : FAILED
            };
            if ((tcp->flags & RST) != 0) {
                .repeat (i, 0, 16) { next[i] = FAILED; }
            }
            uint<4> now_in = states[flow];
            states[flow] = next[now_in];
            x.meta.mark = states[flow];
        }
        write(out, x);
    }
}
