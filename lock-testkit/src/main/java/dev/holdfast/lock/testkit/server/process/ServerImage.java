package dev.holdfast.lock.testkit.server.process;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;

/**
 * A public container image of a server. The images that the tests use, and their versions, are in one file,
 * {@code images.properties} next to this class; the system property {@code holdfast.image.KEY} puts another in place of
 * one.
 *
 * <p>The system property {@code holdfast.servers} decides whether servers run in containers where a test does not name an
 * image: {@code native} (also if it is absent) runs the programs that are installed on this machine, {@code containers}
 * runs images, and {@code auto} runs images where a container engine answers that has them or can pull them.
 *
 * <p>Containers need Testcontainers on the class path ({@code org.testcontainers:testcontainers}, an optional dependency
 * of this module) and an engine on this machine: they share its network and the server's folder, so that ports, addresses
 * and files are the same inside and outside. Of an image only the programs are used, not its entry point.
 *
 * @param key what the tests call it, such as {@code redis-8}
 * @param name what the engine calls it, such as {@code redis:8}
 */
public record ServerImage(String key, String name) {

    /** {@code native}, {@code containers} or {@code auto}. */
    public static final String SERVERS_PROPERTY = "holdfast.servers";

    private static final String OVERRIDE = "holdfast.image.";
    private static final Properties KNOWN = load();

    /**
     * Makes an image of any name.
     *
     * @param key what the tests call it
     * @param name what the engine calls it
     */
    public ServerImage {
        Objects.requireNonNull(key, "key");
        Objects.requireNonNull(name, "name");
    }

    /**
     * Finds an image.
     *
     * @param key such as {@code redis-8}, or a product such as {@code redis} for its usual version
     * @return the image, not yet pulled
     * @throws IllegalArgumentException if there is none of that key
     */
    public static ServerImage of(String key) {
        String name = System.getProperty(OVERRIDE + key, KNOWN.getProperty(key, ""));
        if (name.isEmpty()) {
            throw new IllegalArgumentException(
                    "no image '" + key + "'; images.properties has " + KNOWN.stringPropertyNames());
        }
        return KNOWN.containsKey(name) ? of(name) : new ServerImage(key, name);
    }

    /**
     * Tells what a product's servers are to run on, by {@value #SERVERS_PROPERTY}.
     *
     * @param product such as {@code redis}
     * @return the image, or empty for the programs of this machine
     * @throws IllegalStateException if the property has a value that is not known
     */
    public static Optional<ServerImage> chosen(String product) {
        String servers = System.getProperty(SERVERS_PROPERTY, "native");
        return switch (servers) {
            case "", "native" -> Optional.empty();
            case "containers" -> Optional.of(of(product));
            case "auto" -> Optional.of(of(product)).filter(ServerImage::isAtHand);
            default ->
                throw new IllegalStateException("system property " + SERVERS_PROPERTY + " is '" + servers
                        + "'; use native, containers or auto");
        };
    }

    /** The engine that runs it. */
    ServerHost host() {
        if (!hasTestcontainers()) {
            throw new IllegalStateException("image '" + name + "' needs Testcontainers: add"
                    + " org.testcontainers:testcontainers to the test class path, or set " + SERVERS_PROPERTY
                    + "=native");
        }
        return new ContainerHost(this);
    }

    private boolean isAtHand() {
        return hasTestcontainers() && ContainerHost.canRun(this);
    }

    private static boolean hasTestcontainers() {
        try {
            Class.forName("org.testcontainers.DockerClientFactory", false, ServerImage.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    private static Properties load() {
        Properties properties = new Properties();
        try (InputStream file = ServerImage.class.getResourceAsStream("images.properties")) {
            properties.load(Objects.requireNonNull(file, "images.properties is missing"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return properties;
    }

    @Override
    public String toString() {
        return name;
    }
}
