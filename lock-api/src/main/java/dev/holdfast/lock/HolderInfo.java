package dev.holdfast.lock;

import java.time.Instant;

/**
 * Who holds a lock, as the server recorded it. Immutable.
 *
 * @param who the client's {@link ClientOptions#who()}, possibly empty
 * @param host the host name of the holder's process
 * @param pid the process id of the holder's process
 * @param since when the lock was granted, by the server's clock where it has one; on etcd when its holder began to ask
 *     for it, by the holder's clock
 * @param token the fencing token of the grant; a hand-off between threads of the holder's process raises the token that
 *     its leases report, not this one
 */
public record HolderInfo(String who, String host, long pid, Instant since, long token) {}
