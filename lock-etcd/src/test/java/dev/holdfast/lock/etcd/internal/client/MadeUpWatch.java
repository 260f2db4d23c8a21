package dev.holdfast.lock.etcd.internal.client;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.api.Event;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.options.WatchOption;
import io.etcd.jetcd.watch.WatchResponse;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * jetcd with watches that only report the test's own events. Its executor runs scheduled tasks only on the test's
 * request.
 */
public final class MadeUpWatch implements Watch, AutoCloseable {
    public final List<Listener> listeners = new ArrayList<>();
    /** How often anything else was asked for, which fails. */
    public final AtomicInteger requests = new AtomicInteger();
    /** How many watches were ended. */
    public final AtomicInteger closed = new AtomicInteger();
    /** What happens while a watch is being opened. */
    public Runnable whileOpening = () -> {};

    private final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1) {
        @Override
        public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
            return super.schedule(task, 1, TimeUnit.DAYS);
        }
    };

    public EtcdCalls calls() {
        Client client = client();
        return new EtcdCalls(() -> client, executor);
    }

    Client client() {
        return (Client) Proxy.newProxyInstance(
                Client.class.getClassLoader(), new Class<?>[] {Client.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("getWatchClient")) {
                        return this;
                    }
                    requests.incrementAndGet();
                    throw new IllegalStateException("not answered here: " + method);
                });
    }

    /** How many tasks are planned. */
    public int planned() {
        return executor.getQueue().size();
    }

    /** Runs what is planned by now, whenever it is to come; returns how many tasks that were. */
    public int runPlanned() {
        List<Runnable> tasks = List.copyOf(executor.getQueue());
        tasks.forEach(task -> {
            executor.getQueue().remove(task);
            task.run();
        });
        return tasks.size();
    }

    @Override
    public Watcher watch(ByteSequence key, WatchOption option, Listener listener) {
        listeners.add(listener);
        whileOpening.run();
        return new Watcher() {
            @Override
            public void close() {
                closed.incrementAndGet();
            }

            @Override
            public boolean isClosed() {
                return false;
            }

            @Override
            public void requestProgress() {}
        };
    }

    /** Says that the watch has begun. */
    public static WatchResponse begun(long at) {
        return new WatchResponse(answer(at).setCreated(true).build());
    }

    public static WatchResponse deleted(ByteSequence key, long at) {
        return new WatchResponse(answer(at)
                .addEvents(Event.newBuilder()
                        .setType(Event.EventType.DELETE)
                        .setKv(KeyValue.newBuilder()
                                .setKey(com.google.protobuf.ByteString.copyFrom(key.getBytes()))
                                .setModRevision(at)))
                .build());
    }

    private static io.etcd.jetcd.api.WatchResponse.Builder answer(long at) {
        return io.etcd.jetcd.api.WatchResponse.newBuilder()
                .setHeader(ResponseHeader.newBuilder().setRevision(at));
    }

    @Override
    public void requestProgress() {}

    @Override
    public void close() {
        executor.shutdownNow();
    }
}
