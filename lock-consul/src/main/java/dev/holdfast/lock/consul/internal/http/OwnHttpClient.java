package dev.holdfast.lock.consul.internal.http;

import java.net.http.HttpClient;
import java.time.Duration;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/**
 * The JDK's HTTP client with at most two daemon threads for callbacks, which end when idle, and the client's own
 * selector thread. Since Java 21 {@link #close} ends the selector thread; before, it ends when the client is garbage
 * collected.
 */
public final class OwnHttpClient {
    private static final int THREADS = 2;

    private final ThreadPoolExecutor executor;
    private final HttpClient client;

    public OwnHttpClient(Duration connectTimeout, @Nullable SSLContext tls) {
        AtomicInteger number = new AtomicInteger();
        executor = new ThreadPoolExecutor(THREADS, THREADS, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
            Thread thread = new Thread(null, task, "holdfast-consul-" + number.incrementAndGet(), 0, false);
            thread.setDaemon(true);
            return thread;
        });
        executor.allowCoreThreadTimeOut(true);
        HttpClient.Builder builder = HttpClient.newBuilder()
                .connectTimeout(connectTimeout)
                .executor(executor)
                .followRedirects(HttpClient.Redirect.NEVER); // a redirect would send the token to another server
        if (tls != null) {
            builder.sslContext(tls);
        }
        client = builder.build();
    }

    public HttpClient client() {
        return client;
    }

    /** Never blocks. */
    public void close() {
        try {
            HttpClient.class.getMethod("shutdownNow").invoke(client);
        } catch (NoSuchMethodException e) {
            // before Java 21
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the HTTP client cannot be closed", e);
        }
        executor.shutdown();
    }
}
