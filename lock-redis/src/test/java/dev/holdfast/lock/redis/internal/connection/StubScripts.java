package dev.holdfast.lock.redis.internal.connection;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/** A link without a server: it notes which scripts are sent, and the test answers; other questions have no answer. */
public final class StubScripts {

    /**
     * A script that was sent.
     *
     * @param how {@code evalsha} or {@code eval}
     * @param script its digest or its text
     * @param keys its keys
     * @param args its arguments
     * @param answer what it gets
     */
    public record Sent(
            String how, String script, List<Object> keys, List<Object> args, Stubs.Answer<List<Object>> answer) {}

    /** What was sent, in its order. */
    public final List<Sent> sent = new CopyOnWriteArrayList<>();

    /** The keys by which servers were distinguished. */
    final List<String> asked = new CopyOnWriteArrayList<>();

    /** How often the right server was looked for. */
    final AtomicInteger looks = new AtomicInteger();

    volatile boolean closedByTheUser;

    private final RedisClusterAsyncCommands<String, String> commands =
            Stubs.of(RedisClusterAsyncCommands.class, (method, arguments) -> switch (method) {
                case "evalsha", "eval" -> {
                    Stubs.Answer<List<Object>> answer = new Stubs.Answer<>();
                    sent.add(new Sent(
                            method,
                            String.valueOf(arguments[0]),
                            Arrays.asList((Object[]) arguments[2]),
                            Arrays.asList((Object[]) arguments[3]),
                            answer));
                    yield answer;
                }
                case "scan", "info" -> new Stubs.Answer<>();
                default -> Stubs.unexpected(method);
            });

    public ConnectionFactory.Link link() {
        return new ConnectionFactory.Link(
                commands,
                looks::incrementAndGet,
                key -> {
                    throw new UnsupportedOperationException(key);
                },
                key -> {
                    asked.add(key);
                    return key;
                },
                () -> closedByTheUser,
                null);
    }

    public Sent last() {
        return sent.get(sent.size() - 1);
    }
}
