package dev.holdfast.lock.etcd;

import dev.holdfast.lock.etcd.internal.client.EtcdFailures;
import io.etcd.jetcd.api.AuthGrpc;
import io.etcd.jetcd.api.AuthenticateRequest;
import io.etcd.jetcd.api.AuthenticateResponse;
import io.grpc.CallCredentials;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.ForwardingClientCallListener.SimpleForwardingClientCallListener;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.StreamObserver;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Logs in to etcd with the current credentials. The supplier is called for each login, so a changed password is used as
 * soon as etcd refuses the old token. jetcd's own login keeps the password it was built with, and repeats a refused
 * login for each call.
 *
 * <p>A refused login is not repeated with the same credentials before a pause, which doubles up to {@value
 * #MAX_PAUSE_MILLIS} ms. Until then, calls fail at once with etcd's message. Other credentials are tried at once.
 *
 * <p>Thread-safe.
 */
final class Authentication implements ClientInterceptor {
    private static final Metadata.Key<String> TOKEN = Metadata.Key.of("token", Metadata.ASCII_STRING_MARSHALLER);
    private static final long LOGIN_MILLIS = 3_000;
    private static final long FIRST_PAUSE_MILLIS = 250;
    private static final long MAX_PAUSE_MILLIS = 2_000;

    private final Supplier<EtcdCredentials> credentials;
    private final AtomicReference<@Nullable Login> current = new AtomicReference<>();

    Authentication(Supplier<EtcdCredentials> credentials) {
        this.credentials = credentials;
    }

    /** One login: a token or a failure. */
    private static final class Login {
        final EtcdCredentials with;
        final long pauseMillis;
        final CompletableFuture<Metadata> token = new CompletableFuture<>();
        volatile boolean refused;
        volatile long endedNanos;

        Login(EtcdCredentials with, long pauseMillis) {
            this.with = with;
            this.pauseMillis = pauseMillis;
        }

        boolean isWorthKeeping(EtcdCredentials now) {
            if (!token.isDone()) {
                return with.equals(now);
            }
            long pausedMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - endedNanos);
            return !token.isCompletedExceptionally() || refused && with.equals(now) && pausedMillis < pauseMillis;
        }
    }

    @Override
    public <ReqT, RespT> ClientCall<ReqT, RespT> interceptCall(
            MethodDescriptor<ReqT, RespT> method, CallOptions options, Channel next) {
        Token token = new Token(next);
        ClientCall<ReqT, RespT> call = next.newCall(method, options.withCallCredentials(token));
        return new SimpleForwardingClientCall<>(call) {
            @Override
            public void start(Listener<RespT> listener, Metadata headers) {
                super.start(
                        new SimpleForwardingClientCallListener<>(listener) {
                            @Override
                            public void onClose(Status status, Metadata trailers) {
                                if (EtcdFailures.isTokenRefused(status.asRuntimeException())) {
                                    token.discard();
                                }
                                super.onClose(status, trailers);
                            }
                        },
                        headers);
            }
        };
    }

    /** Adds the token of the current login to one call. */
    private final class Token extends CallCredentials {
        private final Channel channel;
        private volatile @Nullable Login used;

        Token(Channel channel) {
            this.channel = channel;
        }

        @Override
        public void applyRequestMetadata(RequestInfo info, Executor executor, MetadataApplier applier) {
            Login login;
            try {
                login = login(channel);
            } catch (RuntimeException e) {
                applier.fail(Status.UNAUTHENTICATED
                        .withDescription("the supplier of etcd's credentials failed")
                        .withCause(e));
                return;
            }
            used = login;
            login.token.whenComplete((metadata, failure) -> {
                if (failure == null) {
                    applier.apply(metadata);
                } else {
                    Status status = Status.fromThrowable(failure);
                    applier.fail(
                            login.refused ? Status.UNAUTHENTICATED.withDescription(status.getDescription()) : status);
                }
            });
        }

        void discard() {
            Login login = used;
            if (login != null) {
                current.compareAndSet(login, null);
            }
        }
    }

    private Login login(Channel channel) {
        while (true) {
            Login last = current.get();
            if (last != null && last.token.isDone() && !last.token.isCompletedExceptionally()) {
                return last;
            }
            EtcdCredentials now = Objects.requireNonNull(credentials.get(), "credentials");
            if (last != null && last.isWorthKeeping(now)) {
                return last;
            }
            boolean again = last != null && last.refused && last.with.equals(now);
            long pause = again && last != null ? Math.min(2 * last.pauseMillis, MAX_PAUSE_MILLIS) : FIRST_PAUSE_MILLIS;
            Login next = new Login(now, pause);
            if (current.compareAndSet(last, next)) {
                try {
                    send(next, channel);
                } catch (RuntimeException e) {
                    next.endedNanos = System.nanoTime();
                    next.token.completeExceptionally(e);
                }
                return next;
            }
        }
    }

    private static void send(Login login, Channel channel) {
        AuthenticateRequest request = AuthenticateRequest.newBuilder()
                .setName(login.with.user())
                .setPassword(login.with.password())
                .build();
        CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(LOGIN_MILLIS, TimeUnit.MILLISECONDS);
        ClientCalls.asyncUnaryCall(
                channel.newCall(AuthGrpc.getAuthenticateMethod(), options), request, new StreamObserver<>() {
                    @Override
                    public void onNext(AuthenticateResponse reply) {
                        Metadata metadata = new Metadata();
                        metadata.put(TOKEN, reply.getToken());
                        login.token.complete(metadata);
                    }

                    @Override
                    public void onError(Throwable failure) {
                        Status.Code code = Status.fromThrowable(failure).getCode();
                        login.refused = code == Status.Code.INVALID_ARGUMENT
                                || code == Status.Code.UNAUTHENTICATED
                                || code == Status.Code.FAILED_PRECONDITION;
                        login.endedNanos = System.nanoTime();
                        login.token.completeExceptionally(failure);
                    }

                    @Override
                    public void onCompleted() {}
                });
    }
}
