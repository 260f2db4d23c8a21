package dev.holdfast.rules;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * A class whose static initializer fails for want of memory cannot be used any more. So one that is first used when something fails is
 * initialized when a client starts. Enums and switches over them have an initializer too.
 */
class StaticInitializersTest {
    private static final Pattern LATE = Pattern.compile("LATE_CLASSES = \\{([^}]*)}");
    private static final Pattern NAME = Pattern.compile("\"([^\"]+)\"");
    private static final Pattern CALL = Pattern.compile("EarlyClasses\\.initialize\\((\\w+)\\.class, LATE_CLASSES\\);");

    /** Those that the start of a client and its first lock use; -Xlog:class+init shows which these are. */
    private static final Path USED_EARLY = Path.of("src/test/resources/used-early.txt");

    static Stream<String> modules() {
        return Stream.of(
                "lock-api",
                "lock-jdbc",
                "lock-redis",
                "lock-etcd",
                "lock-zookeeper",
                "lock-consul",
                "lock-memcached",
                "lock-memory");
    }

    @ParameterizedTest
    @MethodSource("modules")
    void classesWithStaticInitializers_areInitializedEarly(String module) throws IOException {
        Set<String> found = withInitializer(module);
        Set<String> late = late(module);
        Set<String> unknown = new TreeSet<>(found);
        unknown.removeAll(late);
        unknown.removeAll(Files.readAllLines(USED_EARLY));
        assertThat(unknown)
                .as(
                        "add each to LATE_CLASSES of %s, or, if each client uses it before its first lock is held, to %s",
                        module, USED_EARLY)
                .isEmpty();
        assertThat(found).as("LATE_CLASSES of %s", module).containsAll(late);
    }

    @Test
    void staticInitializers_areSeen() throws IOException {
        assertThat(withInitializer("lock-api"))
                .contains("dev.holdfast.lock.LossReason")
                .doesNotContain("dev.holdfast.lock.engine.internal.hold.Hold");
        assertThat(late("lock-api")).contains("dev.holdfast.lock.LossReason");
        assertThat(late("lock-redis")).isNotEmpty();
    }

    private static Set<String> withInitializer(String module) {
        Set<String> found = new TreeSet<>();
        for (JavaClass type : new ClassFileImporter().importPath(Sources.classes(module))) {
            if (type.getStaticInitializer().isPresent()) {
                found.add(type.getName());
            }
        }
        return found;
    }

    /** The classes that a module initializes when a client starts. */
    private static Set<String> late(String module) throws IOException {
        Set<String> names = new TreeSet<>();
        for (Path file : Sources.files(Sources.mainSources(module), ".java")) {
            String text = Files.readString(file);
            Matcher list = LATE.matcher(text);
            Matcher call = CALL.matcher(text);
            if (list.find() && call.find()) {
                String near = packageOf(call.group(1), text);
                NAME.matcher(list.group(1)).results().forEach(name -> names.add(near + '.' + name.group(1)));
            }
        }
        return names;
    }

    /** The package of a class that a source file names. */
    private static String packageOf(String type, String text) {
        Matcher imported = Pattern.compile("import ([\\w.]+)\\." + type + ";").matcher(text);
        Matcher own = Pattern.compile("package ([\\w.]+);").matcher(text);
        assertThat(own.find()).isTrue();
        return imported.find() ? imported.group(1) : own.group(1);
    }
}
