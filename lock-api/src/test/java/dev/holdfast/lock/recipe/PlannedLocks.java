package dev.holdfast.lock.recipe;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockTimeoutException;
import dev.holdfast.lock.spi.LockName;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** A client whose locks are granted as the test plans. Supports only methods that acquire leases or return holders. */
final class PlannedLocks {

    /** Decides whether and when a lock is granted. */
    interface Plan {
        /**
         * Acquires a lock.
         *
         * @param timeout null if the caller waits without a limit, zero if it tries once
         * @return null if another holder has it
         */
        @Nullable Lease acquire(String name, @Nullable Duration timeout) throws InterruptedException;
    }

    /** The time-outs of the requests, in order. */
    final List<LockOptions> options = new CopyOnWriteArrayList<>();

    /** The holders, by the lock's name. */
    final Map<String, HolderInfo> holders = new ConcurrentHashMap<>();

    /** The answers to those who ask for a future, by the lock's name. */
    final Map<String, CompletableFuture<Lease>> futures = new ConcurrentHashMap<>();

    private final Plan plan;

    PlannedLocks(Plan plan) {
        this.plan = plan;
    }

    LockClient client() {
        return proxy(LockClient.class, (method, arguments) -> {
            if (method.equals("holder")) {
                return Optional.ofNullable(holders.get((String) arguments[0]));
            }
            if (!method.equals("lock")) {
                throw new AssertionError("a client's " + method + " is not planned");
            }
            LockOptions given = arguments.length > 1 ? (LockOptions) arguments[1] : LockOptions.defaults();
            options.add(given);
            return lock(LockName.requireValid((String) arguments[0]), given);
        });
    }

    private DistributedLock lock(String name, LockOptions given) {
        return proxy(DistributedLock.class, (method, arguments) -> switch (method) {
            case "name" -> name;
            case "options" -> given;
            case "acquire" -> {
                Lease lease = plan.acquire(name, arguments.length == 0 ? null : (Duration) arguments[0]);
                if (lease == null) {
                    throw new LockTimeoutException("lock '" + name + "': another holder has it");
                }
                yield lease;
            }
            case "tryAcquire" ->
                Optional.ofNullable(
                        plan.acquire(name, arguments.length == 0 ? Duration.ZERO : (Duration) arguments[0]));
            case "acquireAsync" -> Objects.requireNonNull(futures.get(name), name);
            default -> throw new AssertionError("a lock's " + method + " is not planned");
        });
    }

    private interface Answer {
        Object to(String method, Object[] arguments) throws InterruptedException;
    }

    private static <T> T proxy(Class<T> type, Answer answer) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(),
                new Class<?>[] {type},
                (proxy, method, arguments) ->
                        answer.to(method.getName(), arguments == null ? new Object[0] : arguments)));
    }
}
