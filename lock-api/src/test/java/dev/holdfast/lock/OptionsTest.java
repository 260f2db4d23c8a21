package dev.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class OptionsTest {

    @Test
    void minHold_zero_isTheDefault() {
        LockOptions none = LockOptions.builder().minHold(Duration.ZERO).build();

        assertThat(none).isEqualTo(LockOptions.defaults());
        assertThatIllegalArgumentException()
                .isThrownBy(() -> LockOptions.builder().minHold(Duration.ofMillis(-1)))
                .withMessageContaining("minHold")
                .withMessageContaining("negative");
    }

    @Test
    @SuppressWarnings("NullAway")
    void setters_null_sayWhatIsMissing() {
        Map<String, Consumer<LockOptions.Builder>> ofLock = new LinkedHashMap<>();
        ofLock.put("lease", builder -> builder.lease(null));
        ofLock.put("renewal", builder -> builder.renewal(null));
        ofLock.put("maxHold", builder -> builder.maxHold(null));
        ofLock.put("minHold", builder -> builder.minHold(null));
        ofLock.forEach((what, set) -> assertThatNullPointerException()
                .isThrownBy(() -> set.accept(LockOptions.builder()))
                .withMessage(what + " must not be null"));
        Map<String, Consumer<LockClientOptions.Builder>> ofClient = new LinkedHashMap<>();
        ofClient.put("who", builder -> builder.who(null));
        ofClient.put("lockOptions", builder -> builder.lockOptions(null));
        ofClient.put("requestTimeout", builder -> builder.requestTimeout(null));
        ofClient.put("unavailableTimeout", builder -> builder.unavailableTimeout(null));
        ofClient.put("handOffTime", builder -> builder.handOffTime(null));
        ofClient.forEach((what, set) -> assertThatNullPointerException()
                .isThrownBy(() -> set.accept(LockClientOptions.builder()))
                .withMessage(what + " must not be null"));
    }

    @Test
    void toBuilder_ofLockOptions_keepsWhatIsNotSet() {
        LockOptions from = LockOptions.builder()
                .lease(Duration.ofSeconds(7))
                .renewal(Renewal.NONE)
                .maxHold(Duration.ofSeconds(6))
                .minHold(Duration.ofSeconds(5))
                .fair(true)
                .interruptOnLoss(true)
                .build();

        assertThat(from.toBuilder().build()).isEqualTo(from);
        LockOptions changed = from.toBuilder()
                .lease(Duration.ofSeconds(8))
                .renewal(Renewal.AUTO)
                .fair(false)
                .build();
        assertThat(changed)
                .isEqualTo(LockOptions.builder()
                        .lease(Duration.ofSeconds(8))
                        .renewal(Renewal.AUTO)
                        .maxHold(Duration.ofSeconds(6))
                        .minHold(Duration.ofSeconds(5))
                        .fair(false)
                        .interruptOnLoss(true)
                        .build());
        assertThat(from.lease()).as("of the options it started from").isEqualTo(Duration.ofSeconds(7));
        assertThat(LockOptions.defaults().toBuilder().build()).isEqualTo(LockOptions.defaults());
    }

    @Test
    void toBuilder_ofClientOptions_keepsWhatIsNotSet() {
        LockClientOptions from = LockClientOptions.builder()
                .who("billing")
                .lockOptions(LockOptions.builder().lease(Duration.ofSeconds(7)).build())
                .requestTimeout(Duration.ofSeconds(1))
                .unavailableTimeout(Duration.ofSeconds(2))
                .handOffLimit(3)
                .handOffTime(Duration.ofMillis(4))
                .leakTracing(true)
                .build();

        assertThat(from.toBuilder().build()).hasToString(from.toString());
        LockClientOptions changed =
                from.toBuilder().who("").handOffLimit(0).leakTracing(false).build();
        assertThat(changed.who()).isEmpty();
        assertThat(changed.handOffLimit()).isZero();
        assertThat(changed.leakTracing()).isFalse();
        assertThat(from.leakTracing()).isTrue();
        assertThat(from.lockOptions().lease()).isEqualTo(Duration.ofSeconds(7));
        assertThat(changed.lockOptions()).isEqualTo(from.lockOptions());
        assertThat(changed.requestTimeout()).isEqualTo(Duration.ofSeconds(1));
        assertThat(changed.unavailableTimeout()).isEqualTo(Duration.ofSeconds(2));
        assertThat(changed.handOffTime()).isEqualTo(Duration.ofMillis(4));
    }

    @Test
    void toBuilder_setTwice_isRefused() {
        LockOptions.Builder lock = LockOptions.defaults().toBuilder().lease(Duration.ofSeconds(1));
        assertThatIllegalStateException().isThrownBy(() -> lock.lease(Duration.ofSeconds(1)));
        LockClientOptions.Builder client =
                LockClientOptions.defaults().toBuilder().handOffLimit(1);
        assertThatIllegalStateException().isThrownBy(() -> client.handOffLimit(1));
    }

    @Test
    void setters_twice_areRefused_andSayWhatIsSetAlready() {
        Duration second = Duration.ofSeconds(1);
        Map<String, Consumer<LockOptions.Builder>> ofLock = new LinkedHashMap<>();
        ofLock.put("lease was already set to PT1S", builder -> builder.lease(second));
        ofLock.put("renewal was already set to NONE", builder -> builder.renewal(Renewal.NONE));
        ofLock.put("maxHold was already set to PT1S", builder -> builder.maxHold(second));
        ofLock.put("minHold was already set to PT1S", builder -> builder.minHold(second));
        ofLock.put("fair was already set to false", builder -> builder.fair(false));
        ofLock.put("interruptOnLoss was already set to false", builder -> builder.interruptOnLoss(false));
        ofLock.forEach((message, set) -> {
            LockOptions.Builder builder = LockOptions.builder();
            set.accept(builder);
            assertThatIllegalStateException()
                    .isThrownBy(() -> set.accept(builder))
                    .withMessage(message);
        });
        Map<String, Consumer<LockClientOptions.Builder>> ofClient = new LinkedHashMap<>();
        ofClient.put("who was already set to me", builder -> builder.who("me"));
        ofClient.put(
                "lockOptions was already set to " + LockOptions.defaults(),
                builder -> builder.lockOptions(LockOptions.defaults()));
        ofClient.put("requestTimeout was already set to PT1S", builder -> builder.requestTimeout(second));
        ofClient.put("unavailableTimeout was already set to PT1S", builder -> builder.unavailableTimeout(second));
        ofClient.put("handOffLimit was already set to 0", builder -> builder.handOffLimit(0));
        ofClient.put("handOffTime was already set to PT1S", builder -> builder.handOffTime(second));
        ofClient.put("leakTracing was already set to false", builder -> builder.leakTracing(false));
        ofClient.forEach((message, set) -> {
            LockClientOptions.Builder builder = LockClientOptions.builder();
            set.accept(builder);
            assertThatIllegalStateException()
                    .isThrownBy(() -> set.accept(builder))
                    .withMessage(message);
        });
    }

    @Test
    void toBuilder_together_isValidated() {
        LockOptions from = LockOptions.builder().maxHold(Duration.ofSeconds(1)).build();
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> from.toBuilder().minHold(Duration.ofSeconds(2)).build());
    }

    private static LockOptions all() {
        return LockOptions.builder()
                .lease(Duration.ofSeconds(7))
                .renewal(Renewal.NONE)
                .maxHold(Duration.ofSeconds(6))
                .minHold(Duration.ofSeconds(5))
                .fair(true)
                .interruptOnLoss(true)
                .build();
    }

    @Test
    void lockOptions_areEqual_ifEachOptionIs() {
        LockOptions one = all();
        assertThat(one).isEqualTo(one).isEqualTo(all()).hasSameHashCodeAs(all()).isNotEqualTo("other");
        List<LockOptions> others = List.of(
                one.toBuilder().lease(Duration.ofSeconds(8)).build(),
                one.toBuilder().renewal(Renewal.AUTO).build(),
                one.toBuilder().maxHold(Duration.ofSeconds(8)).build(),
                one.toBuilder().minHold(Duration.ofSeconds(4)).build(),
                one.toBuilder().fair(false).build(),
                one.toBuilder().interruptOnLoss(false).build());
        assertThat(others).doesNotContain(one).doesNotHaveDuplicates();
        assertThat(others).extracting(LockOptions::hashCode).doesNotContain(one.hashCode());
        assertThat(one)
                .hasToString("LockOptions[lease=PT7S, renewal=NONE, maxHold=PT6S, minHold=PT5S, fair=true,"
                        + " interruptOnLoss=true]");
        assertThat(one.maxHold()).contains(Duration.ofSeconds(6));
        assertThat(one.fair()).isTrue();
        assertThat(one.interruptOnLoss()).isTrue();
        assertThat(LockOptions.defaults().fair()).isFalse();
        assertThat(LockOptions.defaults().maxHold()).isEmpty();
        assertThat(LockOptions.defaults().lease()).isEqualTo(Duration.ofSeconds(15));
        assertThat(LockOptions.defaults().interruptOnLoss()).isFalse();
    }

    @Test
    void lockOptions_outOfRange_areRefused() {
        Map<String, Consumer<LockOptions.Builder>> wrong = new LinkedHashMap<>();
        wrong.put("lease must be positive, got PT0S", builder -> builder.lease(Duration.ZERO));
        wrong.put("lease must be positive, got PT-1S", builder -> builder.lease(Duration.ofSeconds(-1)));
        wrong.put(
                "lease must be at least 1 ms, got PT0.000999999S", builder -> builder.lease(Duration.ofNanos(999_999)));
        wrong.put(
                "lease must be at most 24 hours",
                builder -> builder.lease(Duration.ofHours(24).plusNanos(1)));
        wrong.put("maxHold must be positive", builder -> builder.maxHold(Duration.ZERO));
        wrong.put("minHold must not be negative", builder -> builder.minHold(Duration.ofNanos(-1)));
        wrong.put(
                "renewal is NONE",
                builder -> builder.lease(Duration.ofSeconds(1))
                        .renewal(Renewal.NONE)
                        .minHold(Duration.ofSeconds(2))
                        .build());
        wrong.put(
                "longer than maxHold",
                builder -> builder.maxHold(Duration.ofSeconds(1))
                        .minHold(Duration.ofSeconds(2))
                        .build());
        wrong.forEach((message, set) -> assertThatIllegalArgumentException()
                .isThrownBy(() -> set.accept(LockOptions.builder()))
                .withMessageContaining(message));
        LockOptions extreme = LockOptions.builder()
                .lease(Duration.ofHours(24))
                .renewal(Renewal.NONE)
                .minHold(Duration.ofHours(24))
                .maxHold(Duration.ofHours(24))
                .build();
        assertThat(extreme.minHold()).isEqualTo(extreme.lease());
        assertThat(LockOptions.builder().lease(Duration.ofMillis(1)).build().lease())
                .isEqualTo(Duration.ofMillis(1));
        assertThat(LockOptions.builder().minHold(Duration.ofMinutes(1)).build().renewal())
                .as("renewed for as long as minHold lasts")
                .isEqualTo(Renewal.AUTO);
    }

    @Test
    void clientOptions_outOfRange_areRefused() {
        Map<String, Consumer<LockClientOptions.Builder>> wrong = new LinkedHashMap<>();
        wrong.put("at most 128 characters", builder -> builder.who("x".repeat(129)));
        wrong.put("no control characters", builder -> builder.who("a\nb"));
        wrong.put("got -1", builder -> builder.handOffLimit(-1));
        wrong.put("got 1024", builder -> builder.handOffLimit(1024));
        wrong.put("handOffTime must be positive", builder -> builder.handOffTime(Duration.ZERO));
        wrong.put("requestTimeout must be positive", builder -> builder.requestTimeout(Duration.ZERO));
        wrong.put("unavailableTimeout must be positive", builder -> builder.unavailableTimeout(Duration.ZERO));
        wrong.forEach((message, set) -> assertThatIllegalArgumentException()
                .isThrownBy(() -> set.accept(LockClientOptions.builder()))
                .withMessageContaining(message));
        LockClientOptions extreme = LockClientOptions.builder()
                .who("x".repeat(128))
                .handOffLimit(1023)
                .build();
        assertThat(extreme.handOffLimit()).isEqualTo(1023);
        assertThat(extreme.who()).hasSize(128);
        assertThat(LockClientOptions.defaults())
                .hasToString("LockClientOptions[who=, lockOptions=" + LockOptions.defaults()
                        + ", requestTimeout=PT3S, unavailableTimeout=PT30S, handOffLimit=1000, handOffTime=PT0.01S,"
                        + " leakTracing=false]");
    }
}
