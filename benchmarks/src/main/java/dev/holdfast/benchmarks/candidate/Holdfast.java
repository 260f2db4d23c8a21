package dev.holdfast.benchmarks.candidate;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.function.UnaryOperator;

/** Holdfast with its defaults, or with some options. */
final class Holdfast implements Candidate {
    private final String name;
    private final LockClientOptions options;
    private final UnaryOperator<String> address;
    private final Duration outlives;

    private Holdfast(String name, LockClientOptions options, UnaryOperator<String> address, Duration outlives) {
        this.name = name;
        this.options = options;
        this.address = address;
        this.outlives = outlives;
    }

    static Holdfast defaults() {
        return new Holdfast(
                "holdfast",
                LockClientOptions.defaults(),
                address -> address,
                LockOptions.defaults().lease());
    }

    /** Strict order between processes, which switches the hand-off between threads off. */
    static Holdfast fair() {
        LockOptions fair = LockOptions.builder().fair(true).build();
        return new Holdfast(
                "holdfast-fair",
                LockClientOptions.builder().lockOptions(fair).build(),
                address -> address,
                fair.lease());
    }

    /** The defaults, with a variant of the address: another strategy or mode. */
    static Holdfast variant(String variant, UnaryOperator<String> address) {
        return new Holdfast(
                "holdfast-" + variant,
                LockClientOptions.defaults(),
                address,
                LockOptions.defaults().lease());
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Role role() {
        return Role.HOLDFAST;
    }

    @Override
    public Duration outlives() {
        return outlives;
    }

    @Override
    public boolean representative() {
        return name.equals("holdfast");
    }

    @Override
    public Session open(String uri) {
        LockClient client = LockClient.connect(address.apply(uri), options);
        return new Session() {
            @Override
            public NamedLock lock(String lockName) {
                return NamedLock.of(client.lock(lockName));
            }

            @Override
            public void close() {
                client.close();
            }
        };
    }
}
