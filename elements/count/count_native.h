// SPDX-License-Identifier: Apache-2.0
// Count by hand, in C++: one iteration a flit.
#include <cstdint>

template <class Parameters> class count_native {
  public:
    void handler(auto &in, auto &out) {
        const auto x = in.read();
        count_ += x.sop ? 1 : 0;
        out.write(x);
    }
    uint64_t get_count() const {
        return count_;
    }

  private:
    uint64_t count_ = 0;
};
