package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.ClientThreads;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.options.LeaseOption;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A jetcd client that is replaced when its connection is useless.
 *
 * <p>Before its first call after an idle time: firewalls, NATs and load balancers drop idle connections without notice, some after
 * a minute. The first call on such a connection would have no answer, so a single {@code tryLock} every hour would fail each
 * time. etcd does not allow pings on idle connections, and a request now and then would cost an idle client something. No call is
 * under way then: calls end after the request time-out, and waiting clients poll.
 *
 * <p>And when its calls have no answers while a call on another connection has one. Netty ends the thread of a connection at an
 * Error, as in a full heap, and gRPC waits for that thread for ever, or fails each call. A store that answers nobody has no effect.
 *
 * <p>Thread-safe.
 */
public final class FreshClient implements ClientSource {
    private static final BackgroundLog LOG = BackgroundLog.of(FreshClient.class);

    /** After so many calls without an answer, and none with one between them, another connection is tried. */
    static final int UNANSWERED = 3;

    private static final long ANSWER_MILLIS = 5_000;

    /** The server answers that it has no such lease, which needs no right. */
    private static final long NO_LEASE = 1;

    /** Below the idle limit of usual devices, which is a minute or more. */
    public static final Duration MAX_IDLE = Duration.ofSeconds(45);

    private final Supplier<OwnClient> factory;
    private final Duration requestTimeout;
    private final LongSupplier nanos;
    private final Executor elsewhere;
    private final ReentrantLock mutex = new ReentrantLock();
    private volatile OwnClient current;
    private volatile long lastNanos;
    private final AtomicInteger unanswered = new AtomicInteger();
    private final AtomicBoolean trying = new AtomicBoolean();
    /** Clients whose calls had no answers, for as long as one may be waited for. */
    private final List<OwnClient> replaced = new CopyOnWriteArrayList<>();

    private boolean closed;

    /**
     * Creates it with its first client.
     *
     * @param factory creates clients without connecting
     * @param requestTimeout how long a call waits for its answer at most
     * @param nanos the monotonic clock
     */
    public FreshClient(OwnClient first, Supplier<OwnClient> factory, Duration requestTimeout, LongSupplier nanos) {
        this(
                first,
                factory,
                requestTimeout,
                nanos,
                task -> ClientThreads.daemon("holdfast-etcd-connect", task).start());
    }

    FreshClient(
            OwnClient first,
            Supplier<OwnClient> factory,
            Duration requestTimeout,
            LongSupplier nanos,
            Executor elsewhere) {
        this.factory = factory;
        this.requestTimeout = requestTimeout;
        this.nanos = nanos;
        this.elsewhere = elsewhere;
        this.current = first;
        this.lastNanos = nanos.getAsLong();
    }

    @Override
    public Client get() {
        if (isIdle()) {
            replace();
        }
        lastNanos = nanos.getAsLong();
        return current.jetcd();
    }

    private boolean isIdle() {
        return nanos.getAsLong() - lastNanos >= MAX_IDLE.toNanos();
    }

    private void replace() {
        OwnClient before;
        mutex.lock();
        try {
            if (closed || !isIdle()) {
                return;
            }
            before = current;
            current = factory.get();
            lastNanos = nanos.getAsLong();
        } finally {
            mutex.unlock();
        }
        elsewhere.execute(before::close);
    }

    @Override
    public void answered() {
        if (unanswered.get() != 0) {
            unanswered.set(0);
        }
    }

    @Override
    public void unanswered() {
        if (unanswered.incrementAndGet() >= UNANSWERED && trying.compareAndSet(false, true)) {
            begin(() -> elsewhere.execute(() -> begin(() -> tryAnother(factory.get()))));
        }
    }

    private void begin(Runnable step) {
        boolean begun = false;
        try {
            step.run();
            begun = true;
        } catch (OutOfMemoryError e) {
            // A later call tries again.
        } finally {
            if (!begun) {
                trying.set(false);
            }
        }
    }

    private void tryAnother(OwnClient another) {
        EtcdCalls.guarded(() -> another.jetcd().getLeaseClient().timeToLive(NO_LEASE, LeaseOption.DEFAULT))
                .orTimeout(ANSWER_MILLIS, TimeUnit.MILLISECONDS)
                .whenComplete((answer, failure) -> settle(another, failure == null));
    }

    /** Each step may be without memory. Nothing is closed on the thread of the new connection, where renewals are answered. */
    private void settle(OwnClient another, boolean answered) {
        OwnClient before = null;
        try {
            before = answered ? replaceUnanswered(another) : null;
        } finally {
            trying.set(false);
            OwnClient unused = before;
            elsewhere.execute(unused == null ? another::close : () -> closeLater(unused));
        }
    }

    /** Returns the client that was used before; null if that one stays. */
    private @Nullable OwnClient replaceUnanswered(OwnClient another) {
        mutex.lock();
        try {
            if (closed || unanswered.get() < UNANSWERED) {
                return null;
            }
            OwnClient before = current;
            replaced.add(before); // what needs memory comes before what changes state
            current = another;
            unanswered.set(0);
            return before;
        } finally {
            mutex.unlock();
        }
    }

    /** Its calls are left to their time-outs: one that is cancelled reports that the client is closed. Its watches begin again. */
    private void closeLater(OwnClient before) {
        LOG.warn("calls on the connection to etcd had no answer while another connection had one:"
                + " the other one is used from now on");
        try {
            before.jetcd().getWatchClient().close();
        } catch (RuntimeException e) {
            LOG.debug("watches of the connection before could not be closed", e);
        }
        CompletableFuture.delayedExecutor(requestTimeout.toMillis(), TimeUnit.MILLISECONDS, elsewhere)
                .execute(() -> {
                    if (replaced.removeIf(each -> each == before)) {
                        before.close();
                    }
                });
    }

    /** Closes its clients; there will be no other. */
    public void close() {
        mutex.lock();
        try {
            closed = true;
        } finally {
            mutex.unlock();
        }
        current.close();
        replaced.forEach(OwnClient::close);
    }
}
