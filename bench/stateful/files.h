// SPDX-License-Identifier: Apache-2.0
// Files of items of fixed size that the benchmark writes for its harnesses.
#ifndef BENCH_STATEFUL_FILES_H
#define BENCH_STATEFUL_FILES_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

struct Packet {
    uint8_t bytes[112]; // pipeline_phv_t
};

// All items of a file. Ends the program if there is no such file.
template <typename Item> std::vector<Item> read_all(const char *path) {
    std::FILE *file = std::fopen(path, "rb");
    if (!file) {
        std::perror(path);
        std::exit(2);
    }
    std::vector<Item> items;
    for (Item item; std::fread(&item, sizeof item, 1, file) == 1;)
        items.push_back(item);
    std::fclose(file);
    return items;
}

#endif
