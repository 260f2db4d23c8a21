package dev.holdfast.lock.etcd;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import java.util.List;

/**
 * Which slot the key of a waiter for permits is to say next, and what must be true in the moment of that write, because the choice
 * was concluded from it ({@link PermitLine}). Otherwise somebody behind may have had that slot meanwhile, with a higher token.
 * Immutable.
 *
 * @param slot 0: none
 * @param modified the key's revision when it was looked; 0: it was not
 * @param conditions for a write that changes what the key says; a creation needs none, as its token is the highest
 */
record SlotChoice(int slot, long modified, List<Cmp> conditions) {

    /** What the key says anyway, or says when it is created. */
    static SlotChoice repeat(int slot) {
        return new SlotChoice(slot, 0, List.of());
    }

    /** What is true while a key is there that was created then. */
    static Cmp isThere(ByteSequence key, long createRevision) {
        return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.createRevision(createRevision));
    }

    /** What is true while nobody has written to a key since. */
    static Cmp isUnwritten(ByteSequence key, long modRevision) {
        return new Cmp(key, Cmp.Op.EQUAL, CmpTarget.modRevision(modRevision));
    }
}
