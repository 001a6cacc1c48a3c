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

constexpr size_t BURST = 64; // packets that go through a loop at once

// Frames that nobody uses any more, on their way back. A library has one owner of all frames.
class Done {
  public:
    static inline Exit *owner = nullptr;
    static void put(Frame *frame) {
        frames_[count_++] = frame;
        if (count_ == BURST)
            flush();
    }
    static void flush() {
        if (count_)
            owner->give_back(frames_, std::exchange(count_, 0));
    }

  private:
    static inline Frame *frames_[BURST];
    static inline size_t count_ = 0;
};

template <class Flit> class Packet;

// A packet as it arrived, on a stack. Whoever is done with it releases it; `kept` moves what it holds into one of the
// pool.
template <class Flit> class Arrived {
  public:
    using View = typename Flit::View;
    using Data = decltype(Flit::data);
    static constexpr size_t SIZE = Data::width / 8; // bytes of a flit

    View first{};

    // A packet of a lane, whose bytes stay where they are. The timestamp is its time of arrival. Bytes of the flit
    // behind the packet become 0, as far as anything looks at them.
    template <size_t DataRead = SIZE> void arrive(Frame *from, uint64_t time, unsigned lane) {
        uint8_t *bytes = from->bytes();
        const size_t size = from->size;
        first.data.point_to(bytes);
        set_framing(first, size);
        clear_behind<std::min(DataRead, SIZE)>(bytes, size);
        first.sop = Uint<1>(1);
        first.meta.ingress_port = decltype(first.meta.ingress_port)(lane);
        first.meta.timestamp = decltype(first.meta.timestamp)(time);
        first.meta.length = decltype(first.meta.length)(size);
        is_bad_ = is_resized_ = false;
        hold(from);
    }
    // Puts all its bytes into a frame that no other packet is in; false where there is no memory, which counts.
    bool own() {
        if (frame_ && frame_->users == 1) {
            set_length();
            return true;
        }
        Frame *frame = copied_frame(lane());
        if (!frame)
            return false;
        release();
        frame_ = frame;
        reframe();
        return true;
    }
    // Moves it into a frame with so much more room in front, once it is in one of its own; false where there is no
    // memory.
    bool move(size_t room) {
        Frame *roomy = Done::owner->allocate(lane(), frame_->size + room);
        if (!roomy)
            return false;
        roomy->start = uint16_t(roomy->start + room);
        roomy->resize(frame_->size);
        std::memcpy(roomy->bytes(), frame_->bytes(), frame_->size);
        Done::put(std::exchange(frame_, roomy));
        reframe();
        return true;
    }
    // The frame, once it is its own. `reframe` is for behind a change of where it begins or ends.
    Frame &frame() {
        return *frame_;
    }
    void reframe() {
        reframe(is_bad());
    }
    void reframe(bool is_bad) {
        first.data.point_to(frame_->bytes());
        set_end(first, frame_->size);
        clear_behind<SIZE>(frame_->bytes(), frame_->size);
        hold(frame_);
        first.error = Uint<1>(is_bad && !rest_size_);
        is_bad_ = is_bad;
    }
    Packet<Flit> *kept() {
        Packet<Flit> *packet = copied(first, frame_);
        frame_ = nullptr;
        return packet;
    }
    // The same behind another first flit.
    Packet<Flit> *copied(const Flit &other) const {
        if (frame_)
            frame_->users++;
        Packet<Flit> *copy = Packet<Flit>::begun(other);
        hand_rest(*copy, frame_);
        return copy;
    }
    void release() {
        if (!frame_)
            return;
        if (frame_->users == 1)
            Done::put(frame_);
        else
            frame_->users--;
    }
    // As a frame that leaves by a lane, and that is no longer its own; none where there is no memory.
    Frame *leave(unsigned lane) {
        if (frame_ && frame_->users == 1) {
            set_length();
            return std::exchange(frame_, nullptr);
        }
        Frame *leaves = copied_frame(lane);
        release();
        frame_ = nullptr;
        return leaves;
    }
    size_t flits() const {
        return flits_;
    }
    // `empty` of its first flit before an iteration, which may have changed it.
    void note_empty(const decltype(View::empty) &before) {
        is_resized_ |= first.empty != before;
    }
    // Flit `index`, not the first.
    Flit flit(size_t index) const {
        const size_t start = (index - 1) * SIZE;
        uint64_t bytes[SIZE / 8 + 1] = {};
        View view{};
        std::memcpy(bytes, rest_ + start, std::min<size_t>(rest_size_ - start, SIZE));
        view.data.point_to(bytes);
        set_framing(view, rest_size_ - start);
        view.error = Uint<1>(is_bad_ && bool(view.eop));
        return view;
    }
    uint64_t time() const {
        return first.meta.timestamp.saturated();
    }
    // Whether its last flit says that it is bad.
    bool is_bad() const {
        return is_bad_ || (!rest_size_ && bool(first.error));
    }

  protected:
    // The lane that it came from.
    unsigned lane() const {
        return unsigned(first.meta.ingress_port.saturated());
    }
    // Where elements have changed `empty` of its only flit. Of others, g++ sees that this is nothing.
    void set_length() {
        if (is_resized_ && rest_size_ == 0)
            frame_->resize(SIZE - first.empty.saturated());
    }
    // What is behind the first flit.
    void hold(Frame *frame) {
        frame_ = frame;
        rest_ = frame->bytes() + SIZE;
        rest_size_ = uint32_t(frame->size > SIZE ? frame->size - SIZE : 0);
        flits_ = rest_size_ ? uint32_t(1 + (rest_size_ + SIZE - 1) / SIZE) : 1;
    }
    // Another frame with its bytes, for this lane; none where there is no memory.
    Frame *copied_frame(unsigned lane) const {
        return frame_with(first.data.words(), SIZE - first.empty.saturated(), rest_, rest_size_, lane);
    }
    // By values: a packet that is in registers need not be in memory for it.
    [[gnu::noinline, gnu::cold]] static Frame *frame_with(const void *begin, size_t size, const uint8_t *rest,
                                                          size_t rest_size, unsigned lane) {
        Frame *frame = Done::owner->allocate(lane, size + rest_size);
        if (!frame)
            return nullptr;
        std::memcpy(frame->bytes(), begin, size);
        if (rest_size)
            std::memcpy(frame->bytes() + size, rest, rest_size);
        frame->resize(size + rest_size);
        return frame;
    }
    // What a view is beside the bytes that it points to: no metadata, and the framing of the first of `size` bytes.
    static void set_framing(View &view, size_t size) {
        view.meta = {};
        view.error = view.sop = {};
        set_end(view, size);
    }
    static void set_end(View &view, size_t size) {
        view.empty = decltype(view.empty)(SIZE - std::min(size, SIZE));
        view.eop = Uint<1>(size <= SIZE);
    }
    // Up to `End`, by whole words, none of which is behind the flit: in a packet of 60 bytes that would be another
    // cache line.
    template <size_t End> static void clear_behind(uint8_t *bytes, size_t used) {
        if (used >= End)
            return;
        uint64_t word;
        const size_t at = used / 8 * 8;
        std::memcpy(&word, bytes + at, 8);
        word &= (uint64_t{1} << (used % 8 * 8)) - 1; // the first bytes are the low ones
        std::memcpy(bytes + at, &word, 8);
        for (size_t i = at + 8; i < End; i += 8)
            std::memset(bytes + i, 0, 8);
    }
    // The bytes of the first flit stay where they are.
    Packet<Flit> *copied(const View &view, Frame *frame) const {
        Packet<Flit> *copy = Packet<Flit>::taken();
        copy->first = view;
        hand_rest(*copy, frame);
        return copy;
    }
    void hand_rest(Packet<Flit> &to, Frame *frame) const {
        to.rest_ = rest_;
        to.rest_size_ = rest_size_;
        to.flits_ = flits_;
        to.frame_ = frame;
        to.is_bad_ = is_bad_;
        to.is_resized_ = true;
    }

    const uint8_t *rest_ = nullptr; // bytes behind the first flit as they arrived
    uint32_t rest_size_ = 0, flits_ = 1;
    Frame *frame_ = nullptr;  // that they are in, and the first flit, but of copies
    bool is_bad_ = false;     // its last flit is, where that is in the frame
    bool is_resized_ = false; // `empty` may be another than in the frame; of packets of the pool it always may
};

// A packet of the pool, where it is again when it is released. Elements may have made it.
template <class Flit> class Packet : public Arrived<Flit> {
    using Base = Arrived<Flit>;

  public:
    using View = typename Base::View;
    using Base::first;
    using Base::SIZE;

    static Packet *arrived(Frame *from, uint64_t time, unsigned lane) {
        Packet *packet = taken();
        packet->arrive(from, time, lane);
        packet->is_resized_ = true;
        return packet;
    }
    // One that begins with this flit.
    static Packet *begun(const Flit &flit) {
        Packet *packet = taken();
        packet->first.data.point_to(packet->own_);
        packet->first = flit;
        packet->flits_ = 1;
        packet->rest_size_ = 0;
        packet->frame_ = nullptr;
        packet->is_bad_ = false;
        packet->is_resized_ = true;
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
    bool own() {
        if (more_.empty()) {
            settle_first();
            return Base::own();
        }
        Frame *frame = made(this->lane());
        if (!frame)
            return false;
        const bool was_bad = is_bad();
        Base::release();
        more_.clear();
        frame_ = frame;
        Base::reframe(was_bad);
        return true;
    }
    Frame *leave(unsigned lane) {
        if (!more_.empty())
            return made(lane);
        settle_first();
        return Base::leave(lane);
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
    using Base::flits_;
    using Base::frame_;
    using Base::is_bad_;
    using Base::is_resized_;
    using Base::rest_;
    using Base::rest_size_;

    // The first flit of a copy goes where it belongs, if nobody else has it there.
    void settle_first() {
        if (frame_ && frame_->users == 1 && first.data.words() == own_) {
            std::memcpy(frame_->bytes(), own_, SIZE - first.empty.saturated());
            first.data.point_to(frame_->bytes());
        }
    }
    // A frame with the bytes that an element wrote.
    Frame *made(unsigned lane) const {
        Bytes bytes;
        write(bytes);
        Frame *frame = Done::owner->allocate(lane, bytes.size());
        if (frame) {
            std::memcpy(frame->bytes(), bytes.data(), bytes.size());
            frame->resize(bytes.size());
        }
        return frame;
    }
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
    uint64_t own_[SIZE / 8 + 2]; // bytes of the first flit of a packet without a frame, or of a copy
};

} // namespace sluice

#endif
