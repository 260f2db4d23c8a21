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
 * Clients that take permits in every order of their steps: each reading may be of a server that lags behind, replies are lost,
 * writes come when nobody waits for them any more, sessions are given up before the servers end them, limits are changed. The decision
 * is {@link PermitLine}'s own; the steps around it are those of {@link PermitTurn}, and a mutant of each is found.
 */
class PermitInterleavingsTest {
    private static final int SEEDS = Integer.getInteger("holdfast.permits.seeds", 300);
    private static final int MUTANT_SEEDS = 2_000;
    private static final int STEPS = 400;
    private static final int CLIENTS = 5;
    private static final int FIRST_LIMIT = 3;

    /** A step that is done wrong. */
    private enum Mutant {
        NONE,
        WRITES_WHATEVER_THE_VERSION,
        WRITES_WITHOUT_ITS_PLACE,
        KEEPS_ONLY_ITS_OWN_ENTRY,
        /** And writes for itself alone: as long as those ahead are given their slots as well, that order does no harm. */
        QUEUE_READ_BEFORE_BOOK
    }

    /** What the ensemble has at one zxid. */
    private record State(Map<String, Integer> places, boolean hasBook, PermitBook book) {
        List<SequentialNode> queue() {
            return SequentialNode.of(List.copyOf(places.keySet()));
        }
    }

    private record Late(String place, PermitBook next) {}

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
        String place = "";
        int slot;
        int seen;
        State first = new State(Map.of(), false, PermitBook.NONE);
        PermitBook book = PermitBook.NONE;
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

        private void commit(Map<String, Integer> places, boolean hasBook, PermitBook book) {
            history.add(new State(places, hasBook, book));
        }

        private State read(Client client) {
            client.seen += random.nextInt(history.size() - client.seen);
            return history.get(client.seen);
        }

        private void begin(Client client) {
            client.owner = String.format("%032x", ++names);
            int kind = random.nextInt(10);
            int limit = now().hasBook ? now().book.limit() : FIRST_LIMIT;
            client.demand = kind == 0
                    ? Demand.EXCLUSIVE
                    : kind == 1 ? Demand.SHARED : new Demand.Permits(1 + random.nextInt(Math.min(2, limit)), limit);
            leave(client);
        }

        private static void leave(Client client) {
            client.phase = Phase.OUT;
            client.place = "";
            client.slot = 0;
        }

        private void step() {
            if (!late.isEmpty() && in(5)) {
                Late one = late.remove(random.nextInt(late.size()));
                write(one.place, one.next);
            } else if (!abandoned.isEmpty() && in(5)) {
                int session = abandoned.iterator().next();
                abandoned.remove(session);
                Map<String, Integer> places = new LinkedHashMap<>(now().places);
                places.values().removeIf(owner -> owner == session);
                commit(places, now().hasBook, now().book);
            } else if (!oneLimit && now().hasBook && in(1)) {
                PermitBook book = now().book;
                int other = book.limit() == FIRST_LIMIT ? FIRST_LIMIT - 1 : FIRST_LIMIT;
                commit(now().places, true, next(book.withLimit(other)));
            } else {
                Client client = clients.get(random.nextInt(CLIENTS));
                if (client.phase == Phase.WRITES && in(2)) {
                    delete(client); // somebody else does, and the watch of its own node tells
                    client.seen = history.size() - 1;
                } else if (in(2)) {
                    move(client);
                } else {
                    step(client);
                }
            }
        }

        /** Gives its session up, and with it what it held; the servers do not know yet. It goes on as the same owner. */
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
            String place = client.owner + "-" + kind + String.format("%010d", sequence++);
            Map<String, Integer> places = new LinkedHashMap<>(now().places);
            places.put(place, client.session);
            commit(places, now().hasBook, now().book);
            if (in(10)) {
                client.phase = Phase.UNSURE;
            } else {
                queued(client, place);
            }
        }

        private void queued(Client client, String place) {
            client.place = place;
            client.seen = history.size() - 1;
            client.phase = Phase.QUEUED;
        }

        private void find(Client client) {
            now().places.forEach((place, session) -> {
                if (place.startsWith(client.owner) && session == client.session) {
                    queued(client, place);
                }
            });
            if (client.phase == Phase.UNSURE) {
                client.phase = Phase.OUT;
            }
        }

        private void delete(Client client) {
            Map<String, Integer> places = new LinkedHashMap<>(now().places);
            places.remove(client.place);
            commit(places, now().hasBook, now().book);
        }

        private void decide(Client client) {
            State second = read(client);
            boolean wrong = mutant == Mutant.QUEUE_READ_BEFORE_BOOK;
            PermitBook book = (wrong ? second : client.first).book;
            List<SequentialNode> queue = (wrong ? client.first : second).queue();
            int index = IntStream.range(0, queue.size())
                    .filter(i -> queue.get(i).name().equals(client.place))
                    .findFirst()
                    .orElse(-1);
            client.phase = Phase.QUEUED;
            client.book = book;
            if (index < 0) {
                leave(client);
            } else if (client.demand instanceof Demand.Permits asked) {
                decide(client, asked, new PermitLine(queue, book).turnOf(index));
            } else if (queue.subList(0, index).stream()
                    .noneMatch(ahead ->
                            !(ahead.demand() instanceof Demand.Shared) || client.demand instanceof Demand.Exclusive)) {
                hold(client, 0);
            }
        }

        private void decide(Client client, Demand.Permits asked, PermitLine.Turn turn) {
            if (turn instanceof PermitLine.Turn.Held held) {
                hold(client, held.slot());
            } else if (turn instanceof PermitLine.Turn.NoLimit) {
                if (!now().hasBook) {
                    commit(now().places, true, PermitBook.ofLimit(asked.limit()));
                }
                client.seen = history.size() - 1;
            } else if (turn instanceof PermitLine.Turn.Room room) {
                client.next = room.next();
                client.phase = Phase.WRITES;
            } else if (turn instanceof PermitLine.Turn.OtherLimit || in(3)) {
                delete(client);
                begin(client);
            }
        }

        private void take(Client client) {
            PermitBook next = client.next;
            if (mutant.ordinal() >= Mutant.KEEPS_ONLY_ITS_OWN_ENTRY.ordinal()) {
                Map<String, Integer> slots = new HashMap<>(next.slots());
                slots.keySet()
                        .removeIf(place -> !place.equals(client.place)
                                && (mutant == Mutant.KEEPS_ONLY_ITS_OWN_ENTRY || client.book.slotOf(place) == 0));
                next = next.withSlots(slots);
            }
            client.phase = Phase.QUEUED;
            int fate = random.nextInt(100);
            if (fate < 8) {
                late.add(new Late(client.place, next));
                return;
            }
            boolean done = write(client.place, next);
            if (fate < 16) {
                return; // the reply is lost
            }
            client.seen = history.size() - 1;
            if (done) {
                hold(client, next.slotOf(client.place));
            }
        }

        private boolean write(String place, PermitBook next) {
            boolean there = now().places.containsKey(place) || mutant == Mutant.WRITES_WITHOUT_ITS_PLACE;
            boolean same = now().book.version() == next.version() || mutant == Mutant.WRITES_WHATEVER_THE_VERSION;
            if (there && same) {
                commit(now().places, true, next(next));
            }
            return there && same;
        }

        private PermitBook next(PermitBook written) {
            return new PermitBook(written.limit(), now().book.version() + 1, written.slots());
        }

        private void hold(Client client, int slot) {
            client.phase = Phase.HOLDS;
            client.slot = slot;
            grants++;
            List<Client> held =
                    clients.stream().filter(one -> one.phase == Phase.HOLDS).toList();
            most = Math.max(most, held.size());
            check(held.stream().map(one -> one.demand.kind()).distinct().count() == 1, held, "kinds");
            check(held.size() == 1 || client.demand != Demand.EXCLUSIVE, held, "beside a lock");
            check(now().places.containsKey(client.place), held, "no place");
            if (client.demand instanceof Demand.Permits asked) {
                int sum = held.stream()
                        .mapToInt(one -> ((Demand.Permits) one.demand).permits())
                        .sum();
                check(sum <= asked.limit(), held, "beyond the limit");
                check(slot >= 1 && slot <= asked.limit(), held, "slot out of range");
                check(held.stream().map(one -> one.slot).distinct().count() == held.size(), held, "slot twice");
                int token = SequentialNode.parse(client.place).orElseThrow().sequence();
                Integer before = lastOfSlot.put(slot, token);
                check(!oneLimit || before == null || before <= token, held, "token of slot fell");
            }
        }

        private void check(boolean right, List<Client> held, String what) {
            if (!right) {
                violations.add(what + ": "
                        + Arrays.toString(held.stream()
                                .map(one -> one.place + " slot " + one.slot)
                                .toArray())
                        + " at " + now());
            }
        }
    }

    @Test
    @DisplayName("Permits are within their limit, slots apart and their tokens rising, whatever the interleaving")
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
    @DisplayName("A step that is done wrong is found")
    void mutant_isFound(Mutant mutant) {
        boolean found = IntStream.range(0, MUTANT_SEEDS)
                .anyMatch(seed -> !new World(seed, mutant).run().violations.isEmpty());

        assertThat(found).as("a violation by " + mutant).isTrue();
    }
}
