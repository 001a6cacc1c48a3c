Tee<N = 9> :: first
Tee<N = 9> :: second
Mux<N = 9> :: between
Mux<N = 9> :: behind
from_lane[0] -> first
.repeat (n, 0, 9) {
    first.out[n] -> [n + 1] between
    second.out[n] -> [n + 1] behind
}
between -> second
behind -> to_lane[0]
