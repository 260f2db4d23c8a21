package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.ClientBuilder;
import io.grpc.ClientInterceptor;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What clients are made of, and with which settings: without a server. */
final class EtcdLocksTest {
    private final ScriptedEtcd etcd = new ScriptedEtcd();

    @AfterEach
    void close() {
        etcd.close();
    }

    /** What a backend reads to learn who holds a lock. */
    private String keyOf(EtcdLocks.Builder builder) {
        builder.backend().holder("n", 60_000);
        return etcd.next("get").key();
    }

    private String nextKeyOf(EtcdLocks.Builder builder) {
        etcd.requests.clear();
        return keyOf(builder);
    }

    private EtcdLocks.Builder builder() {
        return EtcdLocks.builder(etcd.client());
    }

    @Test
    void prefixAndMode_sayWhereKeysAre() {
        assertThat(nextKeyOf(builder())).isEqualTo("holdfast/~queue/n/");
        assertThat(nextKeyOf(builder().prefix("shop/"))).isEqualTo("shop/~queue/n/");
        assertThat(nextKeyOf(builder().mode(EtcdMode.SINGLE_KEY))).isEqualTo("holdfast/n");
        assertThat(nextKeyOf(builder().prefix("shop/").mode(EtcdMode.QUEUE))).isEqualTo("shop/~queue/n/");
    }

    @Test
    void valuesOfTheBuilder_areSetOnce_andAreChecked() {
        assertThatIllegalStateException()
                .isThrownBy(() -> builder().prefix("a/").prefix("b/"))
                .withMessage("prefix was already set to a/");
        assertThatIllegalStateException()
                .isThrownBy(() -> builder().mode(EtcdMode.QUEUE).mode(EtcdMode.QUEUE))
                .withMessage("mode was already set to QUEUE");
        assertThatIllegalStateException()
                .isThrownBy(
                        () -> builder().options(LockClientOptions.defaults()).options(LockClientOptions.defaults()))
                .withMessageStartingWith("options was already set to");
        assertThatNullPointerException().isThrownBy(() -> builder().mode(null)).withMessage("mode must not be null");
        assertThatNullPointerException()
                .isThrownBy(() -> builder().options(null))
                .withMessage("options must not be null");
        assertThatNullPointerException()
                .isThrownBy(() -> EtcdLocks.builder((Client) null))
                .withMessage("client must not be null");
        assertThatIllegalArgumentException().isThrownBy(() -> builder().prefix("no-slash"));
    }

    @Test
    void client_sendsNothingAtFirst_andLeavesTheApplicationsOpen() {
        AtomicInteger ended = new AtomicInteger();
        builder().build().close();
        assertThat(etcd.requests).isEmpty();
        assertThat(etcd.closed).hasValue(0);

        LockClient own = EtcdLocks.builder(new EtcdConnection(etcd.client(), ended::incrementAndGet))
                .build();
        assertThat(ended).hasValue(0);
        own.close();
        assertThat(ended).hasValue(1);
    }

    private static List<String> interceptors(ClientBuilder builder) {
        List<ClientInterceptor> all = builder.interceptors();
        return all == null
                ? List.of()
                : all.stream().map(one -> one.getClass().getSimpleName()).toList();
    }

    private static void assertSettings(ClientBuilder builder) {
        assertThat(builder.waitForReady())
                .as("calls that cannot be sent fail at once")
                .isFalse();
        assertThat(builder.retryMaxAttempts()).as("nothing is repeated below").isZero();
        assertThat(builder.retryDelay()).isEqualTo(50);
        assertThat(builder.connectTimeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(builder.keepaliveTime()).isEqualTo(Duration.ofSeconds(10));
        assertThat(builder.keepaliveTimeout()).isEqualTo(Duration.ofSeconds(3));
        assertThat(builder.keepaliveWithoutCalls()).isFalse();
    }

    @Test
    void recommended_noticesTroubleEarly_andRepeatsNothing() {
        ClientBuilder builder = Client.builder();

        assertThat(EtcdLocks.recommended(builder)).isSameAs(builder);

        assertSettings(builder);
        assertThat(interceptors(builder)).containsExactly("WatchSharing", "DeadlineInterceptor");
        assertThat(builder.executorService())
                .as("the application's callbacks may block")
                .isNull();
    }

    @Test
    void dedicated_takesAnswersWhereTheyAreRead() {
        ClientBuilder builder = EtcdLocks.dedicated(Client.builder(), Duration.ofSeconds(5));

        assertSettings(builder);
        assertThat(interceptors(builder))
                .containsExactly("WatchSharing", "DeadlineInterceptor", "DirectExecutorInterceptor");
        List<Thread> ran = new ArrayList<>();
        builder.executorService().execute(() -> ran.add(Thread.currentThread()));
        assertThat(ran).containsExactly(Thread.currentThread());
    }

    @Test
    void authenticated_logsInByItself() {
        ClientBuilder builder = Client.builder();
        assertThat(EtcdLocks.authenticated(builder, () -> new EtcdCredentials("me", "secret")))
                .isSameAs(builder);

        assertThat(interceptors(builder)).containsExactly("Authentication");
        assertThat(builder.user()).as("jetcd keeps those permanently").isNull();
        assertThatNullPointerException()
                .isThrownBy(() -> EtcdLocks.authenticated(builder, null))
                .withMessage("credentials");
    }

    @Test
    void credentials_areBothThere() {
        for (String[] wrong : new String[][] {{"", "secret"}, {"me", ""}}) {
            assertThatIllegalArgumentException()
                    .isThrownBy(() -> new EtcdCredentials(wrong[0], wrong[1]))
                    .withMessage("etcd needs a user and a password, neither of them empty");
        }
        assertThatExceptionOfType(NullPointerException.class)
                .isThrownBy(() -> new EtcdCredentials(null, "secret"))
                .withMessage("user");
        assertThatExceptionOfType(NullPointerException.class)
                .isThrownBy(() -> new EtcdCredentials("me", null))
                .withMessage("password");
        assertThat(new EtcdCredentials("me", "secret")).hasToString("EtcdCredentials[user=me]");
    }
}
