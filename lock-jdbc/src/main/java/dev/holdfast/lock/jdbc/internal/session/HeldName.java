package dev.holdfast.lock.jdbc.internal.session;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** A lock that the session has, for one acquisition or for readers. */
final class HeldName {
    final boolean reads;
    final Set<SessionHold> holders = ConcurrentHashMap.newKeySet();
    /** Whether its release has been sent. From then on no reader may join. */
    volatile boolean ending;

    HeldName(boolean reads) {
        this.reads = reads;
    }

    boolean admits(SessionHold acquisition) {
        return reads && acquisition.reads() && !ending;
    }

    boolean isKeptWithout(SessionHold acquisition) {
        return holders.stream().anyMatch(other -> other != acquisition);
    }
}
