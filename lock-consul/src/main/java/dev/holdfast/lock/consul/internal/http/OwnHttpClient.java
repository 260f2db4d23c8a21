package dev.holdfast.lock.consul.internal.http;

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
 * selector thread each. Since Java 21 {@link #close} ends the selector threads; before, they end when the clients are
 * garbage collected.
 */
public final class OwnHttpClient {
    private static final int THREADS = 2;

    private final ThreadPoolExecutor executor;
    private final HttpClient client;
    private final HttpClient renewals;

    public OwnHttpClient(Duration connectTimeout, @Nullable SSLContext tls) {
        AtomicInteger number = new AtomicInteger();
        executor = new ThreadPoolExecutor(THREADS, THREADS, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
            Thread thread = new Thread(null, task, "holdfast-consul-" + number.incrementAndGet(), 0, false);
            thread.setDaemon(true);
            return thread;
        });
        executor.allowCoreThreadTimeOut(true);
        client = newClient(connectTimeout, tls);
        renewals = newClient(connectTimeout, tls);
    }

    private HttpClient newClient(Duration connectTimeout, @Nullable SSLContext tls) {
        HttpClient.Builder builder = HttpClient.newBuilder()
                .connectTimeout(connectTimeout)
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

    /** Never blocks. */
    public void close() {
        try {
            Method shutdownNow = HttpClient.class.getMethod("shutdownNow");
            shutdownNow.invoke(client);
            shutdownNow.invoke(renewals);
        } catch (NoSuchMethodException e) {
            // before Java 21
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("the HTTP client cannot be closed", e);
        }
        executor.shutdown();
    }
}
