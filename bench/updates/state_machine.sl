// SPDX-License-Identifier: Apache-2.0
/// Follows each of 4,096 TCP connections through a machine of 16 states, driven by the flags of its packets; the state goes into
/// the mark. Written as one writes it; the compiler makes a table of next states of it.

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
            uint<4> state = states[flow];
            switch (state) {
            case CLOSED: if (syn) state = SYN_SENT; break;
            case SYN_SENT: if (syn && ack) state = SYN_RECEIVED; break;
            case SYN_RECEIVED: if (ack) state = ESTABLISHED; break;
            case ESTABLISHED: if (ack) state = ACTIVE_1; break;
            case ACTIVE_1, ACTIVE_2, ACTIVE_3, ACTIVE_4, ACTIVE_5, ACTIVE_6, ACTIVE_7:
                state = fin ? FIN_WAIT : state + 1;
                break;
            case ACTIVE_8: state = fin ? FIN_WAIT : ACTIVE_1; break;
            case FIN_WAIT: if (ack) state = CLOSE_WAIT; break;
            case CLOSE_WAIT: if (fin) state = LAST_ACK; break;
            case LAST_ACK: if (ack) state = CLOSED; break;
            case FAILED: if (syn) state = SYN_SENT; break;
            }
            if ((tcp->flags & RST) != 0) state = FAILED;
            states[flow] = state;
            x.meta.mark = state;
        }
        write(out, x);
    }
}
