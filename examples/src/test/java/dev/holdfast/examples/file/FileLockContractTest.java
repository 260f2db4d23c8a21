package dev.holdfast.examples.file;

import dev.holdfast.lock.testkit.LockContract;
import dev.holdfast.lock.testkit.fixture.LockFixture;
import java.io.IOException;
import org.junit.jupiter.api.DisplayName;

/** The worked example of {@code docs/adding-a-backend.md} keeps what every backend promises. */
@DisplayName("A lock on files")
final class FileLockContractTest extends LockContract {

    @Override
    protected LockFixture startFixture() throws IOException {
        return new FileFixture();
    }
}
