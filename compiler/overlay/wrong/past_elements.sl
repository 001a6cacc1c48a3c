Tee :: tee
Mux :: mux
from_lane[0] -> tee
tee.out[0] -> to_lane[0]
tee.out[1] -> to_lane[1]
from_lane[1] -> [1] mux
from_lane[2] -> [2] mux
mux -> to_lane[2]
