package dev.holdfast.lock.cli;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.cli.process.CommandFailedException;
import dev.holdfast.lock.cli.process.GuardedProcess;
import dev.holdfast.lock.cli.process.PosixSignal;
import dev.holdfast.lock.cli.process.Signals;
import dev.holdfast.lock.cli.process.Supervisor;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/** Runs a program under an acquired lease, for {@code run} and {@code elect}. */
final class LockRunner {
    private final LeaseOptions options;
    private final Signals signals;
    private final Consumer<String> messages;

    LockRunner(LeaseOptions options, Signals signals, Consumer<String> messages) {
        this.options = options;
        this.signals = signals;
        this.messages = messages;
    }

    /** The lock, if the name is one and the store can keep the lease. */
    DistributedLock lock(LockClient client, String name) {
        try {
            return client.lock(name, options.lockOptions());
        } catch (IllegalArgumentException e) {
            throw new UsageException(String.valueOf(e.getMessage()));
        }
    }

    /**
     * Runs a program, unless a signal asked us to end or the lease is over already, and closes the lease when it has ended.
     * Returns the exit status.
     */
    int run(Lease lease, List<String> command) throws InterruptedException, CommandFailedException {
        try {
            Optional<PosixSignal> asked = signals.asked();
            if (asked.isPresent()) {
                Thread.interrupted(); // or the release would not be sent
                return asked.get().status();
            } else if (!lease.isValid()) {
                messages.accept("the lease ended before the command began");
                return ExitStatus.LOST;
            }
            return supervised(lease, command);
        } finally {
            close(lease);
        }
    }

    private int supervised(Lease lease, List<String> command) throws CommandFailedException, InterruptedException {
        Supervisor supervisor = options.supervisor(messages);
        long begunNanos = System.nanoTime();
        Supervisor.Outcome outcome;
        try (GuardedProcess process = GuardedProcess.start(command, variables(lease), options.removedVariables())) {
            outcome = supervisor.supervise(lease, process, signals);
        }
        if (outcome.lost() && !options.ignoresLoss()) {
            return ExitStatus.LOST;
        }
        keep(lease, begunNanos);
        return outcome.status();
    }

    private static Map<String, String> variables(Lease lease) {
        return Map.of("HOLDFAST_LOCK", lease.name(), "HOLDFAST_TOKEN", Long.toString(lease.token()));
    }

    /** Holds the lock until {@code --min-hold} has passed. A signal ends the wait, and leaves the lock to its lease. */
    private void keep(Lease lease, long begunNanos) {
        long left = options.minHold().toNanos() - (System.nanoTime() - begunNanos);
        if (left <= 0) {
            return;
        }
        CompletableFuture<LossReason> lost = lease.lost().toCompletableFuture();
        try {
            lost.get(left, TimeUnit.NANOSECONDS);
            messages.accept("the lease was lost before --min-hold had passed");
        } catch (InterruptedException e) {
            // The command has ended, with a status of its own.
        } catch (TimeoutException | ExecutionException e) {
            // The time has passed.
        }
    }

    /** The program has ended, so a lost lease was reported already or does not matter any more. */
    private static void close(Lease lease) {
        try {
            lease.close();
        } catch (LeaseLostException e) {
            // The exit status reports it.
        }
    }
}
