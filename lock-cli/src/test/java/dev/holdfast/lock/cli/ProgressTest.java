package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class ProgressTest {
    private final StringWriter screen = new StringWriter();
    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch answers = new CountDownLatch(1);

    /** A store that takes its time to say who holds the lock. */
    private LockClient slow() {
        return (LockClient) Proxy.newProxyInstance(
                LockClient.class.getClassLoader(), new Class<?>[] {LockClient.class}, (proxy, method, arguments) -> {
                    asked.countDown();
                    assertThat(answers.await(60, TimeUnit.SECONDS)).isTrue();
                    return Optional.empty();
                });
    }

    @Test
    void storeThatAnswersAfterTheGrant_nothingIsPrintedIntoTheCommandsOutput() throws Exception {
        Progress progress = Progress.start(slow(), "name", new PrintWriter(screen, true), true);
        assertThat(asked.await(60, TimeUnit.SECONDS)).isTrue();

        progress.close();
        String atTheGrant = screen.toString();
        answers.countDown();
        progress.awaitEnd();

        assertThat(screen).hasToString(atTheGrant);
    }

    @Test
    void wait_isShown_andClearedAtItsEnd() {
        answers.countDown();
        Progress progress = Progress.start(slow(), "a\nb", new PrintWriter(screen, true), true);
        Awaitility.await().until(() -> screen.toString().contains("waiting for 'a"));
        progress.close();

        assertThat(screen.toString()).doesNotContain("\n").endsWith("\r\u001b[K");
    }

    @Test
    void noTerminal_nothingIsPrinted() throws Exception {
        Progress progress = Progress.start(slow(), "name", new PrintWriter(screen, true), false);
        progress.close();
        progress.awaitEnd();

        assertThat(screen.toString()).isEmpty();
        assertThat(asked.getCount()).isOne();
    }
}
