package dev.holdfast.lock.consul.internal.http;

import java.net.Authenticator;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;

/** Sends the requests of another client. On demand, nothing can be added to an answer, as without memory. */
public final class FaultyHttpClient extends HttpClient {
    public final Error error = new InternalError("by the test");

    /** How many of the next requests end with the error. */
    public final AtomicInteger failing = new AtomicInteger();

    /** Whether requests have no answer. */
    final AtomicBoolean deaf = new AtomicBoolean();

    private final HttpClient client;

    FaultyHttpClient(HttpClient client) {
        this.client = client;
    }

    /** A connection to an agent by such a client, which is its {@code client()}. */
    public static ConsulConnection connection(FakeAgent agent) {
        ConsulConnection plain = agent.connection();
        return new ConsulConnection(new FaultyHttpClient(plain.client()), plain.agents(), null, () -> {});
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(
            HttpRequest request, HttpResponse.BodyHandler<T> bodyHandler) {
        if (deaf.get()) {
            return new CompletableFuture<>();
        }
        if (failing.getAndUpdate(left -> Math.max(0, left - 1)) == 0) {
            return client.sendAsync(request, bodyHandler);
        }
        return new CompletableFuture<>() {
            @Override
            public <U> CompletableFuture<U> thenApply(Function<? super HttpResponse<T>, ? extends U> function) {
                throw error;
            }
        };
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(
            HttpRequest request,
            HttpResponse.BodyHandler<T> bodyHandler,
            HttpResponse.PushPromiseHandler<T> pushPromiseHandler) {
        throw new UnsupportedOperationException();
    }

    @Override
    public <T> HttpResponse<T> send(HttpRequest request, HttpResponse.BodyHandler<T> bodyHandler) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Optional<CookieHandler> cookieHandler() {
        return client.cookieHandler();
    }

    @Override
    public Optional<Duration> connectTimeout() {
        return client.connectTimeout();
    }

    @Override
    public Redirect followRedirects() {
        return client.followRedirects();
    }

    @Override
    public Optional<ProxySelector> proxy() {
        return client.proxy();
    }

    @Override
    public SSLContext sslContext() {
        return client.sslContext();
    }

    @Override
    public SSLParameters sslParameters() {
        return client.sslParameters();
    }

    @Override
    public Optional<Authenticator> authenticator() {
        return client.authenticator();
    }

    @Override
    public Version version() {
        return client.version();
    }

    @Override
    public Optional<Executor> executor() {
        return client.executor();
    }
}
