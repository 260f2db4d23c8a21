package dev.holdfast.examples.deploy;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An application with all backends starts: on the class path, on the module path, and with a clear word on a wrong one. */
class AllBackendsIT {
    private static Stores stores;

    @TempDir
    private Path folder;

    @BeforeAll
    static void start() throws Exception {
        stores = Stores.start();
    }

    @AfterAll
    static void stop() {
        stores.close();
    }

    @Test
    void classPath_withAllBackends_locksOnEach() throws Exception {
        assertThat(Child.run(onClassPath(ClassPaths.runtime()), stores.all())).containsExactlyElementsOf(allGranted());
    }

    /**
     * The application's module names the lock alone; the backends are found as providers. ZooKeeper's client stays on the
     * class path: two of its jars share a package. So does memcached's: a jar under it has a class without a package.
     */
    @Test
    void modulePath_withAllBackends_locksOnEach() throws Exception {
        List<Path> modules = new ArrayList<>(ClassPaths.packed(ClassPaths.runtime(), folder));
        List<Path> others = modules.stream()
                .filter(jar -> jar.getFileName()
                        .toString()
                        .matches("(lock-zookeeper|zookeeper|curator|audience|lock-memcached|folsom|dns|jsr305)[-.].*"))
                .toList();
        modules.removeAll(others);
        modules.add(application(modules));
        List<String> java = List.of(
                "-p",
                ClassPaths.joined(modules),
                "-cp",
                ClassPaths.joined(others),
                "-m",
                "first.hour/first.hour.OneLockOnEach");

        assertThat(others).hasSize(10);
        assertThat(Child.run(java, stores.all())).containsExactlyElementsOf(allGranted());
    }

    /** What Maven resolves for lock-redis with ZooKeeper's client but without a bill of materials, and with Netty 4.1 everywhere. */
    @Test
    void olderNetty_isToldWithBothVersions() throws Exception {
        List<Path> older = ClassPaths.copied("older-netty");
        List<String> output = Child.run(onClassPath(withNetty(older)), List.of(stores.redisUri()));

        assertThat(output)
                .singleElement()
                .asString()
                .startsWith("redis: dev.holdfast.lock.LockConfigurationException: ")
                .contains("io.netty " + version("netty.version") + " is needed", "4.1.130.Final was found")
                .contains("lock-bom")
                .contains("io.netty:netty-bom " + version("netty.version"));
    }

    /** One jar of another version is enough. */
    @Test
    void mixedNetty_isToldWithBothVersions() throws Exception {
        List<Path> mixed = new ArrayList<>(ClassPaths.runtime());
        mixed.removeIf(jar -> jar.getFileName().toString().matches("netty-transport-(classes|native)-epoll-.*"));
        mixed.addAll(ClassPaths.copied("older-netty").stream()
                .filter(jar -> jar.getFileName().toString().contains("epoll"))
                .toList());
        List<String> output = Child.run(onClassPath(mixed), List.of(stores.redisUri()));

        assertThat(output)
                .singleElement()
                .asString()
                .startsWith("redis: dev.holdfast.lock.LockConfigurationException: ")
                .contains("io/netty/channel/epoll/EpollIoHandler")
                .contains("4.1.130.Final was found [netty-transport-classes-epoll")
                .contains("lock-bom");
    }

    private static List<String> allGranted() {
        return stores.all().stream()
                .map(uri -> uri.substring(0, uri.indexOf(':')) + ": token true")
                .toList();
    }

    private static List<Path> withNetty(List<Path> jars) throws IOException {
        List<Path> path = new ArrayList<>(ClassPaths.runtime());
        path.removeIf(jar -> jar.toString().replace('\\', '/').contains("/io/netty/"));
        path.addAll(jars);
        return path;
    }

    private static List<String> onClassPath(List<Path> path) {
        List<Path> entries = new ArrayList<>(path);
        entries.add(0, ClassPaths.tests());
        return List.of("-cp", ClassPaths.joined(entries), OneLockOnEach.class.getName());
    }

    /** The same program as a module of its own. */
    private Path application(List<Path> modules) throws IOException {
        Path sources = Files.createDirectories(folder.resolve("application-sources"));
        Path program = sources.resolve("OneLockOnEach.java");
        Files.writeString(
                program,
                Files.readString(Path.of("src/test/java/dev/holdfast/examples/deploy/OneLockOnEach.java"))
                        .replace("package dev.holdfast.examples.deploy;", "package first.hour;"));
        Path descriptor = Files.writeString(
                sources.resolve("module-info.java"), "module first.hour { requires dev.holdfast.lock; }");
        Path classes = Files.createDirectories(folder.resolve("application"));
        int status = ToolProvider.getSystemJavaCompiler()
                .run(
                        null,
                        null,
                        null,
                        "-Xlint:all",
                        "-Werror",
                        "-proc:none",
                        "-d",
                        classes.toString(),
                        "-p",
                        ClassPaths.joined(modules),
                        program.toString(),
                        descriptor.toString());
        assertThat(status).as("compiles without warnings").isZero();
        return classes;
    }

    private static String version(String property) throws IOException {
        String build = Files.readString(Path.of("../pom.xml"));
        String start = "<" + property + ">";
        int from = build.indexOf(start) + start.length();
        return build.substring(from, build.indexOf('<', from));
    }
}
