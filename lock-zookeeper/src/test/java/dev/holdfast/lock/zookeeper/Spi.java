package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/** One acquisition of a backend, and what tests ask of it. */
final class Spi {

    static final Duration PATIENCE = Duration.ofSeconds(30);
    static final long WAIT = 60_000;

    final LockBackend backend;
    final AcquisitionId acquisition;
    private final long leaseMillis;
    private volatile @Nullable Ticket ticket;

    Spi(LockBackend backend, String name, long leaseMillis) {
        this.backend = backend;
        this.acquisition = new AcquisitionId(name, OwnerId.random());
        this.leaseMillis = leaseMillis;
    }

    static Spi sequentialNode(LockBackend backend, String name) {
        return new Spi(backend, name, 60_000);
    }

    static Grant acquire(LockBackend backend, String name) {
        return sequentialNode(backend, name).acquire();
    }

    CompletionStage<AcquireResult> send(long waitMillis) {
        return backend.tryAcquire(new AcquireRequest(
                acquisition, leaseMillis, waitMillis, true, ticket, 10_000, Identity.ofThisProcess("test")));
    }

    AcquireResult tryAcquire(long waitMillis) {
        AcquireResult attempt = answer(send(waitMillis));
        if (attempt instanceof AcquireResult.Busy busy && busy.ticket() != null) {
            ticket = busy.ticket();
        }
        return attempt;
    }

    Grant acquire() {
        AcquireResult attempt = tryAcquire(0);
        assertThat(attempt).as("attempt on '%s'", acquisition.name()).isInstanceOf(AcquireResult.Granted.class);
        return ((AcquireResult.Granted) attempt).grant();
    }

    Ticket queueUp() {
        AcquireResult attempt = tryAcquire(WAIT);
        assertThat(attempt).as("attempt on '%s'", acquisition.name()).isInstanceOf(AcquireResult.Busy.class);
        return ticket();
    }

    Ticket ticket() {
        return java.util.Objects.requireNonNull(ticket);
    }

    /** Asks again and again, through failures of the servers too. */
    Grant await() {
        Grant[] grant = new Grant[1];
        Awaitility.await()
                .atMost(PATIENCE)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(5))
                .ignoreExceptionsInstanceOf(dev.holdfast.lock.LockUnavailableException.class)
                .until(() -> {
                    if (tryAcquire(WAIT) instanceof AcquireResult.Granted granted) {
                        grant[0] = granted.grant();
                    }
                    return grant[0] != null;
                });
        return grant[0];
    }

    void abandon() {
        answer(backend.abandon(acquisition, 10_000));
    }

    static ReleaseResult release(LockBackend backend, Grant grant) {
        return answer(backend.release(grant, 10_000));
    }

    static RenewResult renew(LockBackend backend, Grant grant) {
        return answer(backend.renew(List.of(grant), 10_000)).get(0);
    }

    static <T> T answer(CompletionStage<T> stage) {
        try {
            return stage.toCompletableFuture().get(30, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new AssertionError(e.getCause());
        } catch (Exception e) {
            throw new AssertionError("no answer", e);
        }
    }

    /** Remembers what a backend tells about its grants. */
    static final class Ear implements GrantListener {
        final List<Long> suspected = new CopyOnWriteArrayList<>();
        final List<String> lost = new CopyOnWriteArrayList<>();

        static Ear of(LockBackend backend) {
            Ear ear = new Ear();
            backend.setGrantListener(ear);
            return ear;
        }

        @Override
        public void suspect(Grant grant, String detail) {
            suspected.add(grant.token());
        }

        @Override
        public void lost(Grant grant, LossReason reason, String detail) {
            lost.add(grant.token() + " " + reason);
        }
    }
}
