// SPDX-License-Identifier: Apache-2.0
// Memory of large tables on pages of 2 MB, where the system has some: a look-up at random would miss the TLB on small
// ones, and a prefetch waits for that.
#ifndef SLUICE_CPU_LARGE_PAGES_H
#define SLUICE_CPU_LARGE_PAGES_H

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace sluice {

// An allocator whose memory is zeros.
template <class T> class LargePages {
  public:
    using value_type = T;
    LargePages() = default;
    template <class Other> explicit LargePages(const LargePages<Other> &) {}

    T *allocate(size_t count) {
        const size_t size = rounded(count);
        auto *mapped = static_cast<uint8_t *>(
            mmap(nullptr, size + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (mapped == MAP_FAILED)
            throw std::bad_alloc();
        const size_t before = -reinterpret_cast<uintptr_t>(mapped) & (PAGE - 1);
        if (before)
            munmap(mapped, before);
        munmap(mapped + before + size, PAGE - before);
        if (size >= PAGE)
            madvise(mapped + before, size, MADV_HUGEPAGE);
        return reinterpret_cast<T *>(mapped + before);
    }
    void deallocate(T *memory, size_t count) {
        munmap(memory, rounded(count));
    }
    friend bool operator==(const LargePages &, const LargePages &) {
        return true;
    }

  private:
    static constexpr size_t PAGE = size_t{1} << 21, SMALL_PAGE = size_t{1} << 12;
    // Large pages from an eighth of one on: more than the first TLB has room for.
    static size_t rounded(size_t count) {
        const size_t size = count * sizeof(T), page = size >= PAGE / 8 ? PAGE : SMALL_PAGE;
        return (size + page - 1) / page * page;
    }
};

} // namespace sluice

#endif
