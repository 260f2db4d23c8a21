package dev.holdfast.lock.testkit.server;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.process.LoopbackPorts;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** A port belongs to one test JVM, whether or not anything listens there. */
class LoopbackPortsTest {

    /** Another test JVM. */
    static final class OtherJvm {
        private OtherJvm() {}

        public static void main(String[] arguments) {
            System.out.println(LoopbackPorts.reserve(Integer.parseInt(arguments[0])));
        }
    }

    private static String reservedElsewhere(int port) throws IOException {
        Process other = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx32m",
                        "-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir"),
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        OtherJvm.class.getName(),
                        Integer.toString(port))
                .redirectErrorStream(true)
                .start();
        return new String(other.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
    }

    @Test
    void port_thatIsGiven_isNoOtherJvms_untilItIsGivenBack() throws IOException {
        int port = LoopbackPorts.next();
        try {
            assertThat(LoopbackPorts.reserve(port)).as("a second time").isFalse();
            assertThat(reservedElsewhere(port)).isEqualTo("false");
        } finally {
            LoopbackPorts.giveBack(port);
        }
        assertThat(reservedElsewhere(port)).isEqualTo("true");
        assertThat(LoopbackPorts.reserve(port)).as("that JVM has ended").isTrue();
        LoopbackPorts.giveBack(port);
    }
}
