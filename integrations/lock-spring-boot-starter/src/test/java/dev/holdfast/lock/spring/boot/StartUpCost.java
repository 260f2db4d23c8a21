package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;

/**
 * What the starter adds to the start of an application, beside the client's own connect: a measurement, which the build does
 * not run. docs/spring.md has the command.
 */
class StartUpCost {
    private static final int RUNS = 15;

    @Test
    void starter_besideAClientMadeByHand() throws Exception {
        List<Long> with = new ArrayList<>();
        List<Long> without = new ArrayList<>();
        for (int i = 0; i < RUNS; i++) {
            with.add(start("starter"));
            without.add(start("by-hand"));
        }
        long added = median(with) - median(without);
        System.out.printf(
                "median of %d starts each, in turns: with the starter %d ms, with a client made by hand %d ms: it adds %d ms%n",
                RUNS, median(with) / 1000, median(without) / 1000, added / 1000);
        assertThat(added).as("microseconds").isLessThanOrEqualTo(50_000);
    }

    private static long median(List<Long> values) {
        return values.stream().sorted().skip(values.size() / 2).findFirst().orElseThrow();
    }

    private static long start(String how) throws Exception {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        "-cp",
                        System.getProperty("surefire.test.class.path", System.getProperty("java.class.path")),
                        Application.class.getName(),
                        how)
                .redirectErrorStream(true)
                .start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(out).isZero();
        return Long.parseLong(out.lines()
                .filter(line -> line.startsWith("micros "))
                .findFirst()
                .orElseThrow()
                .substring(7));
    }

    /** One start. */
    @SpringBootConfiguration
    @EnableAutoConfiguration
    public static class Application {
        public static void main(String[] args) {
            boolean starter = args[0].equals("starter");
            long begin = System.nanoTime();
            SpringApplication application = new SpringApplication(Application.class);
            application.setWebApplicationType(WebApplicationType.NONE);
            var context = application.run(
                    "--holdfast.uri=memory:",
                    "--holdfast.enabled=" + starter,
                    "--spring.main.banner-mode=off",
                    "--logging.level.root=off");
            LockClient client = starter ? context.getBean(LockClient.class) : LockClient.connect("memory:");
            long micros = (System.nanoTime() - begin) / 1000;
            client.close();
            System.out.println("micros " + micros);
            context.close();
        }
    }
}
