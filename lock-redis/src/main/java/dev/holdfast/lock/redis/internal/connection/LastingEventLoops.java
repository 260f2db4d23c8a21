package dev.holdfast.lock.redis.internal.connection;

import io.lettuce.core.resource.DefaultEventLoopGroupProvider;
import io.lettuce.core.resource.EventLoopGroupProvider;
import io.lettuce.core.resource.ThreadFactoryProvider;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelPromise;
import io.netty.channel.EventLoop;
import io.netty.channel.EventLoopGroup;
import io.netty.util.concurrent.AbstractEventExecutorGroup;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.EventExecutorGroup;
import io.netty.util.concurrent.Future;
import java.util.Iterator;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * One event loop for one Redis client. Netty ends a loop at an Error, such as a full heap, and a group never gets another one: each
 * later connection would fail for as long as the process lives. Here the next connection gets a new loop. Thread-safe.
 */
final class LastingEventLoops implements EventLoopGroupProvider {
    private final ThreadFactoryProvider factories;
    private final ReentrantLock mutex = new ReentrantLock();
    private DefaultEventLoopGroupProvider provider;
    private boolean closed;

    LastingEventLoops(ThreadFactoryProvider factories) {
        this.factories = factories;
        this.provider = new DefaultEventLoopGroupProvider(1, factories);
    }

    /** Lettuce asks for the group of a transport, and uses it as an {@link EventLoopGroup} only. */
    @Override
    @SuppressWarnings("unchecked")
    public <T extends EventLoopGroup> T allocate(Class<T> type) {
        return (T) new Group(type);
    }

    @Override
    public int threadPoolSize() {
        return 1;
    }

    @Override
    public Future<Boolean> release(EventExecutorGroup group, long quietPeriod, long timeout, TimeUnit unit) {
        return shutdown(quietPeriod, timeout, unit);
    }

    @Override
    public Future<Boolean> shutdown(long quietPeriod, long timeout, TimeUnit unit) {
        mutex.lock();
        try {
            closed = true;
            return provider.shutdown(quietPeriod, timeout, unit);
        } finally {
            mutex.unlock();
        }
    }

    /** What Lettuce takes for a group of loops. */
    private final class Group extends AbstractEventExecutorGroup implements EventLoopGroup {
        private final Class<? extends EventLoopGroup> type;
        private EventLoopGroup loops;

        Group(Class<? extends EventLoopGroup> type) {
            this.type = type;
            this.loops = provider.allocate(type);
        }

        private EventLoopGroup loops() {
            mutex.lock();
            try {
                if (!closed && loops.next().isShuttingDown()) {
                    DefaultEventLoopGroupProvider dead = provider;
                    provider = new DefaultEventLoopGroupProvider(1, factories);
                    loops = provider.allocate(type);
                    dead.shutdown(0, 0, TimeUnit.SECONDS);
                }
                return loops;
            } finally {
                mutex.unlock();
            }
        }

        @Override
        public EventLoop next() {
            return loops().next();
        }

        @Override
        public Iterator<EventExecutor> iterator() {
            return loops().iterator();
        }

        @Override
        public ChannelFuture register(Channel channel) {
            return loops().register(channel);
        }

        @Override
        public ChannelFuture register(ChannelPromise promise) {
            return loops().register(promise);
        }

        @Override
        @Deprecated
        public ChannelFuture register(Channel channel, ChannelPromise promise) {
            return loops().register(channel, promise);
        }

        @Override
        public Future<?> shutdownGracefully(long quietPeriod, long timeout, TimeUnit unit) {
            return loops().shutdownGracefully(quietPeriod, timeout, unit);
        }

        @Override
        @Deprecated
        public void shutdown() {
            loops().shutdown();
        }

        @Override
        public Future<?> terminationFuture() {
            return loops().terminationFuture();
        }

        @Override
        public boolean isShuttingDown() {
            return loops().isShuttingDown();
        }

        @Override
        public boolean isShutdown() {
            return loops().isShutdown();
        }

        @Override
        public boolean isTerminated() {
            return loops().isTerminated();
        }

        @Override
        public boolean awaitTermination(long timeout, TimeUnit unit) throws InterruptedException {
            return loops().awaitTermination(timeout, unit);
        }
    }
}
