package dev.holdfast.lock.cli;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;
import picocli.CommandLine.IVersionProvider;

/** The version that the build wrote down. */
final class Version implements IVersionProvider {

    @Override
    public String[] getVersion() {
        return new String[] {"holdfast " + number()};
    }

    static String number() {
        Properties build = new Properties();
        try (InputStream file = Version.class.getResourceAsStream("build.properties")) {
            if (file != null) {
                build.load(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return build.getProperty("version", "unknown");
    }
}
