package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.Locked;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.aop.support.AopUtils;
import org.springframework.samples.petclinic.Appointments;

/** Where the annotation may stand: at the method, at one of an interface or a base class, on an annotation of the application. */
class LockedPlacesTest {
    private final LockedApplication application = new LockedApplication();

    @Test
    void annotation_ofAnInterfaceOrABaseClassOrAMetaAnnotation_counts() {
        application.with(Generic.class).run(context -> {
            Generic generic = context.getBean(Generic.class);
            assertThat(generic.byInterface("a")).isEqualTo("interface/a");
            assertThat(((Api<String>) generic).byInterface("b")).isEqualTo("interface/b");
            assertThat(generic.ofBase("c")).isEqualTo("base/c");
            assertThat(generic.ofBaseByInterface()).isEqualTo("both");
            assertThat(generic.overridden()).isEqualTo("nearest");
            assertThat(generic.byMeta()).isEqualTo("meta");
            assertThat(generic.packagePrivate()).isEqualTo("package");
            assertThat(generic.plain()).isEmpty();
        });
    }

    @Test
    void bean_inAPackageOfALibrary_isLocked() {
        application
                .with(Appointments.class)
                .run(context -> assertThat(context.getBean(Appointments.class).reserve("2"))
                        .isEqualTo("appointments/2"));
    }

    @Test
    void bean_behindAJdkProxy_isLocked() {
        application
                .with(Service.class)
                .withPropertyValues("spring.aop.proxy-target-class=false")
                .run(context -> {
                    Api<String> service = (Api<String>) context.getBean("service");
                    assertThat(AopUtils.isJdkDynamicProxy(service)).isTrue();
                    assertThat(service.byInterface("a")).isEqualTo("interface/a");
                });
    }

    @Test
    void inheritedMethod_hasTheOptionsOfEachBeansAnnotation() {
        application.with(ShortLeased.class, LongLeased.class).run(context -> {
            assertThat(context.getBean(ShortLeased.class).left())
                    .isBetween(Duration.ofSeconds(10), Duration.ofSeconds(20));
            assertThat(context.getBean(LongLeased.class).left())
                    .isBetween(Duration.ofSeconds(100), Duration.ofSeconds(120));
        });
    }

    interface ShortLease {
        @Locked(name = "short", lease = "20s")
        Duration left();
    }

    interface LongLease {
        @Locked(name = "long", lease = "120s")
        Duration left();
    }

    static class Inherited {
        public Duration left() {
            return CurrentLease.require().remaining();
        }
    }

    static class ShortLeased extends Inherited implements ShortLease {}

    static class LongLeased extends Inherited implements LongLease {}

    @Retention(RetentionPolicy.RUNTIME)
    @Locked("meta")
    @interface OwnLocked {}

    interface Api<T> {
        @Locked("interface/#{#key}")
        String byInterface(T key);
    }

    interface Other {
        @Locked("both")
        String ofBaseByInterface();
    }

    static class Base<T> {
        @Locked("base/#{#value}")
        public String ofBase(T value) {
            return CurrentLease.require().name();
        }

        public String ofBaseByInterface() {
            return CurrentLease.require().name();
        }

        @Locked("farther")
        public String overridden() {
            return CurrentLease.require().name();
        }
    }

    static class Generic extends Base<String> implements Api<String>, Other {
        @Override
        public String byInterface(String another) {
            return CurrentLease.require().name();
        }

        @Override
        public String ofBase(String value) {
            return super.ofBase(value);
        }

        @Override
        @Locked("nearest")
        public String overridden() {
            return CurrentLease.require().name();
        }

        @OwnLocked
        public String byMeta() {
            return CurrentLease.require().name();
        }

        @Locked("package")
        String packagePrivate() {
            return CurrentLease.require().name();
        }

        public String plain() {
            return CurrentLease.find().map(Lease::name).orElse("");
        }
    }

    static class Service implements Api<String> {
        @Override
        public String byInterface(String key) {
            return CurrentLease.require().name();
        }
    }
}
