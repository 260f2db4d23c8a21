package dev.holdfast.lock.consul.internal.http;

import dev.holdfast.lock.spi.support.BackgroundLog;
import dev.holdfast.lock.spi.support.ClientThreads;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.io.IOException;
import java.net.Authenticator;
import java.net.ConnectException;
import java.net.CookieHandler;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.PushPromiseHandler;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import org.jspecify.annotations.Nullable;

/**
 * One of the JDK's HTTP clients, which is replaced when it is useless: its selector thread ends at an Error, as in a full heap, and
 * is not started again. From then on, requests have no answer or fail. If {@value #UNANSWERED} in a row did and another client is
 * answered, that one is used. An agent that answers nobody has no effect, nor has one that refuses connections.
 *
 * <p>Thread-safe; never blocks, except for {@link #send}.
 */
final class HealingHttpClient extends HttpClient {
    static final int UNANSWERED = 3;

    private static final BackgroundLog LOG = BackgroundLog.of(HealingHttpClient.class);
    private static final Duration ANSWER = Duration.ofSeconds(5);
    private static final long PAUSE_NANOS = Duration.ofSeconds(1).toNanos();

    private final Supplier<HttpClient> factory;
    private final ReentrantLock mutex = new ReentrantLock();
    private final AtomicInteger unanswered = new AtomicInteger();
    private final AtomicBoolean trying = new AtomicBoolean();
    private volatile HttpClient current;
    private volatile long triedNanos = System.nanoTime();
    private boolean closed;
    /** The client that is tried; only the thread that tries uses it. */
    private @Nullable HttpClient candidate;

    private int tries;

    /**
     * Creates it with its first client.
     *
     * @param factory creates clients without connecting
     */
    HealingHttpClient(Supplier<HttpClient> factory) {
        this.factory = factory;
        this.current = factory.get();
    }

    /** The client in use; there will be no other. */
    HttpClient last() {
        mutex.lock();
        try {
            closed = true;
            return current;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(HttpRequest request, BodyHandler<T> handler) {
        return watched(request, () -> current.sendAsync(request, handler));
    }

    @Override
    public <T> CompletableFuture<HttpResponse<T>> sendAsync(
            HttpRequest request, BodyHandler<T> handler, @Nullable PushPromiseHandler<T> pushes) {
        return watched(request, () -> current.sendAsync(request, handler, pushes));
    }

    private <T> CompletableFuture<T> watched(HttpRequest request, Supplier<CompletableFuture<T>> sending) {
        long sentNanos = System.nanoTime();
        CompletableFuture<T> answer;
        try {
            answer = sending.get();
        } catch (Error e) { // the selector is closed
            unanswered(request.uri());
            throw e;
        }
        CompletableFuture<?> unused = answer.whenComplete((response, failure) -> {
            if (failure == null || FailureTranslator.unwrap(failure) instanceof ConnectException) { // also an answer
                answered();
            } else if (!(failure instanceof CancellationException) || isOver(request, sentNanos)) {
                unanswered(request.uri());
            }
        });
        return answer;
    }

    /** The selector thread ends a request that takes too long; its caller does so a little later. */
    private static boolean isOver(HttpRequest request, long sentNanos) {
        return request.timeout()
                .filter(timeout -> System.nanoTime() - sentNanos >= timeout.toNanos())
                .isPresent();
    }

    private void answered() {
        if (unanswered.get() != 0) {
            unanswered.set(0);
        }
    }

    private void unanswered(URI address) {
        if (unanswered.incrementAndGet() >= UNANSWERED
                && System.nanoTime() - triedNanos >= PAUSE_NANOS
                && trying.compareAndSet(false, true)) {
            ClientThreads.start("holdfast-consul-connect", () -> tryAnother(address), () -> trying.set(false));
        }
    }

    private void tryAnother(URI address) {
        try {
            HttpClient another = candidate();
            if (isAnswered(another, address)) {
                replaceBy(another);
                candidate = null;
                tries = 0;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            triedNanos = System.nanoTime();
            trying.set(false);
        }
    }

    /**
     * The same as before, since each has a thread until the garbage collector ends it, but another one now and then: the thread may
     * have ended.
     */
    private HttpClient candidate() {
        @Nullable HttpClient same = candidate;
        if (same == null || Integer.bitCount(++tries) == 1) {
            same = factory.get();
            candidate = same;
        }
        return same;
    }

    /** Asks for the leader's address, for which no right is needed. */
    private static boolean isAnswered(HttpClient client, URI address) throws InterruptedException {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(address.resolve("/v1/status/leader")).timeout(ANSWER);
        if (!"https".equals(address.getScheme())) {
            request.version(Version.HTTP_1_1);
        }
        CompletableFuture<?> answer = client.sendAsync(request.build(), HttpResponse.BodyHandlers.discarding());
        try {
            answer.get(ANSWER.toMillis(), TimeUnit.MILLISECONDS);
            return true;
        } catch (ExecutionException | TimeoutException e) {
            answer.cancel(true);
            return false;
        }
    }

    /** Requests under way are left to their time-outs. The garbage collector ends what is left of the client before. */
    private void replaceBy(HttpClient another) {
        mutex.lock();
        try {
            if (closed || unanswered.get() < UNANSWERED) {
                return;
            }
            current = another;
            unanswered.set(0);
        } finally {
            mutex.unlock();
        }
        LOG.warn(
                "requests to Consul had no answer while another connection had one: the other one is used from now on");
    }

    @Override
    public <T> HttpResponse<T> send(HttpRequest request, BodyHandler<T> handler)
            throws IOException, InterruptedException {
        return current.send(request, handler);
    }

    @Override
    public Optional<CookieHandler> cookieHandler() {
        return current.cookieHandler();
    }

    @Override
    public Optional<Duration> connectTimeout() {
        return current.connectTimeout();
    }

    @Override
    public Redirect followRedirects() {
        return current.followRedirects();
    }

    @Override
    public Optional<ProxySelector> proxy() {
        return current.proxy();
    }

    @Override
    public SSLContext sslContext() {
        return current.sslContext();
    }

    @Override
    public SSLParameters sslParameters() {
        return current.sslParameters();
    }

    @Override
    public Optional<Authenticator> authenticator() {
        return current.authenticator();
    }

    @Override
    public Version version() {
        return current.version();
    }

    @Override
    public Optional<Executor> executor() {
        return current.executor();
    }
}
