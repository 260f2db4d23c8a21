package dev.holdfast.chaos.mutant;

import dev.holdfast.chaos.fault.FaultKind;
import dev.holdfast.chaos.fault.Profile;
import dev.holdfast.chaos.history.Workload;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spi.LockBackend;
import java.util.EnumMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * A broken lock, and the run that shows it.
 *
 * @param name what is wrong
 * @param server makes the server's side of each connection
 * @param backend breaks the client's backend
 * @param client breaks the client
 * @param leaseMillis the lease of the run
 * @param seconds how long the run is at most
 * @param longPercent how many of a hundred holds last about as long as a lease
 * @param workload what the clients do
 * @param faults what else goes wrong
 */
public record Mutant(
        String name,
        Function<MemoryStore, Supplier<LockBackend>> server,
        UnaryOperator<LockBackend> backend,
        UnaryOperator<LockClient> client,
        long leaseMillis,
        int seconds,
        int longPercent,
        Workload workload,
        FaultKind... faults) {
    private static final long LEASE_MILLIS = 1_500;

    /** A run is over as soon as the mutant is caught: nearly always in the first half. */
    private static final int SECONDS = 300;

    private static final int LONG = 3;

    static Mutant ofServer(String name, Function<MemoryStore, Supplier<LockBackend>> server, FaultKind... faults) {
        return new Mutant(
                name,
                server,
                UnaryOperator.identity(),
                UnaryOperator.identity(),
                LEASE_MILLIS,
                SECONDS,
                LONG,
                Workload.MUTEX,
                faults);
    }

    static Mutant ofBackend(String name, UnaryOperator<LockBackend> backend, FaultKind... faults) {
        return new Mutant(
                name,
                store -> store::newBackend,
                backend,
                UnaryOperator.identity(),
                LEASE_MILLIS,
                SECONDS,
                LONG,
                Workload.MUTEX,
                faults);
    }

    static Mutant ofClient(String name, UnaryOperator<LockClient> client, FaultKind... faults) {
        return new Mutant(
                name,
                store -> store::newBackend,
                UnaryOperator.identity(),
                client,
                LEASE_MILLIS,
                SECONDS,
                LONG,
                Workload.MUTEX,
                faults);
    }

    Mutant withLease(long millis) {
        return new Mutant(name, server, backend, client, millis, seconds, longPercent, workload, faults);
    }

    Mutant within(int maximumSeconds) {
        return new Mutant(name, server, backend, client, leaseMillis, maximumSeconds, longPercent, workload, faults);
    }

    Mutant withLongHolds(int percent) {
        return new Mutant(name, server, backend, client, leaseMillis, seconds, percent, workload, faults);
    }

    Mutant called(String other) {
        return new Mutant(other, server, backend, client, leaseMillis, seconds, longPercent, workload, faults);
    }

    Mutant under(Workload other) {
        return new Mutant(name, server, backend, client, leaseMillis, seconds, longPercent, other, faults);
    }

    /**
     * Returns the clients and faults of its run.
     *
     * @return a small profile
     */
    public Profile profile() {
        Map<FaultKind, Integer> weights = new EnumMap<>(FaultKind.class);
        for (FaultKind fault : faults) {
            weights.put(fault, 1);
        }
        return new Profile(3, 5, 5, 1, leaseMillis, weights, 1_000, 4, longPercent);
    }
}
