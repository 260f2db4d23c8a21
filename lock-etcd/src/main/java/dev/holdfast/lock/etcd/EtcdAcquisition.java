package dev.holdfast.lock.etcd;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.Identity;
import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.KeyValue;
import io.etcd.jetcd.op.Cmp;
import io.etcd.jetcd.op.CmpTarget;
import io.etcd.jetcd.op.Op;
import io.etcd.jetcd.options.PutOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * What this process knows about one acquisition: its key, what the newest answer said of it, and the writes that have no
 * answer yet. {@link ConditionalWrite} tells how these three say where the key may be. Variables of this type are
 * called {@code place}: it is the acquisition's place in the line.
 *
 * <p>Thread-safe.
 */
final class EtcdAcquisition implements PermitLine.Mine {
    private enum State {
        /** No answer has said yet that it waits or holds. */
        CONTENDING,
        /** Its key stands in the line. */
        WAITING,
        /** Granted, or handed the lock. */
        HELD,
        /** Nothing of it is on the server, or only until its leases end. */
        ENDED
    }

    /**
     * A write on its way; a repeated one is equal.
     *
     * @param expected the revision that the key must have, 0: no key
     * @param created the key's create revision, if it has that one
     * @param slot of permits, the slot that the key says, if it has that one; else what it is to say when it is made
     * @param lease what the key is put on
     */
    record Write(long expected, long created, int slot, SharedLease lease) {}

    /**
     * The latest attempt.
     *
     * @param nanos when it was begun
     */
    record Asked(AcquireRequest request, long nanos) {}

    private static final int GIVEN_BACK = -1;

    private final AcquisitionId acquisition;
    private volatile QueueSlots.Slot slot;
    private volatile ByteSequence key;
    private final ByteSequence value;
    private final AtomicReference<KeyState> seen = new AtomicReference<>(KeyState.NEVER_SEEN);
    /** The writes that have no answer yet, and how many of each. */
    private final Map<Write, Integer> open = new ConcurrentHashMap<>();
    /** The leases that have this place among their members. */
    private final Set<SharedLease> leases = ConcurrentHashMap.newKeySet();
    /** Unconditional deletions of the key that have no answer yet; {@link #GIVEN_BACK} once others may use the key. */
    private final AtomicInteger deletions = new AtomicInteger();

    private final AtomicReference<@Nullable InLine> inLine = new AtomicReference<>();
    /** The ticket that is one and the same for as long as it waits, if it has such a one. */
    private final AtomicReference<@Nullable EtcdTicket> lasting = new AtomicReference<>();
    /** The slot that the key says when it is made; 0: none. */
    private final int guess;

    private final AtomicReference<@Nullable SlotPlan> plan = new AtomicReference<>();
    private volatile @Nullable Asked asked;

    /** It was called: the next attempt writes, instead of only looking whether something has changed. */
    private final AtomicBoolean called = new AtomicBoolean();
    /** Held while it is decided whether it waits or holds. */
    private final ReentrantLock mutex = new ReentrantLock();

    private volatile State state = State.CONTENDING;
    private volatile @Nullable Grant grant;
    private final AtomicReference<@Nullable Runnable> wake = new AtomicReference<>();
    private volatile long requestedMillis;
    private volatile boolean ending;
    private volatile long learntNanos = System.nanoTime();

    EtcdAcquisition(AcquisitionId acquisition, QueueSlots.Slot slot, ByteSequence key, Identity identity) {
        this.acquisition = acquisition;
        this.slot = slot;
        this.key = key;
        this.value = EtcdValue.of(acquisition.owner(), identity);
        // Right if this client alone has permits. If it has all of them, this one is to wait.
        this.guess = acquisition.demand() instanceof Demand.Permits asked && slot.number() < asked.limit()
                ? slot.number() + 1
                : 0;
    }

    /** The place behind a grant, or null if the grant is not that place's owner's. */
    static @Nullable EtcdAcquisition of(Grant grant) {
        return grant.handle() instanceof EtcdAcquisition place
                        && place.acquisition().equals(grant.acquisition())
                ? place
                : null;
    }

    @Override
    public AcquisitionId acquisition() {
        return acquisition;
    }

    ByteSequence key() {
        return key;
    }

    /** Takes another key, whose number is that. */
    void move(QueueSlots.Slot next, ByteSequence nextKey) {
        slot = next;
        key = nextKey;
        plan.set(null); // it may write that key, as another acquisition's
        seen.updateAndGet(last -> KeyState.notThere(last.at()));
    }

    QueueSlots.Slot slot() {
        return slot;
    }

    /** What the key is to hold: unique to the acquisition, and always the same but for the slot of permits. */
    ByteSequence value(int slot) {
        return acquisition.demand() instanceof Demand.Permits asked ? EtcdValue.ofPermits(value, asked, slot) : value;
    }

    /** Puts the key, as it is but for its lease, and for its slot if there is a plan for what it says. */
    Op put(Write write, @Nullable SlotPlan plan) {
        PutOption lease = PutOption.builder().withLeaseId(write.lease().id()).build();
        Op same = Op.put(key, value(write.slot()), lease);
        if (plan == null || plan.from() != write.slot() || plan.from() == plan.to()) {
            return same;
        }
        Op next = Op.put(key, value(plan.to()), lease);
        return plan.because().isEmpty()
                ? next
                : Op.txn(plan.because().toArray(new Cmp[0]), new Op[] {next}, new Op[] {same});
    }

    /** Whether a key holds a value of this acquisition. */
    @Override
    public boolean owns(KeyValue entry) {
        return entry.getValue().startsWith(EtcdKeys.bytes(EtcdValue.start(acquisition.owner())));
    }

    /** What is true of the key's value on the server as long as it is this acquisition's. */
    List<Cmp> ownership() {
        if (!(acquisition.demand() instanceof Demand.Permits)) {
            return List.of(new Cmp(key, Cmp.Op.EQUAL, CmpTarget.value(value)));
        }
        ByteSequence start = EtcdKeys.bytes(EtcdValue.start(acquisition.owner()));
        ByteSequence end = EtcdKeys.bytes(acquisition.owner() + "!"); // what follows the space
        return List.of(
                new Cmp(key, Cmp.Op.GREATER, CmpTarget.value(start)), new Cmp(key, Cmp.Op.LESS, CmpTarget.value(end)));
    }

    // ---- permits

    /** There seems to be room, once these slots are written: by the next attempt. */
    void plan(SlotPlan next) {
        plan.set(next);
    }

    /** What the attempt that is about to be sent is to write besides, if anything. */
    @Nullable SlotPlan takePlan() {
        return plan.getAndSet(null);
    }

    /** Whether these are the position and the slot of its grant. */
    @Override
    public boolean isGranted(long created, int slot) {
        Grant present = grant;
        return present != null && present.token() == created && present.slot() == slot;
    }

    /** The ticket of a waiter for permits, which is one and the same and knows this line from now on, or a newer one. */
    EtcdTicket inLine(EtcdKeys keys, PermitLine line) {
        InLine ticket = inLine.updateAndGet(present -> present == null ? new InLine(this, keys, line) : present);
        Objects.requireNonNull(ticket).knows(line);
        return ticket;
    }

    // ---- hand-over

    /** An attempt begins. */
    void asks(AcquireRequest request, long nanos) {
        mutex.lock();
        try {
            asked = new Asked(request, nanos);
        } finally {
            mutex.unlock();
        }
    }

    /** The latest attempt, unless it was granted. */
    @Nullable Asked asked() {
        return asked;
    }

    /** The ticket that is one and the same for as long as the acquisition waits; made if there is none. */
    EtcdTicket lasting(Supplier<EtcdTicket> made) {
        return Objects.requireNonNull(lasting.updateAndGet(present -> present == null ? made.get() : present));
    }

    // ---- where the key is

    KeyState seen() {
        return Objects.requireNonNull(seen.get());
    }

    /** Notes what an answer said, unless a newer one is known. Returns whether it is the newest. */
    boolean saw(KeyState news) {
        learntNanos = System.nanoTime();
        boolean newest = seen.updateAndGet(last -> news.at() >= last.at() ? news : last) == news;
        if (newest) {
            // What expects an older revision, which does not come back, is refused whenever it arrives.
            open.keySet()
                    .removeIf(write -> write.expected() != 0
                            && write.expected() <= news.at()
                            && write.expected() != news.modified());
            leaveOthers();
        }
        return newest;
    }

    /**
     * Whether the keys of its lease, if they were asked for at that time, tell something new of this one: it was not written
     * since, nor {@linkplain #told} since.
     */
    boolean isNews(long askedNanos) {
        return askedNanos - learntNanos > 0;
    }

    /** Its lease's keys have told of this one. */
    void told() {
        learntNanos = System.nanoTime();
    }

    /** A write that expects what was last seen is about to be sent. */
    Write sent(SharedLease lease) {
        KeyState last = seen();
        int slot = last.modified() == 0 ? guess : last.slot();
        Write write = new Write(last.modified(), last.created(), slot, lease);
        open.merge(write, 1, Integer::sum);
        enter(lease);
        return write;
    }

    /** The write was executed or refused, so that it has no effect later. */
    void settled(Write write) {
        open.computeIfPresent(write, (same, count) -> count == 1 ? null : count - 1);
        leaveOthers();
    }

    private void enter(SharedLease lease) {
        if (leases.add(lease)) {
            lease.join(this);
        }
        if (isEnded()) {
            leaveAll();
        }
    }

    /** Leaves the leases on which the key cannot be any more, and joins the one on which it was seen. */
    private void leaveOthers() {
        for (SharedLease lease : leases) {
            boolean needed =
                    lease == seen().lease() || open.keySet().stream().anyMatch(write -> write.lease() == lease);
            if (!needed && leases.remove(lease)) {
                lease.leave(this);
            }
        }
        SharedLease present = seen().lease();
        if (present != null && !isEnded()) {
            enter(present);
        }
    }

    private void leaveAll() {
        leases.forEach(lease -> lease.leave(this));
        leases.clear();
    }

    /** What the key was on when last seen, or null. */
    @Nullable SharedLease lease() {
        return seen().lease();
    }

    /** All leases on which the key may be if it is there: that of the last answer, and those of the writes that may follow it. */
    List<SharedLease> mayBeOn() {
        KeyState last = seen();
        List<SharedLease> on = new ArrayList<>(1);
        if (last.lease() != null) {
            on.add(last.lease());
        }
        for (Write write : open.keySet()) {
            if (write.expected() == last.modified() && !on.contains(write.lease())) {
                on.add(write.lease());
            }
        }
        return on;
    }

    /** For how long after the given time the key stays, if it is there, wherever it may be; nothing where that is unknown. */
    long certainNanos(long nowNanos) {
        if (seen().lease() == null) {
            return 0;
        }
        long certain = Long.MAX_VALUE;
        for (SharedLease lease : mayBeOn()) {
            certain = Math.min(certain, lease.isGone() ? 0 : lease.certainNanos(nowNanos));
        }
        return certain;
    }

    /** The leases on which a creation may still arrive. */
    List<SharedLease> openCreations() {
        return open.keySet().stream()
                .filter(write -> write.expected() == 0 && !write.lease().isGone())
                .map(Write::lease)
                .distinct()
                .toList();
    }

    /** Whether no key is there or under way; for good, once the acquisition is {@linkplain #ending}. */
    boolean isNowhere() {
        // In this order: an answer is seen before it settles the write.
        return openCreations().isEmpty() && seen().modified() == 0;
    }

    /** Tombstones keep out whatever may still arrive. */
    void tombstoned() {
        open.clear();
    }

    // ---- how far the acquisition is

    /** The grant, once held. */
    @Nullable Grant grant() {
        return grant;
    }

    /** The lease that was asked for. */
    long requestedMillis() {
        return requestedMillis;
    }

    /** An attempt was granted; returns whether its key is still the one of that grant. */
    boolean held(Grant granted, long askedMillis) {
        mutex.lock();
        try {
            boolean same = seen().created() == granted.token();
            if (same) {
                hold(granted, askedMillis);
            }
            return same;
        } finally {
            mutex.unlock();
        }
    }

    private void hold(Grant granted, long askedMillis) {
        requestedMillis = askedMillis;
        grant = granted;
        asked = null; // which would keep whoever asked for as long as the lock is held
        if (state != State.ENDED) {
            state = State.HELD;
        }
    }

    /**
     * It was handed the lock. Returns whether it still waits with the key of that grant, on leases that have not ended, and has not
     * asked again since: a later attempt that does not know of the grant would say that it waits still.
     */
    boolean handedOver(Grant granted, Asked to) {
        mutex.lock();
        try {
            boolean waits =
                    asked == to && isWaiting() && openCreations().isEmpty() && seen().created() == granted.token();
            if (!waits) {
                return false;
            }
            hold(granted, to.request().leaseMillis());
            told(); // what its lease's keys said before is not enough for the first renewal
            if (certainNanos(to.nanos()) >= TimeUnit.MILLISECONDS.toNanos(granted.leaseMillis())) {
                return true; // a lease that ends from now on, and a move that is not sent yet, find that it is held
            }
            if (state == State.HELD) {
                state = State.WAITING;
            }
            grant = null;
            asked = to;
            return false;
        } finally {
            mutex.unlock();
        }
    }

    /**
     * An answer said that it waits, unless it was handed the lock since.
     *
     * @return the grant that it was handed for a key that is not its key any more, or null
     */
    @Nullable Grant waiting() {
        mutex.lock();
        try {
            Grant held = state == State.HELD ? grant : null;
            if (state == State.ENDED || held != null && held.token() == seen().created()) {
                return null;
            }
            state = State.WAITING;
            grant = null;
            return held;
        } finally {
            mutex.unlock();
        }
    }

    /** From now on nothing is written, and whoever ends the acquisition sees all that was. */
    void ending() {
        ending = true;
        wake.set(null);
    }

    boolean isEnding() {
        return ending || state == State.ENDED;
    }

    void ended() {
        mutex.lock();
        try {
            state = State.ENDED;
        } finally {
            mutex.unlock();
        }
        wake.set(null);
        leaveAll();
    }

    /** Whether its key is to be kept though no grant is there that is renewed. */
    boolean isWaiting() {
        return state == State.WAITING && !ending;
    }

    boolean isHeld() {
        return state == State.HELD;
    }

    boolean isEnded() {
        return state == State.ENDED;
    }

    void onWake(Runnable onMaybeFree) {
        wake.set(onMaybeFree);
    }

    /** Ends that callback, not one that has replaced it. */
    void offWake(Runnable onMaybeFree) {
        wake.compareAndSet(onMaybeFree, null);
    }

    /** What the acquisition waits for has happened, as far as is known. */
    void called() {
        called.set(true);
    }

    /** Whether it was called since the last time this was asked. */
    boolean takeCall() {
        return called.getAndSet(false);
    }

    /** Its lease has ended, and its key with it: it is to ask again. */
    void wake() {
        Runnable waiter = wake.get();
        if (waiter != null) {
            called();
            waiter.run();
        }
    }

    // ---- who may use the key

    /**
     * Whether the key may be deleted whatever it holds, because no other acquisition can get it: from now on it is not
     * given back before that deletion is {@linkplain #deleted answered}.
     */
    boolean mayDelete() {
        return deletions.getAndUpdate(open -> open == GIVEN_BACK ? GIVEN_BACK : open + 1) != GIVEN_BACK;
    }

    /** The deletion has been answered, so it cannot arrive later. */
    void deleted() {
        deletions.decrementAndGet();
    }

    /** Whether another acquisition may have the key: nothing that was sent for this one can arrive any more. */
    boolean giveBack() {
        return openCreations().isEmpty() && deletions.compareAndSet(0, GIVEN_BACK);
    }
}
