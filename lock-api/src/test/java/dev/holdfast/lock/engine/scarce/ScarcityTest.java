package dev.holdfast.lock.engine.scarce;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Allocations of the engine fail, one place after the other: no name stands still, no lock stays held by nobody or is lost, and
 * none has two holders. Some of the places everyday, all of them with {@code --full}.
 */
class ScarcityTest {
    private static final int STEP = Boolean.getBoolean("holdfast.full") ? 1 : 37;
    private static final ScarceClasses CLASSES = new ScarceClasses();

    private final Map<Long, Object> violations = new TreeMap<>();

    @ParameterizedTest(name = "{1} allocations fail, blocking {0}")
    @CsvSource({"0, 1", "1, 1", "0, 4", "1, 4", "0, 40", "1, 40"})
    void allocations_fail_allGoOn(long blocking, long count) throws ReflectiveOperationException {
        long all = run(blocking, Long.MAX_VALUE / 2, count); // also initializes the classes
        assertThat(all).as("allocations").isGreaterThan(500);
        for (long first = 1; first <= all; first += STEP) {
            run(blocking, first, count);
        }
        assertThat(violations)
                .as("by the number of the first that failed, of " + all)
                .isEmpty();
    }

    /** Returns the number of allocations. */
    @SuppressWarnings("unchecked")
    private long run(long blocking, long first, long count) throws ReflectiveOperationException {
        var run = (Function<Map<String, Long>, Map<String, Object>>) CLASSES.loadClass(ScarceRun.class.getName())
                .getDeclaredConstructor()
                .newInstance();
        Map<String, Object> result = run.apply(Map.of("blocking", blocking, "first", first, "count", count));
        Object violation = result.get("violation");
        if (violation != null) {
            violations.put(first, violation);
        }
        return (long) result.get("taken");
    }
}
