package dev.holdfast.lock.etcd;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.OwnerId;
import dev.holdfast.lock.spi.Subscription;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.support.Waits;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.KeyValue;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/** One history of several clients with several acquisitions each, by a seed, and what was wrong in it. */
final class PermitHistory {
    private static final int CLIENTS = 3;
    private static final int EACH = 3;
    private static final int STEPS = 250;
    /** More than the head of the queue. */
    private static final int MANY = 20;

    private static final int MANY_STEPS = 1_500;
    private static final int MAX_CALM_STEPS = 20_000;
    private static final String NAME = "s";
    private static final long LEASE = 600_000;
    private static final long TIMEOUT = 120_000;

    private final SimulatedEtcd server = new SimulatedEtcd();
    private final Random random;
    private final boolean changes;
    private final int each;
    private final int steps;
    private final List<Process> processes = new ArrayList<>();
    private final List<String> violations = new ArrayList<>();
    private final List<String> log = new ArrayList<>();
    private final List<PermitJudge.Held> all = new ArrayList<>();
    private int limit;
    private int highestLimit;
    private long time;
    private boolean leasesEnded;
    private int actorsMade;

    PermitHistory(int limit, int seed, boolean changes) {
        this(limit, seed, changes, EACH, STEPS);
    }

    /** A history in which the queue becomes long. */
    static PermitHistory ofMany(int limit, int seed, boolean changes) {
        return new PermitHistory(limit, seed, changes, MANY, MANY_STEPS);
    }

    private PermitHistory(int limit, int seed, boolean changes, int each, int steps) {
        this.each = each;
        this.steps = steps;
        this.random = new Random(seed);
        this.limit = limit;
        this.highestLimit = limit;
        this.changes = changes;
    }

    /** A client, and those who ask by it. */
    private final class Process {
        final SimulatedClient client = new SimulatedClient(server);
        final LockBackend backend = new EtcdLockBackend(
                new EtcdConnection(client.client(), () -> {}), "p/", EtcdMode.QUEUE, Duration.ofHours(1));
        final List<Actor> actors = new ArrayList<>();
        long leasesEnded;

        Process() {
            for (int i = 0; i < each; i++) {
                actors.add(new Actor(this));
            }
        }
    }

    private final class Actor {
        final Process process;
        final int number;

        @Nullable AcquisitionId acquisition;

        @Nullable Ticket ticket;

        @Nullable Subscription subscription;

        PermitJudge.@Nullable Held held;
        boolean asks;
        boolean called;
        boolean ends;

        Actor(Process process) {
            this.process = process;
            this.number = ++actorsMade;
        }

        void begin() {
            ask(new Demand.Permits(1 + random.nextInt(random.nextBoolean() ? 1 : limit), limit));
        }

        private void ask(Demand demand) {
            acquisition = new AcquisitionId(NAME, OwnerId.random(), demand);
            attempt(random.nextInt(5) == 0 ? 0 : LEASE);
        }

        void attempt(long waitMillis) {
            asks = true;
            called = false;
            note("asks");
            process.client.asks(this);
            CompletionStage<AcquireResult> answer = process.backend.tryAcquire(new AcquireRequest(
                    Objects.requireNonNull(acquisition),
                    LEASE,
                    waitMillis,
                    true,
                    ticket,
                    TIMEOUT,
                    BackendDriver.IDENTITY));
            answer.whenComplete(this::answered);
        }

        private void answered(AcquireResult result, @Nullable Throwable failure) {
            note(failure == null ? result.getClass().getSimpleName() : "failed");
            asks = false;
            if (failure != null) {
                if (random.nextBoolean()) {
                    called = true; // again
                } else {
                    end(process.backend.abandon(Objects.requireNonNull(acquisition), TIMEOUT));
                }
            } else if (result instanceof AcquireResult.Granted granted) {
                granted(granted.grant());
            } else if (result instanceof AcquireResult.Busy busy && busy.ticket() != null) {
                if (!busy.ticket().equals(ticket)) {
                    unsubscribe();
                    ticket = busy.ticket();
                    subscription = process.backend.subscribe(ticket, () -> called = true);
                }
            } else {
                end(process.backend.abandon(Objects.requireNonNull(acquisition), TIMEOUT));
            }
        }

        private void granted(Grant grant) {
            unsubscribe();
            PermitJudge.Held now = new PermitJudge.Held(grant, process.client.executedAt());
            held = now;
            if (now.since() <= process.leasesEnded) {
                release(); // its time is over by the client's clock
                return;
            }
            all.add(now);
            note("token " + grant.token() + " in slot " + grant.slot() + " since " + now.since());
            PermitJudge.judge(now, holders(), all, highestLimit).forEach(wrong -> check(false, wrong));
        }

        void release() {
            Grant grant = Objects.requireNonNull(held).grant();
            held = null;
            end(process.backend.release(grant, TIMEOUT));
        }

        private void end(CompletionStage<?> end) {
            ends = true;
            end.whenComplete((done, failure) -> forget());
        }

        private void unsubscribe() {
            Subscription present = subscription;
            if (present != null) {
                present.close();
            }
            subscription = null;
        }

        private void forget() {
            unsubscribe();
            ends = false;
            held = null;
            ticket = null;
            acquisition = null;
        }

        private void note(String what) {
            log.add(time + " " + number + " " + what);
        }

        boolean isIdle() {
            return acquisition == null;
        }

        boolean waits() {
            return acquisition != null && !asks && !ends && held == null;
        }
    }

    private List<PermitJudge.Held> holders() {
        return actors().stream()
                .filter(actor -> actor.held != null)
                .map(actor -> actor.held)
                .toList();
    }

    private List<Actor> actors() {
        return processes.stream().flatMap(process -> process.actors.stream()).toList();
    }

    private void check(boolean holds, String otherwise) {
        if (!holds && violations.size() < 3) {
            violations.add(otherwise + ": " + log);
        }
    }

    List<String> violations() {
        return violations;
    }

    int grants() {
        return all.size();
    }

    void run() {
        for (int i = 0; i < CLIENTS; i++) {
            processes.add(new Process());
        }
        for (int step = 0; step < steps; step++) {
            step();
        }
        settle();
        check(nobodyWaitsWhoHasRoom(), "a waiter has room");
        long startNanos = System.nanoTime();
        while (!isOver() && System.nanoTime() - startNanos < Waits.PATIENCE.toNanos()) {
            actors().stream()
                    .filter(actor -> actor.held != null)
                    .findFirst()
                    .ifPresentOrElse(Actor::release, PermitHistory::awaitRepeats);
            settle();
            check(nobodyWaitsWhoHasRoom(), "a waiter has room at the end");
        }
        check(actors().stream().allMatch(Actor::isIdle), "a waiter is never granted");
        check(queueKeys().isEmpty(), "keys remain: " + queueKeys());
        processes.forEach(process -> process.backend.close());
    }

    private boolean isOver() {
        return actors().stream().allMatch(Actor::isIdle) && queueKeys().isEmpty();
    }

    /** Attempts and removals that are repeated after a pause come from threads of their own. */
    private static void awaitRepeats() {
        LockSupport.parkNanos(200_000);
    }

    private List<KeyValue> queueKeys() {
        return server.keysFrom("p/~queue/s/p");
    }

    /** Delivers all pending messages, and lets notified clients make attempts, until nothing happens. */
    private void settle() {
        boolean polled = !leasesEnded; // the end of a lease is reported on its own thread
        for (int i = 0; i < MAX_CALM_STEPS; i++) {
            if (processes.stream().noneMatch(this::goOn)) {
                if (polled) {
                    return;
                }
                polled = true;
                actors().stream().filter(Actor::waits).forEach(actor -> actor.attempt(LEASE));
            }
        }
        check(false, "it does not come to rest");
    }

    private boolean goOn(Process process) {
        time++;
        SimulatedClient client = process.client;
        if (!client.sent().isEmpty()) {
            client.execute(client.sent().remove(0), time);
        } else if (!client.answers().isEmpty()) {
            client.deliver(client.answers().remove(0));
        } else if (!client.events().isEmpty()) {
            client.events().remove(0).run();
        } else {
            List<Actor> next = process.actors.stream()
                    .filter(actor -> actor.waits() && actor.called)
                    .limit(1)
                    .toList();
            next.forEach(actor -> actor.attempt(LEASE));
            return !next.isEmpty();
        }
        return true;
    }

    private boolean nobodyWaitsWhoHasRoom() {
        int sum = 0;
        for (KeyValue key : queueKeys()) {
            String[] parts = key.getValue().toStringUtf8().split("[ /]");
            sum += Integer.parseInt(parts[2]);
            boolean waits = actors().stream()
                    .anyMatch(actor -> actor.waits()
                            && actor.acquisition != null
                            && actor.acquisition.owner().toString().equals(parts[0]));
            if (waits && sum <= Integer.parseInt(parts[3]) && !changes) {
                return false;
            }
        }
        return true;
    }

    private void step() {
        time++;
        Process process = processes.get(random.nextInt(processes.size()));
        SimulatedClient client = process.client;
        Actor actor = process.actors.get(random.nextInt(each));
        int what = random.nextInt(200);
        if (what < 60 && !client.sent().isEmpty()) {
            int which = random.nextInt(client.sent().size());
            SimulatedClient.Request request = client.sent().get(which);
            if (random.nextInt(15) > 0 || !expectsAKey(request)) {
                client.sent().remove(which); // else it is delivered again
            }
            client.execute(request, time);
        } else if (what < 120 && !client.answers().isEmpty()) {
            client.deliver(
                    client.answers().remove(random.nextInt(client.answers().size())));
        } else if (what < 140 && !client.events().isEmpty()) {
            client.events().remove(0).run();
        } else if (what < 142) {
            client.sent().stream().filter(PermitHistory::isAttempt).findFirst().ifPresent(client::giveUp);
        } else if (what < 143) {
            crash(process);
        } else if (what < 145) {
            endLeases(process);
        } else if (what < 147 && changes) {
            changeLimit(process);
        } else if (actor.isIdle()) {
            actor.begin();
        } else if (actor.held != null) {
            actor.release();
        } else if (actor.waits() && (actor.called || random.nextInt(10) == 0)) {
            actor.attempt(LEASE);
        }
    }

    private static boolean expectsAKey(SimulatedClient.Request request) {
        return request.message().getCompareList().stream().anyMatch(condition -> condition.getModRevision() > 0);
    }

    /** Or leaves again, being busy: removals are repeated by a thread of their own. */
    private static boolean isAttempt(SimulatedClient.Request request) {
        return request.message().getCompareList().stream().anyMatch(Compare::hasModRevision);
    }

    private void crash(Process process) {
        process.client.crash();
        process.actors.forEach(actor -> actor.held = null);
        List<SimulatedClient.Request> late = List.copyOf(process.client.sent());
        processes.remove(process);
        Process next = new Process();
        processes.add(next);
        late.forEach(request -> process.client.execute(request, time)); // on leases that have ended
        process.client.answers().clear();
    }

    /** All at once, while the process goes on. */
    private void endLeases(Process process) {
        process.actors.stream().filter(actor -> actor.held != null).forEach(Actor::release);
        process.client.endLeases();
        process.leasesEnded = time;
        leasesEnded = true;
    }

    private void changeLimit(Process process) {
        int to = 1 + random.nextInt(5);
        int from = limit;
        process.client.asks(this);
        process.backend.changeLimit(NAME, from, to, TIMEOUT).whenComplete((stored, failure) -> {
            if (stored != null) {
                limit = stored;
                highestLimit = Math.max(highestLimit, stored);
            }
        });
    }
}
