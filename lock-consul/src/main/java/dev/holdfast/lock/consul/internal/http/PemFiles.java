package dev.holdfast.lock.consul.internal.http;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import org.jspecify.annotations.Nullable;

/** TLS settings from PEM files. */
public final class PemFiles {
    private static final Pattern KEY =
            Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");

    private static final Pattern OTHER_KEY = Pattern.compile("-----BEGIN ([A-Z]{1,12} PRIVATE KEY)-----");

    private PemFiles() {}

    /** Creates a context from the given files; null if there is none, for the platform's own. */
    public static @Nullable SSLContext context(@Nullable Path ca, @Nullable Path certificate, @Nullable Path key)
            throws IOException, GeneralSecurityException {
        if (ca == null && certificate == null) {
            return null;
        }
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(
                certificate == null || key == null ? null : keyManagers(certificate, key),
                ca == null ? null : trustManagers(ca),
                null);
        return context;
    }

    private static TrustManager[] trustManagers(Path ca) throws IOException, GeneralSecurityException {
        KeyStore store = emptyStore();
        for (Certificate each : certificates(ca)) {
            store.setCertificateEntry("ca-" + store.size(), each);
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory.getTrustManagers();
    }

    private static KeyManager[] keyManagers(Path certificate, Path key) throws IOException, GeneralSecurityException {
        char[] none = new char[0];
        KeyStore store = emptyStore();
        store.setKeyEntry(
                "key", privateKey(key), none, certificates(certificate).toArray(Certificate[]::new));
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, none);
        return factory.getKeyManagers();
    }

    private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Collection<? extends Certificate> certificates(Path file)
            throws IOException, GeneralSecurityException {
        try (InputStream in = Files.newInputStream(file)) {
            return CertificateFactory.getInstance("X.509").generateCertificates(in);
        }
    }

    private static PrivateKey privateKey(Path file) throws IOException, GeneralSecurityException {
        String text = Files.readString(file, StandardCharsets.US_ASCII);
        Matcher matcher = KEY.matcher(text);
        if (!matcher.find()) {
            Matcher other = OTHER_KEY.matcher(text);
            throw new InvalidKeySpecException("the key is " + (other.find() ? "a '" + other.group(1) + "', " : "")
                    + "not PKCS#8 without a password; convert it with openssl pkcs8 -topk8 -nocrypt -in KEY -out NEW");
        }
        PKCS8EncodedKeySpec encoded =
                new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(matcher.group(1)));
        for (String algorithm : List.of("RSA", "EC")) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(encoded);
            } catch (InvalidKeySpecException e) {
                // The key has another algorithm.
            }
        }
        throw new InvalidKeySpecException("the key is neither RSA nor EC");
    }
}
