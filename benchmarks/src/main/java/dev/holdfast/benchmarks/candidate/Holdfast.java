package dev.holdfast.benchmarks.candidate;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Set;
import java.util.function.UnaryOperator;

/** Holdfast with its defaults, or with some options. */
final class Holdfast implements Candidate {
    private final String name;
    private final LockClientOptions options;
    private final UnaryOperator<String> address;
    private final Set<Primitive> primitives;

    private Holdfast(String name, LockClientOptions options, UnaryOperator<String> address, Set<Primitive> primitives) {
        this.name = name;
        this.options = options;
        this.address = address;
        this.primitives = primitives;
    }

    static Holdfast defaults() {
        return new Holdfast("holdfast", LockClientOptions.defaults(), address -> address, Set.of(Primitive.values()));
    }

    /** The defaults, on a store that does not have everything. */
    static Holdfast defaults(Primitive first, Primitive... more) {
        return new Holdfast("holdfast", LockClientOptions.defaults(), address -> address, EnumSet.of(first, more));
    }

    /** Strict order between processes, which switches the hand-off between threads off. */
    static Holdfast fair() {
        LockOptions fair = LockOptions.builder().fair(true).build();
        return new Holdfast(
                "holdfast-fair",
                LockClientOptions.builder().lockOptions(fair).build(),
                address -> address,
                Set.of(Primitive.LOCK));
    }

    /** The defaults, with a variant of the address: another strategy or mode. */
    static Holdfast variant(String variant, UnaryOperator<String> address) {
        return new Holdfast("holdfast-" + variant, LockClientOptions.defaults(), address, Set.of(Primitive.LOCK));
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
    public Set<Primitive> primitives() {
        return primitives;
    }

    @Override
    public Duration outlives() {
        return options.lockOptions().lease();
    }

    @Override
    public boolean representative() {
        return name.equals("holdfast");
    }

    @Override
    public Session open(String uri) {
        LockClient client = LockClient.connect(address.apply(uri), options);
        return new HoldfastSession(client, () -> {});
    }
}
