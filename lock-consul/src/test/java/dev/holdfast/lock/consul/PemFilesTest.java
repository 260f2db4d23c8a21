package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.SelfSignedCertificate;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PemFilesTest {

    /** An agent's certificate may be one that the platform trusts, and the agent ask for one all the same. */
    @Test
    void context_isOfWhatIsGiven(@TempDir Path folder) throws Exception {
        SelfSignedCertificate own = SelfSignedCertificate.make(folder, "own", "DNS:localhost");

        assertThat(PemFiles.context(null, own.certificate(), own.key())).isNotNull();
        assertThat(PemFiles.context(own.certificate(), null, null)).isNotNull();
        assertThat(PemFiles.context(null, null, null)).isNull();
    }
}
