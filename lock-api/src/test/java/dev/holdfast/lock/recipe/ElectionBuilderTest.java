package dev.holdfast.lock.recipe;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import dev.holdfast.lock.Election;
import dev.holdfast.lock.LockClosedException;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The required settings of an election, and the refused ones. */
class ElectionBuilderTest {
    private static final LockOptions OPTIONS =
            LockOptions.builder().lease(Duration.ofSeconds(12)).build();

    /** No lock can be acquired: an election ends immediately. */
    private final PlannedLocks locks = new PlannedLocks((name, timeout) -> {
        throw new LockClosedException("the client was closed");
    });

    private Election.Builder election() {
        return Recipes.election(locks.client(), "billing");
    }

    @Test
    void name_thatIsBad_isRefusedAtOnce() {
        assertThatIllegalArgumentException()
                .isThrownBy(() -> Recipes.election(locks.client(), " "))
                .withMessageContaining("lock name");
    }

    @Test
    @SuppressWarnings("NullAway")
    void setters_areCalledOnceEach_withSomething() {
        Map<String, UnaryOperator<Election.Builder>> setters = new LinkedHashMap<>();
        setters.put("onElected", builder -> builder.onElected(leadership -> {}));
        setters.put("onRevoked", builder -> builder.onRevoked(leadership -> {}));
        setters.put("options", builder -> builder.options(OPTIONS));
        setters.put("stopTime", builder -> builder.stopTime(Duration.ofSeconds(1)));
        setters.forEach((what, setter) -> {
            Election.Builder builder = election();
            assertThat(setter.apply(builder)).isSameAs(builder);
            assertThatIllegalStateException()
                    .isThrownBy(() -> setter.apply(builder))
                    .withMessage(what + " was already set");
        });
        Map<String, UnaryOperator<Election.Builder>> nothing = new LinkedHashMap<>();
        nothing.put("onElected", builder -> builder.onElected(null));
        nothing.put("onRevoked", builder -> builder.onRevoked(null));
        nothing.put("options", builder -> builder.options(null));
        nothing.put("stopTime", builder -> builder.stopTime(null));
        nothing.forEach((what, setter) -> assertThatNullPointerException()
                .isThrownBy(() -> setter.apply(election()))
                .withMessage(what));
    }

    @Test
    void start_withoutACallback_saysWhatIsMissing() {
        assertThatIllegalStateException()
                .isThrownBy(election().onRevoked(leadership -> {})::start)
                .withMessage("election 'billing': onElected is missing; set the callback for the leader");
    }

    @Test
    void options_areThoseThatAreGiven_orTheClients() {
        election().onElected(leadership -> {}).options(OPTIONS).start().close();
        assertThat(locks.options).containsExactly(LockOptions.defaults(), OPTIONS);

        locks.options.clear();
        election().onElected(leadership -> {}).start().close();
        assertThat(locks.options).containsExactly(LockOptions.defaults(), LockOptions.defaults());
    }

    @Test
    void lease_thatIsNotRenewedForAsLongAsItLasts_isRefused() {
        Map<LockOptions, Renewal> refused = Map.of(
                OPTIONS.toBuilder().renewal(Renewal.NONE).build(),
                Renewal.NONE,
                OPTIONS.toBuilder().maxHold(Duration.ofDays(1)).build(),
                Renewal.AUTO);
        refused.forEach((options, renewal) -> assertThatIllegalArgumentException()
                .isThrownBy(election().onElected(leadership -> {}).options(options)::start)
                .withMessage(
                        "election 'billing': a leader's lease is renewed for as long as it leads; leave out renewal("
                                + renewal + ") and maxHold, and use yield to let others lead"));
    }

    @ParameterizedTest
    @CsvSource({
        "PT-1S, false",
        "PT0S, false",
        "PT0.000000001S, true",
        "PT6S, true",
        "PT6.000000001S, false",
        "PT2562047788015215H, false"
    })
    void stopTime_isAtMostHalfOfTheElectionsLease(Duration stopTime, boolean allowed) {
        Election.Builder builder =
                election().onElected(leadership -> {}).options(OPTIONS).stopTime(stopTime);
        if (allowed) {
            builder.start().close();
        } else {
            assertThatIllegalArgumentException()
                    .isThrownBy(builder::start)
                    .withMessage("election 'billing': stopTime must be positive and at most half of the lease of PT12S,"
                            + " got " + stopTime);
        }
    }
}
