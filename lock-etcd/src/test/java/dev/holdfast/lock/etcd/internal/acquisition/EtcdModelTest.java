package dev.holdfast.lock.etcd.internal.acquisition;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.WAIT_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.etcd.EtcdFixture;
import dev.holdfast.lock.etcd.EtcdInternals;
import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.etcd.EtcdWire;
import dev.holdfast.lock.etcd.internal.client.EtcdSteps;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.support.ModelTrace;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/**
 * Each step of three clients on a real etcd is in verification/models/etcd.table, from which the Promela model is made: attempts
 * that are lost, late, repeated or unanswered, leases that end or must be left, deleted keys, acquisitions that end in
 * the meantime.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
public final class EtcdModelTest {
    private static final int STEPS = 500;
    /** Nothing ends by itself, and no keep-alive is due. */
    private static final long LEASE = 600_000;

    private static final Path TABLE = Path.of("..", "verification", "models", "etcd.table");
    private static final AtomicInteger NAMES = new AtomicInteger();

    private EtcdFixture fixture;

    @BeforeAll
    void start() throws Exception {
        fixture = EtcdFixture.single();
    }

    @AfterAll
    void stop() {
        fixture.close();
    }

    /** One client, which has an acquisition after the other. */
    private final class Contender implements AutoCloseable {
        private final EtcdSteps steps;
        private final String name;
        private final Random random;
        private final EtcdWire wire;
        private final LockBackend backend;
        private BackendDriver driver;
        private @Nullable Grant grant;
        private long lastLease;
        private @Nullable EtcdAcquisition acquisition;
        /** The client's next lease is gone, possibly without its notice. */
        private @Nullable SharedLease broken;

        Contender(EtcdSteps steps, String name, Random random) {
            this.steps = steps;
            this.name = name;
            this.random = random;
            this.wire = new EtcdWire(steps::isWriteOfAPlace, steps);
            Client client = EtcdLocks.recommended(Client.builder()
                            .endpoints(fixture.server().endpoints().get(0))
                            .interceptor(wire))
                    .build();
            this.backend = EtcdInternals.owner(client, EtcdFixture.PREFIX);
            this.driver = BackendDriver.of(backend, name, LEASE);
        }

        void step() throws Exception {
            switch (random.nextInt(12)) {
                case 0 -> condemn();
                case 1 -> {
                    condemnAndBreakTheNext();
                    ask();
                }
                case 2 -> revoke(lastLease);
                case 3 -> deleteKey();
                case 4, 5 -> end();
                case 6 -> {
                    abandon();
                    arrival();
                }
                default -> ask();
            }
        }

        /** By chance that is rare. */
        private void renewsWithAnOpenCreation() throws Exception {
            attempt(EtcdWire.Fate.IS_LOST);
            attempt(EtcdWire.Fate.PASSES);
            renew();
            condemnAndBreakTheNext();
            renew();
            renew();
            end();
        }

        private void ask() throws Exception {
            if (grant == null) {
                attempt();
            } else {
                renew();
            }
        }

        private @Nullable SharedLease lease() {
            EtcdAcquisition known = acquisition;
            return known == null ? null : known.lease();
        }

        private void attempt(EtcdWire.Fate fate) {
            steps.nextFate(fate);
            attempt();
        }

        private void attempt() {
            EtcdAcquisition known = acquisition;
            if (known != null) {
                known.markNotified(); // it would only look otherwise
            }
            steps.faults(true);
            try {
                AcquireResult result = driver.tryAcquire(WAIT_MILLIS);
                if (result instanceof AcquireResult.Granted granted) {
                    assertThat(steps.lastAnswer()).isEqualTo("granted");
                    assertThat(steps.look().get(0).getCreateRevision())
                            .as("the token is the first key's create revision")
                            .isEqualTo(granted.grant().token());
                    grant = granted.grant();
                    acquisition = EtcdAcquisition.of(granted.grant());
                } else {
                    acquisition = ((EtcdTicket) driver.ticket()).acquisition();
                    assertThat(steps.lastAnswer()).isEqualTo("busy");
                }
            } catch (LockUnavailableException e) {
                assertThat(e).hasStackTraceContaining("lost by the test");
            } finally {
                steps.faults(false);
            }
            SharedLease now = lease();
            lastLease = now == null ? lastLease : now.id();
        }

        private void renew() throws Exception {
            Grant held = Objects.requireNonNull(grant);
            SharedLease present = lease();
            boolean open = !Objects.requireNonNull(acquisition).openCreations().isEmpty();
            String on = open ? "open" : present != null && present.isCondemned() ? "other" : "lease";
            String lease = broken != null && !broken.isGone() ? "gone" : "lives";
            List<KeyValue> before = withoutAnother(held, steps.look());
            RenewResult result = BackendDriver.renew(backend, held);
            String answer = result instanceof RenewResult.Lost
                    ? "lost"
                    : result instanceof RenewResult.Unknown ? "again" : "renewed";
            boolean there = before.stream().anyMatch(key -> key.getCreateRevision() == held.token());
            if (there || !answer.equals("again")) { // else the next one finds the loss
                List<KeyValue> behind = withoutAnother(held, steps.look());
                steps.add("renew", driver.acquisition(), lease, on, before, behind, answer);
            }
            if (answer.equals("lost")) {
                next();
            }
        }

        private void end() {
            Grant held = grant;
            List<KeyValue> before = steps.look();
            if (held == null || withoutAnother(held, before).size() < before.size()) {
                abandon();
                return;
            }
            boolean released = BackendDriver.release(backend, held) == ReleaseResult.RELEASED;
            String answer = released ? "released" : "notheld";
            steps.add("release", driver.acquisition(), "lives", "lease", before, steps.look(), answer);
            next();
        }

        private void abandon() {
            List<KeyValue> before = steps.look();
            driver.abandon();
            steps.add("abandon", driver.acquisition(), "lives", "lease", before, steps.look(), "done");
            next();
        }

        /** Without the key that a late creation has made after the granted one was gone: that is the acquisition's, not the grant's. */
        private List<KeyValue> withoutAnother(Grant held, List<KeyValue> queue) {
            String owner = held.acquisition().owner() + " ";
            return queue.stream()
                    .filter(key -> key.getCreateRevision() == held.token()
                            || !key.getValue().toString(StandardCharsets.UTF_8).startsWith(owner))
                    .toList();
        }

        /** A repeated request arrives while the acquisition continues: no client sends it again after the answer. */
        private void next() {
            steps.pending().removeIf(write -> write.answered() && write.isOf(driver.acquisition()));
            driver = BackendDriver.of(backend, name, LEASE);
            grant = null;
            acquisition = null;
        }

        private void condemn() {
            SharedLease present = lease();
            if (present != null) {
                present.condemn();
            }
        }

        /** The key must move, and the lease for it is gone. */
        private void condemnAndBreakTheNext() throws Exception {
            condemn();
            Grant beside = BackendDriver.acquire(backend, "beside-" + NAMES.incrementAndGet(), LEASE);
            SharedLease next = Objects.requireNonNull(
                    Objects.requireNonNull(EtcdAcquisition.of(beside)).lease());
            BackendDriver.release(backend, beside);
            SharedLease present = lease();
            if (present != next) {
                revoke(next.id());
                broken = next;
            }
        }

        private void deleteKey() throws Exception {
            EtcdAcquisition known = acquisition;
            if (known != null) {
                fixture.admin().getKVClient().delete(known.key()).get(1, TimeUnit.MINUTES);
            }
        }

        private void arrival() throws Exception {
            wire.between(() -> {
                List<EtcdSteps.Pending> all = steps.pending();
                if (!all.isEmpty()) {
                    steps.arrives(all.get(random.nextInt(all.size())));
                }
            });
        }

        @Override
        public void close() {
            backend.close();
            wire.close();
        }
    }

    private void revoke(long lease) throws Exception {
        if (lease != 0) {
            fixture.admin()
                    .getLeaseClient()
                    .revoke(lease)
                    .handle((done, failure) -> done)
                    .get(1, TimeUnit.MINUTES);
        }
    }

    @Test
    void everyStep_isOneOfTheModel() throws Exception {
        ModelTrace trace = ModelTrace.of(TABLE);
        String name = "model-" + NAMES.incrementAndGet();
        Random random = new Random(26);
        List<Contender> contenders = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            contenders.add(new Contender(new EtcdSteps(fixture, name, trace, random), name, random));
        }
        contenders.get(0).renewsWithAnOpenCreation();
        for (int step = 0; step < STEPS; step++) {
            Contender one = contenders.get(random.nextInt(contenders.size()));
            one.step();
            if (random.nextInt(3) == 0) {
                one.arrival();
            }
        }
        for (Contender each : contenders) {
            each.end();
            while (!each.steps.pending().isEmpty()) {
                each.arrival();
            }
        }

        trace.assertEachStepIsOfTheModel();
        assertThat(trace.rowsNotMet()).isEmpty();
        assertThat(fixture.find(name, 0)).as("left behind").isEmpty();
        assertThat(trace.assertChangedStepsAreRefused())
                .as("changed steps, all refused")
                .isPositive();
        contenders.forEach(Contender::close);
    }

    /**
     * An abandoned creation creates the key again, after an administrator has deleted the granted one: the lock is
     * lost.
     */
    @Test
    void lateCreation_afterTheGrantedKeyWasDeleted_isLost() throws Exception {
        ModelTrace trace = ModelTrace.of(TABLE);
        String name = "model-" + NAMES.incrementAndGet();
        Random random = new Random(15);
        try (Contender holder = new Contender(new EtcdSteps(fixture, name, trace, random), name, random);
                Contender next = new Contender(new EtcdSteps(fixture, name, trace, random), name, random)) {
            holder.attempt(EtcdWire.Fate.COMES_LATE);
            holder.attempt(EtcdWire.Fate.PASSES);
            next.attempt(EtcdWire.Fate.PASSES);
            holder.deleteKey();
            holder.arrival();
            next.attempt(EtcdWire.Fate.PASSES);
            assertThat(next.grant).as("the next one's").isNotNull();

            holder.renew();

            assertThat(holder.grant).as("the first one's").isNull();
            await("nothing is left of the first one")
                    .atMost(EtcdFixture.PATIENCE)
                    .until(() -> fixture.find(name, 0).size() == 1);
        }
        trace.assertEachStepIsOfTheModel();
    }

    /** The fault that made two holders, put back, is refused by the comparison: a late attempt writes over what came after it. */
    @Test
    void writeThatIsConditionalOnTheCreateRevision_isRefused() throws Exception {
        ModelTrace trace = ModelTrace.of(TABLE);
        String name = "model-" + NAMES.incrementAndGet();
        Random random = new Random(15);
        EtcdSteps steps = new EtcdSteps(fixture, name, trace, random);
        steps.onTheCreateRevision();
        try (Contender holder = new Contender(new EtcdSteps(fixture, name, trace, random), name, random);
                Contender waiter = new Contender(steps, name, random)) {
            holder.attempt(EtcdWire.Fate.PASSES);
            waiter.attempt(EtcdWire.Fate.PASSES);
            waiter.attempt(EtcdWire.Fate.COMES_LATE);
            waiter.attempt(EtcdWire.Fate.PASSES);
            trace.assertEachStepIsOfTheModel();

            waiter.arrival();
        }
        assertThatThrownBy(trace::assertEachStepIsOfTheModel)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("etcd.table does not allow step 3")
                .hasMessageContaining("left key [moved], not same");
    }
}
