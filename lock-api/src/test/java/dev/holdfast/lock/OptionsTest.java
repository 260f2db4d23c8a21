package dev.holdfast.lock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import java.time.Duration;
import java.util.LinkedHashMap;
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
    void toBuilder_together_isValidated() {
        LockOptions from = LockOptions.builder().maxHold(Duration.ofSeconds(1)).build();
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> from.toBuilder().minHold(Duration.ofSeconds(2)).build());
    }
}
