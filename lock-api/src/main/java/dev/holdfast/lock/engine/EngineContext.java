package dev.holdfast.lock.engine;

import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.spi.BackendInfo;
import dev.holdfast.lock.spi.Identity;
import dev.holdfast.lock.spi.LockBackend;
import java.time.Instant;
import java.util.function.LongUnaryOperator;
import java.util.random.RandomGenerator;

/**
 * The parts of a client that all names share.
 *
 * @param backend the store
 * @param info the store's traits, read once
 * @param options the client's options
 * @param runtime clocks and threads
 * @param identity identifies this process as a holder
 * @param requests the requests in flight
 * @param renewals renews held grants
 * @param releaser releases and abandons
 * @param deadOwners drops losses whose threads have died
 * @param leakDetector finds leases that were dropped without being closed
 * @param events calls the listeners
 * @param losses logs lost leases and sums them up
 * @param holdEvents reports the events of holds
 */
record EngineContext(
        LockBackend backend,
        BackendInfo info,
        LockClientOptions options,
        EngineRuntime runtime,
        Identity identity,
        InFlightRequests requests,
        Renewals renewals,
        Releaser releaser,
        DeadOwners deadOwners,
        LeakDetector leakDetector,
        Events events,
        LossWarnings losses,
        HoldEvents holdEvents) {

    /**
     * Creates the parts of a client.
     *
     * @param housekeeping the client's periodic task: takes the present time and returns the delay until the next run,
     *     both in nanoseconds; see {@link Housekeeper}
     */
    static EngineContext of(
            LockBackend backend, LockClientOptions options, EngineRuntime runtime, LongUnaryOperator housekeeping) {
        BackendInfo info = backend.info();
        long timeoutNanos = Durations.nanos(options.requestTimeout());
        Housekeeper housekeeper = new Housekeeper(runtime.ticker(), runtime.timer(), housekeeping);
        InFlightRequests requests = new InFlightRequests(runtime.ticker(), housekeeper);
        Events events = new Events(runtime.events());
        LossWarnings losses = new LossWarnings(info.name(), runtime.timer());
        return new EngineContext(
                backend,
                info,
                options,
                runtime,
                Identity.ofThisProcess(options.who()),
                requests,
                new Renewals(backend, runtime, requests, housekeeper, timeoutNanos),
                new Releaser(backend, runtime, requests, timeoutNanos),
                new DeadOwners(housekeeper, runtime.ticker().nanos()),
                new LeakDetector(options.leakTracing()),
                events,
                losses,
                new HoldEvents(events, losses, runtime));
    }

    Ticker ticker() {
        return runtime.ticker();
    }

    /** The monotonic clock. */
    long nanos() {
        return runtime.ticker().nanos();
    }

    /** Converts a monotonic time to wall-clock time, for people to read. */
    Instant wallTimeOf(long nanos) {
        return Instant.ofEpochMilli(ticker().wallMillis()).minusNanos(nanos() - nanos);
    }

    Timer timer() {
        return runtime.timer();
    }

    RandomGenerator random() {
        return runtime.random().get();
    }

    long requestTimeoutNanos() {
        return Durations.nanos(options.requestTimeout());
    }

    long unavailableTimeoutNanos() {
        return Durations.nanos(options.unavailableTimeout());
    }
}
