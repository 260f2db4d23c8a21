package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.house.House;
import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Applications of one JVM, each with this library and its driver in a class loader of its own, as in a servlet container. */
@House("process:class loaders")
class ClassLoadersTest {

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    @DisplayName(
            "The library and its driver are found in the library's own loader, whatever the context loader is, twice in one JVM")
    void connect_withAForeignContextLoader_findsProviderAndDriver(boolean withContextLoader) throws Exception {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(withContextLoader ? before : null);
        try {
            for (int application = 0; application < 2; application++) {
                assertThat(lockOnce()).isEqualTo(true);
            }
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private static @Nullable Object lockOnce() throws Exception {
        try (URLClassLoader own = new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader())) {
            Class<?> api = own.loadClass("dev.holdfast.lock.LockClient");
            Class<?> options = own.loadClass("dev.holdfast.lock.LockClientOptions");
            Class<?> builder = own.loadClass("dev.holdfast.lock.LockClientOptions$Builder");
            Object patient = builder.getMethod("requestTimeout", Duration.class)
                    .invoke(
                            options.getMethod("builder").invoke(null),
                            Duration.ofSeconds(30)); // H2 is loaded each time
            try (AutoCloseable client = (AutoCloseable) api.getMethod("connect", String.class, options)
                    .invoke(
                            null,
                            "jdbc:h2:mem:loaders",
                            builder.getMethod("build").invoke(patient))) {
                Object lock = api.getMethod("lock", String.class).invoke(client, "a");
                return own.loadClass("dev.holdfast.lock.DistributedLock")
                        .getMethod("tryLock")
                        .invoke(lock);
            }
        }
    }

    private static URL[] classPath() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> !entry.isEmpty())
                .map(entry -> {
                    try {
                        return Path.of(entry).toUri().toURL();
                    } catch (MalformedURLException e) {
                        throw new AssertionError(e);
                    }
                })
                .toArray(URL[]::new);
    }
}
