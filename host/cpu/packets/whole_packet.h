// SPDX-License-Identifier: Apache-2.0
// A packet on its way through the elements of the packet engine: its first flit, which most elements only look at, and
// the bytes behind it, which stay where they arrived.
#ifndef SLUICE_CPU_WHOLE_PACKET_H
#define SLUICE_CPU_WHOLE_PACKET_H

#include "common.h"

namespace sluice {

// Memory that packets share; whoever is last gives it back. One thread.
struct Buffer {
    uint32_t users;
    void (*give_back)(Buffer *buffer);
};

// A packet that leaves a configuration. `buffer`, where there is one, is the receiver's now: the `rest_size` bytes
// behind the first flit are in it where they arrived. Without one, `head` are all bytes. So many of `head` can be read
// as `head_room` says, which is the same for most packets.
struct Leaving {
    const uint8_t *head;
    size_t head_size, head_room, rest_size;
    uint64_t time; // of arrival, in microseconds
    bool is_bad;
    Buffer *buffer;
};

template <class Flit> class Packet {
  public:
    using Data = decltype(Flit::data);
    static constexpr size_t SIZE = Data::width / 8; // bytes of a flit

    Flit first{};

    // A packet of a lane; its bytes from the second flit on are not copied. As many bytes as a flit has can be read,
    // also of a shorter packet. The timestamp is its time of arrival, in microseconds.
    static Packet *arrived(const uint8_t *bytes, size_t size, unsigned lane, uint64_t time, Buffer *buffer) {
        Packet *packet = taken();
        Flit &first = packet->first;
        set(first, bytes, size);
        first.sop = Uint<1>(1);
        first.meta.ingress_port = decltype(first.meta.ingress_port)(lane);
        first.meta.timestamp = decltype(first.meta.timestamp)(time);
        first.meta.length = decltype(first.meta.length)(size);
        packet->rest_ = bytes + SIZE;
        packet->rest_size_ = uint32_t(size > SIZE ? size - SIZE : 0);
        packet->buffer_ = buffer;
        return packet;
    }
    // One that begins with this flit.
    static Packet *begun(const Flit &first) {
        Packet *packet = taken();
        packet->first = first;
        packet->rest_size_ = 0;
        packet->buffer_ = nullptr;
        return packet;
    }
    void add(const Flit &flit) {
        more_.push_back(flit);
    }
    // The same behind another first flit.
    Packet *copied(const Flit &first) const {
        Packet *copy = begun(first);
        copy->rest_ = rest_;
        copy->rest_size_ = rest_size_;
        copy->buffer_ = buffer_;
        copy->more_ = more_;
        if (buffer_)
            buffer_->users++;
        return copy;
    }
    void release() {
        if (buffer_ && --buffer_->users == 0)
            buffer_->give_back(buffer_);
        more_.clear();
        pool().push_back(this);
    }

    // Gives its bytes and its buffer away, and itself back.
    template <class Take> void leave(Take take) {
        if (more_.empty()) {
            const auto leave_with = [&](const uint64_t *words) {
                const auto *head = reinterpret_cast<const uint8_t *>(words);
                const size_t size = SIZE - first.empty.saturated();
                take(Leaving{head, size, SIZE, rest_size_, time(), is_bad(), std::exchange(buffer_, nullptr)});
            };
            if constexpr (Data::width > 64)
                leave_with(first.data.words());
            else
                leave_with(to_words(first.data).data());
        } else {
            static Bytes bytes;
            bytes.clear();
            write(bytes);
            take(Leaving{bytes.data(), bytes.size(), bytes.size(), 0, time(), is_bad(), nullptr});
        }
        release();
    }

    size_t flits() const {
        return 1 + more_.size() + (rest_size_ + SIZE - 1) / SIZE;
    }
    // Flit `index`, not the first.
    Flit flit(size_t index) const {
        const size_t start = (index - 1) * SIZE;
        return more_.empty() ? flit_of(rest_ + start, rest_size_ - start) : more_[index - 1];
    }
    // Whether its last flit says that it is bad.
    bool is_bad() const {
        return !rest_size_ && bool(more_.empty() ? first.error : more_.back().error);
    }
    uint64_t time() const {
        return first.meta.timestamp.saturated();
    }
    // Appends the bytes.
    void write(Bytes &bytes) const {
        const auto append = [&bytes](const Flit &flit) {
            const auto words = to_words(flit.data);
            const auto *from = reinterpret_cast<const uint8_t *>(words.data());
            bytes.insert(bytes.end(), from, from + SIZE - flit.empty.saturated());
        };
        append(first);
        bytes.insert(bytes.end(), rest_, rest_ + rest_size_);
        for (const Flit &flit : more_)
            append(flit);
    }

  private:
    // The flit of the first of these bytes, without metadata.
    static void set(Flit &flit, const uint8_t *bytes, size_t size) {
        const size_t used = std::min(size, SIZE);
        Words<Data> words{};
        std::memcpy(words.data(), bytes, SIZE);
        for (size_t i = 0; 8 * i < SIZE; i++)
            words[i] &= used >= 8 * i + 8 ? ~uint64_t{0} : used > 8 * i ? low_ones(unsigned(8 * (used - 8 * i))) : 0;
        flit.meta = {};
        flit.error = flit.sop = {};
        flit.data.load(words.data(), 0);
        flit.empty = decltype(flit.empty)(SIZE - used);
        flit.eop = Uint<1>(size <= SIZE);
    }
    static Flit flit_of(const uint8_t *bytes, size_t size) {
        Flit flit{};
        if (size >= SIZE) {
            set(flit, bytes, size);
            return flit;
        }
        uint8_t last[SIZE] = {};
        std::memcpy(last, bytes, size);
        set(flit, last, size);
        return flit;
    }
    static std::vector<Packet *> &pool() {
        static std::vector<Packet *> packets;
        return packets;
    }
    static Packet *taken() {
        std::vector<Packet *> &packets = pool();
        if (packets.empty()) {
            constexpr size_t SLAB = 256;
            static std::vector<std::unique_ptr<Packet[]>> slabs;
            slabs.push_back(std::make_unique<Packet[]>(SLAB));
            for (size_t i = SLAB; i-- > 0;)
                packets.push_back(&slabs.back()[i]);
        }
        Packet *packet = packets.back();
        packets.pop_back();
        return packet;
    }

    const uint8_t *rest_ = nullptr; // bytes behind the first flit as they arrived
    uint32_t rest_size_ = 0;
    Buffer *buffer_ = nullptr; // that they are in
    std::vector<Flit> more_;   // or flits behind the first as an element wrote them
};

// First in, first out; empty again most of the time, when its array is used from the start.
template <class T> class Queue {
  public:
    bool empty() const {
        return head_ == items_.size();
    }
    size_t size() const {
        return items_.size() - head_;
    }
    T &front() {
        return items_[head_];
    }
    const T &front() const {
        return items_[head_];
    }
    void push(const T &item) {
        items_.push_back(item);
    }
    void pop() {
        head_++;
        if (empty()) {
            items_.clear();
            head_ = 0;
        } else if (head_ >= LONGEST && 2 * head_ >= items_.size()) {
            items_.erase(items_.begin(), items_.begin() + ptrdiff_t(head_));
            head_ = 0;
        }
    }

  private:
    static constexpr size_t LONGEST = 4096; // what was taken before the rest moves up
    std::vector<T> items_;
    size_t head_ = 0;
};

} // namespace sluice

#endif
