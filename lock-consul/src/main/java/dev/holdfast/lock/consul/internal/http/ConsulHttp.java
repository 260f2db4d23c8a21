package dev.holdfast.lock.consul.internal.http;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.support.FailureTranslator;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Sends requests to one of several agents, and changes to the next one after a failure. It does not repeat requests.
 * Thread-safe; never blocks.
 *
 * <p>By default an agent refuses new connections of a machine that has 200, which all processes there share. HTTP/1.1
 * needs one for each request at a time. So a client has at most 16: 7 for requests, {@value #BLOCKING_AT_ONCE} for
 * queries that block, and one for renewals.
 */
public final class ConsulHttp {
    /** How many queries that block may run at a time; their senders have to keep this limit. */
    public static final int BLOCKING_AT_ONCE = 8;

    private static final int REQUESTS_AT_ONCE = 7;
    /** Additional time for the body of an answer whose headers came just in time. */
    private static final long BODY_MILLIS = 500;

    /** Null when closed, so that the garbage collector can end the threads of an HTTP client before Java 21. */
    private volatile @Nullable ConsulConnection connection;

    private final RequestGate requests = new RequestGate(REQUESTS_AT_ONCE);
    private final RequestGate renewals = new RequestGate(1);
    private final AtomicInteger agent = new AtomicInteger();
    private final Set<CompletableFuture<?>> exchanges = ConcurrentHashMap.newKeySet();

    public ConsulHttp(ConsulConnection connection) {
        this.connection = connection;
    }

    public CompletableFuture<Reply> get(String path, Deadline deadline) {
        return inTurn("GET", path, "", deadline);
    }

    public CompletableFuture<Reply> put(String path, String body, Deadline deadline) {
        return inTurn("PUT", path, body, deadline);
    }

    /** A query that the agent answers when something has changed; it bypasses the gate. */
    public CompletableFuture<Reply> blockingGet(String path, long timeoutMillis) {
        return send("GET", path, "", timeoutMillis, false);
    }

    /** A request that could not be sent in time fails with {@link NotSentException}. */
    private CompletableFuture<Reply> inTurn(String method, String path, String body, Deadline deadline) {
        CompletableFuture<Reply> result = new CompletableFuture<>();
        boolean renews = deadline.priority() == Deadline.Priority.RENEWAL;
        RequestGate gate = renews ? renewals : requests;
        gate.enter(deadline.priority() == Deadline.Priority.FIRST, () -> {
            if (connection == null) {
                result.completeExceptionally(new LockUnavailableException("its client is closed"));
                return false;
            }
            if (deadline.hasPassed()) {
                result.completeExceptionally(new NotSentException());
                return false;
            }
            try {
                send(method, path, body, deadline.leftMillis(), renews).whenComplete((reply, failure) -> {
                    gate.leave();
                    if (failure == null) {
                        result.complete(reply);
                    } else {
                        result.completeExceptionally(FailureTranslator.unwrap(failure));
                    }
                });
                return true;
            } catch (Throwable e) { // no memory: this request fails, and the gate goes on with the others
                result.completeExceptionally(e);
                return false;
            }
        });
        return result;
    }

    private CompletableFuture<Reply> send(String method, String path, String body, long timeoutMillis, boolean renews) {
        ConsulConnection open = connection;
        if (open == null) {
            return CompletableFuture.failedFuture(new LockUnavailableException("its client is closed"));
        }
        int number = agent.get();
        CompletableFuture<HttpResponse<String>> exchange = FailureTranslator.guard(() -> {
            HttpRequest request = request(open, number, method, path, body, timeoutMillis);
            return (renews ? open.renewals() : open.client()).sendAsync(request, HttpResponse.BodyHandlers.ofString());
        });
        exchanges.add(exchange);
        // Our own futures: a cancelled future of the HTTP client first fails with another exception.
        CompletableFuture<Reply> answered = new CompletableFuture<>();
        CompletableFuture<Reply> result = new CompletableFuture<>();
        exchange.thenApply(ConsulHttp::reply).whenComplete((reply, failure) -> {
            if (failure == null) {
                answered.complete(reply);
            } else {
                answered.completeExceptionally(failure);
            }
        });
        // The time-out of the HTTP client covers only the headers.
        answered.orTimeout(timeoutMillis + BODY_MILLIS, TimeUnit.MILLISECONDS);
        answered.whenComplete((reply, failure) -> {
            try {
                exchanges.remove(exchange);
                boolean cancelled =
                        result.isCancelled() || connection == null; // cancelled by us, not a fault of the agent
                if (!cancelled && (failure != null || reply.status() >= 500)) {
                    agent.compareAndSet(
                            number, (number + 1) % open.agents().size()); // before the caller can send another request
                }
            } finally { // without memory too, or its place at the gate would stay taken
                if (failure == null) {
                    result.complete(reply);
                } else {
                    result.completeExceptionally(failure);
                    exchange.cancel(true);
                }
            }
        });
        result.whenComplete((reply, failure) -> {
            if (result.isCancelled()) {
                exchange.cancel(true);
            }
        });
        return result;
    }

    private static HttpRequest request(
            ConsulConnection open, int number, String method, String path, String body, long timeoutMillis) {
        URI address = open.agents().get(number);
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(address + in(open.datacenter(), path)))
                .timeout(Duration.ofMillis(timeoutMillis))
                .method(
                        method,
                        body.isEmpty()
                                ? HttpRequest.BodyPublishers.noBody()
                                : HttpRequest.BodyPublishers.ofString(body));
        if (!"https".equals(address.getScheme())) {
            request.version(HttpClient.Version.HTTP_1_1); // agents do not support the upgrade to HTTP/2
        }
        if (open.token() != null) {
            request.header("X-Consul-Token", checked(open.token().get()));
        }
        return request.build();
    }

    private static String in(@Nullable String datacenter, String path) {
        return datacenter == null ? path : path + (path.contains("?") ? "&" : "?") + "dc=" + datacenter;
    }

    /** The message of the HTTP client would contain an invalid token. */
    private static String checked(String token) {
        if (token.isEmpty() || token.chars().anyMatch(c -> c <= ' ' || c >= 0x7f)) {
            throw new LockConfigurationException(
                    "the ACL token is empty or has an invalid character; correct its source");
        }
        return token;
    }

    private static Reply reply(HttpResponse<String> response) {
        long index = response.headers().firstValueAsLong("X-Consul-Index").orElse(0);
        return new Reply(response.statusCode(), index, response.body());
    }

    /** Cancels the running requests, and closes the HTTP client if it is our own. */
    public void close() {
        ConsulConnection open = connection;
        connection = null;
        exchanges.forEach(exchange -> exchange.cancel(true));
        if (open != null) {
            open.closer().run();
        }
    }

    /** The time of the request ended before it could be sent. */
    public static final class NotSentException extends TimeoutException {
        private static final long serialVersionUID = 1;

        NotSentException() {
            super("too many requests were in flight");
        }
    }
}
