.element Nothing (packet in -> packet out) {
    .state { ulong count; ulong count; bolean flag; }
    .init { count = 1; }
}
