package dev.holdfast.lock.memcached;

import dev.holdfast.lock.LockConfigurationException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** The certificates to trust. */
final class TrustedAuthority {
    private TrustedAuthority() {}

    /**
     * Creates a TLS context.
     *
     * @param file certificates in PEM, or null for those that the JVM trusts
     * @throws LockConfigurationException if the file cannot be used
     */
    static SSLContext context(@Nullable String file) {
        try {
            if (file == null) {
                return SSLContext.getDefault();
            }
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            try (InputStream in = Files.newInputStream(Path.of(file))) {
                for (Certificate each : CertificateFactory.getInstance("X.509").generateCertificates(in)) {
                    store.setCertificateEntry("ca" + store.size(), each);
                }
            }
            if (store.size() == 0) {
                throw new LockConfigurationException("the file of parameter 'ca' has no certificate; give one in PEM");
            }
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(null, trust.getTrustManagers(), null);
            return context;
        } catch (IOException | GeneralSecurityException e) {
            throw new LockConfigurationException(
                    "the file of parameter 'ca' cannot be used (" + e.getClass().getSimpleName()
                            + "); give certificates in PEM that this process may read",
                    e);
        }
    }
}
