package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A {@link Backlog} on simulated time, whose requests the test answers. */
final class HandledBacklog {
    static final long MILLI = 1_000_000;

    /** A request to the store; the test may answer it at any time. */
    record Sent(Removal<?> removal, long atMillis, int round, Consumer<@Nullable LockException> answered) {
        String name() {
            return removal.name();
        }
    }

    private final SimWorld world = new SimWorld(1);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final long startNanos = world.now();
    final InFlightRequests requests;
    final Backlog backlog;
    final List<Sent> sent = new ArrayList<>();
    /** The immediate answer to requests from now on; null if the test answers them. */
    @Nullable Consumer<Sent> answer = null;

    /** A timer that is closed too late still runs. */
    boolean timersRunAlthoughClosed;

    int openTimers;
    private int rounds;

    HandledBacklog(boolean expiring) {
        EngineRuntime plain = machine.runtime();
        this.requests =
                new InFlightRequests(machine, new Housekeeper(machine, plain.timer(), now -> Housekeeper.NEVER));
        this.backlog = new Backlog(
                new EngineRuntime(
                        machine,
                        plain.random(),
                        counting(plain.timer()),
                        plain.io(),
                        plain.renewals(),
                        plain.callbacks(),
                        plain.events(),
                        plain.shutdown()),
                expiring,
                this::send);
    }

    private Timer counting(Timer plain) {
        return (delay, task) -> {
            boolean[] open = {true};
            openTimers++;
            Runnable end = () -> {
                openTimers -= open[0] ? 1 : 0;
                open[0] = false;
            };
            Subscription begun = plain.after(delay, () -> {
                end.run();
                rounds++;
                task.run();
            });
            return () -> {
                end.run();
                if (!timersRunAlthoughClosed) {
                    begun.close();
                }
            };
        };
    }

    private void send(Removal<?> removal, Consumer<@Nullable LockException> answered) {
        Sent request = new Sent(removal, (world.now() - startNanos) / MILLI, rounds, answered);
        sent.add(request);
        Consumer<Sent> now = answer;
        if (now != null) {
            now.accept(request);
        }
    }

    /** Another removal, which is retried for an hour. */
    Removal<Void> removal(String name, Removal.Kind kind) {
        Removal<Void> removal = new Removal<>(
                kind,
                new AcquisitionId(name, OwnerId.random()),
                () -> CompletableFuture.completedFuture(null),
                ignored -> {},
                requests,
                1_000 * MILLI);
        removal.worthUntilNanos = nanos() + 3_600_000 * MILLI;
        return removal;
    }

    Removal<Void> abandonment(String name) {
        return removal(name, Removal.Kind.ABANDON);
    }

    /** Adds the given number of removals, named n0, n1 and so on. */
    List<Removal<Void>> add(int count, Removal.Kind kind) {
        List<Removal<Void>> added = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Removal<Void> removal = removal("n" + i, kind);
            added.add(removal);
            backlog.add(removal);
        }
        return added;
    }

    long nanos() {
        return machine.nanos();
    }

    /** Advances the time and runs everything that is due, also if it advances by zero. */
    void pass(long millis) {
        world.runUntil(world.now() + millis * MILLI);
    }

    List<String> names() {
        return sent.stream().map(Sent::name).toList();
    }

    List<Long> times() {
        return sent.stream().map(Sent::atMillis).toList();
    }

    /** The number of requests in each batch, without empty ones. */
    List<Integer> roundSizes() {
        Map<Integer, Integer> sizes = new TreeMap<>();
        sent.forEach(each -> sizes.merge(each.round(), 1, Integer::sum));
        return List.copyOf(sizes.values());
    }
}
