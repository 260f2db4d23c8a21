package dev.holdfast.lock.etcd.internal.client;

import dev.holdfast.lock.spi.support.ClientThreads;
import dev.holdfast.lock.spi.support.FailureTranslator;
import dev.holdfast.lock.spi.support.Timeouts;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Response;
import io.etcd.jetcd.Txn;
import io.etcd.jetcd.Watch;
import io.etcd.jetcd.cluster.MemberListResponse;
import io.etcd.jetcd.kv.DeleteResponse;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.lease.LeaseGrantResponse;
import io.etcd.jetcd.lease.LeaseKeepAliveResponse;
import io.etcd.jetcd.lease.LeaseTimeToLiveResponse;
import io.etcd.jetcd.maintenance.StatusResponse;
import io.etcd.jetcd.options.DeleteOption;
import io.etcd.jetcd.options.GetOption;
import io.etcd.jetcd.options.LeaseOption;
import io.etcd.jetcd.options.WatchOption;
import io.grpc.Context;
import java.net.URI;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/**
 * The jetcd calls of this backend. A call never throws and never blocks; {@link #bounded} limits the wait for its
 * result.
 *
 * <p>Calls start in gRPC's root context. In the caller's context they would be cancelled with, say, the request that
 * the caller is serving.
 */
public final class EtcdCalls {
    private static final LeaseOption WITH_KEYS =
            LeaseOption.newBuilder().withAttachedKeys().build();

    /** Leaves streams for other calls where a connection may have 100, the usual limit of proxies. */
    static final int MAX_SEPARATE_WATCHES = 64;

    private final ClientSource client;
    private final WatchStreams streams = new WatchStreams();
    private final AtomicInteger separate = new AtomicInteger();
    private final ScheduledExecutorService executor;
    private final AtomicLong latestTerm = new AtomicLong();
    private final Timeouts timeouts = new Timeouts();
    private final StoreHistory history = new StoreHistory();

    public EtcdCalls(ClientSource client, ScheduledExecutorService executor) {
        this.client = client;
        this.executor = executor;
    }

    /** Creates the one daemon thread of a backend. */
    public static ScheduledThreadPoolExecutor newExecutor() {
        ScheduledThreadPoolExecutor executor =
                new ScheduledThreadPoolExecutor(1, task -> ClientThreads.daemon("holdfast-etcd", task));
        executor.setRemoveOnCancelPolicy(true);
        return executor;
    }

    public ScheduledExecutorService executor() {
        return executor;
    }

    public StoreHistory history() {
        return history;
    }

    /** Terms begin again in another history of the store. */
    public void restartTerms(Response reply) {
        latestTerm.set(reply.getHeader().getRaftTerm());
    }

    /** Notes the Raft term of a reply. */
    public void noteTerm(Response reply) {
        latestTerm.accumulateAndGet(reply.getHeader().getRaftTerm(), Math::max);
    }

    /** The latest Raft term in any reply; it rises with each change of leader. */
    public long latestTerm() {
        return latestTerm.get();
    }

    public Txn txn() {
        return client.get().getKVClient().txn();
    }

    public CompletableFuture<GetResponse> get(ByteSequence key, GetOption option) {
        return guarded(() -> client.get().getKVClient().get(key, option));
    }

    /** The members of the cluster. */
    CompletableFuture<MemberListResponse> members() {
        return guarded(() -> client.get().getClusterClient().listMember());
    }

    /** The status of a member, from its own address. */
    CompletableFuture<StatusResponse> status(URI member) {
        return guarded(() -> Context.current()
                .withValue(OwnChannel.ELSEWHERE, true)
                .call(() -> client.get().getMaintenanceClient().statusMember(member.toString())));
    }

    public CompletableFuture<DeleteResponse> delete(ByteSequence key, DeleteOption option) {
        return guarded(() -> client.get().getKVClient().delete(key, option));
    }

    public CompletableFuture<LeaseGrantResponse> grant(long ttlSeconds, long timeoutMillis) {
        return guarded(() -> client.get().getLeaseClient().grant(ttlSeconds, timeoutMillis, TimeUnit.MILLISECONDS));
    }

    public CompletableFuture<LeaseTimeToLiveResponse> keysOf(long leaseId) {
        return guarded(() -> client.get().getLeaseClient().timeToLive(leaseId, WITH_KEYS));
    }

    /** Whether etcd has the lease; requires no permission except a login. */
    public CompletableFuture<Boolean> isThere(long leaseId) {
        return guarded(() -> client.get().getLeaseClient().timeToLive(leaseId, LeaseOption.DEFAULT))
                .thenApply(reply -> reply.getTTL() >= 0);
    }

    public CompletableFuture<?> revoke(long leaseId) {
        return guarded(() -> client.get().getLeaseClient().revoke(leaseId));
    }

    /**
     * Renews a lease on a new stream, so that each call goes to the next endpoint; the stream ends with the context.
     */
    public CompletableFuture<LeaseKeepAliveResponse> keepAliveOnce(long leaseId, Context context) {
        return guarded(() -> context.call(() -> client.get().getLeaseClient().keepAliveOnce(leaseId)));
    }

    /**
     * Opens a watch, on a shared stream if the client's channel has a {@link WatchSharing}. Other clients use one stream
     * for each watch, so their number is limited.
     *
     * @throws Exception if the client is closed, or if it has too many streams
     */
    Watch.Watcher watch(ByteSequence key, WatchOption option, Watch.Listener listener) throws Exception {
        if (separate.get() >= MAX_SEPARATE_WATCHES) {
            throw new RejectedExecutionException(MAX_SEPARATE_WATCHES + " watches have a stream of their own;"
                    + " build the jetcd client by EtcdLocks.recommended, which makes them share one");
        }
        WatchStreams.Ask ask = streams.ask();
        Watch.Watcher watcher = Context.ROOT
                .withValue(WatchStreams.ASKED, ask)
                .call(() -> client.get().getWatchClient().watch(key, option, listener));
        if (ask.isTaken()) {
            return watcher;
        }
        separate.incrementAndGet();
        return new SeparateWatch(watcher, separate::decrementAndGet);
    }

    /** A watch that has a stream of its own. */
    private record SeparateWatch(Watch.Watcher watcher, AtomicReference<Runnable> leave) implements Watch.Watcher {
        SeparateWatch(Watch.Watcher watcher, Runnable leave) {
            this(watcher, new AtomicReference<>(leave));
        }

        @Override
        public void close() {
            watcher.close();
            leave.getAndSet(() -> {}).run();
        }

        @Override
        public boolean isClosed() {
            return watcher.isClosed();
        }

        @Override
        public void requestProgress() {
            watcher.requestProgress();
        }
    }

    /**
     * Returns the same result, or a {@link TimeoutException} after that time; the call itself
     * continues. The result completes on jetcd's thread, where short code that never blocks is allowed. A switch to
     * another thread would cost as much as a tenth of a transaction.
     */
    public <T> CompletableFuture<T> bounded(CompletableFuture<T> call, long timeoutMillis) {
        Bounded<T> result = new Bounded<>();
        timeouts.start(result, Math.max(1, timeoutMillis));
        call.whenComplete((value, failure) -> {
            timeouts.cancel(result);
            if (failure == null) {
                client.answered();
                result.complete(value);
            } else {
                if (EtcdFailures.isOfEndedThread(failure)) {
                    client.unanswered();
                }
                result.completeExceptionally(FailureTranslator.unwrap(failure));
            }
        });
        return result;
    }

    /** A result whose time-out is noted. */
    private final class Bounded<T> extends CompletableFuture<T> {
        @Override
        public boolean completeExceptionally(Throwable failure) {
            boolean first = super.completeExceptionally(failure);
            if (first && failure instanceof TimeoutException) {
                client.unanswered();
            }
            return first;
        }
    }

    /**
     * Makes a call, and repeats it once if etcd refused its token: a refused call has no effect, and the next one gets
     * a new token.
     */
    public static <T> CompletableFuture<T> guarded(Callable<CompletableFuture<T>> call) {
        return once(call)
                .exceptionallyCompose(failure -> EtcdFailures.isTokenRefused(failure)
                        ? once(call)
                        : CompletableFuture.failedFuture(FailureTranslator.unwrap(failure)));
    }

    private static <T> CompletableFuture<T> once(Callable<CompletableFuture<T>> call) {
        return FailureTranslator.guard(() -> Context.ROOT.call(call));
    }
}
