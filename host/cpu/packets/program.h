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

// Memory that packets share; whoever is last gives it back. One thread.
struct Buffer {
    uint32_t users;
    void (*give_back)(Buffer *buffer);
};

// A packet that arrives: its bytes, of which as many as a flit has, and 8 more, can be read and written, and the buffer
// they are in, which the packet holds from then on.
struct Arriving {
    uint8_t *bytes;
    size_t size;
    Buffer *buffer;
    uint64_t time; // in microseconds
};

// A packet that leaves a configuration. `buffer`, where there is one, is the receiver's now: the `rest_size` bytes
// behind the first flit are in it where they arrived. Without one, `head` are all bytes.
struct Leaving {
    const uint8_t *head;
    size_t head_size, rest_size;
    uint64_t time; // of arrival, in microseconds
    bool is_bad;
    Buffer *buffer;
};

// Takes what leaves.
class Exit {
  public:
    virtual ~Exit() = default;
    virtual void leave(unsigned lane, const Leaving *packets, size_t count) = 0;
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
    virtual bool send(unsigned lane, const Arriving *packets, size_t count) = 0;
    // Until nothing moves; false where an element writes for `rounds` iterations and takes nothing.
    virtual bool run(uint64_t rounds) = 0;
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
