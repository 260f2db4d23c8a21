package dev.holdfast.lock.testkit.house;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Writes a line for each test of a {@link House} to a file in the module's target folder, from which {@code bin/verify} makes its table.
 * A JVM runs one test at a time.
 */
public final class HouseReport implements BeforeEachCallback, AfterEachCallback {
    private static final Path FOLDER = Path.of("target", "houses");

    private static final AtomicReference<Figures> FIGURES = new AtomicReference<>(Figures.NONE);

    private static volatile @Nullable String fixture;

    /** What bystanders saw; of their renewals the latest one in relation to its lease. */
    private record Figures(int held, int lost, long oldestMillis, long leaseMillis) {
        static final Figures NONE = new Figures(0, 0, 0, 0);

        Figures plus(Figures other) {
            Figures later = other.oldestMillis * leaseMillis >= oldestMillis * other.leaseMillis ? other : this;
            return new Figures(held + other.held, lost + other.lost, later.oldestMillis, later.leaseMillis);
        }
    }

    /**
     * Sets the store of a contract's tests.
     *
     * @param name the fixture's name, which begins with the store's; null once the contract is over
     */
    public static void fixture(@Nullable String name) {
        fixture = name;
    }

    /**
     * Adds what bystanders of the test in progress saw.
     *
     * @param held how many there were
     * @param lost how many of them were lost
     * @param oldest the longest time without a confirmed renewal
     * @param lease their lease
     */
    public static void add(int held, int lost, Duration oldest, Duration lease) {
        FIGURES.accumulateAndGet(new Figures(held, lost, oldest.toMillis(), lease.toMillis()), Figures::plus);
    }

    /** Removes the figures of the test in progress, which begins again. */
    public static void reset() {
        FIGURES.set(Figures.NONE);
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        reset();
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        House house = house(context);
        Files.createDirectories(FOLDER);
        Figures figures = Objects.requireNonNull(FIGURES.get());
        String line = String.join(
                "\t",
                house.value(),
                store(house),
                context.getExecutionException().isPresent() ? "failed" : "passed",
                Integer.toString(figures.held),
                Integer.toString(figures.lost),
                Long.toString(figures.oldestMillis),
                Long.toString(figures.leaseMillis),
                context.getRequiredTestClass().getSimpleName() + "#"
                        + context.getRequiredTestMethod().getName());
        Files.writeString(
                FOLDER.resolve(ProcessHandle.current().pid() + ".tsv"),
                line + "\n",
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }

    private static House house(ExtensionContext context) {
        for (Optional<ExtensionContext> at = Optional.of(context);
                at.isPresent();
                at = at.get().getParent()) {
            Optional<House> found = at.get().getElement().map(element -> element.getAnnotation(House.class));
            if (found.isPresent()) {
                return found.get();
            }
        }
        throw new IllegalStateException("no house: " + context.getDisplayName());
    }

    private static String store(House house) {
        if (!house.store().isEmpty()) {
            return house.store();
        }
        String running = fixture;
        String name = running == null
                ? String.valueOf(Path.of("").toAbsolutePath().getFileName())
                        .replaceFirst("^lock-", "")
                        .replace("testkit", "memory")
                : running.replaceFirst("[ ,].*", "");
        return name.toLowerCase(Locale.ROOT);
    }
}
