package dev.holdfast.lock.testkit.house;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.testkit.support.Waits;
import java.io.File;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * An application that is deployed and taken down in a running JVM, as in a servlet container: it, the library and all that the
 * library needs are in a class loader of their own. Not thread-safe.
 */
public final class RedeployedApplication {
    /** Less than this class waits for the loader's collection: timers of requests may keep it for as long. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final long LAST_INSTRUCTIONS_NANOS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final String FLIGHT_RECORDER = "io.netty.jfr.enabled";

    private RedeployedApplication() {}

    /**
     * Connects, acquires a lock, releases it and closes the client, all in a loader of its own, and fails unless no thread of the
     * application is alive then and its loader is collected.
     *
     * <p>Excluded is what is not the library's: Netty registers a listener at the flight recorder for good, unless that is switched
     * off; the JDK keeps drivers until somebody removes them, as containers do; MySQL's driver has a thread until a method
     * of its own ends it; it keeps a type of the record that was used last.
     *
     * @param uri an address for {@link LockClient#connect(String)}, not null
     * @param lateThreads beginnings of the names of threads that the store's own library ends later; before the loader is closed,
     *     this method waits for their end
     * @throws Exception if the application fails
     */
    public static void assertLeavesNothing(String uri, String... lateThreads) throws Exception {
        String before = System.getProperty(FLIGHT_RECORDER);
        System.setProperty(FLIGHT_RECORDER, "false");
        WeakReference<ClassLoader> loader;
        try {
            loader = deployedAndTakenDown(uri, List.of(lateThreads));
        } finally {
            if (before == null) {
                System.clearProperty(FLIGHT_RECORDER);
            } else {
                System.setProperty(FLIGHT_RECORDER, before);
            }
        }
        useAnotherRecord();
        Waits.untilCollected("the loader's collection", () -> loader.get() == null);
    }

    /**
     * The JDK keeps a component's type of the record whose method was called last, one for each kind of method; since Java 19 by a
     * soft reference if the type is of another loader. So a record of one more loader takes the place of the application's.
     */
    private static void useAnotherRecord() throws Exception {
        try (URLClassLoader another = new URLClassLoader(classPath(), ClassLoader.getPlatformClassLoader())) {
            another.loadClass(UsedLast.class.getName()).getMethod("use").invoke(null);
        }
    }

    /** Public, since another loader uses it. */
    public record UsedLast(Component component) {
        enum Component {
            ONE,
            ANOTHER
        }

        /** Calls each method that the compiler makes for a record. */
        public static void use() {
            UsedLast used = new UsedLast(Component.ONE);
            UsedLast other = new UsedLast(Component.ANOTHER);
            if (used.equals(other)
                    || used.hashCode() == other.hashCode()
                    || used.toString().isEmpty()) {
                throw new IllegalStateException("a record that is wrong: " + used);
            }
        }
    }

    private static WeakReference<ClassLoader> deployedAndTakenDown(String uri, List<String> late) throws Exception {
        // The JDK's thread for delays lives as long as the process, and keeps the context loader of its first caller.
        CompletableFuture.delayedExecutor(1, TimeUnit.MILLISECONDS).execute(() -> {});
        try (URLClassLoader application =
                new URLClassLoader("application", classPath(), ClassLoader.getPlatformClassLoader())) {
            List<Throwable> failures = new CopyOnWriteArrayList<>();
            Thread thread = new Thread(() -> run(application, uri));
            thread.setContextClassLoader(application);
            thread.setUncaughtExceptionHandler((ended, failure) -> failures.add(failure));
            thread.start();
            thread.join();
            for (Throwable failure : failures) {
                throw new AssertionError("the application failed", failure);
            }
            List<String> alive = aliveAfterClose(application, late);
            if (!alive.isEmpty()) {
                throw new AssertionError("threads of the application after close(): " + alive);
            }
            Waits.untilCollected(
                    "the end of the threads that end later",
                    () -> threadsOf(application).findAny().isEmpty());
            return new WeakReference<>(application);
        }
    }

    /** An executor counts as terminated when its last thread has only some instructions left, for which a busy machine may take a while. */
    private static List<String> aliveAfterClose(ClassLoader application, List<String> late)
            throws InterruptedException {
        long deadlineNanos = System.nanoTime() + LAST_INSTRUCTIONS_NANOS;
        while (true) {
            List<String> alive = threadsOf(application)
                    .filter(name -> late.stream().noneMatch(name::startsWith))
                    .toList();
            if (alive.isEmpty() || System.nanoTime() - deadlineNanos >= 0) {
                return alive;
            }
            TimeUnit.MILLISECONDS.sleep(5);
        }
    }

    private static URL[] classPath() throws IOException {
        List<URL> urls = new ArrayList<>();
        String own = System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"));
        for (String path : own.split(File.pathSeparator)) {
            urls.add(Path.of(path).toUri().toURL());
        }
        return urls.toArray(URL[]::new);
    }

    @SuppressWarnings("unchecked")
    private static void run(ClassLoader application, String uri) {
        try {
            ((Consumer<String>) application
                            .loadClass(Program.class.getName())
                            .getDeclaredConstructor()
                            .newInstance())
                    .accept(uri);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Stream<String> threadsOf(ClassLoader application) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getContextClassLoader() == application
                        || thread.getClass().getClassLoader() == application)
                .map(Thread::getName);
    }

    /** What the application does. Public, since another loader makes it. */
    public static final class Program implements Consumer<String> {
        /** For the other loader. */
        public Program() {}

        @Override
        public void accept(String uri) {
            LockClientOptions patient =
                    LockClientOptions.builder().requestTimeout(PATIENCE).build(); // all classes are loaded anew
            try (LockClient locks = LockClient.connect(uri, patient);
                    Lease lease = locks.lock("redeployed").acquire()) {
                if (!lease.isValid()) {
                    throw new IllegalStateException("the lease is not valid");
                }
                requireOwnLoader(locks);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            } finally {
                removeDrivers();
            }
        }

        /** In a callback, libraries look for classes and resources in the context loader. */
        private static void requireOwnLoader(LockClient locks) {
            CompletableFuture<ClassLoader> seen = new CompletableFuture<>();
            try (Election election = locks.election("redeployed leader")
                    .onElected(
                            leadership -> seen.complete(Thread.currentThread().getContextClassLoader()))
                    .start()) {
                ClassLoader loader = seen.orTimeout(1, TimeUnit.MINUTES).join();
                if (loader != Program.class.getClassLoader()) {
                    throw new IllegalStateException(election + ": the callback has the loader " + loader);
                }
            }
        }

        private static void removeDrivers() {
            try {
                for (Driver driver : DriverManager.drivers().toList()) {
                    DriverManager.deregisterDriver(driver);
                }
                Class.forName("com.mysql.cj.jdbc.AbandonedConnectionCleanupThread")
                        .getMethod("checkedShutdown")
                        .invoke(null);
            } catch (ClassNotFoundException e) {
                // MySQL's driver is not there
            } catch (SQLException | ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
