package dev.holdfast.lock.redis.internal.script;

import dev.holdfast.lock.redis.internal.connection.ConnectionFactory;
import dev.holdfast.lock.redis.internal.connection.RedisSignals;
import dev.holdfast.lock.redis.internal.connection.RedisWaiters;
import dev.holdfast.lock.redis.internal.connection.Stubs;
import dev.holdfast.lock.redis.internal.connection.Stubs.Answer;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** A server that is made up: notes which scripts it is to run, and answers as the test says. Waiters can be called. */
public final class ScriptedMaster implements ConnectionFactory {
    private static final Map<String, RedisScript> SCRIPTS = Stream.concat(
                    RedisScript.ALL.stream(), RedisDemandScripts.ALL.stream())
            .collect(Collectors.toMap(RedisScript::digest, script -> script));

    /** A script to run, and the answer, which may be given later. */
    public record Asked(RedisScript script, List<String> keys, List<String> args, Answer<List<Object>> answer) {}

    /** A WAIT, and its answer, which is given later. */
    public record Waited(int replicas, long millis, Answer<Long> answer) {}

    public final List<Asked> asked = new CopyOnWriteArrayList<>();
    public final List<Waited> waited = new CopyOnWriteArrayList<>();
    public final List<Thread> connectors = new CopyOnWriteArrayList<>();
    public final AtomicInteger connectionCloses = new AtomicInteger();
    public final AtomicInteger closes = new AtomicInteger();
    public final Channels channels = new Channels();
    public volatile @Nullable RedisWaiters waiters;
    public volatile Runnable onConnect = () -> {};
    public volatile Function<String, ScriptedMaster> node = key -> this;

    private final boolean cluster;
    private final Map<String, String> replies = new ConcurrentHashMap<>();
    private final RedisClusterAsyncCommands<String, String> commands =
            Stubs.of(RedisClusterAsyncCommands.class, (method, arguments) -> switch (method) {
                case "evalsha" ->
                    evaluate(String.valueOf(arguments[0]), texts((Object[]) arguments[2]), texts((Object[])
                            arguments[3]));
                case "waitForReplication" -> {
                    Waited wait = new Waited((Integer) arguments[0], (Long) arguments[1], new Answer<>());
                    waited.add(wait);
                    yield wait.answer();
                }
                default -> Stubs.unexpected(method);
            });
    private final StatefulConnection<String, String> connection =
            Stubs.of(StatefulConnection.class, (method, arguments) -> Stubs.unexpected(method));

    public ScriptedMaster() {
        this(false);
    }

    public ScriptedMaster(boolean cluster) {
        this.cluster = cluster;
        answers(RedisScript.RELEASE, "1");
        answers(RedisDemandScripts.RELEASE, "1");
    }

    private static List<String> texts(Object[] parts) {
        return Stream.of(parts).map(String::valueOf).toList();
    }

    /** From now on: numbers, {@code later}, or {@code failed} and why. */
    public void answers(RedisScript script, String reply) {
        replies.put(script.name(), reply);
    }

    private Answer<List<Object>> evaluate(String digest, List<String> keys, List<String> args) {
        RedisScript script = SCRIPTS.get(digest);
        Asked request = new Asked(script, keys, args, new Answer<>());
        asked.add(request);
        give(request, replies.getOrDefault(script.name(), "later"));
        return request.answer();
    }

    /** Answers to what is open. */
    static void give(Asked request, String reply) {
        if (reply.startsWith("failed")) {
            request.answer().completeExceptionally(new RedisException(reply + ", made up by the test; expect it"));
        } else if (!reply.equals("later")) {
            request.answer()
                    .complete(Stream.of(reply.split(" "))
                            .<Object>map(Long::valueOf)
                            .toList());
        }
    }

    List<Asked> asked(RedisScript script) {
        return asked.stream().filter(each -> each.script() == script).toList();
    }

    /** What had to be ended, each as {@code what which}. */
    List<String> ended() {
        return asked(RedisScript.RELEASE).stream()
                .map(each -> (each.args().get(3) + " " + each.args().get(4)).strip())
                .toList();
    }

    @Override
    public boolean cluster() {
        return cluster;
    }

    @Override
    public Link connect() {
        connectors.add(Thread.currentThread());
        onConnect.run();
        return Stubs.link(commands, key -> CompletableFuture.completedStage(node.apply(key).commands), connection);
    }

    @Override
    public RedisSignals signals(String prefix, RedisWaiters called, Link link) {
        waiters = called;
        return channels;
    }

    @Override
    public StatefulRedisPubSubConnection<String, String> connectPubSub() {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close(StatefulConnection<?, ?> closed) {
        connectionCloses.incrementAndGet();
    }

    @Override
    public void close() {
        closes.incrementAndGet();
    }

    /** Notes for whom a channel is wanted. */
    public static final class Channels implements RedisSignals {
        public final Set<String> owners = new HashSet<>();
        public final AtomicInteger missed = new AtomicInteger();
        public final AtomicInteger closes = new AtomicInteger();
        public volatile String mode = "P";
        public volatile boolean queues = true;

        @Override
        public boolean queues() {
            return queues;
        }

        @Override
        public String mode(RedisKeys keys) {
            return mode;
        }

        @Override
        public String inbox() {
            return "a1";
        }

        @Override
        public void wanted(String owner, RedisKeys keys) {
            owners.add(owner);
        }

        @Override
        public void unwanted(String owner) {
            owners.remove(owner);
        }

        @Override
        public void missed() {
            missed.incrementAndGet();
        }

        @Override
        public void close() {
            closes.incrementAndGet();
        }
    }
}
