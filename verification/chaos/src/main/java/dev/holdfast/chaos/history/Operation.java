package dev.holdfast.chaos.history;

import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition and what became of it, put together from its events. Instants are nanoseconds since the run's origin;
 * {@link #NEVER} where there was no such event. Filled by one thread, then only read.
 */
public final class Operation {
    /** No such event. */
    public static final long NEVER = Long.MIN_VALUE;

    /**
     * An inner hold of the same thread.
     *
     * @param call when it was asked for
     * @param returned when it returned; {@link #NEVER} if it did not
     * @param token what it said
     * @param exit when it was about to end
     */
    public record Reentry(long call, long returned, long token, long exit) {}

    /** The process: client and incarnation. */
    public final Process process;

    /** The worker thread. */
    public final int thread;

    /** The lock's number. */
    public final int name;

    /** How it was asked for. */
    public final OpKind kind;

    /** When it was about to be asked for. */
    public final long invoked;

    /** What was asked for. */
    public Demand demand = Demand.EXCLUSIVE;

    /** Which slot came with it; zero if it was not for permits. */
    public int slot;

    /** When it had returned with a lease. */
    public long acquired = NEVER;

    /** When it had ended without one. */
    public long failed = NEVER;

    /** How it ended without one. */
    public Outcome failure = Outcome.OK;

    /** The fencing token. */
    public long token;

    /** The last instant at which the lease was found valid. */
    public long confirmed = NEVER;

    /** The same, if a store's end of the session was noticed late: {@link #confirmed} is earlier then. */
    public long believed = NEVER;

    /** When the lease was first found invalid. */
    public long invalid = NEVER;

    /** When the holder saw the loss. */
    public long lost = NEVER;

    /** How many times it was reported. */
    public int losses;

    /** When its release was about to be asked for. */
    public long release = NEVER;

    /** When the release had returned. */
    public long released = NEVER;

    /** How the release ended. */
    public Outcome releaseOutcome = Outcome.OK;

    /** The multi-lock that it is a part of; null if it is alone. */
    public @Nullable Part part;

    /** When it was looked for what a failed multi-lock has left; {@link #NEVER} if it was not. */
    public long probed = NEVER;

    /** Whether the first lock of a failed multi-lock was still held then. */
    public boolean leftHalf;

    /** When the leader was interrupted. */
    public long told = NEVER;

    /** How many times the leader was revoked. */
    public int revocations;

    /** How many times a callback was called while another one of the same candidate ran. */
    public int together;

    /** How long the candidate did not stand after {@link #invoked}, in nanoseconds. */
    public long rests;

    /** How old the last renewal of a bystander has been at most, in nanoseconds; 0 if it was never more than half of the lease. */
    public long renewalAge;

    /** The inner holds. */
    public final List<Reentry> reentries = new ArrayList<>();

    /**
     * Makes an operation that was only asked for.
     *
     * @param process who
     * @param thread which worker
     * @param name which lock
     * @param kind how
     * @param invoked when
     */
    public Operation(Process process, int thread, int name, OpKind kind, long invoked) {
        this.process = process;
        this.thread = thread;
        this.name = name;
        this.kind = kind;
        this.invoked = invoked;
    }

    /**
     * Tells whether the lease was found valid at least once, so that it claims the time from {@link #acquired} to
     * {@link #confirmed}.
     *
     * @return true if it can contradict others
     */
    public boolean claims() {
        return acquired != NEVER && confirmed != NEVER;
    }

    /**
     * Takes back what the holder believed while its store had ended the session, and it could not know.
     *
     * @param nanos for how long at most that may be, before the holder saw the loss
     */
    void noticedLate(long nanos) {
        long loss = Long.MAX_VALUE;
        for (long each : new long[] {invalid, lost, releaseOutcome == Outcome.OK ? NEVER : released}) {
            loss = each == NEVER ? loss : Math.min(loss, each);
        }
        if (claims() && loss - nanos < confirmed) {
            believed = confirmed;
            confirmed = Math.max(acquired, loss - nanos);
        }
    }

    /**
     * Takes back what the holder believed after the server had seen the end of its connection, and nothing told it so.
     *
     * @param instant when that was
     */
    void endedUnseen(long instant) {
        if (claims() && acquired < instant && instant < confirmed) {
            believed = Math.max(believed, confirmed);
            confirmed = instant;
        }
    }

    /**
     * Returns when the acquisition had ended, with a lease or without.
     *
     * @return the instant, or {@link Long#MAX_VALUE} if it never did
     */
    public long answered() {
        return acquired != NEVER ? acquired : failed != NEVER ? failed : Long.MAX_VALUE;
    }

    @Override
    public String toString() {
        return String.format(
                "name %d, client %s thread %d, %s%s, token %d [%.1f ms, %.1f ms]",
                name, process, thread, kind, demandText(), token, acquired / 1e6, confirmed / 1e6);
    }

    private String demandText() {
        return demand == Demand.EXCLUSIVE ? "" : slot == 0 ? " " + demand : " " + demand + " in slot " + slot;
    }

    /**
     * A client process.
     *
     * @param client the client's number
     * @param incarnation how many of its predecessors were killed
     */
    public record Process(int client, int incarnation) {
        @Override
        public String toString() {
            return client + "." + incarnation;
        }
    }
}
