package dev.holdfast.broken;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import java.util.Objects;

/** The contract of the mutant that its thread is about. Not a test of the build: {@link ContractRun} runs it. */
final class MutatedContract extends LockContract {
    private static final ThreadLocal<Mutant> MUTANT = new ThreadLocal<>();

    static void about(Mutant mutant) {
        MUTANT.set(mutant);
    }

    @Override
    protected LockFixture startFixture() {
        return new MutantFixture(Objects.requireNonNull(MUTANT.get(), "about() comes first"));
    }
}
