package dev.holdfast.lock.redis.internal.script;

import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.TIMEOUT_MILLIS;
import static dev.holdfast.lock.testkit.contract.backend.BackendDriver.answer;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.redis.Attempts;
import dev.holdfast.lock.spi.AcquireRequest;
import dev.holdfast.lock.spi.AcquireResult;
import dev.holdfast.lock.spi.AcquisitionId;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.LockBackend;
import dev.holdfast.lock.spi.ReleaseResult;
import dev.holdfast.lock.spi.RenewResult;
import dev.holdfast.lock.spi.Ticket;
import dev.holdfast.lock.testkit.contract.backend.BackendDriver;
import dev.holdfast.lock.testkit.support.ModelTrace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Each request of two backends to a real server is a step of verification/models/redis.table, of which the Promela model is made: three contenders
 * in any order, leases that end, releases that are repeated, requests of acquisitions that have ended, and a state that is forgotten.
 */
final class RedisModelTest extends TwoBackends {
    private static final int STEPS = 600;
    private static final int MAX_STEPS = 6_000;
    private static final long CALLED_MILLIS = 700;

    /** A step that takes longer may meet the end of a time that began in it. */
    private static final long CLEAR_MILLIS = 500;

    /** What an heir's deadline must be away: it has tried in the last 3 s. */
    private static final long HEIR_MILLIS = 2_000;

    /** All at one time: the server's ms, the state, what is left of its life, and owner, arrival, entry and subscribers of each waiter. */
    private static final String LOOK = """
            local clock = redis.call('TIME')
            local seen = {clock[1] * 1000 + math.floor(clock[2] / 1000), redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1])}
            local places = redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')
            for i = 1, #places, 2 do
              local entry = redis.call('HGET', KEYS[3], places[i])
              local channel = string.match(KEYS[1], '^[^{]*') .. 'c:' .. string.match(entry, '^%d+ %S+ (%S*)')
              for _, value in ipairs({places[i], places[i + 1], entry, redis.call('PUBSUB', 'NUMSUB', channel)[2]}) do
                seen[#seen + 1] = value
              end
            end
            return seen
            """;

    private static final List<String> EVENTS =
            List.of("attempt", "attempt", "attempt", "renew", "release", "repeat", "abandon");

    private final Random random = new Random(26);
    private final Map<AcquisitionId, LockBackend> backends = new HashMap<>();
    private final Map<AcquisitionId, Ticket> tickets = new HashMap<>();
    private final Map<AcquisitionId, String> releaseIds = new HashMap<>();
    private long highestToken;
    /** The last attempt was one of a client without a subscription, which does not queue. On a busy machine messages come late. */
    private boolean polls;

    /** A waiter's entry. */
    private record Entry(String owner, double arrival, String text) {
        long deadline() {
            return Long.parseLong(text.substring(0, text.indexOf(' ')));
        }

        /** Whether it is called by a message, and leaves the queue if nobody is subscribed then. */
        boolean isCalled() {
            return text.matches("\\d+ P .*");
        }

        /** Whether it takes the lock if it is handed over. */
        boolean isHeir() {
            return text.matches("\\d+ P \\p{XDigit}+ x .*");
        }
    }

    /**
     * What the server has.
     *
     * @param millis when, by the server's clock
     * @param heldUntil the end of the lease, or earlier
     * @param heirs who of the queue takes the lock if it is handed over, and is subscribed
     * @param subscribing whether a client of the queue is not subscribed yet, being slow: what is done with its waiter is open
     */
    private record Seen(
            long millis,
            String owner,
            boolean held,
            long heldUntil,
            long token,
            String memory,
            String waiting,
            String released,
            Map<String, Entry> queue,
            Set<String> heirs,
            boolean subscribing) {
        List<Entry> live() {
            return queue.values().stream()
                    .filter(entry -> entry.deadline() > millis)
                    .toList();
        }

        String lock(AcquisitionId asking) {
            return !held ? "free" : owner.equals(asking.owner().toString()) ? "mine" : "taken";
        }

        /** Whether no time ended between this look and a later one, so that the step between them found what this one saw. */
        boolean isClearUntil(Seen after) {
            return !subscribing
                    && after.millis - millis < CLEAR_MILLIS
                    && (!held || heldUntil > after.millis)
                    && queue.keySet().stream()
                            .filter(after.queue::containsKey)
                            .allMatch(owner -> heirs.contains(owner) == after.heirs.contains(owner))
                    && queue.values().stream()
                            .noneMatch(entry -> entry.deadline() > millis && entry.deadline() <= after.millis);
        }

        boolean isBehind(AcquisitionId asking) {
            List<Entry> live = live();
            return !waiting.equals("0")
                    && !live.isEmpty()
                    && !live.get(0).owner().equals(asking.owner().toString());
        }
    }

    private Seen look() throws IOException {
        List<?> found =
                (List<?>) fixture.server().command("EVAL", LOOK, "3", keys().lock(), keys().queue(), keys().waiters());
        long millis = (Long) found.get(0);
        Map<String, Entry> queue = new LinkedHashMap<>();
        Set<String> heirs = new HashSet<>();
        boolean subscribing = false;
        for (int i = 3; i < found.size(); i += 4) {
            String owner = found.get(i).toString();
            Entry entry = new Entry(
                    owner,
                    Double.parseDouble(found.get(i + 1).toString()),
                    found.get(i + 2).toString());
            queue.put(owner, entry);
            boolean subscribed = !found.get(i + 3).equals(0L);
            subscribing |= entry.isCalled() && entry.deadline() > millis && !subscribed;
            if (entry.isHeir() && entry.deadline() > millis + HEIR_MILLIS && subscribed) {
                heirs.add(owner);
            }
        }
        String text = found.get(1).toString();
        if (text.isEmpty()) {
            return new Seen(millis, "-", false, millis, 0, "60000", "0", "-", queue, heirs, subscribing);
        }
        String[] parts = text.split(" ", 8);
        long left = (Long) found.get(2) - Long.parseLong(parts[2]);
        boolean held = !parts[1].equals("-") && left > 0;
        return new Seen(
                millis,
                parts[1],
                held,
                millis + left,
                Long.parseLong(parts[3]),
                parts[2],
                parts[0],
                parts[4],
                queue,
                heirs,
                subscribing);
    }

    @Test
    void everyStep_isOneOfTheModel() throws Exception {
        ModelTrace trace = ModelTrace.of(Path.of("..", "verification", "models", "redis.table"));
        List<AcquisitionId> contenders =
                Stream.generate(this::acquisition).limit(3).toList();
        int step = 0;
        while (step++ < STEPS
                || step < MAX_STEPS
                        && (trace.size() <= STEPS / 2 || !trace.rowsNotMet().isEmpty())) {
            disturb();
            AcquisitionId asking = contenders.get(random.nextInt(contenders.size()));
            take(trace, EVENTS.get(random.nextInt(EVENTS.size())), asking);
        }

        trace.assertEachStepIsOfTheModel();
        assertThat(trace.rowsNotMet()).isEmpty();
        assertThat(trace.size()).as("steps whose time was clear").isGreaterThan(STEPS / 2);
        assertThat(trace.assertChangedStepsAreRefused())
                .as("changed steps, all refused")
                .isPositive();
    }

    /** A server that grants what is held is refused by the comparison. */
    @Test
    void brokenServer_isRefused() throws Exception {
        ModelTrace trace = ModelTrace.of(Path.of("..", "verification", "models", "redis.table"));
        AcquisitionId holder = acquisition();
        AcquisitionId other = acquisition();
        take(trace, "attempt", holder);
        Seen before = look();
        fixture.server().command("DEL", keys().lock());
        AcquireResult answer = Attempts.tryAcquire(b, other, 0, false, null);
        assertThat(answer).isInstanceOf(AcquireResult.Granted.class);
        int steps = trace.size();
        trace.add(step("attempt", other, before, look(), "granted"));

        assertThatThrownBy(trace::assertEachStepIsOfTheModel)
                .isInstanceOf(AssertionError.class)
                .hasMessageContaining("redis.table does not allow step " + steps + ",");
    }

    private void disturb() throws IOException {
        Seen seen = look();
        if (seen.held() && random.nextInt(6) == 0) { // the lease passes
            fixture.server().command("PEXPIRE", keys().lock(), seen.memory());
        } else if (!seen.held() && seen.queue().isEmpty() && random.nextInt(3) == 0) { // the state is forgotten
            fixture.server().command("DEL", keys().lock());
        }
    }

    private void take(ModelTrace trace, String event, AcquisitionId asking) throws Exception {
        LockBackend backend = backends.computeIfAbsent(asking, key -> random.nextBoolean() ? a : b);
        Seen before = look();
        boolean mayPass =
                !before.held() && before.isBehind(asking) && before.waiting().equals("1") && random.nextBoolean();
        polls = false;
        String answer = send(backend, event, asking, before, mayPass);
        Seen after = look();
        if (before.isClearUntil(after) && !polls) {
            trace.add(step(event, asking, before, after, answer, mayPass));
        }
        highestToken = Math.max(highestToken, after.token());
        String owner = asking.owner().toString();
        if (after.queue().containsKey(owner) && !before.queue().containsKey(owner)) { // older than what may be passed
            fixture.server().command("ZINCRBY", keys().queue(), "-1000000", owner);
        }
    }

    private String send(LockBackend backend, String event, AcquisitionId asking, Seen before, boolean mayPass)
            throws Exception {
        Grant grant = new Grant(asking, Math.max(1, before.token()), Attempts.LEASE_MILLIS, null);
        switch (event) {
            case "attempt" -> {
                boolean fair = !mayPass && random.nextInt(5) == 0;
                AcquireResult result = answer(backend.tryAcquire(new AcquireRequest(
                        asking,
                        Attempts.LEASE_MILLIS,
                        mayPass ? 0 : BackendDriver.WAIT_MILLIS,
                        fair,
                        tickets.get(asking),
                        TIMEOUT_MILLIS,
                        BackendDriver.IDENTITY,
                        random.nextBoolean() ? given -> {} : null)));
                polls = !mayPass && result instanceof AcquireResult.Busy refused && refused.ticket() == null;
                if (result instanceof AcquireResult.Busy busy && busy.ticket() != null) {
                    tickets.put(asking, busy.ticket());
                } else {
                    tickets.remove(asking);
                }
                return result instanceof AcquireResult.Granted ? "granted" : "busy";
            }
            case "renew" -> {
                return BackendDriver.renew(backend, grant) instanceof RenewResult.Renewed ? "renewed" : "lost";
            }
            case "release" -> {
                return BackendDriver.release(backend, grant) == ReleaseResult.RELEASED ? "released" : "notheld";
            }
            case "repeat" -> { // as the Redis client sends a command again whose answer was lost
                String id = releaseIds.computeIfAbsent(asking, key -> String.format("%016x", random.nextLong()));
                String owner = asking.owner().toString();
                long token = before.owner().equals(owner) ? before.token() : 0;
                String memory = before.memory().equals("0") ? "60000" : before.memory();
                String[] keys = keys().all();
                String[] args = RedisScript.end(owner, token, memory, "release", id);
                List<?> reply = (List<?>) fixture.server()
                        .command(Stream.of(new String[] {"EVAL", RedisScript.RELEASE.body(), "3"}, keys, args)
                                .flatMap(Stream::of)
                                .toArray(String[]::new));
                return reply.get(0).equals(1L) ? "released" : "notheld";
            }
            default -> {
                answer(backend.abandon(asking, TIMEOUT_MILLIS));
                return "done";
            }
        }
    }

    private ModelTrace.Step step(String event, AcquisitionId asking, Seen before, Seen after, String answer) {
        return step(event, asking, before, after, answer, false);
    }

    private ModelTrace.Step step(
            String event, AcquisitionId asking, Seen before, Seen after, String answer, boolean mayPass) {
        String owner = asking.owner().toString();
        String id = releaseIds.get(asking);
        Set<String> lock = new HashSet<>(Set.of(after.lock(asking)));
        if (before.held() == after.held() && (!before.held() || before.owner().equals(after.owner()))) {
            lock.add("same");
        }
        Set<String> token = new HashSet<>();
        if (before.token() == after.token()) {
            token.add("same");
        }
        if (after.token() > highestToken && after.token() > before.token()) {
            token.add("next");
        }
        Entry mine = after.queue().get(owner);
        Set<String> place = new HashSet<>(
                Set.of(mine == null ? "out" : mine.deadline() > after.millis() + CALLED_MILLIS ? "in" : "called"));
        Entry earlier = before.queue().get(owner);
        boolean wasThere = earlier != null
                && earlier.deadline() > before.millis(); // else it is gone, and any script may remove it
        if (mine == null ? !wasThere : mine.equals(before.queue().get(owner)) || wasThere && place.contains("called")) {
            place.add("same"); // it may be the one that is called
        }
        Set<String> next = new HashSet<>();
        if (others(before, owner, after.millis()).equals(others(after, owner, after.millis()))) {
            next.add("same");
        }
        if (!after.held()
                && (isFirstCalled(after.live(), after) || isFirstCalled(others(after, owner, after.millis()), after))) {
            next.add("called"); // an attempt calls before it takes its own place
        }
        boolean repeat = event.equals("repeat");
        boolean ends = repeat || event.equals("release") || event.equals("abandon");
        Entry heir = ends && before.lock(asking).equals("mine") ? heir(before, owner) : null;
        if (heir != null
                && after.held()
                && after.owner().equals(heir.owner())
                && !after.queue().containsKey(heir.owner())) {
            next.add("handed");
        }
        return new ModelTrace.Step(
                repeat ? "release" : event,
                Map.of(
                        "lock", before.lock(asking),
                        "line",
                                ends
                                        ? heir == null ? "first" : "heir"
                                        : !before.isBehind(asking) ? "first" : mayPass ? "passes" : "behind",
                        "told", repeat && id != null && before.released().contains(id) ? "yes" : "no"),
                answer,
                Map.of("lock", lock, "token", token, "place", place, "next", next));
    }

    /** To whom a release hands the lock over, if the first who waits takes it. */
    private static @Nullable Entry heir(Seen before, String owner) {
        List<Entry> waiting = before.waiting().equals("0") ? List.of() : others(before, owner, before.millis());
        return !waiting.isEmpty() && before.heirs().contains(waiting.get(0).owner()) ? waiting.get(0) : null;
    }

    private static boolean isFirstCalled(List<Entry> live, Seen seen) {
        return live.isEmpty() || live.get(0).deadline() <= seen.millis() + CALLED_MILLIS;
    }

    private static List<Entry> others(Seen seen, String owner, long millis) {
        return seen.queue().values().stream()
                .filter(entry -> !entry.owner().equals(owner) && entry.deadline() > millis)
                .toList();
    }
}
