package dev.holdfast.lock.etcd.internal.renewal;

import static dev.holdfast.lock.etcd.EtcdFixture.PATIENCE;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.acquire;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.release;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.etcd.EtcdFixture;
import dev.holdfast.lock.etcd.EtcdInternals;
import dev.holdfast.lock.etcd.EtcdLocks;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.testkit.server.EtcdServer;
import dev.holdfast.lock.testkit.server.network.Direction;
import dev.holdfast.lock.testkit.server.network.FaultProxy;
import io.etcd.jetcd.Client;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall;
import io.grpc.MethodDescriptor;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** Renewals where one of two ways to the server is silent: its connection stands, but nothing comes back on it. */
final class EtcdRenewalTest {
    private static final Duration LEASE = Duration.ofSeconds(9);

    @Test
    void renewal_withoutAnswer_goesToAnotherEndpoint() throws Exception {
        LockClientOptions options = LockClientOptions.builder()
                .lockOptions(LockOptions.builder().lease(LEASE).build())
                .requestTimeout(Duration.ofSeconds(30))
                .build();
        try (EtcdServer server = EtcdServer.start();
                FaultProxy one =
                        FaultProxy.to("127.0.0.1", server.nodes().get(0).port());
                FaultProxy two =
                        FaultProxy.to("127.0.0.1", server.nodes().get(0).port());
                LockClient client =
                        LockClient.connect("etcd://127.0.0.1:" + one.port() + ",127.0.0.1:" + two.port(), options)) {
            Lease lease = client.lock("renewed").acquire();
            EtcdFixture.warmUp(one, two, () -> {
                client.lock("warm").acquire().close();
                return true;
            });

            one.blackHole(Direction.TO_CLIENT);

            long silentNanos = System.nanoTime();
            await().atMost(PATIENCE).until(() -> System.nanoTime() - silentNanos > 2 * LEASE.toNanos());
            assertThat(lease.isValid()).isTrue();
        }
    }

    /** A parallel request for the lease's keys detects deleted ones; if it has no answer, the renewal still counts. */
    @Test
    void renewal_whoseCheckHasNoAnswer_isReportedBeforeItsTimeIsOver() throws Exception {
        try (EtcdServer server = EtcdServer.start();
                FaultProxy one =
                        FaultProxy.to("127.0.0.1", server.nodes().get(0).port());
                FaultProxy two =
                        FaultProxy.to("127.0.0.1", server.nodes().get(0).port());
                LockBackend backend = behind(one, two)) {
            EtcdFixture.warmUp(one, two, () -> release(backend, acquire(backend, "warm", 120_000)));
            Grant grant = acquire(backend, "renewed", 120_000);
            one.blackHole(Direction.TO_CLIENT);

            for (long timeoutMillis = 8_000; ; timeoutMillis *= 2) {
                try {
                    renewByBoth(backend, grant, timeoutMillis);
                    return;
                } catch (TimeoutException e) { // the machine may have paused
                    if (timeoutMillis == 32_000) {
                        throw e;
                    }
                }
            }
        }
    }

    private static void renewByBoth(LockBackend backend, Grant grant, long timeoutMillis) throws Exception {
        for (int i = 0; i < 4; i++) { // the connections take turns
            var renewal = backend.renew(List.of(grant), timeoutMillis).toCompletableFuture();

            assertThat(renewal.get(timeoutMillis * 3 / 4, TimeUnit.MILLISECONDS))
                    .singleElement()
                    .isInstanceOf(RenewResult.Renewed.class);
        }
    }

    /** A deleted key could stay unnoticed for as long as that lasts. Those on one lease share a look, if it fails as well. */
    @Test
    void checksWithoutAnswer_twiceInARow_areUnknown() throws Exception {
        long timeoutMillis = 3_000; // so that a look takes longer than others may share it from its beginning
        AtomicBoolean silent = new AtomicBoolean();
        AtomicInteger asked = new AtomicInteger();
        try (EtcdServer server = EtcdServer.start()) {
            Client client = EtcdLocks.recommended(
                            Client.builder().endpoints(server.endpoints().get(0)))
                    .interceptor(swallowingLooks(silent, asked))
                    .build();
            try (LockBackend backend = EtcdInternals.owner(client, EtcdLocks.DEFAULT_PREFIX)) {
                Grant one = acquire(backend, "one", 20_000);
                Grant two = acquire(backend, "two", 20_000);
                silent.set(true);

                assertThat(answer(backend.renew(List.of(one), timeoutMillis)))
                        .singleElement()
                        .isInstanceOf(RenewResult.Renewed.class);
                int before = asked.get();
                assertThat(answer(backend.renew(List.of(two), timeoutMillis)))
                        .singleElement()
                        .isInstanceOf(RenewResult.Renewed.class);
                assertThat(asked).hasValue(before);

                assertThat(answer(backend.renew(List.of(one), timeoutMillis)))
                        .singleElement()
                        .isInstanceOf(RenewResult.Unknown.class);
                silent.set(false);
                assertThat(answer(backend.renew(List.of(one), timeoutMillis)))
                        .singleElement()
                        .isInstanceOf(RenewResult.Renewed.class);
            }
        }
    }

    private static ClientInterceptor swallowingLooks(AtomicBoolean silent, AtomicInteger asked) {
        return new ClientInterceptor() {
            @Override
            public <Q, A> ClientCall<Q, A> interceptCall(
                    MethodDescriptor<Q, A> method, CallOptions options, Channel channel) {
                ClientCall<Q, A> call = channel.newCall(method, options);
                if (!silent.get() || !method.getFullMethodName().endsWith("LeaseTimeToLive")) {
                    return call;
                }
                asked.incrementAndGet();
                return new ForwardingClientCall.SimpleForwardingClientCall<>(call) {
                    @Override
                    public void sendMessage(Q message) {}

                    @Override
                    public void halfClose() {}
                };
            }
        };
    }

    private static LockBackend behind(FaultProxy one, FaultProxy two) {
        Client client = EtcdFixture.patientClient(one, two);
        return EtcdInternals.owner(client, EtcdLocks.DEFAULT_PREFIX);
    }
}
