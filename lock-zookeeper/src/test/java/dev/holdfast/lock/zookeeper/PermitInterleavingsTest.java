package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Clients acquire permits in every order of their steps: reads may come from a server that lags behind, replies are
 * lost, writes arrive after their callers have given up, clients give up sessions before the servers end them, and
 * limits change. The decision is that of {@link PermitLine}; the steps around it are those of {@link PermitTurn}, and
 * the test finds a mutant of each.
 */
class PermitInterleavingsTest {
    private static final int SEEDS = Integer.getInteger("holdfast.permits.seeds", 300);
    private static final int MUTANT_SEEDS = 2_000;
    private static final int STEPS = 400;
    private static final int CLIENTS = 5;
    private static final int FIRST_LIMIT = 3;

    /** The mutants of the steps. */
    private enum Mutant {
        NONE,
        WRITES_WHATEVER_THE_VERSION,
        WRITES_WITHOUT_ITS_PLACE,
        KEEPS_ONLY_ITS_OWN_ENTRY,
        /** Also writes only for itself: harmless as long as the nodes ahead get their slots as well. */
        QUEUE_READ_BEFORE_BOOK
    }

    /** The state of the ensemble at one zxid. */
    private record State(Map<String, Integer> places, boolean hasBook, PermitBook permitState) {
        List<SequentialNode> queue() {
            return SequentialNode.of(List.copyOf(places.keySet()));
        }
    }

    private record Late(String lockNode, PermitBook next) {}

    private enum Phase {
        OUT,
        UNSURE,
        QUEUED,
        LOOKED,
        WRITES,
        HOLDS
    }

    private static final class Client {
        int session;
        String owner = "";
        Demand demand = Demand.EXCLUSIVE;
        Phase phase = Phase.OUT;
        String lockNode = "";
        int slot;
        int seen;
        State first = new State(Map.of(), false, PermitBook.NONE);
        PermitBook permitState = PermitBook.NONE;
        PermitBook next = PermitBook.NONE;
    }

    /** One run. */
    private static final class World {
        private final Random random;
        private final Mutant mutant;
        private final boolean oneLimit;
        private final List<State> history = new ArrayList<>();
        private final List<Client> clients = new ArrayList<>();
        private final List<Late> late = new ArrayList<>();
        private final Set<Integer> abandoned = new HashSet<>();
        private final Map<Integer, Integer> lastOfSlot = new HashMap<>();
        private final List<String> violations = new ArrayList<>();
        private int sequence;
        private int names;
        private int grants;
        private int most;

        World(long seed, Mutant mutant) {
            this.random = new Random(seed);
            this.mutant = mutant;
            this.oneLimit = seed % 2 == 0;
            history.add(new State(Map.of(), false, PermitBook.NONE));
            for (int i = 0; i < CLIENTS; i++) {
                Client client = new Client();
                client.session = ++names;
                clients.add(client);
                begin(client);
            }
        }

        World run() {
            for (int i = 0; i < STEPS && violations.isEmpty(); i++) {
                step();
            }
            return this;
        }

        private boolean in(int percent) {
            return random.nextInt(100) < percent;
        }

        private State now() {
            return history.get(history.size() - 1);
        }

        private void commit(Map<String, Integer> places, boolean hasBook, PermitBook permitState) {
            history.add(new State(places, hasBook, permitState));
        }

        private State read(Client client) {
            client.seen += random.nextInt(history.size() - client.seen);
            return history.get(client.seen);
        }

        private void begin(Client client) {
            client.owner = String.format("%032x", ++names);
            int kind = random.nextInt(10);
            int limit = now().hasBook ? now().permitState.limit() : FIRST_LIMIT;
            client.demand = kind == 0
                    ? Demand.EXCLUSIVE
                    : kind == 1 ? Demand.SHARED : new Demand.Permits(1 + random.nextInt(Math.min(2, limit)), limit);
            leave(client);
        }

        private static void leave(Client client) {
            client.phase = Phase.OUT;
            client.lockNode = "";
            client.slot = 0;
        }

        private void step() {
            if (!late.isEmpty() && in(5)) {
                Late one = late.remove(random.nextInt(late.size()));
                write(one.lockNode, one.next);
            } else if (!abandoned.isEmpty() && in(5)) {
                int session = abandoned.iterator().next();
                abandoned.remove(session);
                Map<String, Integer> places = new LinkedHashMap<>(now().places);
                places.values().removeIf(owner -> owner == session);
                commit(places, now().hasBook, now().permitState);
            } else if (!oneLimit && now().hasBook && in(1)) {
                PermitBook permitState = now().permitState;
                int other = permitState.limit() == FIRST_LIMIT ? FIRST_LIMIT - 1 : FIRST_LIMIT;
                commit(now().places, true, next(permitState.withLimit(other)));
            } else {
                Client client = clients.get(random.nextInt(CLIENTS));
                if (client.phase == Phase.WRITES && in(2)) {
                    delete(client); // another client deletes it, and the watch of its own node reports that
                    client.seen = history.size() - 1;
                } else if (in(2)) {
                    move(client);
                } else {
                    step(client);
                }
            }
        }

        /**
         * Gives up its session with everything that it held; the servers have not noticed yet. It continues as the same
         * owner.
         */
        private void move(Client client) {
            abandoned.add(client.session);
            client.session = ++names;
            leave(client);
        }

        private void step(Client client) {
            switch (client.phase) {
                case OUT -> create(client);
                case UNSURE -> find(client);
                case QUEUED -> {
                    client.first = read(client);
                    client.phase = Phase.LOOKED;
                }
                case LOOKED -> decide(client);
                case WRITES -> take(client);
                case HOLDS -> {
                    if (in(30)) {
                        delete(client);
                        begin(client);
                    }
                }
            }
        }

        private void create(Client client) {
            String kind = client.demand instanceof Demand.Permits asked
                    ? "p" + asked.permits() + "of" + asked.limit() + "-"
                    : client.demand instanceof Demand.Shared ? "r-" : "";
            String lockNode = client.owner + "-" + kind + String.format("%010d", sequence++);
            Map<String, Integer> places = new LinkedHashMap<>(now().places);
            places.put(lockNode, client.session);
            commit(places, now().hasBook, now().permitState);
            if (in(10)) {
                client.phase = Phase.UNSURE;
            } else {
                queued(client, lockNode);
            }
        }

        private void queued(Client client, String lockNode) {
            client.lockNode = lockNode;
            client.seen = history.size() - 1;
            client.phase = Phase.QUEUED;
        }

        private void find(Client client) {
            now().places.forEach((lockNode, session) -> {
                if (lockNode.startsWith(client.owner) && session == client.session) {
                    queued(client, lockNode);
                }
            });
            if (client.phase == Phase.UNSURE) {
                client.phase = Phase.OUT;
            }
        }

        private void delete(Client client) {
            Map<String, Integer> places = new LinkedHashMap<>(now().places);
            places.remove(client.lockNode);
            commit(places, now().hasBook, now().permitState);
        }

        private void decide(Client client) {
            State second = read(client);
            boolean wrong = mutant == Mutant.QUEUE_READ_BEFORE_BOOK;
            PermitBook permitState = (wrong ? second : client.first).permitState;
            List<SequentialNode> queue = (wrong ? client.first : second).queue();
            int index = IntStream.range(0, queue.size())
                    .filter(i -> queue.get(i).name().equals(client.lockNode))
                    .findFirst()
                    .orElse(-1);
            client.phase = Phase.QUEUED;
            client.permitState = permitState;
            if (index < 0) {
                leave(client);
            } else if (client.demand instanceof Demand.Permits asked) {
                decide(client, asked, new PermitLine(queue, permitState).decisionFor(index));
            } else if (queue.subList(0, index).stream()
                    .noneMatch(ahead ->
                            !(ahead.demand() instanceof Demand.Shared) || client.demand instanceof Demand.Exclusive)) {
                hold(client, 0);
            }
        }

        private void decide(Client client, Demand.Permits asked, PermitLine.Decision turn) {
            if (turn instanceof PermitLine.Decision.Held held) {
                hold(client, held.slot());
            } else if (turn instanceof PermitLine.Decision.NoLimit) {
                if (!now().hasBook) {
                    commit(now().places, true, PermitBook.ofLimit(asked.limit()));
                }
                client.seen = history.size() - 1;
            } else if (turn instanceof PermitLine.Decision.Room room) {
                client.next = room.next();
                client.phase = Phase.WRITES;
            } else if (turn instanceof PermitLine.Decision.OtherLimit || in(3)) {
                delete(client);
                begin(client);
            }
        }

        private void take(Client client) {
            PermitBook next = client.next;
            if (mutant.ordinal() >= Mutant.KEEPS_ONLY_ITS_OWN_ENTRY.ordinal()) {
                Map<String, Integer> slots = new HashMap<>(next.slots());
                slots.keySet()
                        .removeIf(lockNode -> !lockNode.equals(client.lockNode)
                                && (mutant == Mutant.KEEPS_ONLY_ITS_OWN_ENTRY
                                        || client.permitState.slotOf(lockNode) == 0));
                next = next.withSlots(slots);
            }
            client.phase = Phase.QUEUED;
            int fate = random.nextInt(100);
            if (fate < 8) {
                late.add(new Late(client.lockNode, next));
                return;
            }
            boolean done = write(client.lockNode, next);
            if (fate < 16) {
                return; // the reply is lost
            }
            client.seen = history.size() - 1;
            if (done) {
                hold(client, next.slotOf(client.lockNode));
            }
        }

        private boolean write(String lockNode, PermitBook next) {
            boolean there = now().places.containsKey(lockNode) || mutant == Mutant.WRITES_WITHOUT_ITS_PLACE;
            boolean same =
                    now().permitState.version() == next.version() || mutant == Mutant.WRITES_WHATEVER_THE_VERSION;
            if (there && same) {
                commit(now().places, true, next(next));
            }
            return there && same;
        }

        private PermitBook next(PermitBook written) {
            return new PermitBook(written.limit(), now().permitState.version() + 1, written.slots());
        }

        private void hold(Client client, int slot) {
            client.phase = Phase.HOLDS;
            client.slot = slot;
            grants++;
            List<Client> held =
                    clients.stream().filter(one -> one.phase == Phase.HOLDS).toList();
            most = Math.max(most, held.size());
            check(held.stream().map(one -> one.demand.kind()).distinct().count() == 1, held, "kinds");
            check(held.size() == 1 || client.demand != Demand.EXCLUSIVE, held, "together with a lock");
            check(now().places.containsKey(client.lockNode), held, "no place");
            if (client.demand instanceof Demand.Permits asked) {
                int sum = held.stream()
                        .mapToInt(one -> ((Demand.Permits) one.demand).permits())
                        .sum();
                check(sum <= asked.limit(), held, "beyond the limit");
                check(slot >= 1 && slot <= asked.limit(), held, "slot out of range");
                check(held.stream().map(one -> one.slot).distinct().count() == held.size(), held, "slot twice");
                int token = SequentialNode.parse(client.lockNode).orElseThrow().sequence();
                Integer before = lastOfSlot.put(slot, token);
                check(!oneLimit || before == null || before <= token, held, "token of slot fell");
            }
        }

        private void check(boolean right, List<Client> held, String what) {
            if (!right) {
                violations.add(what + ": "
                        + Arrays.toString(held.stream()
                                .map(one -> one.lockNode + " slot " + one.slot)
                                .toArray())
                        + " at " + now());
            }
        }
    }

    @Test
    @DisplayName("In every interleaving, permits stay within their limit, slots are distinct and their tokens increase")
    void permits_inAnyInterleaving_areSafe() {
        long grants = 0;
        int most = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            World world = new World(seed, Mutant.NONE).run();
            assertThat(world.violations).as("seed %d", seed).isEmpty();
            grants += world.grants;
            most = Math.max(most, world.most);
        }
        assertThat(grants).as("grants").isGreaterThan(SEEDS * 10L);
        assertThat(most).as("most holders at once").isEqualTo(FIRST_LIMIT);
    }

    @ParameterizedTest
    @EnumSource(value = Mutant.class, names = "NONE", mode = EnumSource.Mode.EXCLUDE)
    @DisplayName("The test finds each wrong step")
    void mutant_isFound(Mutant mutant) {
        boolean found = IntStream.range(0, MUTANT_SEEDS)
                .anyMatch(seed -> !new World(seed, mutant).run().violations.isEmpty());

        assertThat(found).as("a violation by " + mutant).isTrue();
    }
}
