// Names: unknown, doubled, reserved, in a cycle.
constexpr uint WIDTH = 8;
constexpr uint WIDTH = 9;
constexpr uint USES_UNKNOWN = WIDHT + 1;
struct port_t {
    uint<8> lane;
    uint<8> lane;
    uint<8> priority;
}
struct uses_unknown_t { prot_t port; }
constexpr uint CYCLE_A = CYCLE_B + 1;
constexpr uint CYCLE_B = CYCLE_A;
struct holds_itself_t { holds_itself_t inner; }
static_assert sizeof(port_t) == 16;
import "nowhere.sl";
