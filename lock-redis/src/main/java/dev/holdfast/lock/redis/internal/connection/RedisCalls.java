package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.redis.internal.script.RedisDemandScripts;
import dev.holdfast.lock.redis.internal.script.RedisScript;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.spi.support.Timeouts;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.ScriptOutputType;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/**
 * Sends commands on one connection (to a server, or to a cluster): scripts by their digest, every command bounded in
 * time. A command that has timed out is cancelled, so that the client does not send it again after a reconnect. A script
 * that the server does not have, after a restart or SCRIPT FLUSH, is sent in full, which also stores it. Thread-safe.
 */
public final class RedisCalls {
    private final ConnectionFactory factory;
    private final Timeouts timeouts = new Timeouts();
    private final ConnectionSupervisor links;

    /** Connects; blocks, fails with the client's own exceptions. */
    public RedisCalls(ConnectionFactory factory) {
        this.factory = factory;
        this.links = new ConnectionSupervisor(factory, System::nanoTime);
    }

    /** The connection of the moment. */
    public ConnectionFactory.Link link() {
        return links.link();
    }

    public void close() {
        links.close();
    }

    /**
     * Runs a script that answers with a list; fails with the client's own exceptions. While the slot of its keys moves, a
     * cluster refuses scripts with several keys; then a script that can do without the queue runs with the lock's state
     * only, which the cluster says where to find. Renewals cannot: their keys are the states of several locks.
     */
    public CompletableFuture<List<Object>> script(
            RedisScript script, String[] keys, String[] args, long timeoutMillis) {
        CompletableFuture<List<Object>> sent = scriptOnce(script, keys, args, timeoutMillis);
        if (!factory.cluster()
                || keys.length == 1
                || script == RedisScript.RENEW
                || script == RedisDemandScripts.RENEW) {
            return sent;
        }
        return sent.exceptionallyCompose(failure -> {
            if (!RedisFailures.isTryAgain(failure)) {
                throw new CompletionException(FailureTranslator.unwrap(failure));
            }
            return scriptOnce(script, new String[] {keys[0]}, args, timeoutMillis);
        });
    }

    private CompletableFuture<List<Object>> scriptOnce(
            RedisScript script, String[] keys, String[] args, long timeoutMillis) {
        ConnectionFactory.Link link = link();
        if (links.isGone(link)) {
            return CompletableFuture.failedFuture(ConnectionSupervisor.gone(null));
        }
        String server = link.server().apply(keys[0]);
        boolean idle = links.isIdle(link, server);
        CompletableFuture<List<Object>> sent = send(link, server, script, keys, args, timeoutMillis);
        return idle
                ? new IdleRetry(links, timeouts, timeoutMillis)
                        .answer(
                                link,
                                sent,
                                (next, left) -> send(next, next.server().apply(keys[0]), script, keys, args, left))
                : sent;
    }

    private CompletableFuture<List<Object>> send(
            ConnectionFactory.Link link,
            String server,
            RedisScript script,
            String[] keys,
            String[] args,
            long timeoutMillis) {
        RedisFuture<List<Object>> sent = link.commands().evalsha(script.digest(), ScriptOutputType.MULTI, keys, args);
        return boundedAt(link, server, sent, timeoutMillis)
                .exceptionallyCompose(failure -> inFullIfUnknown(
                        failure,
                        () -> boundedAt(
                                link,
                                server,
                                link.commands().<List<Object>>eval(script.body(), ScriptOutputType.MULTI, keys, args),
                                timeoutMillis)));
    }

    private <T> CompletableFuture<T> inFullIfUnknown(Throwable failure, Supplier<CompletableFuture<T>> sendInFull) {
        if (RedisFailures.isUnknownScript(failure)) {
            return sendInFull.get();
        }
        throw new CompletionException(told(failure));
    }

    /** Ends requests that take too long, and reports the state of that key's server to the link. */
    public <T> CompletableFuture<T> bounded(
            ConnectionFactory.Link link, String key, RedisFuture<T> future, long timeoutMillis) {
        return boundedAt(link, link.server().apply(key), future, timeoutMillis);
    }

    private <T> CompletableFuture<T> boundedAt(
            ConnectionFactory.Link link, String server, RedisFuture<T> future, long timeoutMillis) {
        CompletableFuture<T> sent = future.toCompletableFuture();
        timeouts.start(sent, timeoutMillis);
        return sent.handle((value, failure) -> {
            timeouts.cancel(sent);
            links.ended(link, server, failure);
            if (failure == null) {
                return value;
            }
            if (RedisFailures.isReadOnly(failure) || RedisFailures.isMoved(failure)) {
                links.wrongServer(link);
            }
            throw new CompletionException(links.told(link, failure));
        });
    }

    /** What a failure means for the caller. */
    public Throwable told(Throwable failure) {
        Throwable cause = FailureTranslator.unwrap(failure);
        return factory.cluster() && RedisFailures.isMoved(cause)
                ? new RedisException("the cluster's slots are moving", cause)
                : cause;
    }
}
