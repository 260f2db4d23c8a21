package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/**
 * A certificate for a server of a test, made by the program {@code openssl}, valid for two days.
 *
 * @param certificate a PEM file, which clients trust
 * @param key a PEM file with its private key
 */
public record SelfSignedCertificate(Path certificate, Path key) {

    /**
     * Makes a certificate.
     *
     * @param folder where its files {@code name.pem} and {@code name.key} go
     * @param name a file name, and the subject's common name
     * @param hosts whom it is for, such as {@code DNS:localhost,IP:127.0.0.1}
     * @return the certificate
     * @throws IOException if openssl is missing or fails; the message has what it said
     * @throws InterruptedException if interrupted while waiting for it
     */
    public static SelfSignedCertificate make(Path folder, String name, String hosts)
            throws IOException, InterruptedException {
        Path certificate = folder.resolve(name + ".pem");
        Path key = folder.resolve(name + ".key");
        Path log = folder.resolve(name + "-openssl.log");
        Process openssl = new ProcessBuilder(
                        "openssl",
                        "req",
                        "-x509",
                        "-newkey",
                        "ec", // made at once; an RSA key takes seconds on a busy machine
                        "-pkeyopt",
                        "ec_paramgen_curve:prime256v1",
                        "-nodes",
                        "-days",
                        "2",
                        "-subj",
                        "/CN=" + name,
                        "-addext",
                        "subjectAltName=" + hosts,
                        "-keyout",
                        key.toString(),
                        "-out",
                        certificate.toString())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        boolean ended = openssl.waitFor(5, TimeUnit.MINUTES);
        if (!ended || openssl.exitValue() != 0) {
            openssl.destroyForcibly();
            throw new IOException("openssl made no certificate for '" + name + "': " + Files.readString(log));
        }
        return new SelfSignedCertificate(certificate, key);
    }
}
