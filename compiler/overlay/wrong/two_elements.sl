from_tor -> RoundRobin<N = 1> -> Count -> to_tor
