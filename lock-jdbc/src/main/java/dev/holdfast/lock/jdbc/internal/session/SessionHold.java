package dev.holdfast.lock.jdbc.internal.session;

import dev.holdfast.lock.jdbc.internal.sql.SessionKey;
import dev.holdfast.lock.spi.Grant;
import org.jspecify.annotations.Nullable;

/** What has a lock from a session, or requests it. */
interface SessionHold {
    SessionKey key();

    /** Whether it shares its lock with other readers. */
    boolean reads();

    long token();

    /** Ends this hold if its session has ended; returns the grant that has ended with it, or null. */
    @Nullable Grant endWithSession();
}
