.element Program (packet in -> packet out) {
    table exact<ushort, uint> t0[4];
    table exact<ushort, uint> t1[4];
    table exact<ushort, uint> t2[4];
    table exact<ushort, uint> t3[4];
    table exact<ushort, uint> t4[4];
    table exact<ushort, uint> t5[4];
    table exact<ushort, uint> t6[4];
    table exact<ushort, uint> t7[4];
    table exact<ushort, uint> t8[4];
    table exact<ushort, uint> t9[4];
    table exact<ushort, uint> t10[4];
    table exact<ushort, uint> t11[4];
    table exact<ushort, uint> t12[4];
    table exact<ushort, uint> t13[4];
    table exact<ushort, uint> t14[4];
    table exact<ushort, uint> t15[4];
    .handler {
        flit x = read(in);
        ushort *word = (ushort *) &x.data;
        uint value;
        if (x.sop) {
            if (t0.lookup(word[0], value)) x.meta.mark = value;
            if (t1.lookup(word[1], value)) x.meta.mark = value;
            if (t2.lookup(word[2], value)) x.meta.mark = value;
            if (t3.lookup(word[3], value)) x.meta.mark = value;
            if (t4.lookup(word[4], value)) x.meta.mark = value;
            if (t5.lookup(word[5], value)) x.meta.mark = value;
            if (t6.lookup(word[6], value)) x.meta.mark = value;
            if (t7.lookup(word[7], value)) x.meta.mark = value;
            if (t8.lookup(word[8], value)) x.meta.mark = value;
            if (t9.lookup(word[9], value)) x.meta.mark = value;
            if (t10.lookup(word[10], value)) x.meta.mark = value;
            if (t11.lookup(word[11], value)) x.meta.mark = value;
            if (t12.lookup(word[12], value)) x.meta.mark = value;
            if (t13.lookup(word[13], value)) x.meta.mark = value;
            if (t14.lookup(word[14], value)) x.meta.mark = value;
            if (t15.lookup(word[15], value)) x.meta.mark = value;
        }
        write(out, x);
    }
}
Program :: program @
from_tor -> program -> to_tor
