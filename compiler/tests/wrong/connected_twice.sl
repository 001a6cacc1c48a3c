Count :: one
Count :: two
from_tor -> one -> to_tor
from_tor -> two -> to_tor
