// SPDX-License-Identifier: Apache-2.0
// A packet on its way through the elements of the packet engine: its first flit, which most elements only look at, and
// the bytes behind it, which stay where they arrived.
#ifndef SLUICE_CPU_WHOLE_PACKET_H
#define SLUICE_CPU_WHOLE_PACKET_H

#include "common.h"
#include "program.h"
#include "queue.h"
#include "views.h"

namespace sluice {

template <class Flit> class Packet;

// A packet as it arrived, on a stack. Whoever is done with it releases it; `kept` moves what it holds into one of the
// pool.
template <class Flit> class Arrived {
  public:
    using View = typename Flit::View;
    using Data = decltype(Flit::data);
    static constexpr size_t SIZE = Data::width / 8; // bytes of a flit

    View first{};

    // A packet of a lane, whose bytes stay where they are. The timestamp is its time of arrival.
    void arrive(const Arriving &from, unsigned lane) {
        first.data.point_to(from.bytes);
        frame(first, from.bytes, from.size);
        first.sop = Uint<1>(1);
        first.meta.ingress_port = decltype(first.meta.ingress_port)(lane);
        first.meta.timestamp = decltype(first.meta.timestamp)(from.time);
        first.meta.length = decltype(first.meta.length)(from.size);
        rest_ = from.bytes + SIZE;
        rest_size_ = uint32_t(from.size > SIZE ? from.size - SIZE : 0);
        flits_ = uint32_t(1 + (rest_size_ + SIZE - 1) / SIZE);
        buffer_ = from.buffer;
    }
    Packet<Flit> *kept() {
        Packet<Flit> *packet = copied(first, buffer_);
        buffer_ = nullptr;
        return packet;
    }
    // The same behind another first flit.
    Packet<Flit> *copied(const Flit &other) const {
        if (buffer_)
            buffer_->users++;
        Packet<Flit> *copy = Packet<Flit>::begun(other);
        hand_rest(*copy, buffer_);
        return copy;
    }
    void release() {
        if (buffer_ && --buffer_->users == 0)
            buffer_->give_back(buffer_);
    }
    // Gives its buffer away.
    Leaving leave() {
        const auto *head = reinterpret_cast<const uint8_t *>(first.data.words());
        const size_t size = SIZE - first.empty.saturated();
        return {head, size, rest_size_, time(), is_bad(), std::exchange(buffer_, nullptr)};
    }
    size_t flits() const {
        return flits_;
    }
    // Flit `index`, not the first.
    Flit flit(size_t index) const {
        const size_t start = (index - 1) * SIZE;
        uint64_t bytes[SIZE / 8 + 1] = {};
        View view{};
        std::memcpy(bytes, rest_ + start, std::min<size_t>(rest_size_ - start, SIZE));
        view.data.point_to(bytes);
        frame(view, reinterpret_cast<uint8_t *>(bytes), rest_size_ - start);
        return view;
    }
    uint64_t time() const {
        return first.meta.timestamp.saturated();
    }
    // Whether its last flit says that it is bad.
    bool is_bad() const {
        return !rest_size_ && bool(first.error);
    }

  protected:
    // What a view is beside the bytes that it points to: no metadata, and the framing of the first of `size` bytes.
    // Those behind them become 0.
    static void frame(View &view, uint8_t *bytes, size_t size) {
        const size_t used = std::min(size, SIZE);
        for (size_t i = used; i < SIZE; i += 8)
            std::memset(bytes + i, 0, 8);
        view.meta = {};
        view.error = view.sop = {};
        view.empty = decltype(view.empty)(SIZE - used);
        view.eop = Uint<1>(size <= SIZE);
    }
    // The bytes of the first flit stay where they are.
    Packet<Flit> *copied(const View &view, Buffer *buffer) const {
        Packet<Flit> *copy = Packet<Flit>::taken();
        copy->first = view;
        hand_rest(*copy, buffer);
        return copy;
    }
    void hand_rest(Packet<Flit> &to, Buffer *buffer) const {
        to.rest_ = rest_;
        to.rest_size_ = rest_size_;
        to.flits_ = flits_;
        to.buffer_ = buffer;
    }

    const uint8_t *rest_ = nullptr; // bytes behind the first flit as they arrived
    uint32_t rest_size_ = 0, flits_ = 1;
    Buffer *buffer_ = nullptr; // that they are in, and the first flit, but of copies
};

// A packet of the pool, where it is again when it is released. Elements may have made it.
template <class Flit> class Packet : public Arrived<Flit> {
    using Base = Arrived<Flit>;

  public:
    using View = typename Base::View;
    using Base::first;
    using Base::SIZE;

    static Packet *arrived(const Arriving &from, unsigned lane) {
        Packet *packet = taken();
        packet->arrive(from, lane);
        return packet;
    }
    // One that begins with this flit.
    static Packet *begun(const Flit &flit) {
        Packet *packet = taken();
        packet->first.data.point_to(packet->own_);
        packet->first = flit;
        packet->flits_ = 1;
        packet->rest_size_ = 0;
        packet->buffer_ = nullptr;
        return packet;
    }
    void add(const Flit &flit) {
        more_.push_back(flit);
        flits_++;
    }
    Packet *kept() {
        return this;
    }
    Packet *copied(const Flit &other) const {
        Packet *copy = Base::copied(other);
        copy->more_ = more_;
        return copy;
    }
    void release() {
        Base::release();
        more_.clear();
        pool_.push_back(this);
    }
    // Gives its buffer away. Its bytes are there until it is released; those of an element are put into `bytes`.
    Leaving leave(Bytes &bytes) {
        if (more_.empty())
            return Base::leave();
        bytes.clear();
        write(bytes);
        return {bytes.data(), bytes.size(), 0, this->time(), is_bad(), nullptr};
    }
    Flit flit(size_t index) const {
        return more_.empty() ? Base::flit(index) : more_[index - 1];
    }
    bool is_bad() const {
        return more_.empty() ? Base::is_bad() : bool(more_.back().error);
    }
    // Appends the bytes.
    void write(Bytes &bytes) const {
        const auto *head = reinterpret_cast<const uint8_t *>(first.data.words());
        bytes.insert(bytes.end(), head, head + SIZE - first.empty.saturated());
        bytes.insert(bytes.end(), rest_, rest_ + rest_size_);
        for (const Flit &flit : more_) {
            const auto words = to_words(flit.data);
            const auto *from = reinterpret_cast<const uint8_t *>(words.data());
            bytes.insert(bytes.end(), from, from + SIZE - flit.empty.saturated());
        }
    }

  private:
    friend Base;
    using Base::buffer_;
    using Base::flits_;
    using Base::rest_;
    using Base::rest_size_;

    static Packet *taken() {
        if (pool_.empty())
            add_slab();
        Packet *packet = pool_.back();
        pool_.pop_back();
        return packet;
    }
    [[gnu::noinline]] static void add_slab() {
        constexpr size_t SLAB = 256;
        slabs_.push_back(std::make_unique<Packet[]>(SLAB));
        for (size_t i = SLAB; i-- > 0;)
            pool_.push_back(&slabs_.back()[i]);
    }

    static inline std::vector<std::unique_ptr<Packet[]>> slabs_;
    static inline std::vector<Packet *> pool_; // of those that are free

    std::vector<Flit> more_;     // flits behind the first as an element wrote them
    uint64_t own_[SIZE / 8 + 2]; // bytes of the first flit of a packet without a buffer, or of a copy
};

} // namespace sluice

#endif
