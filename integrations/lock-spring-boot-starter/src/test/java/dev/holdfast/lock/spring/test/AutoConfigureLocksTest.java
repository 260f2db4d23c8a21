package dev.holdfast.lock.spring.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.LockTemplate;
import dev.holdfast.lock.spring.Locked;
import dev.holdfast.lock.spring.boot.LockedAutoConfiguration;
import java.time.Duration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.test.autoconfigure.json.JsonTest;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.annotation.Import;

/** Tests of an application whose store is not there. */
class AutoConfigureLocksTest {

    @Nested
    @SpringBootTest(
            classes = Application.class,
            properties = {"holdfast.uri=redis://127.0.0.1:1", "holdfast.lock.lease=40s"})
    @AutoConfigureLocks
    class AWholeApplication {
        @Autowired
        LockClient locks;

        @Autowired
        MemoryStore store;

        @Test
        void locks_areInMemory_withTheApplicationsOptions_andCanBeTaken() throws Exception {
            Lease lease = locks.lock("a").acquire();
            assertThat(store.entries("a")).isEqualTo(1);
            assertThat(lease.remaining()).isGreaterThan(Duration.ofSeconds(30));

            try (LockClient other = store.newClient(LockClientOptions.defaults())) {
                assertThat(other.lock("a").tryLock()).isFalse();
                store.expire("a");
                assertThat(other.lock("a").tryLock()).isTrue();
            }
        }
    }

    @Nested
    @JsonTest
    @AutoConfigureLocks
    @Import(Shop.class)
    class ASlice {
        @Autowired
        LockClient locks;

        @Autowired
        Shop shop;

        @Autowired
        LockTemplate template;

        @Test
        void locks_areThereToo() {
            assertThat(locks.lock("a").tryLock()).isTrue();
        }

        @Test
        void annotatedMethods_haveTheirLocks() {
            assertThat(shop.sell()).isEqualTo("stock");
            assertThat(template.<String, RuntimeException>execute("b", Lease::name))
                    .isEqualTo("b");
        }
    }

    @Nested
    @JsonTest
    @Import(Shop.class)
    class ASliceWithoutThem {
        @Autowired
        Shop shop;

        @Test
        void annotatedMethods_runUnlocked_andTheMessageNamesWhatIsMissing() {
            assertThat(shop.sell()).isEqualTo("no lock");
            assertThatThrownBy(shop::token)
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContainingAll(
                            "In a test slice",
                            LockedAutoConfiguration.class.getSimpleName(),
                            "add @" + AutoConfigureLocks.class.getSimpleName());
        }
    }

    static class Shop {
        @Locked("stock")
        public long token() {
            return CurrentLease.require().token();
        }

        @Locked("stock")
        public String sell() {
            return CurrentLease.find().map(Lease::name).orElse("no lock");
        }
    }

    @SpringBootConfiguration
    @EnableAutoConfiguration
    static class Application {}
}
