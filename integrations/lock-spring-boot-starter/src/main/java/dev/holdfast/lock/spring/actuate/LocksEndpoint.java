package dev.holdfast.lock.spring.actuate;

import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockUsage;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;

/**
 * The actuator endpoint {@code locks}. {@code /actuator/locks} lists what this process holds and waits for, without asking a
 * server; {@code /actuator/locks/orders/42} asks the server for the holders of {@code orders/42}: one holder, several readers, or
 * several holders of permits. It has no operation that ends a lock:
 * its holder would continue without noticing.
 *
 * <p>Thread-safe.
 */
@Endpoint(id = "locks")
public final class LocksEndpoint {
    private final Map<String, LockClient> clients;

    /**
     * Creates the endpoint.
     *
     * @param clients the application's clients, by the names of their beans; not copied, and first looked at by the first request
     */
    public LocksEndpoint(Map<String, LockClient> clients) {
        this.clients = clients;
    }

    /**
     * Lists the locks that this process holds or waits for.
     *
     * @return the locks by client, ordered by name; each entry is consistent by itself
     */
    @ReadOperation
    public HereDescriptor locks() {
        Map<String, List<LockDescriptor>> found = new TreeMap<>();
        clients.forEach((bean, client) -> found.put(
                bean,
                client.held().stream()
                        .sorted(Comparator.comparing(LockUsage::name))
                        .map(LockDescriptor::of)
                        .toList()));
        return new HereDescriptor(found);
    }

    /**
     * Asks the store of each client for the holders of a lock.
     *
     * @param name the parts of the lock's name between slashes
     * @return the holders by client; a client without one is not listed
     * @throws IllegalArgumentException if the name is not acceptable
     * @throws dev.holdfast.lock.LockUnavailableException if a store does not answer
     */
    @ReadOperation
    public ServerDescriptor lock(@Selector(match = Selector.Match.ALL_REMAINING) String... name) {
        String joined = String.join("/", name);
        Map<String, List<HolderDescriptor>> holders = new TreeMap<>();
        clients.forEach((bean, client) -> {
            List<HolderInfo> found = client.holders(joined);
            if (!found.isEmpty()) {
                holders.put(bean, found.stream().map(HolderDescriptor::of).toList());
            }
        });
        return new ServerDescriptor(joined, holders);
    }

    /**
     * The answer about this process. Immutable.
     *
     * @param clients the locks by the client's bean
     */
    public record HereDescriptor(Map<String, List<LockDescriptor>> clients) {}

    /**
     * The answer about a lock on its server. Immutable.
     *
     * @param name the lock's name
     * @param holders its holders, by the client's bean, in order of arrival; empty if it is free
     */
    public record ServerDescriptor(String name, Map<String, List<HolderDescriptor>> holders) {}

    /**
     * A holder, as the server stores it. Immutable.
     *
     * @param who the name that the holder gave itself, possibly empty
     * @param host its host
     * @param pid its process id
     * @param since when it got the lock
     * @param token the fencing token
     * @param demand what it has: {@code exclusive}, {@code shared}, or {@code 2 of 4 permits}
     * @param slot its slot if it has permits; otherwise 0
     */
    public record HolderDescriptor(
            String who, String host, long pid, Instant since, long token, String demand, int slot) {
        static HolderDescriptor of(HolderInfo holder) {
            return new HolderDescriptor(
                    holder.who(),
                    holder.host(),
                    holder.pid(),
                    holder.since(),
                    holder.token(),
                    holder.demand().toString(),
                    holder.slot());
        }
    }

    /**
     * A lock of this process. Immutable.
     *
     * @param name the lock's name
     * @param holders the holders in this process: one, or several readers or holders of permits; empty if it is free
     * @param waiters the waiters of this process, in order of arrival
     */
    public record LockDescriptor(String name, List<HereHolder> holders, List<HereWaiter> waiters) {
        static LockDescriptor of(LockUsage usage) {
            return new LockDescriptor(
                    usage.name(),
                    usage.holders().stream().map(HereHolder::of).toList(),
                    usage.waiters().stream().map(HereWaiter::of).toList());
        }
    }

    /**
     * A holder of this process. Immutable.
     *
     * @param token the fencing token
     * @param thread the thread that acquired it; null if it has ended
     * @param lease true if a lease owns it, false if the thread does
     * @param since when it was acquired
     * @param remainingMillis for how long it is valid without a renewal, in milliseconds
     * @param demand what it has: {@code exclusive}, {@code shared}, or {@code 2 of 4 permits}
     */
    public record HereHolder(
            long token, @Nullable String thread, boolean lease, Instant since, long remainingMillis, String demand) {
        static HereHolder of(LockUsage.Holder holder) {
            return new HereHolder(
                    holder.token(),
                    holder.thread().orElse(null),
                    holder.lease(),
                    holder.since(),
                    holder.remaining().toMillis(),
                    holder.demand().toString());
        }
    }

    /**
     * A waiter of this process. Immutable.
     *
     * @param thread the thread that asks
     * @param async true if that thread does not wait itself
     * @param lease true if it asks for a lease
     * @param since since when
     * @param demand what it asks for, in the same form
     */
    public record HereWaiter(String thread, boolean async, boolean lease, Instant since, String demand) {
        static HereWaiter of(LockUsage.Waiter waiter) {
            return new HereWaiter(
                    waiter.thread(),
                    waiter.async(),
                    waiter.lease(),
                    waiter.since(),
                    waiter.demand().toString());
        }
    }
}
