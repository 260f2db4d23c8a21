package dev.holdfast.lock.redis;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** Self-signed certificates for servers of tests. */
final class Certificates {
    private Certificates() {}

    /** Makes {@code name.pem} and {@code name.key} for a subject such as {@code DNS:localhost,IP:127.0.0.1}. */
    static void make(Path folder, String name, String subject) throws IOException, InterruptedException {
        Path log = folder.resolve("openssl.log");
        Process openssl = new ProcessBuilder(
                        "openssl",
                        "req",
                        "-x509",
                        "-newkey",
                        "rsa:2048",
                        "-nodes",
                        "-days",
                        "2",
                        "-subj",
                        "/CN=" + name,
                        "-addext",
                        "subjectAltName=" + subject,
                        "-keyout",
                        folder.resolve(name + ".key").toString(),
                        "-out",
                        folder.resolve(name + ".pem").toString())
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start();
        boolean ended = openssl.waitFor(120, TimeUnit.SECONDS);
        if (!ended || openssl.exitValue() != 0) {
            openssl.destroyForcibly();
            throw new IOException("openssl made no certificate for '" + name + "': " + Files.readString(log));
        }
    }
}
