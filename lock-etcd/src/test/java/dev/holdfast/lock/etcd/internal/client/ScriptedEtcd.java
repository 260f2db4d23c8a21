package dev.holdfast.lock.etcd.internal.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.holdfast.lock.spi.support.FailureTranslator;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.Cluster;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.Lease;
import io.etcd.jetcd.Maintenance;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.api.ResponseOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.kv.DeleteResponse;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.kv.TxnResponse;
import io.etcd.jetcd.lease.LeaseGrantResponse;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import io.etcd.jetcd.op.TxnImpl;
import io.etcd.jetcd.options.WatchOption;
import io.grpc.Context;
import io.grpc.Status;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** jetcd whose requests wait until a test answers them. What is planned runs only when the test says so. */
public final class ScriptedEtcd implements AutoCloseable {

    /**
     * A request.
     *
     * @param context gRPC's, in which it was made
     */
    public record Request(String method, List<Object> arguments, Context context, CompletableFuture<Object> answer) {
        public long lease() {
            return (Long) arguments.get(0);
        }

        public TxnRequest txn() {
            return (TxnRequest) arguments.get(0);
        }

        public String key() {
            return ((ByteSequence) arguments.get(0)).toString(StandardCharsets.UTF_8);
        }

        public void answers(Object reply) {
            answer.complete(reply);
        }

        public void fails(Status status) {
            answer.completeExceptionally(status.asRuntimeException());
        }
    }

    /** What is to run later. */
    record Planned(Runnable task, long delayMillis) {}

    public final List<Request> requests = new CopyOnWriteArrayList<>();
    public final List<Planned> planned = new CopyOnWriteArrayList<>();
    public final List<Watch.Listener> listeners = new CopyOnWriteArrayList<>();
    final List<WatchOption> watchOptions = new CopyOnWriteArrayList<>();
    /** How many watches, and clients of watches, were ended. */
    public final AtomicInteger closedWatches = new AtomicInteger();
    /** How often the client was closed. */
    public final AtomicInteger closed = new AtomicInteger();

    /** The action for each request when it is sent. */
    public Consumer<Request> whenSent = request -> {};

    public final ScheduledThreadPoolExecutor executor = new ScheduledThreadPoolExecutor(1) {
        @Override
        public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
            ScheduledFuture<?> never = super.schedule(() -> {}, 1, TimeUnit.DAYS); // refused once it is shut down
            planned.add(new Planned(task, unit.toMillis(delay)));
            return never;
        }
    };

    public EtcdCalls calls() {
        Client client = client();
        return new EtcdCalls(() -> client, executor);
    }

    public Client client() {
        KV kv = proxy(
                KV.class,
                (self, method, arguments) -> method.getName().equals("txn")
                        ? TxnImpl.newTxn(txn -> this.<TxnResponse>send("txn", txn), ByteSequence.EMPTY)
                        : send(method.getName(), arguments));
        InvocationHandler sends = (self, method, arguments) -> send(method.getName(), arguments);
        Watch watch = proxy(Watch.class, (self, method, arguments) -> {
            if (method.getName().equals("close")) {
                return closedWatches.incrementAndGet();
            }
            watchOptions.add((WatchOption) arguments[1]);
            listeners.add((Watch.Listener) arguments[2]);
            return proxy(Watch.Watcher.class, (watcher, called, none) -> closedWatches.incrementAndGet());
        });
        return proxy(Client.class, (self, method, arguments) -> switch (method.getName()) {
            case "getKVClient" -> kv;
            case "getLeaseClient" -> proxy(Lease.class, sends);
            case "getClusterClient" -> proxy(Cluster.class, sends);
            case "getMaintenanceClient" -> proxy(Maintenance.class, sends);
            case "getWatchClient" -> watch;
            case "close" -> {
                closed.incrementAndGet();
                yield null;
            }
            default -> throw new UnsupportedOperationException(method.getName());
        });
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @SuppressWarnings("unchecked")
    private <T> CompletableFuture<T> send(String method, Object... arguments) {
        CompletableFuture<Object> answer = new CompletableFuture<>();
        List<Object> all = arguments == null ? List.of() : List.of(arguments);
        Request request = new Request(method, all, Context.current(), answer);
        requests.add(request);
        whenSent.accept(request);
        return (CompletableFuture<T>) answer;
    }

    /** The first request of that kind which has no answer yet. */
    public Request next(String method) {
        return first(method, request -> request.method().equals(method));
    }

    /** The first attempt which has no answer yet: the backend may have sent a removal again before it. */
    /** Whether such a request has no answer yet. */
    public boolean isAsked(String method) {
        return requests.stream()
                .anyMatch(request ->
                        request.method().equals(method) && !request.answer().isDone());
    }

    public Request nextPut() {
        return first("put", request -> request.method().equals("txn") && putsFirst(request.txn()));
    }

    private static boolean putsFirst(TxnRequest txn) {
        return txn.getSuccessCount() > 0 && txn.getSuccess(0).hasRequestPut();
    }

    private Request first(String what, Predicate<Request> wanted) {
        return requests.stream()
                .filter(request -> wanted.test(request) && !request.answer().isDone())
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + what + " without an answer in " + requests));
    }

    /** How many requests of that kind there were. */
    public int count(String method) {
        return (int) requests.stream()
                .filter(request -> request.method().equals(method))
                .count();
    }

    /** In how many milliseconds what is planned is to run, in the order in which it was planned. */
    public List<Long> delays() {
        return planned.stream().map(Planned::delayMillis).toList();
    }

    /** Runs what is to run at once, until nothing is. */
    public void settle() {
        while (planned.stream().anyMatch(task -> task.delayMillis() == 0)) {
            List<Planned> now =
                    planned.stream().filter(task -> task.delayMillis() == 0).toList();
            planned.removeAll(now);
            now.forEach(task -> task.task().run());
        }
    }

    /** Runs all that is planned by now, whenever it is to run, and what is to run at once then. */
    public void pass() {
        List<Planned> now = List.copyOf(planned);
        planned.removeAll(now);
        now.forEach(task -> task.task().run());
        settle();
    }

    // ---- answers

    static ResponseHeader header(long revision, long term) {
        return ResponseHeader.newBuilder()
                .setRevision(revision)
                .setRaftTerm(term)
                .build();
    }

    public static LeaseGrantResponse granted(long id, long ttlSeconds, long term) {
        return new LeaseGrantResponse(io.etcd.jetcd.api.LeaseGrantResponse.newBuilder()
                .setHeader(header(0, term))
                .setID(id)
                .setTTL(ttlSeconds)
                .build());
    }

    public static LeaseKeepAliveResponse kept(long term) {
        return new LeaseKeepAliveResponse(io.etcd.jetcd.api.LeaseKeepAliveResponse.newBuilder()
                .setHeader(header(0, term))
                .build());
    }

    public static LeaseTimeToLiveResponse lives(long ttlSeconds, ByteSequence... keys) {
        var reply = io.etcd.jetcd.api.LeaseTimeToLiveResponse.newBuilder().setTTL(ttlSeconds);
        for (ByteSequence key : keys) {
            reply.addKeys(bytes(key));
        }
        return new LeaseTimeToLiveResponse(reply.build());
    }

    public static GetResponse found(long revision, boolean more, KeyValue... keys) {
        return new GetResponse(
                RangeResponse.newBuilder()
                        .setHeader(header(revision, 0))
                        .setMore(more)
                        .addAllKvs(List.of(keys))
                        .build(),
                ByteSequence.EMPTY);
    }

    public static DeleteResponse deleted(KeyValue... keys) {
        return new DeleteResponse(
                io.etcd.jetcd.api.DeleteRangeResponse.newBuilder()
                        .addAllPrevKvs(List.of(keys))
                        .build(),
                ByteSequence.EMPTY);
    }

    /** A transaction that was carried out, or not, and what it has read. */
    public static TxnResponse txn(boolean succeeded, long revision, ResponseOp... read) {
        return new TxnResponse(
                io.etcd.jetcd.api.TxnResponse.newBuilder()
                        .setHeader(header(revision, 0))
                        .setSucceeded(succeeded)
                        .addAllResponses(List.of(read))
                        .build(),
                ByteSequence.EMPTY);
    }

    public static ResponseOp read(KeyValue... keys) {
        return ResponseOp.newBuilder()
                .setResponseRange(
                        RangeResponse.newBuilder().setCount(keys.length).addAllKvs(List.of(keys)))
                .build();
    }

    public static KeyValue entry(ByteSequence key, ByteSequence value, long created, long modified, long lease) {
        return KeyValue.newBuilder()
                .setKey(bytes(key))
                .setValue(bytes(value))
                .setCreateRevision(created)
                .setModRevision(modified)
                .setLease(lease)
                .build();
    }

    public static io.etcd.jetcd.KeyValue asRead(KeyValue entry) {
        return new io.etcd.jetcd.KeyValue(entry, ByteSequence.EMPTY);
    }

    private static ByteString bytes(ByteSequence bytes) {
        return ByteString.copyFrom(bytes.getBytes());
    }

    /** What a request has come to by now. */
    public static <T> T now(CompletableFuture<T> request) {
        assertThat(request).isCompleted();
        return request.join();
    }

    /** What a request failed with. */
    public static Throwable failure(CompletableFuture<?> request) {
        assertThat(request).isCompletedExceptionally();
        return FailureTranslator.unwrap(Objects.requireNonNull(
                request.<Throwable>handle((value, failure) -> failure).join()));
    }

    /** How much time has passed since then, rounded up: no time-out that began since has lost more. */
    public static long millisSince(long startNanos) {
        return 1 + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos);
    }

    /** Lets so much time pass. */
    public static void spend(long millis) {
        long startNanos = System.nanoTime();
        while (System.nanoTime() - startNanos < TimeUnit.MILLISECONDS.toNanos(millis)) {
            Thread.onSpinWait();
        }
        assertThat(millis).as("keeps tests quick").isLessThan(100);
    }

    @Override
    public void close() {
        executor.shutdownNow();
    }
}
