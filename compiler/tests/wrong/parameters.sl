.element Limit <K, T = packet> (T in -> T out) {
    .handler { write(out, read(in)); }
}
Limit :: a
Limit<L = 3> :: b
Limit<1, packet, 4> :: c
Limit<K = 1, K = 2> :: d
Limit<K = cnt> :: e
