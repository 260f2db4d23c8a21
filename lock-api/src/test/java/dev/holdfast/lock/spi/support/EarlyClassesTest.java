package dev.holdfast.lock.spi.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class EarlyClassesTest {
    private static final List<String> INITIALIZED = new ArrayList<>();

    static final class First {
        static {
            INITIALIZED.add("first");
        }
    }

    static final class Second {
        static {
            INITIALIZED.add("second");
        }
    }

    @Test
    void initialize_runsStaticInitializers_inOrder_once() {
        String[] names = {"EarlyClassesTest$Second", "EarlyClassesTest$First"};
        EarlyClasses.initialize(EarlyClasses.class, names);
        EarlyClasses.initialize(EarlyClasses.class, names);
        assertThat(INITIALIZED).containsExactly("second", "first");
    }

    @Test
    void initialize_leavesOutWhatDoesNotExist() {
        assertThatCode(() -> EarlyClasses.initialize(EarlyClasses.class, "Missing"))
                .doesNotThrowAnyException();
    }
}
