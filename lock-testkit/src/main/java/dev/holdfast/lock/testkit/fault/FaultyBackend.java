package dev.holdfast.lock.testkit.fault;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.util.ArrayDeque;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A backend whose requests fail as a test demands: the next one of a kind, all of a kind, or some at random from a seed.
 *
 * <p>It is never blocking: a blocking backend's requests run on threads of this one, so that replies can be held back.
 * Thread-safe.
 */
public final class FaultyBackend extends ForwardingBackend {
    private final ReentrantLock mutex = new ReentrantLock();
    private final Map<Request, Queue<Object>> next = new EnumMap<>(Request.class);
    private final Map<Request, Fault> always = new EnumMap<>(Request.class);
    private final AtomicLong injected = new AtomicLong();
    private final ExecutorService executor = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "faulty-backend");
        thread.setDaemon(true);
        return thread;
    });
    private final BackendInfo info;
    private @Nullable Random random;
    private double probability;

    /**
     * Wraps a backend; no faults yet.
     *
     * @param delegate the backend, closed with this one
     */
    public FaultyBackend(LockBackend delegate) {
        super(delegate);
        info = delegate.info().toBuilder().blocking(false).build();
    }

    /**
     * Lets the next request of a kind, or the one after those already spoken for, go wrong.
     *
     * @param request the kind
     * @param fault what happens
     */
    public void once(Request request, Fault fault) {
        plan(request, fault);
    }

    /**
     * Keeps back the reply to the next request of a kind, or the one after those already spoken for.
     *
     * @param request the kind
     * @return the reply
     */
    public HeldReply hold(Request request) {
        HeldReply reply = new HeldReply();
        plan(request, reply);
        return reply;
    }

    private void plan(Request request, Object what) {
        mutex.lock();
        try {
            next.computeIfAbsent(request, any -> new ArrayDeque<>()).add(what);
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Lets all requests of a kind go wrong until {@link #calm()}.
     *
     * @param request the kind
     * @param fault what happens
     */
    public void always(Request request, Fault fault) {
        mutex.lock();
        try {
            always.put(request, fault);
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Lets some requests go wrong until {@link #calm()}, in any way except those without an answer.
     *
     * @param seed where the random choices start
     * @param probability how many, from 0 to 1
     */
    public void randomly(long seed, double probability) {
        mutex.lock();
        try {
            random = new Random(seed);
            this.probability = probability;
        } finally {
            mutex.unlock();
        }
    }

    /** Ends all faults that are still to come. Replies that are kept back stay so. */
    public void calm() {
        mutex.lock();
        try {
            next.clear();
            always.clear();
            random = null;
        } finally {
            mutex.unlock();
        }
    }

    /**
     * Returns how many requests have gone wrong.
     *
     * @return the number so far, replies that were kept back included
     */
    public long injected() {
        return injected.get();
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        return disturbed(
                Request.ATTEMPT, request.acquisition().name(), () -> delegate().tryAcquire(request));
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        return disturbed(Request.ABANDON, acquisition.name(), () -> delegate().abandon(acquisition, timeoutMillis));
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return disturbed(
                Request.RENEW,
                grants.get(0).acquisition().name(),
                () -> delegate().renew(grants, timeoutMillis));
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return disturbed(
                Request.RELEASE, grant.acquisition().name(), () -> delegate().release(grant, timeoutMillis));
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return disturbed(Request.HOLDER, name, () -> delegate().holder(name, timeoutMillis));
    }

    @Override
    public CompletionStage<List<HolderInfo>> holders(String name, long timeoutMillis) {
        return disturbed(Request.HOLDER, name, () -> delegate().holders(name, timeoutMillis));
    }

    @Override
    public CompletionStage<Integer> changeLimit(String name, int from, int to, long timeoutMillis) {
        return disturbed(Request.LIMIT, name, () -> delegate().changeLimit(name, from, to, timeoutMillis));
    }

    @Override
    public void close() {
        super.close();
        executor.shutdown();
    }

    private <T> CompletionStage<T> disturbed(Request request, String name, Supplier<CompletionStage<T>> call) {
        Object what = choose(request);
        if (what == null) {
            return sent(call);
        }
        injected.incrementAndGet();
        if (what instanceof HeldReply reply) {
            return reply.held(sent(call));
        }
        return switch ((Fault) what) {
            case REFUSED -> CompletableFuture.failedFuture(broken(request, "before it was sent"));
            case LOST_REPLY ->
                sent(call).handle((value, failure) -> {
                    throw new CompletionException(broken(request, "before its reply arrived"));
                });
            case SILENCE -> {
                sent(call);
                yield new CompletableFuture<>();
            }
            case BLACK_HOLE -> new CompletableFuture<>();
            case DUPLICATE -> {
                CompletableFuture<T> first = sent(call);
                yield first.handle((value, failure) -> sent(call).handle((again, laterFailure) -> first))
                        .thenCompose(second -> second.thenCompose(answered -> answered));
            }
        };
    }

    private <T> CompletableFuture<T> sent(Supplier<CompletionStage<T>> call) {
        if (!delegate().info().blocking()) {
            return call.get().toCompletableFuture();
        }
        return CompletableFuture.supplyAsync(call, executor).thenCompose(stage -> stage);
    }

    private @Nullable Object choose(Request request) {
        mutex.lock();
        try {
            Queue<Object> planned = next.get(request);
            Object what = planned == null ? null : planned.poll();
            if (what == null) {
                what = always.get(request);
            }
            if (what == null && random != null && random.nextDouble() < probability) {
                what = List.of(Fault.REFUSED, Fault.LOST_REPLY, Fault.DUPLICATE).get(random.nextInt(3));
            }
            return what;
        } finally {
            mutex.unlock();
        }
    }

    private static LockUnavailableException broken(Request request, String when) {
        return new LockUnavailableException("injected fault, the " + request + " failed " + when + "; try again");
    }
}
