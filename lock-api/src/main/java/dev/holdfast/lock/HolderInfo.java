package dev.holdfast.lock;

import dev.holdfast.lock.text.Printable;
import java.time.Instant;

/**
 * A holder of a lock, as recorded on the server. Immutable. The texts come from other processes and are not trusted: control,
 * format and bidirectional characters are escaped, and long texts are truncated, so that both are safe to print.
 *
 * @param who the client's {@link LockClientOptions#who()}, possibly empty; at most 256 characters before escaping
 * @param host the host name of the holder's process
 * @param pid the process id of the holder's process
 * @param since when the lock was granted, by the server's clock where it has one; on etcd, when the holder sent its first
 *     request, by the holder's clock
 * @param token the fencing token of the grant; a hand-off between threads of the holder's process raises the token that its
 *     leases report, but not this one; with Redlock it may be greater than the grant's, if a master that answered late
 *     assigned a greater one
 * @param demand what it holds or waits for
 * @param slot its {@linkplain Permit#slot() slot} if it holds permits; otherwise 0
 */
public record HolderInfo(String who, String host, long pid, Instant since, long token, Demand demand, int slot) {
    private static final int MAX_LENGTH = 256;

    /**
     * Escapes unprintable characters in the texts.
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
        who = Printable.of(who, MAX_LENGTH);
        host = Printable.of(host, MAX_LENGTH);
    }

    /**
     * Describes the holder of an exclusive lock.
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
