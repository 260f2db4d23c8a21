package dev.holdfast.lock.micrometer;

import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import java.util.Locale;

/**
 * The names of an observation: {@code holdfast.locked}, with the keys {@code lock} (bounded) and {@code outcome} for meters and
 * traces, and {@code holdfast.lock.name} and {@code holdfast.lock.token} for traces only. Override what should differ. Stateless.
 */
public class LockObservationConvention implements ObservationConvention<LockObservationContext> {

    /** Creates the convention. */
    public LockObservationConvention() {}

    @Override
    public boolean supportsContext(Observation.Context context) {
        return context instanceof LockObservationContext;
    }

    @Override
    public String getName() {
        return "holdfast.locked";
    }

    @Override
    public String getContextualName(LockObservationContext context) {
        return "locked " + context.lockTag();
    }

    @Override
    public KeyValues getLowCardinalityKeyValues(LockObservationContext context) {
        return KeyValues.of(
                KeyValue.of("lock", context.lockTag()),
                KeyValue.of("outcome", context.outcome().name().toLowerCase(Locale.ROOT)));
    }

    @Override
    public KeyValues getHighCardinalityKeyValues(LockObservationContext context) {
        KeyValues keys = KeyValues.of(KeyValue.of("holdfast.lock.name", context.lockName()));
        Long token = context.token();
        return token == null ? keys : keys.and(KeyValue.of("holdfast.lock.token", Long.toString(token)));
    }
}
