package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.etcd.internal.client.ScriptedEtcd;
import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.etcd.jetcd.api.AuthenticateResponse;
import io.etcd.jetcd.api.KVGrpc;
import io.grpc.Attributes;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.SecurityLevel;
import io.grpc.Status;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** When a client logs in, and with what: without a server. */
final class AuthenticationTest {
    private static final Metadata.Key<String> TOKEN = Metadata.Key.of("token", Metadata.ASCII_STRING_MARSHALLER);
    private static final Status TOKEN_REFUSED =
            Status.UNAUTHENTICATED.withDescription("etcdserver: invalid auth token");

    private final ScriptedChannel channel = new ScriptedChannel();
    private Supplier<@Nullable EtcdCredentials> supplier = () -> new EtcdCredentials("me", "first");
    private int asked;

    private final Authentication authentication = new Authentication(() -> {
        asked++;
        return supplier.get();
    });

    /** A request, and what was done with it before it could be sent. */
    private final class Sent extends CallCredentials.MetadataApplier {
        final ScriptedChannel.Call<?, ?> call;

        @Nullable String token;

        @Nullable Status failed;

        @Nullable Status told;

        Sent() {
            this(() -> {});
        }

        /** What is done before it gets its token. */
        Sent(Runnable before) {
            var intercepted = authentication.interceptCall(KVGrpc.getRangeMethod(), CallOptions.DEFAULT, channel);
            listen(intercepted);
            call = channel.calls.get(channel.calls.size() - 1);
            before.run();
            Objects.requireNonNull(call.options.getCredentials()).applyRequestMetadata(new Info(), Runnable::run, this);
        }

        private <Q, A> void listen(ClientCall<Q, A> intercepted) {
            intercepted.start(
                    new ClientCall.Listener<>() {
                        @Override
                        public void onClose(Status status, Metadata trailers) {
                            told = status;
                        }
                    },
                    new Metadata());
        }

        @Override
        public void apply(Metadata headers) {
            token = headers.get(TOKEN);
        }

        @Override
        public void fail(Status status) {
            failed = status;
        }
    }

    private static final class Info extends CallCredentials.RequestInfo {
        @Override
        public MethodDescriptor<?, ?> getMethodDescriptor() {
            return KVGrpc.getRangeMethod();
        }

        @Override
        public SecurityLevel getSecurityLevel() {
            return SecurityLevel.NONE;
        }

        @Override
        public String getAuthority() {
            return "etcd";
        }

        @Override
        public Attributes getTransportAttrs() {
            return Attributes.EMPTY;
        }
    }

    @SuppressWarnings("unchecked")
    private List<ScriptedChannel.Call<AuthenticateRequest, AuthenticateResponse>> logins() {
        return channel.calls.stream()
                .filter(call -> call.method == AuthGrpc.getAuthenticateMethod())
                .map(call -> (ScriptedChannel.Call<AuthenticateRequest, AuthenticateResponse>) call)
                .toList();
    }

    private ScriptedChannel.Call<AuthenticateRequest, AuthenticateResponse> lastLogin() {
        return logins().get(logins().size() - 1);
    }

    private void loggedIn(String token) {
        lastLogin().answers(AuthenticateResponse.newBuilder().setToken(token).build());
    }

    @Test
    void oneLogin_isForAllRequests_whileItIsUnderWayAndAfterIt() {
        long startNanos = System.nanoTime();
        Sent first = new Sent();
        Sent second = new Sent();
        assertThat(logins()).hasSize(1);
        assertThat(lastLogin().messages).singleElement().satisfies(request -> {
            assertThat(request.getName()).isEqualTo("me");
            assertThat(request.getPassword()).isEqualTo("first");
        });
        assertThat(Objects.requireNonNull(lastLogin().options.getDeadline()).timeRemaining(TimeUnit.MILLISECONDS))
                .as("milliseconds for it")
                .isBetween(3_000 - ScriptedEtcd.millisSince(startNanos), 3_000L);
        assertThat(first.token).isNull();

        loggedIn("t1");

        assertThat(first.token).isEqualTo("t1");
        assertThat(second.token).isEqualTo("t1");
        int before = asked;
        assertThat(new Sent().token).isEqualTo("t1");
        assertThat(logins()).hasSize(1);
        assertThat(asked).as("the secret's store is asked for a login alone").isEqualTo(before);
    }

    @ParameterizedTest
    @EnumSource(
            value = Status.Code.class,
            names = {"INVALID_ARGUMENT", "UNAUTHENTICATED", "FAILED_PRECONDITION"})
    void refusedLogin_isNotRepeatedAtOnce_butWithOtherCredentialsItIs(Status.Code code) {
        Sent first = new Sent();
        lastLogin().closes(code.toStatus().withDescription("said by the test"));
        assertThat(first.failed).isNotNull();
        assertThat(first.failed.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
        assertThat(first.failed.getDescription()).isEqualTo("said by the test");

        Sent second = sentWithinThePause(code);

        assertThat(second.failed).as("fails with what etcd said").isNotNull();
        assertThat(second.failed.getDescription()).isEqualTo("said by the test");
        int before = logins().size();

        supplier = () -> new EtcdCredentials("me", "second");
        Sent third = new Sent();
        assertThat(logins()).hasSize(before + 1);
        assertThat(lastLogin().messages.get(0).getPassword()).isEqualTo("second");
        loggedIn("t2");
        assertThat(third.token).isEqualTo("t2");
    }

    /** If the machine pauses for longer than that, there is one more login, and the next pause is twice as long. */
    private Sent sentWithinThePause(Status.Code code) {
        Sent sent = new Sent();
        for (int i = 0; i < 4 && sent.failed == null; i++) {
            lastLogin().closes(code.toStatus().withDescription("said by the test"));
            sent = new Sent();
        }
        return sent;
    }

    /** No login has checked the password. */
    @Test
    void loginThatFailsOtherwise_isRepeatedByTheNextRequest() {
        Sent first = new Sent();
        lastLogin().closes(Status.UNAVAILABLE.withDescription("said by the test"));
        assertThat(first.failed).isNotNull();
        assertThat(first.failed.getCode()).isEqualTo(Status.Code.UNAVAILABLE);

        Sent second = new Sent();

        assertThat(logins()).hasSize(2);
        loggedIn("t1");
        assertThat(second.token).isEqualTo("t1");
    }

    @Test
    void tokenThatIsRefused_isFollowedByALogin_andNoOtherFailureIs() {
        Sent first = new Sent();
        loggedIn("t1");
        first.call.closes(Status.UNAVAILABLE);
        Sent second = new Sent();
        assertThat(second.token).isEqualTo("t1");

        second.call.closes(TOKEN_REFUSED);

        assertThat(second.told).as("is still reported").isEqualTo(TOKEN_REFUSED);
        Sent third = new Sent();
        assertThat(logins()).hasSize(2);
        assertThat(asked).isEqualTo(2);
        loggedIn("t2");
        assertThat(third.token).isEqualTo("t2");
    }

    /** Of many pending requests with the old token, each would cost a login. */
    @Test
    void refusalOfAnOldToken_thatComesLate_leavesTheNewOne() {
        Sent first = new Sent();
        Sent second = new Sent();
        loggedIn("t1");
        first.call.closes(TOKEN_REFUSED);
        new Sent();
        loggedIn("t2");

        second.call.closes(TOKEN_REFUSED);

        assertThat(new Sent().token).isEqualTo("t2");
        assertThat(logins()).hasSize(2);
    }

    @Test
    void supplierThatFails_failsTheRequest_andIsAskedAgainByTheNext() {
        IllegalStateException cause = new IllegalStateException("no secret yet");
        supplier = () -> {
            throw cause;
        };
        Sent first = new Sent();
        assertThat(first.failed).isNotNull();
        assertThat(first.failed.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
        assertThat(first.failed.getDescription()).isEqualTo("the supplier of etcd's credentials failed");
        assertThat(first.failed.getCause()).isSameAs(cause);
        supplier = () -> null;
        Sent second = new Sent();
        assertThat(second.failed).isNotNull();
        assertThat(second.failed.getCause()).isInstanceOf(NullPointerException.class);
        assertThat(logins()).isEmpty();

        supplier = () -> new EtcdCredentials("me", "first");
        Sent third = new Sent();

        loggedIn("t1");
        assertThat(third.token).isEqualTo("t1");
    }

    /** For example, a request that began just before the client's close: it would never complete. */
    @Test
    void loginThatCannotBeSent_failsTheRequest() {
        Sent first = new Sent();
        loggedIn("t1");
        first.call.closes(TOKEN_REFUSED);
        Sent second = new Sent(() -> channel.broken = new IllegalStateException("closed by the test"));

        assertThat(second.failed).isNotNull();
        assertThat(second.failed.getCause()).hasMessage("closed by the test");
        channel.broken = null;
        Sent third = new Sent();
        loggedIn("t2");
        assertThat(third.token).isEqualTo("t2");
    }
}
