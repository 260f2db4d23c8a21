package dev.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What Error Prone needs to refuse {@code client.lock("a");} as a statement. */
final class CheckReturnValueTest {

    @Test
    void typesWhoseResultsMatter_areMarked() {
        assertThat(List.of(
                        LockClient.class,
                        DistributedLock.class,
                        DistributedReadWriteLock.class,
                        DistributedSemaphore.class,
                        MultiLock.class,
                        MultiLease.class,
                        Lease.class))
                .allMatch(type -> type.isAnnotationPresent(CheckReturnValue.class));
    }

    @Test
    void resultsOfWork_canBeDropped() {
        assertThat(DistributedLock.class.getMethods())
                .filteredOn(method -> method.isAnnotationPresent(CanIgnoreReturnValue.class))
                .extracting(Method::getName)
                .containsExactlyInAnyOrder("execute", "executeAsync");
        assertThat(Arrays.stream(LockClient.class.getMethods()))
                .noneMatch(method -> method.isAnnotationPresent(CanIgnoreReturnValue.class));
    }
}
