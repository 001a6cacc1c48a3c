.element Average (packet in -> packet out) {
    .state { uint total; int balance; }
    .handler {
        flit x = read(in);
        total += x.meta.length;
        if (total > balance) balance = total / balance;
        write(out, x);
    }
}
