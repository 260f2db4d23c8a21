package dev.holdfast.lock.spi;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Demand;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * Slots that are taken by writes which come late, on the strength of looks that are old, with first guesses: as on a store where a
 * place is created together with a slot that may be wrong, and a second write mends that. The tokens of each slot rise all the same,
 * because a write is refused unless what it rests on is there still.
 */
final class DemandLineWritesTest {
    private static final int SEEDS = 3_000;

    /** A place in the store. */
    private record Entry(int token, Demand.Permits demand, int slot, int modified) {
        DemandLine.Place place() {
            return new DemandLine.Place(demand, slot);
        }
    }

    /** A write on its way. */
    private record Write(int slot, int expected, Set<Integer> restsOn) {}

    /** One acquisition's client: what it saw last, and what it has sent. */
    private static final class Asking {
        final int token;
        List<Entry> known = List.of();
        Optional<Write> sent = Optional.empty();
        int granted;

        Asking(int token) {
            this.token = token;
        }
    }

    private static final class History {
        private final Random random;
        private final int limit;
        private final boolean conditional;
        private final List<Entry> store = new ArrayList<>();
        private final List<Asking> all = new ArrayList<>();
        private final Map<Integer, Integer> lastToken = new HashMap<>();
        private int revision;
        private int fallen;
        private int refused;

        History(int seed, boolean conditional) {
            this.random = new Random(seed);
            this.limit = 1 + random.nextInt(5);
            this.conditional = conditional;
        }

        void step() {
            if (all.isEmpty() || random.nextInt(4) == 0) {
                create();
                return;
            }
            Asking one = all.get(random.nextInt(all.size()));
            switch (random.nextInt(4)) {
                case 0 -> remove(one);
                case 1 -> hears(one);
                default -> one.sent.ifPresentOrElse(write -> arrives(one, write), () -> repeats(one));
            }
        }

        private void create() {
            revision++;
            Demand.Permits demand = new Demand.Permits(1 + random.nextInt(limit), limit);
            store.add(new Entry(revision, demand, random.nextInt(limit + 1), revision));
            Asking one = new Asking(revision);
            all.add(one);
            reads(one);
        }

        private void remove(Asking one) {
            all.remove(one);
            store.removeIf(entry -> entry.token() == one.token);
        }

        /** It writes what is there, and reads. */
        private void repeats(Asking one) {
            if (one.granted == 0) {
                write(one.token, find(one.token).slot());
                reads(one);
            }
        }

        /** It learns of deletions, of all that there were, and not of what was written since. */
        private void hears(Asking one) {
            if (one.granted == 0 && one.sent.isEmpty()) {
                Set<Integer> there =
                        new HashSet<>(store.stream().map(Entry::token).toList());
                one.known = one.known.stream()
                        .filter(entry -> there.contains(entry.token()))
                        .toList();
                decides(one, false);
            }
        }

        private Entry find(int token) {
            return store.stream()
                    .filter(entry -> entry.token() == token)
                    .findFirst()
                    .orElseThrow();
        }

        private void write(int token, int slot) {
            revision++;
            store.replaceAll(
                    entry -> entry.token() == token ? new Entry(token, entry.demand(), slot, revision) : entry);
        }

        private void arrives(Asking one, Write write) {
            one.sent = Optional.empty();
            Set<Integer> there = new HashSet<>(store.stream().map(Entry::token).toList());
            boolean asSeen = find(one.token).modified() == write.expected();
            if (asSeen && (!conditional || there.containsAll(write.restsOn()))) {
                write(one.token, write.slot());
                reads(one);
            } else {
                refused++;
                repeats(one);
            }
        }

        private void reads(Asking one) {
            one.known =
                    store.stream().sorted(Comparator.comparingInt(Entry::token)).toList();
            decides(one, true);
        }

        /** As a client decides: a grant only by what was read together with its own write. */
        private void decides(Asking one, boolean written) {
            DemandLine line =
                    new DemandLine(one.known.stream().map(Entry::place).toList());
            int index = 0;
            while (one.known.get(index).token() != one.token) {
                index++;
            }
            Entry mine = one.known.get(index);
            if (!line.hasRoom(index)) {
                List<Integer> because = line.leaveNoRoomFor(index);
                if (mine.slot() > 0 && !because.isEmpty()) {
                    send(one, mine, 0, because);
                }
            } else if (!line.hasSlot(index)) {
                send(one, mine, line.slotFor(index), line.restsOn(index));
            } else if (written) {
                granted(one, mine.slot());
            }
        }

        private void send(Asking one, Entry mine, int slot, List<Integer> restsOn) {
            Set<Integer> tokens = new HashSet<>(
                    restsOn.stream().map(i -> one.known.get(i).token()).toList());
            one.sent = Optional.of(new Write(slot, mine.modified(), tokens));
        }

        private void granted(Asking one, int slot) {
            assertThat(slot).isBetween(1, limit);
            if (lastToken.getOrDefault(slot, 0) > one.token || all.stream().anyMatch(other -> other.granted == slot)) {
                fallen++;
            }
            one.granted = slot;
            lastToken.merge(slot, one.token, Math::max);
        }
    }

    private static History run(int seed, boolean conditional) {
        History history = new History(seed, conditional);
        for (int step = 0; step < 150; step++) {
            history.step();
        }
        return history;
    }

    @Test
    void randomHistories_withLateWrites_tokensOfASlotRise() {
        int refused = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            History history = run(seed, true);
            assertThat(history.fallen).as("seed %d", seed).isZero();
            refused += history.refused;
        }
        assertThat(refused).as("writes that rested on what had gone").isPositive();
    }

    /** The histories are such that the fault shows without the condition. */
    @Test
    void randomHistories_withoutTheCondition_someFall() {
        int fallen = 0;
        for (int seed = 0; seed < SEEDS; seed++) {
            fallen += run(seed, false).fallen;
        }
        assertThat(fallen).isPositive();
    }
}
