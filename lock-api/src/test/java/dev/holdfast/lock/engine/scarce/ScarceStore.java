package dev.holdfast.lock.engine.scarce;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.engine.SimWorld;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A store with leases that always has memory. It signals releases; an attempt is answered a millisecond later unless calls block. */
final class ScarceStore implements LockBackend {
    private static final long MILLI = 1_000_000;

    private record Place(String name) implements Ticket {}

    private record Entry(AcquisitionId acquisition, long token, long endNanos) {}

    private final SimWorld world;
    private final BackendInfo info;
    private final Map<String, Entry> entries = new HashMap<>();
    private final Map<String, Set<Runnable>> listeners = new HashMap<>();
    private final Map<String, Runnable> rivals = new HashMap<>();
    private long tokens;

    ScarceStore(SimWorld world, boolean blocking) {
        this.world = world;
        this.info = BackendInfo.named("scarce")
                .blocking(blocking)
                .minLeaseMillis(1)
                .pollMinMillis(500)
                .pollMaxMillis(500)
                .build();
    }

    private boolean isFree(String name) {
        Entry entry = entries.get(name);
        return entry == null || entry.endNanos - world.now() <= 0;
    }

    int holders() {
        return (int) entries.keySet().stream().filter(name -> !isFree(name)).count();
    }

    /** Takes a lock for the rival as soon as it is free. */
    void take(String name, Runnable granted) {
        if (!isFree(name)) {
            rivals.put(name, granted);
            long leftNanos = Objects.requireNonNull(entries.get(name)).endNanos - world.now();
            world.after(null, leftNanos, () -> serveRival(name));
            return;
        }
        AcquisitionId rival = new AcquisitionId(name, new OwnerId(1, ++tokens));
        entries.put(name, new Entry(rival, tokens, world.now() + 60_000 * MILLI));
        granted.run();
    }

    private void serveRival(String name) {
        Runnable waiting = isFree(name) ? rivals.remove(name) : null;
        if (waiting != null) {
            take(name, waiting);
        }
    }

    void giveBack(String name) {
        entries.remove(name);
        serveRival(name);
        if (!isFree(name)) {
            return;
        }
        world.after(
                null,
                0,
                () -> Set.copyOf(listeners.getOrDefault(name, Set.of())).forEach(listener -> {
                    try {
                        listener.run();
                    } catch (OutOfMemoryError ignored) { // the end of its thread's task
                        return;
                    }
                }));
    }

    @Override
    public BackendInfo info() {
        return info;
    }

    private <T> CompletableFuture<T> answer(T result) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        if (info.blocking()) {
            answer.complete(result);
        } else {
            world.after(null, MILLI, () -> answer.complete(result));
        }
        return answer;
    }

    @Override
    public CompletionStage<AcquireResult> tryAcquire(AcquireRequest request) {
        AcquisitionId asking = request.acquisition();
        Entry entry = entries.get(asking.name());
        boolean mine = entry != null && entry.acquisition.equals(asking);
        if (!isFree(asking.name()) && !mine) {
            return answer(new AcquireResult.Busy(-1, new Place(asking.name())));
        }
        long token = mine ? entry.token : ++tokens;
        entries.put(asking.name(), new Entry(asking, token, world.now() + request.leaseMillis() * MILLI));
        return answer(new AcquireResult.Granted(new Grant(asking, token, request.leaseMillis(), null)));
    }

    @Override
    public CompletionStage<List<RenewResult>> renew(List<Grant> grants, long timeoutMillis) {
        return answer(grants.stream().map(this::renew).toList());
    }

    private RenewResult renew(Grant grant) {
        Entry entry = entries.get(grant.acquisition().name());
        if (entry == null
                || !entry.acquisition.equals(grant.acquisition())
                || isFree(grant.acquisition().name())) {
            return new RenewResult.Lost(dev.holdfast.lock.LossReason.REVOKED, "gone");
        }
        entries.put(
                grant.acquisition().name(),
                new Entry(entry.acquisition, entry.token, world.now() + grant.leaseMillis() * MILLI));
        return new RenewResult.Renewed(grant.leaseMillis());
    }

    private boolean remove(AcquisitionId acquisition) {
        Entry entry = entries.get(acquisition.name());
        boolean mine = entry != null && entry.acquisition.equals(acquisition);
        if (mine) {
            giveBack(acquisition.name());
        }
        return mine;
    }

    @Override
    public CompletionStage<ReleaseResult> release(Grant grant, long timeoutMillis) {
        return CompletableFuture.completedFuture(
                remove(grant.acquisition()) ? ReleaseResult.RELEASED : ReleaseResult.NOT_HELD);
    }

    @Override
    public CompletionStage<Void> abandon(AcquisitionId acquisition, long timeoutMillis) {
        remove(acquisition);
        return CompletableFuture.completedFuture(null);
    }

    @Override
    public CompletionStage<Optional<HolderInfo>> holder(String name, long timeoutMillis) {
        return CompletableFuture.completedFuture(Optional.empty());
    }

    @Override
    public Subscription subscribe(Ticket ticket, Runnable listener) {
        String name = ((Place) ticket).name();
        listeners.computeIfAbsent(name, key -> new LinkedHashSet<>()).add(listener);
        return () -> listeners.getOrDefault(name, new LinkedHashSet<>()).remove(listener);
    }

    @Override
    public void close() {}
}
