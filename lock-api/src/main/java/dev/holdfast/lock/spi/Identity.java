package dev.holdfast.lock.spi;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.spi.support.LocalHost;
import java.time.Instant;

/**
 * Identifies the process that holds or awaits a lock, for {@link LockBackend#holder}. Immutable.
 *
 * @param who free text of the user, possibly empty
 * @param host the host's name
 * @param pid the process id
 */
public record Identity(String who, String host, long pid) {

    /**
     * Describes this process.
     *
     * @param who free text of the user
     * @return the identity
     */
    public static Identity ofThisProcess(String who) {
        return new Identity(who, LocalHost.NAME, ProcessHandle.current().pid());
    }

    /**
     * Returns the identity as one line of text, to be stored with a grant.
     *
     * @return at most about 400 characters, without line breaks
     */
    public String encoded() {
        return pid + " " + host + " " + who;
    }

    /**
     * Describes a grant to this identity, for {@link LockBackend#holder}.
     *
     * @param token as in {@link Grant#token()}
     * @param since when it was granted, by the store's clock
     * @return the holder
     */
    public HolderInfo holderInfo(long token, Instant since) {
        return new HolderInfo(who, host, pid, since, token);
    }

    /**
     * Describes a grant to this identity, for {@link LockBackend#holders}, or its entry in a queue.
     *
     * @param token as in {@link Grant#token()}
     * @param since when it was granted, by the store's clock
     * @param demand what it holds or waits for
     * @param slot as in {@link Grant#slot()}
     * @return the holder
     */
    public HolderInfo holderInfo(long token, Instant since, Demand demand, int slot) {
        return new HolderInfo(who, host, pid, since, token, demand, slot);
    }

    /**
     * Parses a text written by {@link #encoded}; any other text becomes an identity whose {@code who} is the whole text.
     *
     * @param text the stored text
     * @return the identity
     */
    public static Identity decode(String text) {
        String[] parts = text.split(" ", 3);
        if (parts.length == 3 && parts[0].matches("\\d{1,18}")) {
            return new Identity(parts[2], parts[1], Long.parseLong(parts[0]));
        }
        return new Identity(text, "", 0);
    }
}
