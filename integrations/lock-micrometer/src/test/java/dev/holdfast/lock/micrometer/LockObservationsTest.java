package dev.holdfast.lock.micrometer;

import static org.assertj.core.api.Assertions.assertThat;

import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.tracing.handler.DefaultTracingObservationHandler;
import io.micrometer.tracing.otel.bridge.OtelCurrentTraceContext;
import io.micrometer.tracing.otel.bridge.OtelTracer;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Context;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.trace.ReadWriteSpan;
import io.opentelemetry.sdk.trace.ReadableSpan;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.SpanProcessor;
import io.opentelemetry.sdk.trace.data.SpanData;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Observations as OpenTelemetry's spans by Micrometer's bridge, and as meters. */
class LockObservationsTest {
    private final List<SpanData> spans = new ArrayList<>();
    private final SdkTracerProvider provider =
            SdkTracerProvider.builder().addSpanProcessor(new Keeping()).build();
    private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
    private final ObservationRegistry registry = ObservationRegistry.create();
    private final LockObservations observations = new LockObservations(registry);

    /** Keeps the spans that end. */
    private final class Keeping implements SpanProcessor {
        @Override
        public void onStart(Context parent, ReadWriteSpan span) {}

        @Override
        public boolean isStartRequired() {
            return false;
        }

        @Override
        public void onEnd(ReadableSpan span) {
            spans.add(span.toSpanData());
        }

        @Override
        public boolean isEndRequired() {
            return true;
        }

        @Override
        public CompletableResultCode shutdown() {
            return CompletableResultCode.ofSuccess();
        }
    }

    LockObservationsTest() {
        var tracer = new OtelTracer(provider.get("holdfast"), new OtelCurrentTraceContext(), event -> {});
        registry.observationConfig()
                .observationHandler(new DefaultTracingObservationHandler(tracer))
                .observationHandler(new DefaultMeterObservationHandler(meters));
    }

    @AfterEach
    void close() {
        provider.close();
    }

    @Test
    void meterOfGrants_countsThemAsAcquired() {
        LockObservation observation = observations.start("orders/1");
        observation.acquired(7);
        observation.stop();
        assertThat(meters.get("holdfast.locked.lock.acquired").counters())
                .singleElement()
                .satisfies(counter -> {
                    assertThat(counter.count()).isEqualTo(1);
                    assertThat(counter.getId().getTag("outcome")).isEqualTo("acquired");
                });
        assertThat(meters.get("holdfast.locked").timer().getId().getTag("outcome"))
                .isEqualTo("acquired");
    }

    private static String attribute(SpanData span, String key) {
        return span.getAttributes().get(AttributeKey.stringKey(key));
    }

    @Test
    void guardedCall_isASpan_withNameAndTokenAndTheMomentOfTheGrant() {
        LockObservation observation = observations.start("orders/4711");
        try (Observation.Scope scope = observation.openScope()) {
            observation.acquired(17);
            assertThat(Span.current().getSpanContext().isValid()).isTrue();
            assertThat(scope.getCurrentObservation().getContext()).isInstanceOf(LockObservationContext.class);
        }
        observation.stop();

        assertThat(spans).singleElement().satisfies(span -> {
            assertThat(span.getName()).isEqualTo("locked orders");
            assertThat(attribute(span, "holdfast.lock.name")).isEqualTo("orders/4711");
            assertThat(attribute(span, "holdfast.lock.token")).isEqualTo("17");
            assertThat(attribute(span, "lock")).isEqualTo("orders");
            assertThat(attribute(span, "outcome")).isEqualTo("acquired");
            assertThat(span.getEvents())
                    .singleElement()
                    .satisfies(event -> assertThat(event.getName()).isEqualTo("lock acquired"));
            assertThat(span.getStatus().getStatusCode()).isNotEqualTo(StatusCode.ERROR);
        });
    }

    @Test
    void busyAndFailedCalls_haveTheirOutcomeAndNoToken() {
        LockObservation busy = observations.start("orders/1");
        busy.busy();
        busy.stop();
        LockObservation failed = observations.start("orders/2");
        failed.error(new IllegalStateException("on purpose"));
        failed.stop();
        LockObservation after = observations.start("orders/3");
        after.acquired(3);
        after.error(new IllegalStateException("of the code"));
        after.stop();

        assertThat(spans).extracting(span -> attribute(span, "outcome")).containsExactly("busy", "failed", "acquired");
        assertThat(spans)
                .extracting(span -> attribute(span, "holdfast.lock.token"))
                .containsExactly(null, null, "3");
        assertThat(spans)
                .extracting(span -> span.getStatus().getStatusCode())
                .containsExactly(StatusCode.OK, StatusCode.ERROR, StatusCode.ERROR);
    }

    @Test
    void meters_ofObservations_haveABoundedNumberOfSeries() {
        for (int i = 0; i < 300; i++) {
            LockObservation observation = observations.start("name" + i + "/" + i);
            observation.acquired(i + 1);
            observation.stop();
        }

        assertThat(meters.find("holdfast.locked").timers()).hasSize(101);
        assertThat(meters.getMeters().stream().map(Meter::getId))
                .allMatch(id -> id.getTag("holdfast.lock.token") == null && id.getTag("holdfast.lock.name") == null);
    }

    @Test
    void convention_isReplaceable() {
        LockObservations own = new LockObservations(
                registry,
                new LockObservationConvention() {
                    @Override
                    public String getName() {
                        return "shop.locked";
                    }
                },
                name -> "all",
                1);
        LockObservation observation = own.start("orders/1");
        observation.acquired(1);
        observation.stop();

        assertThat(meters.get("shop.locked").tag("lock", "all").timer().count()).isEqualTo(1);
    }

    @Test
    void nobodyObserves_nothingHappens() {
        LockObservation observation = new LockObservations(ObservationRegistry.NOOP).start("orders/1");
        observation.acquired(1);
        observation.stop();

        assertThat(spans).isEmpty();
    }
}
