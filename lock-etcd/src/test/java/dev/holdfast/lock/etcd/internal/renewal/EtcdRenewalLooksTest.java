package dev.holdfast.lock.etcd.internal.renewal;

import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.CREATED;
import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.LEASE;
import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.LOOK;
import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.isRenewed;
import static dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal.only;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.etcd.internal.acquisition.EtcdAcquisition;
import dev.holdfast.lock.etcd.internal.acquisition.ScriptedRenewal;
import dev.holdfast.lock.etcd.internal.acquisition.SharedLease;
import dev.holdfast.lock.etcd.internal.acquisition.TestAcquisitions;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.api.KeyValue;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What is asked of a lease's keys, how often, and who shares it: without a server. */
final class EtcdRenewalLooksTest {
    private final ScriptedRenewal renewals = new ScriptedRenewal();
    private final ScriptedEtcd etcd = renewals.etcd;
    private final SharedLease lease = TestAcquisitions.lease(7);
    private final Grant grant = TestAcquisitions.heldOn(lease, CREATED, LEASE);
    private final EtcdAcquisition acquisition = TestAcquisitions.acquisitionOf(grant);

    @AfterEach
    void close() {
        renewals.close();
    }

    @Test
    void checksThatFailTwiceInARow_areUnknown_untilOneSucceeds() {
        List<Boolean> renewed = new ArrayList<>();
        for (boolean fails : List.of(true, true, false, true)) {
            CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
            if (fails) {
                etcd.next(LOOK).fails(Status.UNAVAILABLE);
            } else {
                renewals.keysAre(acquisition.key());
            }
            renewals.confirmed();
            RenewResult told = only(result);
            renewed.add(told instanceof RenewResult.Renewed);
            if (told instanceof RenewResult.Unknown unknown) {
                assertThat(unknown)
                        .isEqualTo(new RenewResult.Unknown(
                                "[etcd lease 7]: its keys could not be read 2 times in a row, so a deletion may be"
                                        + " undetected",
                                null));
            }
        }
        assertThat(renewed).containsExactly(true, false, true, true);
    }

    /** A user may renew a lease, but may not list its keys if others' are among them; and a lease that just ended has none. */
    @Test
    void checksThatAreRefused_areNotUnknown() {
        for (int i = 0; i < 3; i++) {
            CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
            etcd.next(LOOK).fails(Status.PERMISSION_DENIED);
            renewals.confirmed();
            isRenewed(only(result));
        }
        CompletableFuture<List<RenewResult>> result = renewals.renew(grant);
        etcd.next(LOOK).answers(ScriptedEtcd.lives(-1));
        renewals.confirmed();
        isRenewed(only(result));
        assertThat(etcd.count("txn")).isZero();
    }

    @Test
    void grantsOnOneLease_shareWhatIsAsked_alsoThoseOfTheNextBatch() {
        SharedLease longer = TestAcquisitions.lease(8, 600, Duration.ZERO);
        Grant first = TestAcquisitions.heldOn(longer, CREATED, LEASE);
        Grant second = TestAcquisitions.heldOn(longer, CREATED + 1, LEASE);
        Grant third = TestAcquisitions.heldOn(longer, CREATED + 2, LEASE);
        CompletableFuture<List<RenewResult>> result = renewals.renew(first, second);
        renewals.keysAre(
                TestAcquisitions.acquisitionOf(first).key(),
                TestAcquisitions.acquisitionOf(second).key(),
                TestAcquisitions.acquisitionOf(third).key());
        renewals.confirmed();
        assertThat(BackendDriver.answer(result)).hasSize(2).allSatisfy(ScriptedRenewal::isRenewed);
        assertThat(etcd.requests).hasSize(2);

        isRenewed(only(renewals.renew(third)));
        assertThat(etcd.requests).as("was asked a moment ago").hasSize(2);

        renewals.renew(first);
        assertThat(etcd.requests).as("the same one asks again").hasSize(4);
    }

    /** A renewal that failed may have failed for a moment. */
    @Test
    void whatHasFailed_isNotShared() {
        Grant second = TestAcquisitions.heldOn(lease, CREATED + 1, LEASE);
        CompletableFuture<List<RenewResult>> failed = renewals.renewWithin(20, grant);
        renewals.keysAre(
                acquisition.key(), TestAcquisitions.acquisitionOf(second).key());
        assertThat(only(failed)).isInstanceOf(RenewResult.Unknown.class);

        int before = etcd.count(LOOK);
        renewals.renew(second);

        assertThat(etcd.count(LOOK)).isEqualTo(before + 1);
    }

    /** A check does not include a key that was written later. */
    @Test
    void acquisitionThatWasWrittenSince_isLookedForAgain() {
        CompletableFuture<List<RenewResult>> first = renewals.renew(grant);
        Grant second = TestAcquisitions.heldOn(lease, CREATED + 1, LEASE);
        renewals.keysAre(acquisition.key());
        renewals.confirmed();
        isRenewed(only(first));

        renewals.renew(second);

        assertThat(etcd.count(LOOK)).isEqualTo(2);
    }

    /** By a twentieth of the lease, many batches have passed. */
    @Test
    void lookThatIsOld_isNotShared() {
        SharedLease shorter = TestAcquisitions.lease(8, 1, Duration.ZERO);
        Grant first = TestAcquisitions.heldOn(shorter, CREATED, 1_000);
        Grant second = TestAcquisitions.heldOn(shorter, CREATED + 1, 1_000);
        renewals.renew(first);
        ScriptedEtcd.spend(51);

        renewals.renew(second);

        assertThat(etcd.count(LOOK)).isEqualTo(2);
    }

    /** However long that takes: here the lease is so short that each look is old at once. */
    @Test
    void grantsOfOneBatch_shareALook() {
        SharedLease shortest = TestAcquisitions.lease(8, 0, Duration.ZERO);

        renewals.renew(
                TestAcquisitions.heldOn(shortest, CREATED, 1_000),
                TestAcquisitions.heldOn(shortest, CREATED + 1, 1_000));

        assertThat(etcd.count(LOOK)).isEqualTo(1);
    }

    /** The next request goes to the next endpoint. */
    @Test
    void lookWithoutAnswer_isRepeatedTwice_withinHalfTheTime() {
        CompletableFuture<List<RenewResult>> result = renewals.renewWithin(3_000, grant);
        renewals.confirmed();

        isRenewed(only(result));
        await().pollInterval(Duration.ofMillis(5))
                .atMost(Duration.ofSeconds(10))
                .until(() -> etcd.count(LOOK) == 3);
    }

    /** A lock that was handed over is renewed alone, often beside ten thousand others. */
    @Test
    void singleGrant_onALeaseWithManyKeys_hasItsOwnKeyRead() {
        for (int i = 0; i < 100; i++) {
            TestAcquisitions.heldOn(lease, CREATED + 1 + i, LEASE);
        }
        CompletableFuture<List<RenewResult>> there = renewals.renew(grant);
        ScriptedEtcd.Request read = etcd.next("get");
        assertThat(read.key()).isEqualTo(acquisition.key().toString());
        read.answers(ScriptedEtcd.found(20, false, present(7)));
        renewals.confirmed();
        isRenewed(only(there));

        CompletableFuture<List<RenewResult>> elsewhere = renewals.renew(grant);
        etcd.next("get").answers(ScriptedEtcd.found(21, false, present(8)));
        renewals.confirmed();
        etcd.next("txn").answers(ScriptedEtcd.txn(true, 22));
        isRenewed(only(elsewhere));

        CompletableFuture<List<RenewResult>> missing = renewals.renew(grant);
        etcd.next("get").answers(ScriptedEtcd.found(23, false));
        renewals.confirmed();
        etcd.next("txn").answers(ScriptedEtcd.txn(false, 24, ScriptedEtcd.read(), ScriptedEtcd.read()));
        assertThat(only(missing)).isInstanceOf(RenewResult.Lost.class);
        assertThat(etcd.count(LOOK)).isZero();
    }

    private KeyValue present(long leaseId) {
        return ScriptedEtcd.entry(acquisition.key(), ByteSequence.EMPTY, CREATED, CREATED, leaseId);
    }
}
