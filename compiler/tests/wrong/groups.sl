.element_group Both (packet in -> packet out) {
    in -> Count -> Count
}
from_tor -> Both -> to_tor
