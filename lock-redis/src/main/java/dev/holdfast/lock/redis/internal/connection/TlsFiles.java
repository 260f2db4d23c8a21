package dev.holdfast.lock.redis.internal.connection;

import dev.holdfast.lock.LockConfigurationException;
import io.lettuce.core.SslOptions;
import java.io.File;
import java.io.IOException;
import java.security.GeneralSecurityException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Files in PEM of a client with TLS. Lettuce reads them again for each connection.
 *
 * @param ca the certificates of the authorities to trust, or null for those that the JVM trusts
 * @param cert the client's certificate and its chain, or null without one
 * @param key the certificate's private key in PKCS#8, not encrypted; null without a certificate
 */
public record TlsFiles(
        @Nullable String ca,
        @Nullable String cert,
        @Nullable String key) {
    static final TlsFiles NONE = new TlsFiles(null, null, null);

    /**
     * Makes Lettuce's options.
     *
     * @throws LockConfigurationException if a file cannot be used
     */
    SslOptions options(Duration handshakeTimeout) {
        SslOptions.Builder builder = SslOptions.builder().handshakeTimeout(handshakeTimeout);
        if (equals(NONE)) {
            return builder.build();
        }
        try {
            if (ca != null) {
                builder.trustManager(new File(ca));
            }
            if (cert != null && key != null) {
                builder.keyManager(new File(cert), new File(key), new char[0]);
            }
            SslOptions options = builder.build();
            options.createSslContextBuilder().build();
            return options;
        } catch (IOException | GeneralSecurityException | IllegalArgumentException e) {
            throw new LockConfigurationException(
                    "connecting to Redis: TLS cannot be set up (" + e.getMessage()
                            + "); check the PEM files of the parameters ca, cert and key",
                    e);
        }
    }
}
