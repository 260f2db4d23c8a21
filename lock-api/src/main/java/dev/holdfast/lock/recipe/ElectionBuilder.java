package dev.holdfast.lock.recipe;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.Election;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.text.Printable;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Collects and validates the settings of an election. */
final class ElectionBuilder implements Election.Builder {
    private static final int STOP_SHARE = 3;

    private final LockClient client;
    private final String name;
    private final Function<Lease, Duration> lengths;
    private Election.@Nullable Callback elected;
    private Election.@Nullable Callback revoked;
    private @Nullable LockOptions options;
    private @Nullable Duration stopTime;

    ElectionBuilder(LockClient client, String name, Function<Lease, Duration> lengths) {
        Objects.requireNonNull(client.lock(name)); // refuses a bad name now
        this.client = client;
        this.name = name;
        this.lengths = lengths;
    }

    @Override
    public Election.Builder onElected(Election.Callback callback) {
        elected = once("onElected", elected, callback);
        return this;
    }

    @Override
    public Election.Builder onRevoked(Election.Callback callback) {
        revoked = once("onRevoked", revoked, callback);
        return this;
    }

    @Override
    public Election.Builder options(LockOptions lockOptions) {
        options = once("options", options, lockOptions);
        return this;
    }

    @Override
    public Election.Builder stopTime(Duration time) {
        stopTime = once("stopTime", stopTime, time);
        return this;
    }

    @Override
    public Election start() {
        if (elected == null) {
            throw new IllegalStateException(
                    "election '" + Printable.of(name) + "': onElected is missing; set the callback for the leader");
        }
        DistributedLock lock = options == null ? client.lock(name) : client.lock(name, options);
        LockOptions used = lock.options();
        if (used.renewal() != Renewal.AUTO || used.maxHold().isPresent()) {
            throw new IllegalArgumentException("election '" + Printable.of(name)
                    + "': a leader's lease is renewed for as long as it leads;" + " leave out renewal(" + used.renewal()
                    + ") and maxHold, and use yield to let others lead");
        }
        Duration time = stopTime == null ? used.lease().dividedBy(STOP_SHARE) : stopTime;
        if (time.isNegative() || time.isZero() || time.compareTo(used.lease().dividedBy(2)) > 0) {
            throw new IllegalArgumentException(
                    "election '" + Printable.of(name) + "': stopTime must be positive and at most half of the lease of "
                            + used.lease() + ", got " + time);
        }
        Election.Callback after = Objects.requireNonNullElse(revoked, leadership -> {});
        return new StandingElection(client, lock, elected, after, time, StandingElection.Surroundings.of(lengths))
                .start();
    }

    private static <T> T once(String what, @Nullable T before, T value) {
        Objects.requireNonNull(value, what);
        if (before != null) {
            throw new IllegalStateException(what + " was already set");
        }
        return value;
    }
}
