// SPDX-License-Identifier: Apache-2.0
/// Receive and count.

import "../../elements/count/count.sl";

Count :: counted @

from_tor -> counted -> to_tor
