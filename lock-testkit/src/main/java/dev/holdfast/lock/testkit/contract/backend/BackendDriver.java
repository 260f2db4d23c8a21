package dev.holdfast.lock.testkit.contract.backend;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;

/**
 * One acquisition through one backend, driven as the engine does it: each attempt has the ticket of the last busy answer. The
 * static methods call a backend for a grant or a name. All but {@link #send} wait for the answer; what a backend's stage failed
 * with is thrown unchanged, and a backend that does not answer within a minute fails the test.
 *
 * <p>Attempts ask for strict order ({@link AcquireRequest#fair()}). Thread-safe as far as the backend is.
 */
public final class BackendDriver implements AutoCloseable {

    /** The lease of an acquisition that has not named one, in milliseconds: it does not end within a test. */
    public static final long LEASE_MILLIS = 60_000;

    /** For how long a queued acquisition says that it is going to wait, in milliseconds. */
    public static final long WAIT_MILLIS = 60_000;

    /** The time-out of a request that has not named one, in milliseconds. */
    public static final long TIMEOUT_MILLIS = 10_000;

    /** The client that asks. */
    public static final Identity IDENTITY = new Identity("driver", "host-1", 4711);

    private static final Duration ANSWER_PATIENCE = Duration.ofMinutes(1);

    /** Those who ask again and again without waiting have no order, and each busy attempt may cost two writes to a disk. */
    private static final Duration SPIN_PATIENCE = Duration.ofMinutes(2);

    private final LockBackend backend;
    private final AcquisitionId acquisition;
    private final long leaseMillis;
    private volatile @Nullable Ticket ticket;

    private BackendDriver(LockBackend backend, AcquisitionId acquisition, long leaseMillis) {
        this.backend = backend;
        this.acquisition = acquisition;
        this.leaseMillis = leaseMillis;
    }

    /**
     * Starts a new acquisition, with a lease that does not end within a test. Nothing is sent yet.
     *
     * @param backend the backend, not closed by the driver
     * @param name the lock's name
     * @return a driver of it
     */
    public static BackendDriver of(LockBackend backend, String name) {
        return of(backend, name, LEASE_MILLIS);
    }

    /**
     * Starts a new acquisition. Nothing is sent yet.
     *
     * @param backend the backend, not closed by the driver
     * @param name the lock's name
     * @param leaseMillis the lease that it asks for, in milliseconds
     * @return a driver of it
     */
    public static BackendDriver of(LockBackend backend, String name, long leaseMillis) {
        return of(backend, newAcquisition(name), leaseMillis);
    }

    /**
     * Starts a new acquisition of whatever demand. Nothing is sent yet.
     *
     * @param backend the backend, not closed by the driver
     * @param name the lock's name
     * @param demand what it asks for
     * @param leaseMillis the lease that it asks for, in milliseconds
     * @return a driver of it
     */
    public static BackendDriver of(LockBackend backend, String name, Demand demand, long leaseMillis) {
        return of(backend, new AcquisitionId(name, OwnerId.random(), demand), leaseMillis);
    }

    /**
     * Drives an acquisition that the test has made, without a ticket so far.
     *
     * @param backend the backend, not closed by the driver
     * @param acquisition the acquisition
     * @param leaseMillis the lease that it asks for, in milliseconds
     * @return a driver of it
     */
    public static BackendDriver of(LockBackend backend, AcquisitionId acquisition, long leaseMillis) {
        return new BackendDriver(backend, acquisition, leaseMillis);
    }

    /**
     * Returns the id of a new acquisition.
     *
     * @param name the lock's name
     * @return an id with a random owner
     */
    public static AcquisitionId newAcquisition(String name) {
        return new AcquisitionId(name, OwnerId.random());
    }

    /**
     * Returns the backend that is driven.
     *
     * @return the backend
     */
    public LockBackend backend() {
        return backend;
    }

    /**
     * Returns the acquisition that is driven.
     *
     * @return its id, the same for all attempts
     */
    public AcquisitionId acquisition() {
        return acquisition;
    }

    /**
     * Returns the lease that each attempt asks for.
     *
     * @return the lease in milliseconds
     */
    public long leaseMillis() {
        return leaseMillis;
    }

    /**
     * Returns the ticket of the last busy answer that had one.
     *
     * @return the ticket
     * @throws NullPointerException if no answer had one
     */
    public Ticket ticket() {
        return Objects.requireNonNull(ticket, "no busy answer had a ticket");
    }

    /**
     * Sends an attempt and does not wait. A ticket in its answer is not kept.
     *
     * @param waitMillis for how long the caller is going to wait, in milliseconds
     * @return the backend's stage
     */
    public CompletionStage<AcquireResult> send(long waitMillis) {
        return send(waitMillis, TIMEOUT_MILLIS);
    }

    /**
     * Sends an attempt and does not wait. A ticket in its answer is not kept.
     *
     * @param waitMillis for how long the caller is going to wait, in milliseconds
     * @param timeoutMillis the attempt's time-out, in milliseconds
     * @return the backend's stage
     */
    public CompletionStage<AcquireResult> send(long waitMillis, long timeoutMillis) {
        return backend.tryAcquire(
                new AcquireRequest(acquisition, leaseMillis, waitMillis, true, ticket, timeoutMillis, IDENTITY));
    }

    /**
     * Makes one attempt.
     *
     * @param waitMillis for how long the caller is going to wait, in milliseconds
     * @return the answer
     */
    public AcquireResult tryAcquire(long waitMillis) {
        AcquireResult result = answer(send(waitMillis));
        if (result instanceof AcquireResult.Busy busy && busy.ticket() != null) {
            ticket = busy.ticket();
        }
        return result;
    }

    /**
     * Makes one attempt for a lock that is free, without waiting.
     *
     * @return the grant
     * @throws AssertionError if it is not granted
     */
    public Grant acquire() {
        return granted(tryAcquire(0));
    }

    /**
     * Makes one attempt that announces to wait, for a lock that is free by now.
     *
     * @return the grant
     * @throws AssertionError if it is not granted
     */
    public Grant acquireQueued() {
        return granted(tryAcquire(WAIT_MILLIS));
    }

    /**
     * Makes one attempt for a lock that is taken, without waiting.
     *
     * @return the answer
     * @throws AssertionError if it is not busy
     */
    public AcquireResult.Busy assertBusy() {
        return busy(tryAcquire(0));
    }

    /**
     * Makes one attempt that announces to wait, for a lock that is taken.
     *
     * @return the answer
     * @throws AssertionError if it is not busy
     */
    public AcquireResult.Busy queueUp() {
        return busy(tryAcquire(WAIT_MILLIS));
    }

    /**
     * Makes attempts until one is granted, of a lock that is free or becomes so.
     *
     * @param atMost for how long
     * @return the grant
     */
    public Grant await(Duration atMost) {
        return await(awaiting(atMost));
    }

    /**
     * Like {@link #await}; an attempt that fails since the store is unavailable is followed by another one.
     *
     * @param atMost for how long
     * @return the grant
     */
    public Grant awaitThroughFailures(Duration atMost) {
        return await(awaiting(atMost).ignoreExceptionsInstanceOf(LockUnavailableException.class));
    }

    private ConditionFactory awaiting(Duration atMost) {
        return Awaitility.await("grant of '" + acquisition.name() + "'")
                .atMost(atMost)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(10));
    }

    private Grant await(ConditionFactory awaiting) {
        return granted(awaiting.until(() -> tryAcquire(WAIT_MILLIS), AcquireResult.Granted.class::isInstance));
    }

    /**
     * Makes attempts without waiting until one is granted, of a lock that another client may have for a moment.
     *
     * @return the grant
     * @throws AssertionError if none is granted within two minutes
     */
    public Grant spin() {
        long startNanos = System.nanoTime();
        while (System.nanoTime() - startNanos < SPIN_PATIENCE.toNanos()) {
            if (tryAcquire(0) instanceof AcquireResult.Granted granted) {
                return granted(granted);
            }
            LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(2_000_000));
        }
        throw new AssertionError("lock '" + acquisition.name() + "' was not granted within " + SPIN_PATIENCE);
    }

    /**
     * Checks that an answer is a grant of this acquisition.
     *
     * @param result the answer to an attempt
     * @return the grant
     * @throws AssertionError if it is not
     */
    public Grant granted(AcquireResult result) {
        assertThat(result)
                .as("attempt on '%s', which is free", acquisition.name())
                .isInstanceOf(AcquireResult.Granted.class);
        Grant grant = ((AcquireResult.Granted) result).grant();
        assertThat(grant.acquisition()).as("whose grant").isEqualTo(acquisition);
        return grant;
    }

    private AcquireResult.Busy busy(AcquireResult result) {
        assertThat(result)
                .as("attempt on '%s', which somebody else has", acquisition.name())
                .isInstanceOf(AcquireResult.Busy.class);
        return (AcquireResult.Busy) result;
    }

    /** Abandons the acquisition: whatever it has on the server ends. */
    public void abandon() {
        abandon(TIMEOUT_MILLIS);
    }

    /**
     * Abandons the acquisition: whatever it has on the server ends.
     *
     * @param timeoutMillis the request's time-out, in milliseconds
     */
    public void abandon(long timeoutMillis) {
        answer(backend.abandon(acquisition, timeoutMillis));
    }

    /** Abandons the acquisition. */
    @Override
    public void close() {
        abandon();
    }

    /**
     * Acquires a lock that is free, by one attempt of a new acquisition.
     *
     * @param backend the backend
     * @param name the lock's name
     * @return the grant
     * @throws AssertionError if it is not granted
     */
    public static Grant acquire(LockBackend backend, String name) {
        return of(backend, name).acquire();
    }

    /**
     * Acquires a lock that is free, by one attempt of a new acquisition.
     *
     * @param backend the backend
     * @param name the lock's name
     * @param leaseMillis the lease, in milliseconds
     * @return the grant
     * @throws AssertionError if it is not granted
     */
    public static Grant acquire(LockBackend backend, String name, long leaseMillis) {
        return of(backend, name, leaseMillis).acquire();
    }

    /**
     * Makes one attempt of a new acquisition, without waiting.
     *
     * @param backend the backend
     * @param name the lock's name
     * @return the answer
     */
    public static AcquireResult tryAcquire(LockBackend backend, String name) {
        return of(backend, name).tryAcquire(0);
    }

    /**
     * Releases a grant.
     *
     * @param backend the backend
     * @param grant the grant
     * @return the answer
     */
    public static ReleaseResult release(LockBackend backend, Grant grant) {
        return answer(backend.release(grant, TIMEOUT_MILLIS));
    }

    /**
     * Renews grants by one call.
     *
     * @param backend the backend
     * @param grants the grants
     * @return an answer for each, in their order
     * @throws AssertionError if the answers are more or fewer than the grants
     */
    public static List<RenewResult> renew(LockBackend backend, List<Grant> grants) {
        List<RenewResult> results = answer(backend.renew(grants, TIMEOUT_MILLIS));
        assertThat(results).as("one result a grant").hasSameSizeAs(grants);
        return results;
    }

    /**
     * Renews a grant.
     *
     * @param backend the backend
     * @param grant the grant
     * @return the answer
     */
    public static RenewResult renew(LockBackend backend, Grant grant) {
        return renew(backend, List.of(grant)).get(0);
    }

    /**
     * Asks who holds a lock.
     *
     * @param backend the backend
     * @param name the lock's name
     * @return the holder, or empty
     */
    public static Optional<HolderInfo> holder(LockBackend backend, String name) {
        return answer(backend.holder(name, TIMEOUT_MILLIS));
    }

    /**
     * Asks for all who hold a lock.
     *
     * @param backend the backend
     * @param name the lock's name
     * @return the holders
     */
    public static List<HolderInfo> holders(LockBackend backend, String name) {
        return answer(backend.holders(name, TIMEOUT_MILLIS));
    }

    /**
     * Changes the limit of a name's permits.
     *
     * @param backend the backend
     * @param name the semaphore's name
     * @param from the limit that is expected
     * @param to the new limit
     * @return the limit that is stored then
     */
    public static int changeLimit(LockBackend backend, String name, int from, int to) {
        return answer(backend.changeLimit(name, from, to, TIMEOUT_MILLIS));
    }

    /**
     * Waits for a backend's answer.
     *
     * @param <T> the answer's type
     * @param stage a stage of the backend
     * @return the answer
     * @throws RuntimeException what the stage failed with
     * @throws AssertionError if it failed with something checked, or is not complete within a minute
     */
    public static <T> T answer(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().get(ANSWER_PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new AssertionError("the backend's stage failed", e.getCause());
        } catch (TimeoutException e) {
            throw new AssertionError("the backend did not answer within " + ANSWER_PATIENCE, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while waiting for the backend", e);
        }
    }
}
