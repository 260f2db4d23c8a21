package dev.holdfast.lock.consul.internal.http;

import dev.holdfast.lock.spi.support.ClientThreads;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * Two of the JDK's HTTP clients, each with its own connections: an agent refuses new connections above its limit, so
 * renewals keep one to themselves. They share at most two daemon threads for callbacks, which end when idle, and have a
 * selector thread each. Since Java 21 {@link #close} ends the selector threads; before, they end when the clients have been
 * garbage collected, and keep the application's class loader until then.
 */
public final class OwnHttpClient {
    private static final int THREADS = 2;

    private final ClientThreads threads = new ClientThreads();
    private final Duration timeout;
    private final ThreadPoolExecutor executor;
    private final HealingHttpClient client;
    private final HealingHttpClient renewals;

    /**
     * Makes both clients.
     *
     * @param timeout of a connection, and of the wait for the threads' end
     * @param tls null for plain HTTP
     */
    public OwnHttpClient(Duration timeout, @Nullable SSLContext tls) {
        this.timeout = timeout;
        AtomicInteger number = new AtomicInteger();
        executor = new ThreadPoolExecutor(
                THREADS,
                THREADS,
                5,
                TimeUnit.SECONDS,
                new LinkedBlockingQueue<>(),
                threads.by(task -> ClientThreads.daemon("holdfast-consul-" + number.incrementAndGet(), task)));
        executor.allowCoreThreadTimeOut(true);
        client = new HealingHttpClient(() -> newClient(tls));
        renewals = new HealingHttpClient(() -> newClient(tls));
    }

    private HttpClient newClient(@Nullable SSLContext tls) {
        HttpClient.Builder builder = HttpClient.newBuilder()
                .connectTimeout(timeout)
                .executor(executor)
                .proxy(HttpClient.Builder.NO_PROXY) // http.proxyHost of the JVM would get the token in clear text
                .followRedirects(HttpClient.Redirect.NEVER); // a redirect would send the token to another server
        if (tls != null) {
            builder.sslContext(tls);
        }
        return builder.build();
    }

    /** A connection to agents by these clients, which it closes. */
    public ConsulConnection to(List<URI> agents, @Nullable Supplier<String> token, @Nullable String datacenter) {
        return new ConsulConnection(client, renewals, agents, token, datacenter, this::close);
    }

    /** Closes both clients, and waits for the end of the threads, for no longer than {@code timeout}. */
    public void close() {
        long deadlineNanos = System.nanoTime() + timeout.toNanos();
        List<HttpClient> clients = List.of(client.last(), renewals.last());
        try {
            Method shutdownNow = HttpClient.class.getMethod("shutdownNow");
            Method awaitTermination = HttpClient.class.getMethod("awaitTermination", Duration.class);
            for (HttpClient each : clients) {
                shutdownNow.invoke(each);
            }
            for (HttpClient each : clients) {
                awaitTermination.invoke(each, Duration.ofNanos(Math.max(1, deadlineNanos - System.nanoTime())));
            }
        } catch (NoSuchMethodException e) {
            // before Java 21
        } catch (InvocationTargetException e) {
            if (!(e.getCause() instanceof InterruptedException)) {
                throw new IllegalStateException("the HTTP client cannot be closed", e);
            }
            Thread.currentThread().interrupt();
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("the HTTP client cannot be closed", e);
        }
        executor.shutdown();
        threads.awaitEnd(deadlineNanos - System.nanoTime());
    }
}
