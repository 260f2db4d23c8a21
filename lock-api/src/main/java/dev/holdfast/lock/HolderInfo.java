package dev.holdfast.lock;

import dev.holdfast.lock.text.Printable;
import java.time.Instant;

/**
 * Who holds a lock, as the server recorded it. Immutable. Texts that others stored are not trusted: control, format and
 * bidirectional characters are escaped, and long texts are cut, so that both texts are safe to print.
 *
 * @param who the client's {@link LockClientOptions#who()}, possibly empty; at most 256 characters before escaping
 * @param host the host name of the holder's process
 * @param pid the process id of the holder's process
 * @param since when the lock was granted, by the server's clock where it has one; on etcd when its holder began to ask
 *     for it, by the holder's clock
 * @param token the fencing token of the grant; a hand-off between threads of the holder's process raises the token that
 *     its leases report, not this one; with Redlock it is at least the grant's, as a master that answered late may have given
 *     a greater one
 * @param demand what it holds, or waits for
 * @param slot its {@linkplain Permit#slot() slot} if it holds permits; otherwise 0
 */
public record HolderInfo(String who, String host, long pid, Instant since, long token, Demand demand, int slot) {
    private static final int LONGEST = 256;

    /**
     * Makes the texts printable.
     *
     * @param who any text
     * @param host any text
     * @param pid as above
     * @param since as above
     * @param token as above
     * @param demand as above
     * @param slot as above
     */
    public HolderInfo {
        who = Printable.of(who, LONGEST);
        host = Printable.of(host, LONGEST);
    }

    /**
     * Describes the holder of a lock that is held by one alone.
     *
     * @param who as above
     * @param host as above
     * @param pid as above
     * @param since as above
     * @param token as above
     */
    public HolderInfo(String who, String host, long pid, Instant since, long token) {
        this(who, host, pid, since, token, Demand.EXCLUSIVE, 0);
    }
}
