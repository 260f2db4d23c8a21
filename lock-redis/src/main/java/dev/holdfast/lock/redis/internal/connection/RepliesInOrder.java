package dev.holdfast.lock.redis.internal.connection;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateAdapter;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.codec.RedisCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.netty.buffer.ByteBuf;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Refuses replies to scripts that belong to others. A reply has no mark of its command: Lettuce gives it to the command that it takes
 * for the oldest one. After an Error in the thread of the connection, such as a full heap, Lettuce fails that command and goes on, and
 * the rest of its reply, or all of it, goes to the next one. A caller would then be told of another lock's grant, or of another
 * grant's renewal.
 *
 * <p>Scripts are noted in the order in which they are written. A reply must belong to the oldest one, or to a later one if those before
 * were given up by us. From the first reply on that does not, none on this connection counts: the outcome of its commands is unknown, and
 * {@link ConnectionSupervisor} replaces it. What is noted is linked through the commands themselves, so that it needs no memory.
 *
 * <p>For one connection to one server; that of a cluster sends commands to several, and again by itself, and is not checked.
 * Thread-safe.
 */
final class RepliesInOrder {
    private final StatefulRedisConnection<String, String> connection;
    private final RedisAsyncCommands<String, String> commands;
    private final ReentrantLock mutex = new ReentrantLock();
    private @Nullable Script oldest;
    private @Nullable Script latest;
    private boolean broken;

    /** The reply belongs to another command, or one before it on the same connection did. */
    static final class OutOfOrderException extends RedisException {
        private static final long serialVersionUID = 1;

        OutOfOrderException() {
            super("a reply belongs to another command, so the connection is not used any more");
        }
    }

    RepliesInOrder(StatefulRedisConnection<String, String> connection) {
        this.connection = connection;
        this.commands = connection.async();
    }

    /** The connection's commands, of which {@code evalsha} and {@code eval} are checked if the client is not too old for that. */
    @SuppressWarnings("unchecked")
    static RedisAsyncCommands<String, String> of(StatefulRedisConnection<String, String> connection) {
        RepliesInOrder order = new RepliesInOrder(connection);
        try {
            connection.addListener(new RedisConnectionStateAdapter() {
                @Override
                public void onRedisDisconnected(RedisChannelHandler<?, ?> disconnected) {
                    order.forget();
                }
            });
        } catch (LinkageError tooOld) { // before Lettuce 6.2
            return order.commands;
        }
        return (RedisAsyncCommands<String, String>) Proxy.newProxyInstance(
                RedisAsyncCommands.class.getClassLoader(),
                new Class<?>[] {RedisAsyncCommands.class},
                (proxy, method, arguments) -> {
                    boolean hasKeys = arguments != null && arguments.length == 4 && arguments[2] instanceof Object[];
                    if (hasKeys
                            && arguments[0] instanceof String text
                            && method.getName().equals("evalsha")) {
                        return order.send(CommandType.EVALSHA, text, (String[]) arguments[2], (String[]) arguments[3]);
                    }
                    if (hasKeys
                            && arguments[0] instanceof String text
                            && method.getName().equals("eval")) {
                        return order.send(CommandType.EVAL, text, (String[]) arguments[2], (String[]) arguments[3]);
                    }
                    try {
                        return method.invoke(order.commands, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause() == null ? e : e.getCause();
                    }
                });
    }

    private Object send(CommandType type, String script, String[] keys, String[] values) {
        RedisCodec<String, String> codec = ExactStringCodec.INSTANCE;
        Script sent = new Script(codec);
        CommandArgs<String, String> args = new Written(codec, sent);
        args.add(script).add(keys.length).addKeys(keys).addValues(values);
        return commands.dispatch(type, sent, args);
    }

    /** Its reply is expected after those of all before it. A new connection gets what had no reply on the one before once more. */
    void written(Script script) {
        mutex.lock();
        try {
            script.next = null;
            script.begun = false;
            if (latest == null) {
                oldest = script;
            } else {
                latest.next = script;
            }
            latest = script;
        } finally {
            mutex.unlock();
        }
    }

    /** Fails unless this script's reply is the next one. */
    void arrives(Script script) {
        mutex.lock();
        try {
            broken |= oldest != script;
            requireOrder();
            script.begun = true;
        } finally {
            mutex.unlock();
        }
    }

    /** Fails unless the reply of this script has begun. */
    void goesOn(Script script) {
        mutex.lock();
        try {
            broken |= !script.begun || oldest != script;
            requireOrder();
        } finally {
            mutex.unlock();
        }
    }

    void ends(Script script) {
        mutex.lock();
        try {
            if (oldest == script) {
                removeOldest();
            }
        } finally {
            mutex.unlock();
        }
    }

    private void requireOrder() {
        if (broken) {
            throw new OutOfOrderException();
        }
    }

    private void removeOldest() {
        Script first = oldest;
        oldest = first == null ? null : first.next;
        latest = oldest == null ? null : latest;
    }

    /** Replies on an earlier connection do not come any more. */
    void forget() {
        mutex.lock();
        try {
            oldest = null;
            latest = null;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public String toString() {
        return "replies of " + connection;
    }

    /** The arguments of a script, which Lettuce encodes when it writes them. */
    private final class Written extends CommandArgs<String, String> {
        private final Script script;

        Written(RedisCodec<String, String> codec, Script script) {
            super(codec);
            this.script = script;
        }

        @Override
        public void encode(ByteBuf buffer) {
            super.encode(buffer);
            written(script);
        }
    }

    /** The reply to a script: a list, or an error. */
    final class Script extends NestedMultiOutput<String, String> {
        private @Nullable Script next;
        private boolean begun;

        Script(RedisCodec<String, String> codec) {
            super(codec);
        }

        @Override
        public void multi(int count) {
            arrives(this);
            super.multi(count);
        }

        @Override
        public void setError(ByteBuffer error) {
            arrives(this);
            super.setError(error);
        }

        @Override
        public void set(long integer) {
            goesOn(this);
            super.set(integer);
        }

        @Override
        public void set(double number) {
            goesOn(this);
            super.set(number);
        }

        @Override
        public void set(ByteBuffer bytes) {
            goesOn(this);
            super.set(bytes);
        }

        @Override
        public void setSingle(ByteBuffer bytes) {
            goesOn(this);
            super.setSingle(bytes);
        }

        @Override
        public void complete(int depth) {
            super.complete(depth);
            if (depth == 0) {
                ends(this);
            }
        }
    }
}
