package dev.holdfast.lock.engine;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Main class of {@code bin/simulate}: runs {@link Simulation}s of consecutive seeds until the given number of acquisitions is
 * reached or the time is over. The seeds cycle through the {@link SimKind}s. Arguments: acquisitions, first seed, minutes.
 * Exits with 0 after enough acquisitions without a violation, with 1 at the first violation, with 3 if the time was over
 * before.
 */
final class SimulationMain {
    private static final String COUNTS =
            "simulate: %s: %,d acquisitions in %,d histories (%,d with faults), %,d faults, %,d losses, %,d hand-offs,"
                    + " %,d threads stopped before a send, %,d late requests; seeds %d to %d; %d violations; %d s, %,d acquisitions/s%n";
    private static final SimKind[] KINDS = SimKind.values();

    private final long wanted;
    private final long firstSeed;
    private final long startNanos = System.nanoTime();
    private final long endNanos;
    private final AtomicLong nextSeed;
    private final AtomicLong acquisitions = new AtomicLong();
    private final AtomicLong histories = new AtomicLong();
    private final AtomicLong faulty = new AtomicLong();
    private final AtomicLong injected = new AtomicLong();
    private final AtomicLong losses = new AtomicLong();
    private final AtomicLong handOffs = new AtomicLong();
    private final AtomicLong stops = new AtomicLong();
    private final AtomicLong late = new AtomicLong();
    private final AtomicBoolean failed = new AtomicBoolean();
    private final Map<SimKind, LongAdder> acquisitionsOn = new EnumMap<>(SimKind.class);
    private final Map<SimKind, LongAdder> faultyOn = new EnumMap<>(SimKind.class);
    private final ConcurrentLinkedQueue<String> violations = new ConcurrentLinkedQueue<>();

    private SimulationMain(long wanted, long firstSeed, long minutes) {
        this.wanted = wanted;
        this.firstSeed = firstSeed;
        this.nextSeed = new AtomicLong(firstSeed);
        this.endNanos = startNanos + minutes * 60_000_000_000L;
        for (SimKind kind : KINDS) {
            acquisitionsOn.put(kind, new LongAdder());
            faultyOn.put(kind, new LongAdder());
        }
    }

    public static void main(String[] args) throws InterruptedException {
        long wanted = Long.parseLong(args[0]);
        System.exit(new SimulationMain(wanted, Long.parseLong(args[1]), Long.parseLong(args[2])).run());
    }

    private int run() throws InterruptedException {
        List<Thread> workers = new ArrayList<>();
        for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
            Thread worker = new Thread(this::work, "simulate-" + i);
            worker.start();
            workers.add(worker);
        }
        for (Thread worker : workers) {
            do {
                worker.join(30_000);
                if (worker.isAlive()) {
                    print("so far");
                }
            } while (worker.isAlive());
        }
        for (SimKind kind : KINDS) {
            System.out.printf(
                    Locale.ROOT,
                    "simulate: store %-9s %,12d acquisitions, %,10d histories with faults%n",
                    kind.name().toLowerCase(Locale.ROOT),
                    acquisitionsOn.get(kind).sum(),
                    faultyOn.get(kind).sum());
        }
        violations.forEach(System.out::println);
        boolean enough = acquisitions.get() >= wanted;
        print(!violations.isEmpty() ? "VIOLATED" : enough ? "done" : "the time was over before");
        return !violations.isEmpty() ? 1 : enough ? 0 : 3;
    }

    private void work() {
        while (acquisitions.get() < wanted && System.nanoTime() - endNanos < 0 && !failed.get()) {
            long seed = nextSeed.getAndIncrement();
            SimKind kind = KINDS[(int) (seed % KINDS.length)];
            Simulation simulation = new Simulation(seed, kind, SimStore.Fault.NONE, 1, seed / KINDS.length % 4 == 0);
            try {
                simulation.run();
            } catch (AssertionError | RuntimeException e) {
                failed.set(true);
                violations.add("seed " + seed + " (" + kind + ") fails: " + e.getMessage()
                        + "; replay it with bin/simulate --acquisitions 1 --seed " + seed);
            }
            histories.incrementAndGet();
            acquisitions.addAndGet(simulation.acquisitions);
            acquisitionsOn.get(kind).add(simulation.acquisitions);
            faulty.addAndGet(simulation.injected > 0 ? 1 : 0);
            faultyOn.get(kind).add(simulation.injected > 0 ? 1 : 0);
            injected.addAndGet(simulation.injected);
            losses.addAndGet(simulation.losses);
            handOffs.addAndGet(simulation.handOffs);
            stops.addAndGet(simulation.stops);
            late.addAndGet(simulation.late);
        }
    }

    private void print(String what) {
        long seconds = Math.max(1, (System.nanoTime() - startNanos) / 1_000_000_000L);
        System.out.printf(
                Locale.ROOT,
                COUNTS,
                what,
                acquisitions.get(),
                histories.get(),
                faulty.get(),
                injected.get(),
                losses.get(),
                handOffs.get(),
                stops.get(),
                late.get(),
                firstSeed,
                nextSeed.get() - 1,
                violations.size(),
                seconds,
                acquisitions.get() / seconds);
    }
}
