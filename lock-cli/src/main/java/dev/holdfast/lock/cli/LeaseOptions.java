package dev.holdfast.lock.cli;

import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.cli.process.Supervisor;
import java.time.Duration;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** How long the lock is held, and what happens to the command when the lease cannot be renewed. */
final class LeaseOptions {
    private static final Duration GRACE = Duration.ofSeconds(5);

    /** The effect of a loss. */
    enum OnLoss {
        term,
        ignore
    }

    @Option(
            names = "--lease",
            paramLabel = "DUR",
            defaultValue = "15s",
            description =
                    "How long others wait after a crash of this host; renewed while the command runs. Default: ${DEFAULT-VALUE}.")
    private Duration lease = LockOptions.defaults().lease();

    @Option(
            names = "--max-hold",
            paramLabel = "DUR",
            description = "KILL the command by then, and TERM it --grace before. Default: none.")
    private @Nullable Duration maxHold;

    @Option(
            names = "--min-hold",
            paramLabel = "DUR",
            defaultValue = "0s",
            description =
                    "Keep the lock at least that long, even if the command ends earlier: longer than the clocks of your hosts"
                            + " differ, so that a short cron job does not run twice. Default: none.")
    private Duration minHold = Duration.ZERO;

    @Option(
            names = "--stop-time",
            paramLabel = "DUR",
            defaultValue = "60s",
            description =
                    "After a signal has ended the command, keep the lock until everything that it started has ended, and"
                            + " KILL what still runs after this time. Default: ${DEFAULT-VALUE}.")
    private Duration stopTime = Duration.ofSeconds(60);

    @Option(
            names = "--keep-store",
            description =
                    "Leave HOLDFAST_STORE in the environment of the command, which loses it otherwise: it may hold a password.")
    private boolean keepStore;

    @Option(
            names = "--grace",
            paramLabel = "DUR",
            description =
                    "When the lease cannot be renewed, send TERM this long before its end. Default: 5s, or a third of a"
                            + " shorter lease or --max-hold. The KILL comes before the lease ends: one second, or half of a shorter grace.")
    private @Nullable Duration grace;

    @Option(
            names = "--on-loss",
            paramLabel = "term|ignore",
            defaultValue = "term",
            description =
                    "term: end the command when its lease cannot be kept. ignore: say so and let it run, for commands"
                            + " that pass HOLDFAST_TOKEN to what they write. Default: ${DEFAULT-VALUE}.")
    private OnLoss onLoss = OnLoss.term;

    LockOptions lockOptions() {
        LockOptions.Builder options = LockOptions.builder();
        try {
            options.lease(lease);
            if (maxHold != null) {
                options.maxHold(maxHold);
            }
            options.minHold(minHold);
            return options.build();
        } catch (IllegalArgumentException e) {
            throw new UsageException(String.valueOf(e.getMessage()));
        }
    }

    /** Shorter than the rest of a lease just before each renewal, which follows after a third of it. */
    Duration grace() {
        Duration longest = lease.dividedBy(2);
        if (grace == null) {
            Duration shorter = maxHold != null && maxHold.compareTo(lease) < 0 ? maxHold : lease;
            Duration third = shorter.dividedBy(3);
            return third.compareTo(GRACE) < 0 ? third : GRACE;
        }
        if (grace.compareTo(longest) > 0 || grace.isZero()) {
            throw new UsageException(
                    "--grace " + DurationText.of(grace) + " must be more than nothing, and at most half of"
                            + " the lease of " + DurationText.of(lease) + "; lengthen the lease");
        }
        if (maxHold != null && maxHold.compareTo(grace) <= 0) {
            throw new UsageException("--max-hold " + DurationText.of(maxHold) + " must be longer than --grace "
                    + DurationText.of(grace) + ", or the command gets TERM at once");
        }
        return grace;
    }

    boolean ignoresLoss() {
        return onLoss == OnLoss.ignore;
    }

    Duration minHold() {
        return minHold;
    }

    Set<String> removedVariables() {
        return keepStore ? Set.of() : Set.of(StoreOptions.VARIABLE);
    }

    Supervisor supervisor(Consumer<String> messages) {
        return new Supervisor(grace(), stopTime, ignoresLoss(), messages);
    }
}
