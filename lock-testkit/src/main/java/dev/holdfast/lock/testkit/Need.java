package dev.holdfast.lock.testkit;

import dev.holdfast.lock.Demand;
import dev.holdfast.lock.spi.BackendInfo;

/** What a test needs beyond what every fixture and backend has. */
enum Need {
    EXPIRE,
    LAPSE,
    PAUSE,
    RESTART,
    PARTITION,
    ENTRIES,
    COUNT,
    LATE,
    /** The backend serves waiting processes strictly in order. */
    FIFO,
    /** The backend serves waiting processes in no order that it could keep. */
    NO_ORDER,
    /** The backend's signals are prompt: it polls only as a safety net, once a second or less. */
    PROMPT_SIGNAL,
    /** The backend has a shortest lease that the options could go below. */
    LEASE_FLOOR,
    /** The store can list its locks. */
    LISTING,
    /** The store has shares: read locks. */
    SHARED,
    /** The store has no shares. */
    NO_SHARED,
    /** The store has permits: semaphores. */
    PERMITS,
    /** The store has no permits. */
    NO_PERMITS;

    boolean metBy(LockFixture fixture, BackendInfo backend) {
        return switch (this) {
            case FIFO -> backend.fifo();
            case NO_ORDER -> !backend.fifo();
            case PROMPT_SIGNAL ->
                backend.pollMinMillis() == backend.pollMaxMillis() || backend.pollMinMillis() >= 1_000;
            case LEASE_FLOOR -> backend.minLeaseMillis() > 1;
            case LISTING -> backend.listing();
            case SHARED -> fixture.demands().contains(Demand.Kind.SHARED);
            case NO_SHARED -> !fixture.demands().contains(Demand.Kind.SHARED);
            case PERMITS -> fixture.demands().contains(Demand.Kind.PERMITS);
            case NO_PERMITS -> !fixture.demands().contains(Demand.Kind.PERMITS);
            default -> fixture.capabilities().contains(Capability.valueOf(name()));
        };
    }
}
