package dev.holdfast.lock.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.engine.internal.client.EngineClient;
import dev.holdfast.lock.engine.internal.hold.Hold;
import dev.holdfast.lock.engine.internal.queue.AsyncWaiter;
import dev.holdfast.lock.engine.internal.queue.LockEntry;
import dev.holdfast.lock.engine.internal.queue.StepBackend;
import dev.holdfast.lock.engine.internal.queue.Waiter;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Each decision of the engine is a row of verification/models/engine.table, from which the Promela model is generated. Three callers run
 * on a simulated clock, with answers in any order and arbitrarily late, failing renewals, expiring leases, and callers that
 * leave.
 */
class EngineModelTest {
    private static final int STEPS = 20_000;
    private static final long LEASE_MILLIS = 1_000;
    private static final int HAND_OFFS = 2;
    private static final String NAME = "n";

    /** A row of the table, or an observed step: event, lease, waiter, fit, answer. */
    private record Row(List<String> cells) {
        boolean fits(Row step) {
            for (int i = 0; i < 4; i++) {
                if (!cells.get(i).equals("*") && !cells.get(i).equals(step.cells.get(i))) {
                    return false;
                }
            }
            return true;
        }

        String answer() {
            return cells.get(4);
        }
    }

    private final List<Row> table = table();
    private final Set<Row> met = new HashSet<>();
    private final Random random = new Random(26);
    private final SimWorld world = new SimWorld(26);
    private final SimWorld.Machine machine = world.new Machine(1);
    private final StepBackend backend = new StepBackend(machine::nanos);
    private final EngineClient client = new EngineClient(
                    backend,
                    LockClientOptions.builder()
                            .requestTimeout(Duration.ofSeconds(60)) // an answer may take longer than a lease
                            .unavailableTimeout(Duration.ofHours(10))
                            .handOffLimit(HAND_OFFS)
                            .handOffTime(Duration.ofHours(1))
                            .build(),
                    machine.runtime())
            .start();
    private final LockOptions options =
            LockOptions.builder().lease(Duration.ofMillis(LEASE_MILLIS)).build();
    private final List<AsyncWaiter> callers = new ArrayList<>();
    private @Nullable LockEntry entry;
    private long tokens;
    private int steps;
    /** How often the current grant was handed off. */
    private int handOffs;

    private static List<Row> table() {
        try {
            List<Row> rows = Files.readAllLines(Path.of("..", "verification", "models", "engine.table")).stream()
                    .filter(line -> !line.isBlank() && !line.startsWith("#"))
                    .map(line -> new Row(List.of(line.replace("|", " ").trim().split("\\s+"))))
                    .toList();
            assertThat(rows.get(0).cells()).containsExactly("event", "lease", "waiter", "fit", "answer");
            return rows.subList(1, rows.size());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private void check(String event, boolean valid, boolean waiter, boolean fit, String answer) {
        steps++;
        Row step = new Row(List.of(event, valid ? "valid" : "over", waiter ? "yes" : "no", fit ? "yes" : "no", answer));
        List<Row> rows = table.stream().filter(row -> row.fits(step)).toList();
        assertThat(rows).as("rows of the model for step %d, %s", steps, step).hasSize(1);
        assertThat(answer)
                .as("answer of step %d, %s", steps, step)
                .isEqualTo(rows.get(0).answer());
        met.add(rows.get(0));
    }

    private void settle() {
        world.runUntil(world.now());
    }

    private @Nullable AsyncWaiter holder() {
        return callers.stream()
                .filter(caller -> caller.hold != null && caller.hold.state == Hold.State.HELD)
                .findFirst()
                .orElse(null);
    }

    private List<AsyncWaiter> waiting() {
        return callers.stream()
                .filter(caller -> caller.state == Waiter.State.WAITING)
                .toList();
    }

    // ---- possible events

    private void arrive() {
        if (waiting().size() + (holder() == null ? 0 : 1) < 3) {
            AsyncWaiter caller = new AsyncWaiter(
                    NAME,
                    options,
                    Waiter.FOREVER,
                    machine.nanos(),
                    machine.runtime().callbacks(),
                    Simulation.SimLease::new);
            callers.add(caller);
            entry = client.entries().submit(NAME, caller);
            settle();
        }
    }

    private void unlock() {
        AsyncWaiter caller = holder();
        if (caller == null) {
            return;
        }
        Hold hold = Objects.requireNonNull(caller.hold);
        long remaining = hold.heldGrant.remainingNanos(machine);
        boolean waiter = !waiting().isEmpty();
        boolean fit = handOffs < HAND_OFFS
                && hold.heldGrant.failedRenewals() == 0
                && remaining > LEASE_MILLIS * 1_000_000 / 3;
        int releases = backend.released.size();
        String answer;
        try {
            hold.lock.end(hold);
            AsyncWaiter next = holder();
            boolean handedOff = next != null && Objects.requireNonNull(next.hold).heldGrant == hold.heldGrant;
            boolean released = backend.released.size() > releases;
            answer = handedOff && !released ? "handoff" : released && !handedOff ? "release" : "neither or both";
            if (handedOff) {
                handOffs++;
                assertThat(Objects.requireNonNull(next.hold).token).as("token").isGreaterThan(hold.token);
            }
        } catch (LeaseLostException e) {
            answer = "lost";
        }
        check("unlock", remaining > 0, waiter, fit, answer);
        callers.remove(caller);
        settle();
    }

    private void grantAttempt() {
        StepBackend.Attempt asked = backend.attempt;
        if (asked == null || !isOut(asked)) {
            return;
        }
        long age = machine.nanos() - asked.sentNanos();
        if (age > LEASE_MILLIS * 900_000 && age < LEASE_MILLIS * 1_000_000) {
            return; // the engine keeps a margin for itself
        }
        boolean valid = age < LEASE_MILLIS * 1_000_000;
        boolean waiter = !waiting().isEmpty();
        int attempts = backend.attempted.size();
        asked.answer()
                .complete(new AcquireResult.Granted(new Grant(asked.acquisition(), ++tokens, LEASE_MILLIS, null)));
        settle();
        AsyncWaiter holder = holder();
        boolean held = holder != null
                && Objects.requireNonNull(holder.hold)
                        .heldGrant
                        .grant
                        .acquisition()
                        .equals(asked.acquisition());
        handOffs = 0;
        String answer = held ? "hold" : isAbandoned(asked.acquisition(), attempts) ? "abandon" : "again";
        check("granted", valid, waiter, true, answer);
    }

    /** Whether it is abandoned without another attempt before. An abandonment may have to wait for other removals. */
    private boolean isAbandoned(AcquisitionId acquisition, int attempts) {
        for (int i = 0; i < 200; i++) {
            if (backend.abandoned.contains(acquisition)) {
                return true;
            }
            if (backend.attempted.subList(attempts, backend.attempted.size()).contains(acquisition)) {
                return false;
            }
            backend.releases.forEach(release -> release.complete(ReleaseResult.RELEASED));
            backend.releases.clear();
            pass(100);
        }
        throw new AssertionError("neither abandoned nor asked again");
    }

    /** Whether the engine waits for the answer to that attempt. */
    private boolean isOut(StepBackend.Attempt asked) {
        return !asked.answer().isDone() && !backend.abandoned.contains(asked.acquisition());
    }

    private void busyOrFail() {
        StepBackend.Attempt asked = backend.attempt;
        if (asked != null && isOut(asked)) {
            if (random.nextBoolean()) {
                asked.answer().complete(new AcquireResult.Busy(-1, new StepBackend.Place()));
            } else {
                asked.answer().completeExceptionally(new LockUnavailableException("on purpose"));
            }
            settle();
        }
    }

    private void leave() {
        List<AsyncWaiter> waiting = waiting();
        if (waiting.isEmpty()) {
            return;
        }
        StepBackend.Attempt asked = backend.attempt;
        boolean pending = asked != null
                && asked.answer().isDone()
                && holder() == null
                && backend.releases.isEmpty()
                && !backend.abandoned.contains(asked.acquisition())
                && !backend.released.contains(asked.acquisition());
        AsyncWaiter leaving = waiting.get(random.nextInt(waiting.size()));
        int attempts = backend.attempted.size();
        Objects.requireNonNull(entry).cancel(leaving);
        settle();
        callers.remove(leaving);
        if (pending) {
            AcquisitionId acquisition = Objects.requireNonNull(asked).acquisition();
            boolean abandoned = isAbandoned(acquisition, attempts);
            check("left", true, waiting.size() > 1, true, abandoned ? "abandon" : "stays");
        }
    }

    private void answerRelease() {
        if (!backend.releases.isEmpty()) {
            var release = backend.releases.remove(random.nextInt(backend.releases.size()));
            if (random.nextInt(3) == 0) {
                release.completeExceptionally(new LockUnavailableException("on purpose"));
            } else {
                release.complete(random.nextInt(4) == 0 ? ReleaseResult.NOT_HELD : ReleaseResult.RELEASED);
            }
            settle();
        }
    }

    private void answerRenewal() {
        var renewal = backend.renewal;
        if (renewal != null && !renewal.isDone()) {
            boolean fails = random.nextBoolean();
            renewal.complete(List.of(
                    fails ? new RenewResult.Unknown("on purpose", null) : new RenewResult.Renewed(LEASE_MILLIS)));
            settle();
        }
    }

    private void pass(long millis) {
        world.runUntil(world.now() + millis * 1_000_000);
    }

    /** The process is paused, so that expired leases are not detected. */
    private void standStill() {
        long nanos = (1 + random.nextInt(3)) * LEASE_MILLIS * 600_000;
        machine.pause(nanos + 1);
        world.runUntil(world.now() + nanos);
        if (random.nextBoolean()) {
            unlock();
        }
        world.runUntil(world.now() + 1);
        settle();
    }

    private void step() {
        switch (random.nextInt(15)) {
            case 0, 1, 2 -> arrive();
            case 3, 4 -> unlock();
            case 5, 6, 7 -> grantAttempt();
            case 8 -> busyOrFail();
            case 9 -> leave();
            case 10, 11 -> answerRelease();
            case 12 -> answerRenewal();
            case 13 -> pass(10L * random.nextInt(60));
            default -> standStill();
        }
        callers.removeIf(caller -> caller.hold != null && caller.hold.state == Hold.State.LOST);
    }

    @Test
    void everyDecision_isOneOfTheModel() {
        for (int i = 0; i < STEPS; i++) {
            step();
        }
        assertThat(table).as("rows that did not occur").allMatch(met::contains);
        assertThat(steps).as("decisions").isGreaterThan(STEPS / 10);
    }

    @Test
    void changedAnswer_isRefused() {
        for (Row row : table) {
            for (String other : List.of("lost", "release", "handoff", "abandon", "again", "hold", "stays")) {
                if (!other.equals(row.answer())) {
                    assertThatThrownBy(() -> check(
                                    row.cells().get(0),
                                    !row.cells().get(1).equals("over"),
                                    !row.cells().get(2).equals("no"),
                                    !row.cells().get(3).equals("no"),
                                    other))
                            .isInstanceOf(AssertionError.class)
                            .hasMessageContaining("answer of step");
                }
            }
        }
    }
}
