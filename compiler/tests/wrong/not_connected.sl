Count :: cnt @
Tee :: tee
from_tor -> cnt -> tee [1] -> to_tor
