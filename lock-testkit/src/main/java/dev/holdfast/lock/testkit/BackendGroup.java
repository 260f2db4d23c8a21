package dev.holdfast.lock.testkit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

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
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** Tests of the backend itself, below the engine. Whatever an acquisition of a test leaves behind is abandoned. */
abstract class BackendGroup extends ContractGroup {

    /** A lease that does not end within a test. */
    static final long LONG_LEASE_MILLIS = 60_000;

    static final long TIMEOUT_MILLIS = 10_000;

    /** Those who ask again and again without waiting have no order, and each busy attempt may cost two writes to a disk. */
    private static final Duration SPIN_PATIENCE = Duration.ofMinutes(2);

    private static final Identity IDENTITY = new Identity("contract", "host-1", 4711);

    BackendGroup(LockContract contract) {
        super(contract);
    }

    /** One of two backends that all tests share; do not close it. */
    final LockBackend first() {
        return contract.firstBackend();
    }

    /** The other of two backends that all tests share; do not close it. */
    final LockBackend second() {
        return contract.secondBackend();
    }

    /** Starts an acquisition through a backend; it is abandoned when the test is over. */
    final BackendDriver driver(LockBackend backend, String name) {
        return driver(backend, name, LONG_LEASE_MILLIS);
    }

    final BackendDriver driver(LockBackend backend, String name, long leaseMillis) {
        BackendDriver driver = new BackendDriver(backend, new AcquisitionId(name, OwnerId.random()), leaseMillis);
        closing(driver);
        return driver;
    }

    /** Like {@link #driver}, for tests with so many that each ends its own. */
    final BackendDriver untracked(LockBackend backend, String name) {
        return untracked(backend, name, LONG_LEASE_MILLIS);
    }

    final BackendDriver untracked(LockBackend backend, String name, long leaseMillis) {
        return new BackendDriver(backend, new AcquisitionId(name, OwnerId.random()), leaseMillis);
    }

    final Grant granted(LockBackend backend, String name) {
        return driver(backend, name).acquire();
    }

    /** Waits for a backend's answer; what it failed with is thrown. */
    static <T> T answer(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().get(TIMEOUT_MILLIS + 5_000, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new AssertionError("the backend's stage failed", e.getCause());
        } catch (TimeoutException e) {
            throw new AssertionError("the backend's stage did not complete within its time-out", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError("interrupted while waiting for the backend", e);
        }
    }

    static ReleaseResult release(LockBackend backend, Grant grant) {
        return answer(backend.release(grant, TIMEOUT_MILLIS));
    }

    static List<RenewResult> renew(LockBackend backend, List<Grant> grants) {
        List<RenewResult> results = answer(backend.renew(grants, TIMEOUT_MILLIS));
        assertThat(results).as("one result a grant").hasSameSizeAs(grants);
        return results;
    }

    static RenewResult renew(LockBackend backend, Grant grant) {
        return renew(backend, List.of(grant)).get(0);
    }

    static void assertHeld(LockBackend backend, Grant grant) {
        assertThat(renew(backend, grant))
                .as(
                        "renewal of lock '%s' with token %d, which is held",
                        grant.acquisition().name(), grant.token())
                .isInstanceOf(RenewResult.Renewed.class);
    }

    static void assertLost(RenewResult result, String when) {
        assertThat(result).as("renewal " + when).isInstanceOf(RenewResult.Lost.class);
    }

    final void assertEntries(String name, long expected) {
        await().atMost(PATIENCE)
                .untilAsserted(() -> assertThat(fixture().entries(name))
                        .as("entries on the server for '%s'", name)
                        .isEqualTo(expected));
    }

    /** One acquisition through one backend. Thread-safe as far as the backend is. */
    static final class BackendDriver implements AutoCloseable {
        final LockBackend backend;
        final AcquisitionId acquisition;
        final long leaseMillis;
        private volatile @Nullable Ticket ticket;

        BackendDriver(LockBackend backend, AcquisitionId acquisition, long leaseMillis) {
            this.backend = backend;
            this.acquisition = acquisition;
            this.leaseMillis = leaseMillis;
        }

        CompletionStage<AcquireResult> send(long waitMillis) {
            return backend.tryAcquire(
                    new AcquireRequest(acquisition, leaseMillis, waitMillis, true, ticket, TIMEOUT_MILLIS, IDENTITY));
        }

        AcquireResult tryAcquire(long waitMillis) {
            AcquireResult attempt = answer(send(waitMillis));
            if (attempt instanceof AcquireResult.Busy busy && busy.ticket() != null) {
                ticket = busy.ticket();
            }
            return attempt;
        }

        /** The lock is free: asks once and must get it. */
        Grant acquire() {
            return granted(tryAcquire(0));
        }

        /** The lock is taken: asks once, without waiting. */
        AcquireResult.Busy assertBusy() {
            return busy(tryAcquire(0));
        }

        /** The lock is taken: asks and announces to wait. */
        AcquireResult.Busy queueUp() {
            return busy(tryAcquire(LONG_LEASE_MILLIS));
        }

        /** The lock is free or becomes so: asks until it is granted. */
        Grant await(Duration atMost) {
            AtomicReference<AcquireResult> last = new AtomicReference<>();
            org.awaitility.Awaitility.await("grant of '" + acquisition.name() + "'")
                    .atMost(atMost)
                    .pollDelay(Duration.ZERO)
                    .pollInterval(Duration.ofMillis(20))
                    .until(() -> {
                        last.set(tryAcquire(LONG_LEASE_MILLIS));
                        return last.get() instanceof AcquireResult.Granted;
                    });
            return granted(java.util.Objects.requireNonNull(last.get()));
        }

        /** Somebody else may have it for a moment: asks again and again, without waiting. */
        Grant spin() {
            long startNanos = System.nanoTime();
            while (System.nanoTime() - startNanos < SPIN_PATIENCE.toNanos()) {
                if (tryAcquire(0) instanceof AcquireResult.Granted granted) {
                    return granted(granted);
                }
                LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(2_000_000));
            }
            throw new AssertionError("lock '" + acquisition.name() + "' was not granted within " + SPIN_PATIENCE);
        }

        void abandon() {
            answer(backend.abandon(acquisition, TIMEOUT_MILLIS));
        }

        Grant granted(AcquireResult attempt) {
            assertThat(attempt)
                    .as("attempt on '%s', which is free", acquisition.name())
                    .isInstanceOf(AcquireResult.Granted.class);
            Grant grant = ((AcquireResult.Granted) attempt).grant();
            assertThat(grant.acquisition()).as("whose grant").isEqualTo(acquisition);
            return grant;
        }

        AcquireResult.Busy busy(AcquireResult attempt) {
            assertThat(attempt)
                    .as("attempt on '%s', which somebody else has", acquisition.name())
                    .isInstanceOf(AcquireResult.Busy.class);
            return (AcquireResult.Busy) attempt;
        }

        @Override
        public void close() {
            abandon();
        }
    }
}
