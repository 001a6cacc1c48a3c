Tee :: tee
Mux :: mux
from_tor -> tee
tee.out[0] -> [1] mux
tee.out[1] -> [2] mux
mux -> to_tor
