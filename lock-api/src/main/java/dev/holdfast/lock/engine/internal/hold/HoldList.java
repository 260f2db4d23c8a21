package dev.holdfast.lock.engine.internal.hold;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Holds in the order in which they began: those that share a grant, or those that were lost. Mostly there is one; a grant of
 * readers may have 100,000. Every operation but {@link #all} and {@link #clear} takes constant time: the list is doubly linked,
 * and more than {@value #MAX_UNINDEXED} holds are indexed by the threads that requested them. Guarded by the entry's mutex.
 */
public final class HoldList {
    private static final int MAX_UNINDEXED = 8;

    private @Nullable Hold first;
    private @Nullable Hold last;
    private int size;
    /** Holds by the identity hash of the threads that requested them; threads may override {@code hashCode}. */
    private @Nullable Map<Integer, Set<Hold>> byRequester;
    /** The same for the holds that belong to threads: at most one of each thread. */
    private @Nullable Map<Integer, Set<Hold>> byOwner;

    public @Nullable Hold first() {
        return first;
    }

    public boolean isEmpty() {
        return first == null;
    }

    public boolean has(Hold hold) {
        return hold.list == this;
    }

    public void add(Hold hold) {
        hold.list = this;
        hold.before = last;
        if (last == null) {
            first = hold;
        } else {
            last.next = hold;
        }
        last = hold;
        size++;
        try {
            if (byRequester != null) {
                index(hold);
            } else if (size > MAX_UNINDEXED) {
                byRequester = new HashMap<>();
                byOwner = new HashMap<>();
                all().forEach(this::index);
            }
        } catch (OutOfMemoryError e) {
            dropIndex();
        }
    }

    /** The list is enough; the next hold makes another index. */
    private void dropIndex() {
        byRequester = null;
        byOwner = null;
    }

    /** Removes a hold, if it is here. A caller that keeps an ended lease must not keep the later holds reachable. */
    public void remove(Hold hold) {
        if (hold.list != this) {
            return;
        }
        Hold before = hold.before;
        Hold next = hold.next;
        if (before == null) {
            first = next;
        } else {
            before.next = next;
        }
        if (next == null) {
            last = before;
        } else {
            next.before = before;
        }
        detach(hold);
        size--;
        try {
            removeFrom(byRequester, hold);
            removeFrom(byOwner, hold);
        } catch (OutOfMemoryError e) {
            dropIndex();
        }
    }

    public void clear() {
        for (Hold hold = first; hold != null; ) {
            Hold next = hold.next;
            detach(hold);
            hold = next;
        }
        first = null;
        last = null;
        size = 0;
        byRequester = null;
        byOwner = null;
    }

    private static void detach(Hold hold) {
        hold.list = null;
        hold.before = null;
        hold.next = null;
    }

    public List<Hold> all() {
        List<Hold> all = new ArrayList<>(size);
        for (Hold hold = first; hold != null; hold = hold.next) {
            all.add(hold);
        }
        return all;
    }

    /** The {@code lock} hold of a thread; null if it has none. */
    public @Nullable Hold ownedBy(@Nullable Thread thread) {
        if (thread == null) {
            return null;
        }
        if (byOwner != null) {
            for (Hold hold : byOwner.getOrDefault(System.identityHashCode(thread), Set.of())) {
                if (hold.isOwnedBy(thread)) {
                    return hold;
                }
            }
            return null;
        }
        for (Hold hold = first; hold != null; hold = hold.next) {
            if (hold.isOwnedBy(thread)) {
                return hold;
            }
        }
        return null;
    }

    /** The first hold that a thread requested, even for another owner; null if there is none. */
    public @Nullable Hold askedForBy(Thread thread) {
        if (byRequester != null) {
            for (Hold hold : byRequester.getOrDefault(System.identityHashCode(thread), Set.of())) {
                if (hold.isAskedForBy(thread)) {
                    return hold;
                }
            }
            return null;
        }
        for (Hold hold = first; hold != null; hold = hold.next) {
            if (hold.isAskedForBy(thread)) {
                return hold;
            }
        }
        return null;
    }

    private void index(Hold hold) {
        if (byRequester == null || byOwner == null) {
            return;
        }
        byRequester
                .computeIfAbsent(hold.requesterHash(), key -> new LinkedHashSet<>(2))
                .add(hold);
        if (hold.isOfThread()) {
            byOwner.computeIfAbsent(hold.requesterHash(), key -> new LinkedHashSet<>(2))
                    .add(hold);
        }
    }

    private static void removeFrom(@Nullable Map<Integer, Set<Hold>> index, Hold hold) {
        if (index != null) {
            index.computeIfPresent(hold.requesterHash(), (key, holds) -> {
                holds.remove(hold);
                return holds.isEmpty() ? null : holds;
            });
        }
    }
}
