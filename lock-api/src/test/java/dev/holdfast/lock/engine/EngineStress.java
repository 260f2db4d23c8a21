package dev.holdfast.lock.engine;

import dev.holdfast.lock.LeaseLostException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.LossReason;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.openjdk.jcstress.annotations.Actor;
import org.openjdk.jcstress.annotations.Arbiter;
import org.openjdk.jcstress.annotations.Expect;
import org.openjdk.jcstress.annotations.JCStressTest;
import org.openjdk.jcstress.annotations.Outcome;
import org.openjdk.jcstress.annotations.State;
import org.openjdk.jcstress.infra.results.III_Result;

/** The races that decide which caller holds a lock, run millions of times by jcstress; {@link EngineStressTest} starts it. */
public final class EngineStress {
    private EngineStress() {}

    static AsyncWaiter submit(EngineClient client, long timeoutNanos) {
        AsyncWaiter waiter = new AsyncWaiter(
                "n",
                LockOptions.defaults(),
                timeoutNanos,
                System.nanoTime(),
                task -> {},
                hold -> new Simulation.SimLease(hold));
        client.entries().submit("n", waiter);
        return waiter;
    }

    static boolean close(AsyncWaiter waiter) {
        Hold hold = Objects.requireNonNull(waiter.hold);
        try {
            hold.lock.end(hold);
            return true;
        } catch (LeaseLostException e) {
            return false;
        }
    }

    static int isIdle(EngineClient client) {
        return client.isIdle() && ((InlineBackend) client.engine().backend()).isFree() ? 1 : 0;
    }

    /** A waiter is cancelled while the holder releases: it either leaves or gets the lock, and the lock is not lost. */
    @JCStressTest
    @State
    @Outcome(id = "1, 0, 1", expect = Expect.ACCEPTABLE, desc = "cancelled, not granted, nothing left")
    @Outcome(id = "0, 1, 0", expect = Expect.ACCEPTABLE, desc = "granted before the cancellation, and held")
    @Outcome(expect = Expect.FORBIDDEN, desc = "cancelled and granted, or neither")
    public static class CancelAgainstGrant {
        private final EngineClient client = InlineBackend.client();
        private final AsyncWaiter holder = submit(client, Waiter.FOREVER);
        private final AsyncWaiter waiter = submit(client, Waiter.FOREVER);
        private final LockEntry entry = Objects.requireNonNull(client.entries().find("n"));

        @Actor
        public void release() {
            close(holder);
        }

        @Actor
        public void cancel(III_Result result) {
            result.r1 = entry.cancel(waiter) ? 1 : 0;
        }

        @Arbiter
        public void after(III_Result result) {
            result.r2 = waiter.state == Waiter.State.GRANTED ? 1 : 0;
            result.r3 = isIdle(client);
        }
    }

    /** A lease is lost while it is closed: it ends once, and the result of close matches how it ended. */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "released; the loss came too late")
    @Outcome(id = "0, 2, 1", expect = Expect.ACCEPTABLE, desc = "lost; close reported it")
    @Outcome(expect = Expect.FORBIDDEN, desc = "both, or something is left")
    public static class LossAgainstClose {
        private final EngineClient client = InlineBackend.client();
        private final AsyncWaiter holder = submit(client, Waiter.FOREVER);

        @Actor
        public void lose() {
            HeldGrant heldGrant = Objects.requireNonNull(holder.hold).heldGrant;
            heldGrant.listener.ended(heldGrant, LossReason.EXPIRED, "its time has passed");
        }

        @Actor
        public void close(III_Result result) {
            result.r1 = EngineStress.close(holder) ? 1 : 0;
        }

        @Arbiter
        public void after(III_Result result) {
            result.r2 = Objects.requireNonNull(holder.hold).state.ordinal();
            result.r3 = isIdle(client);
        }
    }

    /** A caller arrives while the holder releases: it gets the lock, by hand-off or from the server. */
    @JCStressTest
    @State
    @Outcome(id = "1, 1, 1", expect = Expect.ACCEPTABLE, desc = "granted, and idle after its release")
    @Outcome(expect = Expect.FORBIDDEN, desc = "forgotten, or something is left")
    public static class ArrivalAgainstRelease {
        private final EngineClient client = InlineBackend.client();
        private final AsyncWaiter holder = submit(client, Waiter.FOREVER);
        private @Nullable AsyncWaiter arrival;

        @Actor
        public void release() {
            close(holder);
        }

        @Actor
        public void arrive() {
            arrival = submit(client, Waiter.FOREVER);
        }

        @Arbiter
        public void after(III_Result result) {
            AsyncWaiter arrived = Objects.requireNonNull(arrival);
            result.r1 = arrived.state == Waiter.State.GRANTED ? 1 : 0;
            result.r2 = result.r1 == 1 && EngineStress.close(arrived) ? 1 : 0;
            result.r3 = isIdle(client);
        }
    }
}
