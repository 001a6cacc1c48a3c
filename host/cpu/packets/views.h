// SPDX-License-Identifier: Apache-2.0
// The data of a flit that stays where it arrived. The generated view of a flit has it in the place of the data;
// whatever reads or writes a part of it does so in the packet's own bytes.
#ifndef SLUICE_CPU_VIEWS_H
#define SLUICE_CPU_VIEWS_H

#include "values.h"

namespace sluice {

template <class Data> class InBuffer {
  public:
    using Whole = Data;
    static constexpr unsigned width = Data::width;

    // Where the bytes are; 8 more than there are can be read.
    void point_to(void *bytes) {
        words_ = static_cast<uint64_t *>(bytes);
    }
    const uint64_t *words() const {
        return words_;
    }
    uint64_t *words() {
        return words_;
    }
    operator Data() const {
        Words<Data> words{};
        std::memcpy(words.data(), words_, width / 8);
        return from_words<Data>(words);
    }
    InBuffer &operator=(const Data &data) {
        const auto words = to_words(data);
        std::memcpy(words_, words.data(), width / 8);
        return *this;
    }

  private:
    uint64_t *words_ = nullptr;
};

} // namespace sluice

#endif
