package dev.holdfast.lock.memcached;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.LockConfigurationException;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TrustedAuthorityTest {

    @Test
    void withoutAFile_itIsThoseOfTheJvm() throws Exception {
        assertThat(TrustedAuthority.context(null)).isSameAs(SSLContext.getDefault());
    }

    @Test
    void fileWithoutACertificate_isRefused(@TempDir Path folder) throws Exception {
        assertRefused(folder.resolve("none.pem"), "cannot be used (NoSuchFileException); give certificates in PEM");
        Path empty = Files.createFile(folder.resolve("empty.pem"));
        assertRefused(empty, "the file of parameter 'ca' has no certificate; give one in PEM");
        Path other = Files.writeString(folder.resolve("other.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n");
        assertRefused(other, "cannot be used (CertificateException); give certificates in PEM");
    }

    private static void assertRefused(Path file, String why) {
        assertThatThrownBy(() -> TrustedAuthority.context(file.toString()))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageContaining(why);
    }
}
