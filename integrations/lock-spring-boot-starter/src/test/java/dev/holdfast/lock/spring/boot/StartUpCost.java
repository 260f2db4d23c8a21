package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.util.ClassUtils;

/**
 * What the starter adds to the start of an application, without the client's own connect: a measurement, which the build does
 * not run. docs/spring.md has the command. Every start is a process of its own; the application that makes its client by hand
 * has all the same libraries on its class path, and not the starter. This build's modules are jars there, as for an
 * application: a directory of classes is asked for each class that is loaded from an entry behind it, which takes longer.
 */
class StartUpCost {
    private static final int ROUNDS = 15;
    /** An application without transactions and aspects has nothing that makes proxies, but the starter brings it. */
    private static final String WITHOUT_PROXIES =
            "--spring.autoconfigure.exclude=org.springframework.boot.autoconfigure.aop.AopAutoConfiguration,"
                    + "org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration";

    private static final String STARTER = "dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration";

    /** One start, in microseconds: elapsed, and on the processor by the thread that starts the application. */
    private record Start(boolean starter, long elapsed, long cpu) {}

    @TempDir
    private Path jars;

    @Test
    void starter_besideAClientMadeByHand() throws Exception {
        List<String> entries = new ArrayList<>();
        for (String entry : System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                .split(File.pathSeparator)) {
            Path path = Path.of(entry);
            entries.add(path.endsWith(Path.of("target", "classes")) ? jar(path, entries.size()) : entry);
        }
        String with = String.join(File.pathSeparator, entries);
        String without =
                entries.stream().filter(entry -> !hasStarter(entry)).collect(Collectors.joining(File.pathSeparator));
        List<Start> strict = measure(with, without, WITHOUT_PROXIES);
        print("without proxies by hand", strict);
        List<Start> starts = measure(with, without);
        print("with proxies in both", starts);
        assertThat(added(starts, Start::elapsed)).as("microseconds").isLessThanOrEqualTo(50_000);
    }

    private static List<Start> measure(String with, String without, String... arguments) throws Exception {
        List<Start> starts = new ArrayList<>();
        for (int round = -1; round < ROUNDS; round++) {
            List<String> order = round % 2 == 0 ? List.of(with, without) : List.of(without, with);
            for (String classPath : order) {
                Start start = start(classPath, arguments);
                assertThat(start.starter()).isEqualTo(classPath.equals(with));
                if (round >= 0) { // the first of each reads the libraries from disk
                    starts.add(start);
                }
            }
        }
        return starts;
    }

    private static void print(String series, List<Start> starts) {
        print(series + ", elapsed", starts, Start::elapsed);
        print(series + ", CPU time of the main thread", starts, Start::cpu);
    }

    /** Packs a module's classes and resources. */
    private String jar(Path classes, int number) throws IOException {
        Path jar = jars.resolve(number + ".jar");
        try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar));
                Stream<Path> files = Files.walk(classes)) {
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                out.putNextEntry(
                        new JarEntry(classes.relativize(file).toString().replace(File.separatorChar, '/')));
                Files.copy(file, out);
                out.closeEntry();
            }
        }
        return jar.toString();
    }

    private static void print(String what, List<Start> starts, ToLongFunction<Start> value) {
        System.out.printf(
                "%s, medians of %d starts each, in turns: with the starter %.1f ms, with a client made by hand %.1f ms: it adds %.1f ms%n",
                what,
                ROUNDS,
                median(starts, true, value) / 1e3,
                median(starts, false, value) / 1e3,
                added(starts, value) / 1e3);
    }

    private static long added(List<Start> starts, ToLongFunction<Start> value) {
        return median(starts, true, value) - median(starts, false, value);
    }

    private static long median(List<Start> starts, boolean starter, ToLongFunction<Start> value) {
        return starts.stream()
                .filter(start -> start.starter() == starter)
                .mapToLong(value)
                .sorted()
                .skip(ROUNDS / 2)
                .findFirst()
                .orElseThrow();
    }

    private static boolean hasStarter(String entry) {
        try (URLClassLoader only =
                new URLClassLoader(new URL[] {Path.of(entry).toUri().toURL()}, null)) {
            return only.findResource(STARTER.replace('.', '/') + ".class") != null;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static Start start(String classPath, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "-cp",
                classPath,
                Application.class.getName()));
        command.addAll(List.of(arguments));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(out).isZero();
        String[] words = out.lines()
                .filter(line -> line.startsWith("start "))
                .findFirst()
                .orElseThrow()
                .split(" ");
        return new Start(Boolean.parseBoolean(words[1]), Long.parseLong(words[2]), Long.parseLong(words[3]));
    }

    /** One start: with the starter if it is there. */
    @SpringBootConfiguration
    @EnableAutoConfiguration
    public static class Application {
        public static void main(String[] args) {
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            long beginCpu = threads.getCurrentThreadCpuTime();
            long begin = System.nanoTime();
            SpringApplication application = new SpringApplication(Application.class);
            application.setWebApplicationType(WebApplicationType.NONE);
            List<String> all = new ArrayList<>(
                    List.of("--holdfast.uri=memory:", "--spring.main.banner-mode=off", "--logging.level.root=off"));
            all.addAll(List.of(args));
            var context = application.run(all.toArray(String[]::new));
            LockClient client =
                    context.getBeanProvider(LockClient.class).getIfAvailable(() -> LockClient.connect("memory:"));
            long elapsed = (System.nanoTime() - begin) / 1000;
            long cpu = (threads.getCurrentThreadCpuTime() - beginCpu) / 1000;
            client.close();
            System.out.println("start " + ClassUtils.isPresent(STARTER, null) + " " + elapsed + " " + cpu);
            context.close();
        }
    }
}
