// SPDX-License-Identifier: Apache-2.0
/// Takes tokens and forgets them; `a -> Drop` for an output that is not needed.

.element Drop <T = packet> (T in ->) {
    .handler { read(in); }
}
