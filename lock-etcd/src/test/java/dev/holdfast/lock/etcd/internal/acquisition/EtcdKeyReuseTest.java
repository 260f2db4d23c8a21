package dev.holdfast.lock.etcd.internal.acquisition;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.EtcdFixture;
import dev.holdfast.lock.etcd.EtcdInternals;
import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.etcd.OneEtcd;
import dev.holdfast.lock.etcd.internal.client.EtcdKeys;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Which keys a client uses again, and which it does not. */
final class EtcdKeyReuseTest extends OneEtcd {
    private static final long LEASE = 120_000;
    private static final long SHORT_TIMEOUT = 3_000;

    private static ByteSequence keyOf(Grant grant) {
        return Objects.requireNonNull(EtcdAcquisition.of(grant)).key();
    }

    /** Asks for a new acquisition, again and again where there is no answer, or the lock is not free yet. */
    private static Grant eventuallyGranted(LockBackend backend, String name) {
        BackendDriver driver = BackendDriver.of(backend, name, LEASE);
        AtomicReference<Grant> grant = new AtomicReference<>();
        await().atMost(PATIENCE).until(() -> {
            try {
                if (answer(driver.send(0, SHORT_TIMEOUT)) instanceof AcquireResult.Granted granted) {
                    grant.set(granted.grant());
                }
            } catch (LockUnavailableException e) {
                // no answer: repeat
            }
            return grant.get() != null;
        });
        return grant.get();
    }

    @Test
    void release_thatArrivesAfterTheNextGrant_leavesItAlone() throws Exception {
        String name = newName();
        int port = fixture.server().nodes().get(0).port();
        try (FaultProxy slow = FaultProxy.to("127.0.0.1", port);
                FaultProxy fast = FaultProxy.to("127.0.0.1", port);
                Client client = EtcdFixture.patientClient(slow, fast);
                LockBackend backend =
                        EtcdInternals.backend(EtcdLocks.builder(client).prefix(EtcdFixture.PREFIX))) {
            EtcdFixture.warmUp(slow, fast, () -> release(backend, acquire(backend, newName(), LEASE)));
            Grant first = releasedWithoutAnswer(backend, slow, name);
            await().atMost(PATIENCE).until(() -> {
                try {
                    answer(backend.abandon(first.acquisition(), SHORT_TIMEOUT));
                    return true;
                } catch (LockUnavailableException e) {
                    return false;
                }
            });
            Grant second = eventuallyGranted(backend, name);
            assertThat(keyOf(second))
                    .as("a key that may still be deleted is not used again")
                    .isNotEqualTo(keyOf(first));
            long deletions = fixture.server().calls("DeleteRange");

            slow.pass();

            await().atMost(PATIENCE).until(() -> fixture.server().calls("DeleteRange") > deletions);
            assertThat(renew(backend, second)).isInstanceOf(RenewResult.Renewed.class);
            assertThat(fixture.find(name, 1).get(0).getCreateRevision()).isEqualTo(second.token());
            assertThat(release(backend, second)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    /** The two connections take turns, so one of the releases goes by the slow one. */
    private static Grant releasedWithoutAnswer(LockBackend backend, FaultProxy slow, String name) {
        AtomicReference<Grant> unanswered = new AtomicReference<>();
        await().atMost(PATIENCE).until(() -> {
            slow.pass();
            Grant grant = eventuallyGranted(backend, name);
            slow.hold(Direction.TO_SERVER);
            if (catchThrowable(() -> answer(backend.release(grant, SHORT_TIMEOUT))) != null) {
                unanswered.set(grant);
            }
            return unanswered.get() != null;
        });
        return unanswered.get();
    }

    @Test
    void release_ofALostGrant_leavesTheNextOneOnTheSameKeyAlone() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            Grant first = acquire(backend, name, LEASE);
            fixture.admin().getKVClient().delete(keyOf(first)).get(1, TimeUnit.MINUTES);
            assertThat(renew(backend, first)).isInstanceOf(RenewResult.Lost.class);
            Grant second = acquire(backend, name, LEASE);
            assertThat(keyOf(second)).as("the same key").isEqualTo(keyOf(first));

            assertThat(release(backend, first)).isEqualTo(ReleaseResult.NOT_HELD);

            assertThat(renew(backend, second)).isInstanceOf(RenewResult.Renewed.class);
            assertThat(release(backend, second)).isEqualTo(ReleaseResult.RELEASED);
        }
    }

    @Test
    void keyWithAnotherValue_isDeletedAndNotUsedAgain() throws Exception {
        String name = newName();
        try (LockBackend backend = fixture.newBackend()) {
            Grant first = acquire(backend, name, LEASE);
            release(backend, first);
            fixture.admin()
                    .getKVClient()
                    .put(keyOf(first), EtcdKeys.bytes("of another acquisition"))
                    .get(1, TimeUnit.MINUTES);

            Grant second = eventuallyGranted(backend, name);
            assertThat(keyOf(second)).isNotEqualTo(keyOf(first));
            await().atMost(PATIENCE).until(() -> fixture.entries(name) == 1);
            assertThat(release(backend, second)).isEqualTo(ReleaseResult.RELEASED);

            assertThat(keyOf(acquire(backend, name, LEASE))).isEqualTo(keyOf(second));
        }
    }
}
