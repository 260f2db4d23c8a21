package dev.holdfast.chaos.client;

import dev.holdfast.chaos.history.EventLog;
import dev.holdfast.chaos.history.Kind;
import dev.holdfast.chaos.history.OpKind;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.chaos.history.Part;
import dev.holdfast.lock.Demand;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.Permit;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;

/** Writes down one operation. The instants that matter are read before what they are about. */
final class Hold {
    private final EventLog log;
    private final int thread;
    private final int name;
    private final OpKind kind;
    final int operation;
    private boolean invalidSeen;

    Hold(EventLog log, int thread, int name, OpKind kind) {
        this(log, thread, name, kind, Demand.EXCLUSIVE);
    }

    Hold(EventLog log, int thread, int name, OpKind kind, Demand demand) {
        this.log = log;
        this.thread = thread;
        this.name = name;
        this.kind = kind;
        this.operation = log.nextOperation();
        write(Kind.INVOKE, kind.ordinal(), System.nanoTime(), 0);
        log.demand(thread, name, operation, demand);
    }

    /** As a part of several locks, all of which have the same number. */
    void part(Part part) {
        write(Kind.PART, 0, System.nanoTime(), part.value());
    }

    /** What is not a lease; its validity is confirmed by the caller. */
    void acquired(long nanos, long token, CompletionStage<?> lost) {
        write(Kind.ACQUIRED, 0, nanos, token);
        lost.thenRun(() -> write(Kind.LOST, 0, System.nanoTime(), 0));
    }

    /** It was valid after that instant. */
    void confirmed(long nanos) {
        write(Kind.CONFIRM, 0, nanos, 0);
    }

    void invalid() {
        if (!invalidSeen) {
            invalidSeen = true;
            write(Kind.INVALID, 0, System.nanoTime(), 0);
        }
    }

    void probed(boolean free) {
        write(Kind.PROBED, free ? 1 : 0, System.nanoTime(), 0);
    }

    void age(long nanos) {
        write(Kind.AGE, 0, System.nanoTime(), nanos);
    }

    void told() {
        write(Kind.TOLD, 0, System.nanoTime(), 0);
    }

    void revoked() {
        write(Kind.REVOKED, 0, System.nanoTime(), 0);
    }

    void together() {
        write(Kind.TOGETHER, 0, System.nanoTime(), 0);
    }

    void rests(long millis) {
        write(Kind.RESTS, 0, System.nanoTime(), millis);
    }

    void acquired(long nanos, Lease lease) {
        write(Kind.ACQUIRED, lease instanceof Permit permit ? permit.slot() : 0, nanos, lease.token());
        lease.lost().thenAccept(reason -> write(Kind.LOST, reason.ordinal(), System.nanoTime(), 0));
        confirm(lease);
    }

    void failed(Outcome outcome) {
        write(Kind.FAILED, outcome.ordinal(), System.nanoTime(), 0);
    }

    boolean confirm(Lease lease) {
        long nanos = System.nanoTime();
        if (lease.isValid()) {
            confirmed(nanos);
            return true;
        }
        invalid();
        return false;
    }

    void reenterCall() {
        write(Kind.REENTER_CALL, 0, System.nanoTime(), 0);
    }

    void reentered(Lease inner) {
        write(Kind.REENTER, 0, System.nanoTime(), inner.token());
    }

    void exit() {
        write(Kind.EXIT, 0, System.nanoTime(), 0);
    }

    void release() {
        write(Kind.RELEASE, 0, System.nanoTime(), 0);
    }

    void released(Outcome outcome) {
        write(Kind.RELEASED, outcome.ordinal(), System.nanoTime(), 0);
    }

    @Override
    public String toString() {
        return "operation " + operation + " of thread " + thread + ", name " + name + ", " + kind;
    }

    private void write(Kind kind, int code, long nanos, long value) {
        log.write(kind, code, thread, name, operation, nanos, value);
    }

    static Outcome outcome(Throwable failure) {
        if (failure instanceof LeaseLostException) {
            return Outcome.LOST;
        }
        if (failure instanceof LockTimeoutException) {
            return Outcome.BUSY;
        }
        if (failure instanceof LockUnavailableException) {
            return Outcome.UNAVAILABLE;
        }
        if (failure instanceof LockClosedException) {
            return Outcome.CLOSED;
        }
        if (failure instanceof CancellationException || failure instanceof InterruptedException) {
            return Outcome.CANCELLED;
        }
        Throwable cause = failure.getCause();
        if ((failure instanceof CompletionException || failure instanceof ExecutionException) && cause != null) {
            return outcome(cause);
        }
        return Outcome.OTHER;
    }
}
