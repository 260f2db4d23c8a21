package dev.holdfast.lock.spring.aop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.lock.spring.CurrentLease;
import dev.holdfast.lock.spring.Locked;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.TreeSet;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** What a lock is called. */
class LockedNamesTest {
    private static final String EVIL =
            "#{T(java.lang.System).setProperty('holdfast.evil','1')} ${user.name} #id ' + \" \\";

    private final LockedApplication application = new LockedApplication();
    private final ApplicationContextRunner runner =
            application.with(Orders.class, Region.class).withPropertyValues("shop.prefix=eu", "shop.evil=#id");

    @Test
    void name_withAnArgument_isOneLockForEachValue() { // ShedLock#335, #1284
        runner.run(context -> {
            Orders orders = context.getBean(Orders.class);
            assertThat(orders.byId("42")).isEqualTo("orders/42");
            assertThat(orders.byId("43")).isEqualTo("orders/43");
            assertThat(orders.byIndex("a", 7)).isEqualTo("orders/7");
            assertThat(orders.byProperty(new Order(5, "x"))).isEqualTo("orders/5-x");
            assertThat(orders.byKind(Kind.RETURN)).isEqualTo("RETURN");
            assertThat(orders.byOptional(Optional.of("here"))).isEqualTo("orders/here");
        });
    }

    @Test
    void name_withABean_isFromThatBean() { // ShedLock#1753: one with @ and one without, next to an argument
        runner.run(context -> {
            Orders orders = context.getBean(Orders.class);
            assertThat(orders.byBean("1")).isEqualTo("north/north/1");
        });
    }

    @Test
    void name_withAPlaceholder_isResolvedBeforeItIsEvaluated() {
        runner.run(context ->
                assertThat(context.getBean(Orders.class).byPlaceholder("1")).isEqualTo("eu/1/1"));
    }

    @Test
    void value_thatLooksLikeAnExpression_isText() {
        runner.run(context -> {
            Orders orders = context.getBean(Orders.class);
            assertThat(orders.byId(EVIL)).isEqualTo("orders/" + EVIL);
            assertThat(System.getProperty("holdfast.evil")).isNull();
        });
    }

    @Test
    void values_ofAnyText_areInsertedAsTheyAre() {
        long seed = Long.getLong("holdfast.seed", System.nanoTime());
        Random random = new Random(seed);
        String alphabet = "aA01 /.:{}[]()#$@!'\"\\`~*?%_-+=<>|&;,\t\u00e9\u202e\u4f60${#{}T(";
        runner.run(context -> {
            Orders orders = context.getBean(Orders.class);
            for (int i = 0; i < 500; i++) {
                String value = random.ints(1 + random.nextInt(30), 0, alphabet.length())
                        .collect(
                                StringBuilder::new, (text, c) -> text.append(alphabet.charAt(c)), StringBuilder::append)
                        .toString();
                assertThat(orders.byId(value)).as("seed %s", seed).isEqualTo("orders/" + value);
            }
        });
    }

    @Test
    void name_thatIsNullOrBlankOrTooLong_throwsBeforeAnyRequest() {
        runner.run(context -> {
            Orders orders = context.getBean(Orders.class);
            assertThatThrownBy(() -> orders.byId(null))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("#{#id} is null")
                    .hasMessageContaining("Orders.byId");
            assertThatThrownBy(() -> orders.byOptional(Optional.empty())).hasMessageContaining("is null");
            assertThatThrownBy(() -> orders.whole(" \t")).hasMessageContaining("blank");
            assertThatThrownBy(() -> orders.whole("")).hasMessageContaining("blank");
            assertThatThrownBy(() -> orders.byId("x".repeat(600)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("512");
            assertThatThrownBy(() -> orders.byProperty(null))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("cannot be evaluated");
            assertThat(application.store.commands()).isZero();
        });
    }

    @Test
    void value_whoseTextIsItsIdentity_isRefused() {
        runner.run(context -> {
            Orders orders = context.getBean(Orders.class);
            for (Object value : List.of(new Object(), new byte[] {1}, new String[] {"a"})) {
                assertThatThrownBy(() -> orders.byObject(value))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("differs from process to process");
            }
            UUID id = UUID.randomUUID();
            assertThat(orders.byObject(id)).isEqualTo("orders/" + id);
            assertThat(orders.byObject(new TreeSet<>(List.of(2, 1)))).isEqualTo("orders/[1, 2]");
            assertThat(application.store.commands()).isEqualTo(4);
        });
    }

    record Order(long id, String shop) {}

    enum Kind {
        RETURN {
            @Override
            public String toString() {
                return "Rückgabe";
            }
        }
    }

    static class Region {
        public String name() {
            return "north";
        }

        public String getName() {
            return "north";
        }
    }

    static class Orders {
        @Locked("orders/#{#id}")
        public String byId(@Nullable String id) {
            return CurrentLease.require().name();
        }

        @Locked(name = "orders/#{#a1}")
        public String byIndex(String shop, int id) {
            return CurrentLease.require().name();
        }

        @Locked("orders/#{#order.id}-#{#order.shop}")
        public String byProperty(@Nullable Order order) {
            return CurrentLease.require().name();
        }

        @Locked("#{#kind}")
        public String byKind(Kind kind) {
            return CurrentLease.require().name();
        }

        @Locked("orders/#{#id}")
        public String byOptional(Optional<String> id) {
            return CurrentLease.require().name();
        }

        @Locked("#{@region.name}/#{region.name()}/#{#id}")
        public String byBean(String id) {
            return CurrentLease.require().name();
        }

        @Locked("${shop.prefix}/#{#id}/#{${shop.evil}}")
        public String byPlaceholder(String id) {
            return CurrentLease.require().name();
        }

        @Locked("#{#name}")
        public String whole(String name) {
            return CurrentLease.require().name();
        }

        @Locked("orders/#{#value}")
        public String byObject(Object value) {
            return CurrentLease.require().name();
        }
    }
}
