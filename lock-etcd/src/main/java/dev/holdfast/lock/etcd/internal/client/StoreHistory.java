package dev.holdfast.lock.etcd.internal.client;

import java.util.concurrent.locks.ReentrantLock;

/**
 * Detects that etcd has lost its data, or has those of an earlier backup. Its revisions then begin again, or go back.
 *
 * <p>The answers of transactions that write go through Raft. So the answer to a request that was sent after an answer
 * with revision R has no lower revision, unless it comes from another history. What was seen of the earlier history is
 * void then. Reads do not count: a member that was paused may answer with an earlier state of the same history
 * (etcd-io/etcd#20418). Thread-safe.
 */
public final class StoreHistory {
    private final ReentrantLock mutex = new ReentrantLock();
    private volatile Sent now = new Sent(0, 0);

    /**
     * What was known when a request was sent. Immutable.
     *
     * @param number the number of the history, from 0 on
     * @param revision the highest revision in any answer of that history
     */
    public record Sent(int number, long revision) {}

    /** What is known now, before a request is sent. */
    public Sent now() {
        return now;
    }

    /** The number of the present history. */
    public int number() {
        return now.number();
    }

    /** Takes the revision of an answer; returns whether it begins another history. */
    public boolean answered(Sent sent, long revision) {
        mutex.lock();
        try {
            if (sent.number() != now.number()) {
                return false;
            }
            boolean begins = revision < sent.revision();
            if (begins || revision > now.revision()) {
                now = new Sent(now.number() + (begins ? 1 : 0), revision);
            }
            return begins;
        } finally {
            mutex.unlock();
        }
    }
}
