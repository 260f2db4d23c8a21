package dev.holdfast.lock.spring;

import dev.holdfast.lock.LockOptions;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The lock options of the application's properties: {@code holdfast.lock.*} are the defaults, {@code holdfast.locks.<id>.*} start
 * from them and have a name. Immutable and thread-safe.
 */
public final class NamedLockOptions {
    private final LockOptions defaults;
    private final Map<String, LockOptions> named;

    /**
     * Creates the set.
     *
     * @param defaults the options of locks that name none
     * @param named the options by their ids; copied
     */
    public NamedLockOptions(LockOptions defaults, Map<String, LockOptions> named) {
        this.defaults = Objects.requireNonNull(defaults, "defaults must not be null");
        this.named = Map.copyOf(new TreeMap<>(named));
    }

    /**
     * Returns the options of locks that name none.
     *
     * @return the defaults
     */
    public LockOptions defaults() {
        return defaults;
    }

    /**
     * Returns the ids that have options of their own.
     *
     * @return the ids, in no order; unmodifiable
     */
    public Set<String> ids() {
        return named.keySet();
    }

    /**
     * Returns the options of an id.
     *
     * @param id as in {@code holdfast.locks.<id>}
     * @return its options
     * @throws IllegalArgumentException if there are none; the message lists those that there are
     */
    public LockOptions get(String id) {
        LockOptions found = named.get(id);
        if (found == null) {
            throw new IllegalArgumentException("no lock options '" + id + "'; there are "
                    + new TreeSet<>(named.keySet()) + "; set holdfast.locks." + id + ".*");
        }
        return found;
    }
}
