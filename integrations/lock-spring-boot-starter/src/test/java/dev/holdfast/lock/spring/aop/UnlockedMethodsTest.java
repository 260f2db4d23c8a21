package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.LockedJob;
import dev.holdfast.lock.spring.boot.UnlockedAutoConfiguration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Locks that a property switches off are not switched off in silence. */
@ExtendWith(OutputCaptureExtension.class)
class UnlockedMethodsTest {
    private final LockedApplication application = new LockedApplication();

    private ApplicationContextRunner with(Class<?> bean) {
        return application.with(bean).withConfiguration(AutoConfigurations.of(UnlockedAutoConfiguration.class));
    }

    @ParameterizedTest
    @ValueSource(strings = {"holdfast.enabled", "holdfast.annotation.enabled"})
    void switchedOff_isWarnedOf_byTheMethods(String property, CapturedOutput output) {
        with(Jobs.class).withPropertyValues(property + "=false").run(context -> {
            assertThat(context.getBean(Jobs.class).held("x")).isZero();
            assertThat(output)
                    .containsOnlyOnce(property + " = false: these methods with @Locked run without their locks: "
                            + "[Jobs.byInterface, Jobs.held, Jobs.nightly]")
                    .contains("WARN");
        });
    }

    @Test
    void switchedOff_withoutAnnotatedMethods_isNothingToWarnOf(CapturedOutput output) {
        with(Plain.class)
                .withPropertyValues("holdfast.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(LockTemplate.class));
        assertThat(output).doesNotContain("without their locks");
    }

    @Test
    void switchedOn_isNothingToWarnOf(CapturedOutput output) {
        with(Jobs.class)
                .withPropertyValues("holdfast.enabled=true", "holdfast.annotation.enabled=true")
                .run(context ->
                        assertThat(context.getBean(Jobs.class).held("x")).isEqualTo(1));
        assertThat(output).doesNotContain("without their locks");
    }

    interface Api {
        @Locked("by-interface")
        void byInterface();
    }

    static class Plain {
        public void run() {}
    }

    static class Jobs implements Api {
        private final LockClient locks;

        Jobs(LockClient locks) {
            this.locks = locks;
        }

        @Locked(name = "jobs/#{#id}")
        public int held(String id) {
            return locks.held().size();
        }

        @LockedJob("nightly")
        public void nightly() {}

        @Override
        public void byInterface() {}
    }
}
