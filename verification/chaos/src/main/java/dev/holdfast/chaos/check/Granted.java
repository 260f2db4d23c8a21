package dev.holdfast.chaos.check;

import dev.holdfast.chaos.history.Operation;
import dev.holdfast.chaos.history.Outcome;
import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What the server granted once: to the operation that asked, and to those of the same process that share it. A read joins
 * the grant of its process that has its token, one of a write among them, which was downgraded then.
 */
final class Granted {
    private final Operation first;
    private final List<Operation> all = new ArrayList<>();

    private Granted(Operation first) {
        this.first = first;
        all.add(first);
    }

    /** The grants of one name, in the order in which they were asked for. */
    static List<Granted> of(List<Operation> ofName) {
        record Key(Operation.Process process, long token) {}
        List<Granted> grants = new ArrayList<>();
        Map<Key, Granted> byKey = new HashMap<>();
        ofName.stream()
                .filter(operation -> operation.acquired != Operation.NEVER)
                .sorted(Comparator.comparingLong(operation -> operation.invoked))
                .forEach(operation -> {
                    Key key = new Key(operation.process, operation.token);
                    Granted own = byKey.get(key);
                    if (own != null && operation.demand == Demand.SHARED) {
                        own.all.add(operation);
                    } else {
                        Granted grant = new Granted(operation);
                        grants.add(grant);
                        byKey.putIfAbsent(key, grant);
                    }
                });
        return grants;
    }

    /** The operation that came first. */
    Operation first() {
        return first;
    }

    /** All operations that share it. */
    List<Operation> all() {
        return all;
    }

    long token() {
        return first.token;
    }

    Demand demand() {
        return first.demand;
    }

    int slot() {
        return first.slot;
    }

    boolean isAlone() {
        return demand() instanceof Demand.Exclusive;
    }

    /** Not after it was asked for. */
    long invoked() {
        return first.invoked;
    }

    /** When it had certainly been granted. */
    long acquired() {
        return all.stream().mapToLong(operation -> operation.acquired).min().orElse(Operation.NEVER);
    }

    boolean claims() {
        return all.stream().anyMatch(Operation::claims);
    }

    /** The last instant at which its lease was found valid. */
    long confirmed() {
        return all.stream()
                .filter(Operation::claims)
                .mapToLong(operation -> operation.confirmed)
                .max()
                .orElse(Operation.NEVER);
    }

    /** When it had ended at the latest: released, or forgotten by the server after its holder was lost. */
    long freedBy(long leaseMillis) {
        return all.stream()
                .mapToLong(operation -> freedBy(operation, leaseMillis))
                .max()
                .orElse(Long.MIN_VALUE);
    }

    private static long freedBy(Operation operation, long leaseMillis) {
        boolean released = operation.released != Operation.NEVER
                && operation.releaseOutcome == Outcome.OK
                && operation.released - operation.release < 500_000_000L;
        if (released) {
            return operation.released;
        }
        long last = Math.max(
                Math.max(operation.acquired, operation.confirmed), Math.max(operation.released, operation.lost));
        return forgotten(last, leaseMillis);
    }

    /** When the server has dropped what it last received at that time. */
    static long forgotten(long last, long leaseMillis) {
        return last + 2 * leaseMillis * 1_000_000 + 1_000_000_000L;
    }

    @Override
    public String toString() {
        return first + (all.size() == 1 ? "" : " and " + (all.size() - 1) + " more");
    }
}
