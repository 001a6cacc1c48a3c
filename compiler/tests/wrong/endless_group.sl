.element_group Endless (packet in -> packet out) {
    in -> Endless -> out
}
from_tor -> Endless -> to_tor
