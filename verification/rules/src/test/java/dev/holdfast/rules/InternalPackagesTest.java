package dev.holdfast.rules;

import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.ArchConfiguration;
import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A package with {@code internal} in its name belongs to its module: no other module uses it, and no module descriptor exports it. */
class InternalPackagesTest {

    /** Names are enough, and the classes of libraries need not be read. */
    @BeforeAll
    static void namesOnly() {
        ArchConfiguration.get().setResolveMissingDependenciesFromClassPath(false);
    }

    @AfterAll
    static void reset() {
        ArchConfiguration.get().reset();
    }

    @Test
    void internalPackages_areUsedByTheirOwnModuleOnly() throws IOException {
        Map<String, String> moduleOfClass = new TreeMap<>();
        for (String module : Sources.published()) {
            for (Path file : Sources.files(Sources.classes(module), ".class")) {
                moduleOfClass.put(className(Sources.classes(module), file), module);
            }
        }
        Set<String> found = new TreeSet<>();
        int internal = 0;
        for (String module : Sources.modules()) {
            for (Path folder : List.of(Sources.classes(module), Sources.testClasses(module))) {
                if (!Files.isDirectory(folder)) {
                    continue;
                }
                for (JavaClass type : new ClassFileImporter().importPath(folder)) {
                    for (Dependency dependency : type.getDirectDependenciesFromSelf()) {
                        JavaClass target = dependency.getTargetClass().getBaseComponentType();
                        if (isInternal(target.getPackageName())) {
                            internal++;
                            if (!module.equals(moduleOfClass.getOrDefault(target.getName(), module))) {
                                found.add(module + ": " + type.getName() + " uses " + target.getName());
                            }
                        }
                    }
                }
            }
        }
        assertThat(internal).as("uses of internal classes").isGreaterThan(1000);
        assertThat(found).isEmpty();
    }

    @Test
    void internalPackages_areNotExported() throws IOException {
        for (String module : Sources.published()) {
            Path descriptor = Sources.mainSources(module).resolve("module-info.java");
            if (Files.exists(descriptor)) {
                assertThat(Files.readString(descriptor)).as(module).doesNotContainPattern("exports \\S*\\.internal\\b");
            }
        }
    }

    private static boolean isInternal(String name) {
        return name.startsWith("dev.holdfast.") && (name + ".").contains(".internal.");
    }

    private static String className(Path folder, Path file) {
        return folder.relativize(file).toString().replace('/', '.').replaceFirst("\\.class$", "");
    }
}
