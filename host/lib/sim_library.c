// SPDX-License-Identifier: Apache-2.0
#include "sim_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static int resolve(struct sim_library *it, const char *path, char *text, size_t text_size) {
#define RESOLVE(name)                                                                                                  \
    *(void **)&it->name = dlsym(it->handle, "sim_model_" #name);                                                       \
    if (!it->name) {                                                                                                   \
        snprintf(text, text_size, "%s has no sim_model_" #name "; it is no simulated device", path);                   \
        return -ENODEV;                                                                                                \
    }
    SIM_LIBRARY_CALLS(RESOLVE)
#undef RESOLVE
    it->model = it->new ();
    if (!it->model)
        snprintf(text, text_size, "the device in %s does not start", path);
    return it->model ? 0 : -ENODEV;
}

int sim_library_open(struct sim_library *library, const char *path, char *text, size_t text_size) {
    memset(library, 0, sizeof *library);
    library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library->handle) {
        snprintf(text, text_size, "%s; build the device with shell/sim/build.py", dlerror());
        return -ENODEV;
    }
    int result = resolve(library, path, text, text_size);
    if (result)
        sim_library_close(library);
    return result;
}

void sim_library_close(struct sim_library *library) {
    if (library->model)
        library->free(library->model);
    if (library->handle)
        dlclose(library->handle);
    memset(library, 0, sizeof *library);
}
