package dev.holdfast.lock.spi.support;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.text.Printable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Explains why a client could not connect: the address and the root cause in one line, and whether to retry or to correct
 * something. Most client libraries report only that connecting failed, and some report nothing. So this class probes each
 * server's port: whether it is open, speaks TLS, and answers like the store.
 *
 * <p>Probing starts with the failure, or after a third of the time that connecting may take, so that a failure at the end of
 * that time can be explained without delay. It costs nothing if connecting is quick. Create one instance per {@code connect},
 * and close it.
 *
 * <p>Thread-safe.
 */
public final class ConnectDiagnosis implements AutoCloseable {
    private static final long MIN_MILLIS = 100;

    /**
     * The target of a connection.
     *
     * @param address the address for messages, without secrets, such as {@code redis://localhost:6379}
     * @param servers the servers' names and ports; the first eight are probed, and none if the list is empty
     * @param secure whether the connection should be encrypted
     * @param otherForm how to write the opposite, such as {@code rediss://}
     */
    public record Target(String address, List<LockUri.Host> servers, boolean secure, String otherForm) {
        private static final int MAX_SERVERS = 8;

        /**
         * Copies the list.
         *
         * @param address as above
         * @param servers as above
         * @param secure as above
         * @param otherForm as above
         */
        public Target {
            servers = List.copyOf(servers.subList(0, Math.min(MAX_SERVERS, servers.size())));
        }
    }

    private final String address;
    private final List<LockUri.Host> servers;
    private final List<PortProbe> probes;
    private final FailureTranslator failures;
    private final long deadlineNanos;
    private final CompletableFuture<Void> soon = new CompletableFuture<>();
    private final ReentrantLock mutex = new ReentrantLock();
    private @Nullable List<CompletableFuture<PortProbe.Finding>> findings;
    private boolean closed;

    /**
     * Schedules the probes.
     *
     * @param target the target of the connection
     * @param greeting how a server is recognised
     * @param failures the store's translator; failures that it translates to a refusal need no probe
     * @param deadlineNanos when connecting has to end, by {@link System#nanoTime}, in nanoseconds
     */
    public ConnectDiagnosis(Target target, Greeting greeting, FailureTranslator failures, long deadlineNanos) {
        this.address = target.address();
        this.servers = target.servers();
        this.failures = failures;
        this.deadlineNanos = deadlineNanos;
        this.probes = servers.stream()
                .map(server -> new PortProbe(greeting, target.secure(), target.otherForm()))
                .toList();
        Executor later = CompletableFuture.delayedExecutor(
                Math.max(0, (deadlineNanos - System.nanoTime()) / 3), TimeUnit.NANOSECONDS, Runnable::run);
        soon.completeAsync(() -> null, later);
        soon.thenRun(this::look);
    }

    /**
     * Explains a failure to connect. Blocks at most until the deadline, or briefly if it has passed.
     *
     * @param failure the client library's failure
     * @return the exception to throw: a {@link LockConfigurationException} if a retry cannot help, else a {@link
     *     LockUnavailableException}; the unwrapped failure is its cause
     */
    public RuntimeException explain(Throwable failure) {
        Throwable cause = FailureTranslator.unwrap(failure);
        RuntimeException known = failures.translate("connecting to " + address, cause);
        if (known instanceof LockConfigurationException
                || known instanceof LockException already && already == cause
                || !(known instanceof LockException)) {
            return known;
        }
        PortProbe.Finding finding = finding();
        String observation = finding.observation();
        if (observation == null) {
            String seen = cause instanceof TimeoutException && cause.getMessage() == null
                    ? "not ready in time; if the server answers others, this machine is busy: try again, or set a longer"
                            + " requestTimeout"
                    : FailureTranslator.rootOf(cause) + "; check the server and try again";
            return new LockUnavailableException("connecting to " + address + ": " + seen, cause);
        }
        String message = "connecting to " + address + ": " + Printable.of(observation) + "; " + finding.remedy();
        return finding.lasting()
                ? new LockConfigurationException(message, cause)
                : new LockUnavailableException(message, cause);
    }

    /**
     * Returns whether a probed server has answered like the store, or none was probed, so that a longer wait may help. Blocks
     * like {@link #explain}.
     *
     * @return true if so
     */
    public boolean isAnswering() {
        return finding().observation() == null;
    }

    /** Cancels probes that have not started; called when connecting has ended. Idempotent. */
    @Override
    public void close() {
        mutex.lock();
        try {
            closed = true;
        } finally {
            mutex.unlock();
        }
        soon.cancel(false);
    }

    private List<CompletableFuture<PortProbe.Finding>> look() {
        mutex.lock();
        try {
            List<CompletableFuture<PortProbe.Finding>> begun = findings;
            if (begun == null) {
                begun = new ArrayList<>();
                for (int i = 0; i < probes.size() && !closed; i++) {
                    begun.add(look(probes.get(i), servers.get(i)));
                }
                findings = begun;
            }
            return begun;
        } finally {
            mutex.unlock();
        }
    }

    private CompletableFuture<PortProbe.Finding> look(PortProbe probe, LockUri.Host server) {
        CompletableFuture<PortProbe.Finding> found = new CompletableFuture<>();
        long untilNanos = Math.max(deadlineNanos, System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(MIN_MILLIS));
        // A separate thread, since name resolution may hang for longer than the deadline.
        Thread thread = ClientThreads.daemon(
                "holdfast-connect-diagnosis",
                () -> found.complete(probe.look(server, untilNanos - TimeUnit.MILLISECONDS.toNanos(MIN_MILLIS) / 2)));
        thread.start();
        return found;
    }

    /** Combines the findings of all servers: lasting if all are lasting, and none if one server has no problem. */
    private PortProbe.Finding finding() {
        List<PortProbe.Finding> seen = new ArrayList<>();
        for (CompletableFuture<PortProbe.Finding> each : look()) {
            seen.add(await(each));
        }
        if (seen.isEmpty() || seen.contains(PortProbe.Finding.NONE)) {
            return PortProbe.Finding.NONE;
        }
        if (seen.stream().distinct().count() == 1) {
            return seen.get(0);
        }
        StringBuilder all = new StringBuilder();
        for (int i = 0; i < seen.size(); i++) {
            all.append(i == 0 ? "" : ", ")
                    .append(servers.get(i).name())
                    .append(':')
                    .append(servers.get(i).port())
                    .append(": ")
                    .append(seen.get(i).observation());
        }
        return new PortProbe.Finding(
                all.toString(), seen.get(0).remedy(), seen.stream().allMatch(PortProbe.Finding::lasting));
    }

    private PortProbe.Finding await(CompletableFuture<PortProbe.Finding> finding) {
        long millis = TimeUnit.NANOSECONDS.toMillis(deadlineNanos - System.nanoTime());
        try {
            return Answers.get(finding, Math.max(MIN_MILLIS, millis), TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return new PortProbe.Finding(
                    "the server does not answer", "check the server, the address and the network", false);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return PortProbe.Finding.NONE;
        } catch (ExecutionException e) {
            return PortProbe.Finding.NONE;
        }
    }
}
