package dev.holdfast.lock.testkit;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LossReason;
import dev.holdfast.lock.spi.Grant;
import dev.holdfast.lock.spi.GrantListener;
import dev.holdfast.lock.spi.LockBackend;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** What all tests of a contract share: the store, two backends and two clients of it, and a list of tests that do not apply. */
final class ContractContext {
    private final Callable<LockFixture> starter;
    private final Map<String, List<Need>> notApplicable = new TreeMap<>();
    private @Nullable LockFixture fixture;
    private @Nullable LockBackend firstBackend;
    private @Nullable LockBackend secondBackend;

    private final ReentrantLock clients = new ReentrantLock();
    private @Nullable CountedClient firstClient;
    private @Nullable CountedClient secondClient;

    ContractContext(Callable<LockFixture> starter) {
        this.starter = starter;
    }

    void start() throws Exception {
        LockFixture started = starter.call();
        fixture = started;
        System.out.printf("fixture: %s%n", started.name()); // bin/verify reads it
        firstBackend = observed(started.newBackend());
        secondBackend = observed(started.newBackend());
    }

    void stop() throws Exception {
        if (!notApplicable.isEmpty()) {
            System.out.printf(
                    "%s: %d tests of the contract do not apply:%n", fixture().name(), notApplicable.size());
            notApplicable.forEach((test, missing) -> System.out.printf("  - %s (needs %s)%n", test, missing));
        }
        CleanUps cleanUps = new CleanUps();
        for (AutoCloseable resource :
                new @Nullable AutoCloseable[] {fixture, firstBackend, secondBackend, firstClient, secondClient}) {
            if (resource != null) {
                cleanUps.add(resource);
            }
        }
        cleanUps.run();
    }

    /** The options of clients in tests: patient, since the machine may be busy, but no longer than a lease, which would be warned of. */
    static LockClientOptions.Builder clientOptions() {
        return LockClientOptions.builder().who("contract").requestTimeout(Duration.ofSeconds(14));
    }

    /** Tells a backend that somebody listens, as the engine does before anything else. */
    static LockBackend observed(LockBackend backend) {
        backend.setGrantListener(new GrantListener() {
            @Override
            public void suspect(Grant grant, String detail) {}

            @Override
            public void lost(Grant grant, LossReason reason, String detail) {}
        });
        return backend;
    }

    LockFixture fixture() {
        return started(fixture);
    }

    LockBackend firstBackend() {
        return started(firstBackend);
    }

    LockBackend secondBackend() {
        return started(secondBackend);
    }

    CountedClient firstClient() {
        clients.lock(); // the threads of a test may all ask first
        try {
            if (firstClient == null) {
                firstClient = openClient();
            }
            return firstClient;
        } finally {
            clients.unlock();
        }
    }

    CountedClient secondClient() {
        clients.lock();
        try {
            if (secondClient == null) {
                secondClient = openClient();
            }
            return secondClient;
        } finally {
            clients.unlock();
        }
    }

    private CountedClient openClient() {
        return CountedClient.open(fixture(), clientOptions().build());
    }

    private static <T> T started(@Nullable T part) {
        if (part == null) {
            throw new IllegalStateException("the fixture is not started");
        }
        return part;
    }

    boolean meets(Need need) {
        return need.metBy(fixture(), firstBackend().info());
    }

    void notApplicable(String test, List<Need> missing) {
        notApplicable.put(test, missing);
    }
}
