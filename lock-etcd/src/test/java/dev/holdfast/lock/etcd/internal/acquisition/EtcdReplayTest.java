package dev.holdfast.lock.etcd.internal.acquisition;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.renew;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.etcd.EtcdFixture;
import dev.holdfast.lock.etcd.EtcdInternals;
import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.etcd.EtcdMode;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KeyValue;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.MethodDescriptor;
import io.grpc.stub.ClientCalls;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Every transaction that a client has sent, sent again at each later step of the same acquisition, changes nothing. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
final class EtcdReplayTest {
    private static final long LEASE = 120_000;
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

    /** Notes all transactions, and can send them again. */
    private static final class Recorder implements ClientInterceptor {
        private final Queue<Runnable> sent = new ConcurrentLinkedQueue<>();

        @Override
        public <ReqT, RespT> ClientCall<ReqT, RespT> interceptCall(
                MethodDescriptor<ReqT, RespT> method, CallOptions options, Channel next) {
            ClientCall<ReqT, RespT> call = next.newCall(method, options);
            if (!"Txn".equals(method.getBareMethodName())) {
                return call;
            }
            return new SimpleForwardingClientCall<>(call) {
                @Override
                public void sendMessage(ReqT message) {
                    sent.add(() -> ClientCalls.blockingUnaryCall(next, method, CallOptions.DEFAULT, message));
                    super.sendMessage(message);
                }
            };
        }

        int replay() {
            List<Runnable> all = List.copyOf(sent);
            all.forEach(Runnable::run);
            return all.size();
        }
    }

    private LockBackend recorded(Recorder recorder, EtcdMode mode) {
        Client client = EtcdLocks.recommended(Client.builder()
                        .endpoints(fixture.server().endpoints().get(0))
                        .interceptor(recorder))
                .build();
        return EtcdInternals.owner(client, EtcdFixture.PREFIX, mode);
    }

    private List<KeyValue> replayed(Recorder recorder) throws Exception {
        List<KeyValue> before = fixture.everything();
        assertThat(recorder.replay()).isPositive();
        assertThat(fixture.everything().stream().map(EtcdReplayTest::text).toList())
                .isEqualTo(before.stream().map(EtcdReplayTest::text).toList());
        return before;
    }

    /** The first key of a name after that. */
    private KeyValue replayed(String name, EtcdMode mode, Recorder recorder) throws Exception {
        String start = (mode == EtcdMode.QUEUE
                        ? fixture.keys().queue(name)
                        : fixture.keys().single(name))
                .toString(StandardCharsets.UTF_8);
        return replayed(recorder).stream()
                .filter(key -> key.getKey().toString(StandardCharsets.UTF_8).startsWith(start))
                .findFirst()
                .orElseThrow();
    }

    private static String text(KeyValue entry) {
        return entry.getKey() + " " + entry.getModRevision() + " " + entry.getLease();
    }

    @ParameterizedTest
    @EnumSource(EtcdMode.class)
    void anyTransaction_sentAgainLater_changesNothing(EtcdMode mode) throws Exception {
        changesNothing(mode, Demand.EXCLUSIVE);
    }

    @Test
    void anyTransactionOfAShare_sentAgainLater_changesNothing() throws Exception {
        changesNothing(EtcdMode.QUEUE, Demand.SHARED);
    }

    @Test
    void anyTransactionOfPermits_sentAgainLater_changesNothing() throws Exception {
        changesNothing(EtcdMode.QUEUE, new Demand.Permits(2, 3));
    }

    private void changesNothing(EtcdMode mode, Demand demand) throws Exception {
        String name = "replayed-" + NAMES.incrementAndGet();
        Recorder recorder = new Recorder();
        try (LockBackend others = recorded(new Recorder(), mode);
                LockBackend ours = recorded(recorder, mode)) {
            Grant held = acquire(others, name, LEASE);
            BackendDriver waiter = BackendDriver.of(ours, name, demand, LEASE);
            waiter.queueUp();
            Ticket ticket = waiter.ticket();
            AtomicInteger calls = new AtomicInteger();
            Subscription subscription = ours.subscribe(ticket, calls::incrementAndGet);
            replayed(recorder);
            waiter.tryAcquire(BackendDriver.WAIT_MILLIS);
            replayed(recorder);
            if (mode == EtcdMode.QUEUE) {
                onAnotherLease(waiter);
                replayed(recorder);
            }
            release(others, held);
            await().atMost(PATIENCE).until(() -> calls.get() > 0);
            Grant grant = waiter.acquireQueued();
            subscription.close();

            KeyValue granted = replayed(name, mode, recorder);
            assertThat(granted.getCreateRevision()).isEqualTo(grant.token());
            EtcdAcquisition acquisition = Objects.requireNonNull(EtcdAcquisition.of(grant));
            assertThat(granted.getLease())
                    .isEqualTo(Objects.requireNonNull(acquisition.lease()).id());
            Objects.requireNonNull(acquisition.lease()).condemn();
            assertThat(renew(ours, grant)).isInstanceOf(RenewResult.Renewed.class);
            KeyValue moved = replayed(name, mode, recorder);
            assertThat(moved.getLease()).as("moved to another lease").isNotEqualTo(granted.getLease());
            assertThat(moved.getLease())
                    .isEqualTo(Objects.requireNonNull(acquisition.lease()).id());
            assertThat(renew(ours, grant)).isInstanceOf(RenewResult.Renewed.class);
            release(ours, grant);
        }
    }

    /** Changed to another limit and back, while a repeated request of the first change is pending. */
    @Test
    void changeOfTheLimit_sentAgainLater_changesNothing() throws Exception {
        String name = "replayed-" + NAMES.incrementAndGet();
        Recorder recorder = new Recorder();
        try (LockBackend others = recorded(new Recorder(), EtcdMode.QUEUE);
                LockBackend ours = recorded(recorder, EtcdMode.QUEUE)) {
            release(
                    others,
                    BackendDriver.of(others, name, new Demand.Permits(1, 3), LEASE)
                            .acquire());
            assertThat(BackendDriver.changeLimit(ours, name, 3, 5)).isEqualTo(5);
            replayed(recorder);
            assertThat(BackendDriver.changeLimit(others, name, 5, 3)).isEqualTo(3);

            replayed(recorder);

            BackendDriver.of(others, name, new Demand.Permits(3, 3), LEASE).acquire();
        }
    }

    /** A waiter's key moves to another lease with its next poll, if its own lease must end. */
    private static void onAnotherLease(BackendDriver waiter) {
        SharedLease before = Objects.requireNonNull(
                ((EtcdTicket) waiter.ticket()).acquisition().lease());
        before.condemn();
        waiter.tryAcquire(BackendDriver.WAIT_MILLIS);
        assertThat(((EtcdTicket) waiter.ticket()).acquisition().lease()).isNotSameAs(before);
    }

    /** A grant whose key may be on either of two leases is promised no more than the one that ends first. */
    @Test
    void moveWithoutAnswer_boundsThePromiseByBothLeases() throws Exception {
        try (LockBackend backend = recorded(new Recorder(), EtcdMode.QUEUE)) {
            Grant grant = acquire(backend, "replayed-" + NAMES.incrementAndGet(), LEASE);
            EtcdAcquisition acquisition = Objects.requireNonNull(EtcdAcquisition.of(grant));
            SharedLease present = Objects.requireNonNull(acquisition.lease());
            long now = System.nanoTime();
            LeaseRequestTime sent = new LeaseRequestTime(
                    now - Duration.ofSeconds(100).toNanos(),
                    LeaseRequestTime.now().wallAheadNanos());
            SharedLease older = new SharedLease(4_711, LEASE / 1_000, sent, present.term());

            KeyWrite open = acquisition.beginWrite(older);

            assertThat(acquisition.possibleLeases()).containsExactly(present, older);
            assertThat(acquisition.certainNanos(now))
                    .isLessThanOrEqualTo(Duration.ofSeconds(20).toNanos())
                    .isGreaterThan(Duration.ofSeconds(15).toNanos());
            acquisition.endWrite(open);
            assertThat(acquisition.possibleLeases()).containsExactly(present);
            assertThat(acquisition.certainNanos(now))
                    .isGreaterThan(Duration.ofSeconds(20).toNanos());
        }
    }
}
