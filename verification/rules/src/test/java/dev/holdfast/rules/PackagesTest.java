package dev.holdfast.rules;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** A package is small enough to be read: at most 25 top-level types, 35 in the package of the public API. */
class PackagesTest {
    private static final int MAX_TYPES = 25;
    private static final int MAX_TYPES_OF_THE_API = 35;
    private static final Path API = Path.of("lock-api/src/main/java/dev/holdfast/lock");

    @Test
    void packagesOfPublishedModules_haveAtMost25Types() throws IOException {
        List<String> tooLarge = new ArrayList<>();
        typesByPackage().forEach((folder, types) -> {
            int limit = folder.equals(API) ? MAX_TYPES_OF_THE_API : MAX_TYPES;
            if (types.size() > limit) {
                tooLarge.add(folder + " has " + types.size() + " types, at most " + limit + ": " + types);
            }
        });
        assertThat(tooLarge).isEmpty();
    }

    private static Map<Path, List<String>> typesByPackage() throws IOException {
        Map<Path, List<String>> types = new TreeMap<>();
        for (String module : Sources.published()) {
            for (Path file : Sources.files(Sources.mainSources(module), ".java")) {
                String name = file.getFileName().toString();
                if (!name.endsWith("-info.java")) {
                    types.computeIfAbsent(Sources.ROOT.relativize(file.getParent()), key -> new ArrayList<>())
                            .add(name.replace(".java", ""));
                }
            }
        }
        assertThat(types).as("packages of published modules").hasSizeGreaterThan(20);
        return types;
    }
}
