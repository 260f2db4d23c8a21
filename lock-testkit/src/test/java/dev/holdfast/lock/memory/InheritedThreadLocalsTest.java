package dev.holdfast.lock.memory;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockListener;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.testkit.house.House;
import java.net.URL;
import java.net.URLClassLoader;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;

/** A client's threads serve all callers, so they must not run as the user or tenant of the first one. */
@House("process:inheritance")
class InheritedThreadLocalsTest {
    private static final InheritableThreadLocal<String> TENANT = new InheritableThreadLocal<>();

    private static final String OF_THE_LIBRARY = "null and " + LockClient.class.getClassLoader();

    private static String inherited() {
        return TENANT.get() + " and " + Thread.currentThread().getContextClassLoader();
    }

    @Test
    @DisplayName(
            "Listeners, stages and losses see neither the thread-locals nor the class loader of the caller that came first")
    void threadsOfTheClient_inheritNothing() throws Exception {
        TENANT.set("first caller");
        ClassLoader before = Thread.currentThread().getContextClassLoader();
        Thread.currentThread().setContextClassLoader(new URLClassLoader("application", new URL[0], before));
        try (LockClient client = LockClient.connect("memory:inherited")) {
            CompletableFuture<String> onListener = new CompletableFuture<>();
            client.addListener(new LockListener() {
                @Override
                public void acquired(String name, long token, Duration waited, boolean handedOff) {
                    onListener.complete(inherited());
                }
            });
            LockOptions shortLease = LockOptions.builder()
                    .lease(Duration.ofMillis(500))
                    .renewal(Renewal.NONE)
                    .build();
            CompletableFuture<String> onStage = client.lock("a", shortLease)
                    .acquireAsync(Duration.ofSeconds(10))
                    .thenCompose(lease ->
                            lease.lost().thenApply(reason -> inherited()).toCompletableFuture());

            assertThat(List.of(onListener.get(20, TimeUnit.SECONDS), onStage.get(20, TimeUnit.SECONDS)))
                    .containsExactly(OF_THE_LIBRARY, OF_THE_LIBRARY);
        } finally {
            TENANT.remove();
            Thread.currentThread().setContextClassLoader(before);
        }
    }
}
