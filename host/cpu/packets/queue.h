// SPDX-License-Identifier: Apache-2.0
#ifndef SLUICE_CPU_QUEUE_H
#define SLUICE_CPU_QUEUE_H

#include <cstddef>
#include <vector>

namespace sluice {

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
    // The item so many behind the first.
    T &at(size_t index) {
        return items_[head_ + index];
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
