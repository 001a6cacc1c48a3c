Tee<N = 3> :: tee
from_tor -> tee -> to_tor
tee [4] -> Drop
tee.copy[0] -> Drop
tee.out[3] -> Drop
from_lane -> Drop
from_lane[9] -> Drop
