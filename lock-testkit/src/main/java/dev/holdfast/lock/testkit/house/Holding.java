package dev.holdfast.lock.testkit.house;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LossReason;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** A lock that a {@link ClientProgram} got, and until when its guarded code believed in it. */
final class Holding {
    final Lease lease;
    final String name;
    final long token;
    final long startNanos = System.nanoTime();
    private final AtomicInteger losses = new AtomicInteger();
    private volatile long validNanos = startNanos;

    Holding(Lease lease) {
        this.lease = lease;
        this.name = lease.name();
        this.token = lease.token();
    }

    /** As guarded code does before each step: the clock is read first, so that a pause between the two is not counted as belief. */
    void look() {
        long nowNanos = System.nanoTime();
        if (lease.isValid()) {
            validNanos = nowNanos;
        }
    }

    /** The client's listener was told of the loss. */
    void lost() {
        losses.incrementAndGet();
    }

    /** For {@link Report#parse}. */
    String line() {
        LossReason reason = lease.lost().toCompletableFuture().getNow(null);
        return String.join(
                " ",
                name,
                Long.toString(token),
                Long.toString(startNanos),
                Long.toString(validNanos),
                Integer.toString(losses.get()),
                String.valueOf(reason),
                Boolean.toString(lease.isValid()));
    }

    /**
     * What the program tells of one.
     *
     * @param name the lock's name, without spaces
     * @param token its token
     * @param startNanos when the acquisition had returned
     * @param validNanos the last instant at which the lease was valid
     * @param losses how often its loss was reported to a listener
     * @param reason why it was lost; null if it was not
     * @param valid whether it is valid now
     */
    record Report(
            String name,
            long token,
            long startNanos,
            long validNanos,
            int losses,
            @Nullable LossReason reason,
            boolean valid) {
        static Report parse(String line) {
            String[] words = line.split(" ");
            return new Report(
                    words[0],
                    Long.parseLong(words[1]),
                    Long.parseLong(words[2]),
                    Long.parseLong(words[3]),
                    Integer.parseInt(words[4]),
                    words[5].equals("null") ? null : LossReason.valueOf(words[5]),
                    Boolean.parseBoolean(words[6]));
        }
    }
}
