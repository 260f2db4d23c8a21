package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MessagesTest {
    private final StringWriter said = new StringWriter();

    @Test
    void lines_arePrintedInTheirOrder_beforeTheEnd_byADaemon() {
        Thread[] printer = new Thread[1];
        PrintWriter err = new PrintWriter(said) {
            @Override
            public void println(String line) {
                printer[0] = Thread.currentThread();
                super.println(line);
            }
        };
        Thread.currentThread().interrupt(); // the signal that ends the command, say
        try (Messages messages = new Messages(Holdfast.commandLine().setErr(err))) {
            messages.accept("one");
            messages.accept("two");
        }
        assertThat(Thread.interrupted()).as("the thread stays interrupted").isTrue();
        assertThat(said).hasToString("holdfast: one\nholdfast: two\n");
        assertThat(printer[0].getName()).isEqualTo("holdfast-messages");
        assertThat(printer[0].isDaemon()).isTrue();
    }

    /** A pipe that is full, or a stopped terminal. */
    @Test
    void readerThatDoesNotRead_holdsNobodyUp() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch reads = new CountDownLatch(1);
        PrintWriter err = new PrintWriter(said) {
            @Override
            public void println(String line) {
                begun.countDown();
                try {
                    reads.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                super.println(line);
            }
        };
        try (Messages messages = new Messages(Holdfast.commandLine().setErr(err))) {
            messages.accept("0");
            assertThat(begun.await(1, TimeUnit.MINUTES)).isTrue();
            for (int i = 1; i <= 1_000; i++) {
                messages.accept(Integer.toString(i));
            }
            reads.countDown();
        }
        assertThat(said.toString().lines()).hasSize(101).last().isEqualTo("holdfast: 100");
    }
}
