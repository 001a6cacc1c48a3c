// SPDX-License-Identifier: Apache-2.0
/// Discards its tokens; use `a -> Drop` for an output that is not needed.

.element Drop <T = packet> (T in ->) {
    .handler { read(in); }
}
