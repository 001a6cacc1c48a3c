Count :: cnt @
Tea :: tee
from_tor -> cnt -> tee [1] -> to_tor
tee [2] -> Drop
