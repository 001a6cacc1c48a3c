// SPDX-License-Identifier: Apache-2.0
// A configuration in a shared library, as the process that has the ports sees it (host/cpu/ports.cc). The process can
// load another one while it runs; libraries share no symbols.
#ifndef SLUICE_CPU_PROGRAM_H
#define SLUICE_CPU_PROGRAM_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

// A packet in memory: the first bytes of DPDK's rte_mbuf, which host/cpu/ports.cc compares with it, so that the packets
// of a port need no other form. As many bytes as a flit has, and 8 more, can be read and written.
struct Frame {
    uint8_t *memory;
    uint64_t bus_address;
    uint16_t start; // of the packet in `memory`
    uint16_t users; // 1 when it arrives and when it leaves
    uint16_t segments, port;
    uint64_t flags;
    uint32_t type;
    uint32_t size; // bytes of the packet
    uint16_t first_size;

    uint8_t *bytes() const {
        return memory + start;
    }
    void resize(size_t bytes) {
        size = uint32_t(bytes);
        first_size = uint16_t(bytes);
    }
};

// Where frames come from, and go. One thread.
class Exit {
  public:
    virtual ~Exit() = default;
    // Takes packets that leave by a lane, up to BURST. The array is its own meanwhile.
    virtual void leave(unsigned lane, Frame **frames, size_t count) = 0;
    // Takes frames that nobody uses.
    virtual void give_back(Frame **frames, size_t count) = 0;
    // Another frame for a packet that leaves by a lane; none where there is no memory, or it is too long, which counts.
    virtual Frame *allocate(unsigned lane, size_t size) = 0;
    // A packet that does not leave by a lane, because its `error` bit is set.
    virtual void count_error(unsigned lane) = 0;
};

// Something that outlives a reload: a state or a table of an instance, and how another of the same type takes it over.
struct Lasting {
    std::string name, type;
    bool is_table;
    void *place;
    void (*move)(void *to, void *from);
};

// What a reload did, by names.
struct Adopted {
    std::vector<std::string> kept, cleared;
};

class Program {
  public:
    virtual ~Program() = default;
    // False where nothing is connected to the lane: the packets are lost. Nothing moves before `run`.
    // `time` of arrival: in microseconds.
    virtual bool send(unsigned lane, Frame **frames, size_t count, uint64_t time) = 0;
    // Until nothing moves; false where an element writes for `rounds` iterations and takes nothing.
    virtual bool run(uint64_t rounds) = 0;
    // Runs the timers that are due, in microseconds since any time. Between two runs.
    virtual void tick(uint64_t microseconds) = 0;
    // Serves INSTANCE/NAME/HEX... at once; false where it cannot be followed.
    virtual bool signal(const std::string &text, std::string &answer) = 0;
    // Fields of a JSON object: `instances` with iterations, and `stages`. With `all`, what instances said, too.
    virtual std::string told(bool all) const = 0;
    virtual std::vector<Lasting> lasting() = 0;
    // Takes over states, and tables where they are asked for, whose instance, name and type are the same.
    virtual Adopted adopt(Program &other, bool tables) = 0;
    // Releases all packets that wait for something; how many. Without them, another thread may end the program while
    // one of the same library runs.
    virtual size_t drop() = 0;
};

} // namespace sluice

// What a library has.
using SluiceMake = sluice::Program *(*)(sluice::Exit *exit);

#endif
