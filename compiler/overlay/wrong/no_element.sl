Mux :: mux
from_lane[0] -> [1] mux
from_lane[1] -> [2] mux
mux -> to_lane[0]
