.element Program (packet in -> packet out) {
    .handler {
        flit x = read(in);
        ushort *word = (ushort *) &x.data;
        if (x.sop) {
            if (word[0] >> 0 & 1) word[1] = 0;
            if (word[0] >> 1 & 1) word[2] = 1;
            if (word[0] >> 2 & 1) word[3] = 2;
            if (word[0] >> 3 & 1) word[4] = 3;
            if (word[0] >> 4 & 1) word[5] = 4;
            if (word[0] >> 5 & 1) word[6] = 5;
            if (word[0] >> 6 & 1) word[7] = 6;
            if (word[0] >> 7 & 1) word[8] = 7;
            if (word[0] >> 8 & 1) word[9] = 8;
            if (word[0] >> 9 & 1) word[10] = 9;
            if (word[0] >> 10 & 1) word[11] = 10;
            if (word[0] >> 11 & 1) word[12] = 11;
            if (word[0] >> 12 & 1) word[13] = 12;
            if (word[0] >> 13 & 1) word[14] = 13;
            if (word[0] >> 14 & 1) word[15] = 14;
            if (word[0] >> 15 & 1) word[16] = 15;
        }
        write(out, x);
    }
}
Program :: program
from_tor -> program -> to_tor
