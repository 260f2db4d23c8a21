package dev.holdfast.lock.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.Renewal;
import dev.holdfast.lock.spring.NamedLockOptions;
import dev.holdfast.lock.spring.aop.LockedAdvisor;
import dev.holdfast.lock.spring.aop.UnlockedMethodsWarning;
import dev.holdfast.lock.spring.boot.HoldfastProperties.InitializeSchema;
import dev.holdfast.lock.spring.hold.InTransaction;
import dev.holdfast.lock.spring.metrics.LocksMetricsAutoConfiguration;
import java.io.IOException;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;

/** Each property reaches the library, and one that it refuses ends the start with its name. */
class HoldfastPropertiesTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(HoldfastAutoConfiguration.class))
            .withPropertyValues("holdfast.uri=memory:");

    private final ApplicationContextRunner withAdvice = runner.withConfiguration(AutoConfigurations.of(
            LockedAutoConfiguration.class, UnlockedAutoConfiguration.class, LocksMetricsAutoConfiguration.class));

    @Test
    void nothingSet_keepsTheLibrarysDefaults() {
        runner.run(context -> {
            assertThat(context.getBean(LockClientOptions.class).toString())
                    .isEqualTo(LockClientOptions.defaults().toString());
            HoldfastProperties properties = context.getBean(HoldfastProperties.class);
            assertThat(properties.jdbc().initializeSchema()).isEqualTo(InitializeSchema.EMBEDDED);
            assertThat(properties.annotation().longestWait()).isNull();
            assertThat(properties.annotation().inTransaction()).isEqualTo(InTransaction.DEFER);
            assertThat(properties.annotation().order()).isEqualTo(LockedAdvisor.DEFAULT_ORDER);
            assertThat(properties.metrics().maxNames()).isEqualTo(100);
        });
    }

    @Test
    void groupThatIsSetInPart_hasTheSameDefaults_asOneThatIsNotSet() {
        HoldfastProperties nothing = bound(runner);
        HoldfastProperties inPart = bound(runner.withPropertyValues(
                "holdfast.lock.fair=true",
                "holdfast.jdbc.table=own",
                "holdfast.annotation.wait=5s",
                "holdfast.metrics.enabled=false"));
        assertThat(nothing.lock()).isEqualTo(new HoldfastProperties.Lock(null, null, null, null, null, null));
        assertThat(inPart.lock()).isEqualTo(new HoldfastProperties.Lock(null, null, null, null, true, null));
        assertThat(inPart.jdbc())
                .isEqualTo(new HoldfastProperties.Jdbc(nothing.jdbc().initializeSchema(), null, "own", null));
        HoldfastProperties.Annotation annotation = nothing.annotation();
        assertThat(inPart.annotation())
                .isEqualTo(new HoldfastProperties.Annotation(
                        annotation.enabled(), Duration.ofSeconds(5), annotation.order(), annotation.inTransaction()));
        assertThat(inPart.metrics())
                .isEqualTo(
                        new HoldfastProperties.Metrics(false, nothing.metrics().maxNames()));
        assertThat(nothing.annotation().enabled()).isTrue();
        assertThat(nothing.metrics().enabled()).isTrue();
        assertThat(nothing.locks()).isEmpty();
    }

    private static HoldfastProperties bound(ApplicationContextRunner runner) {
        AtomicReference<HoldfastProperties> bound = new AtomicReference<>();
        runner.run(context -> bound.set(context.getBean(HoldfastProperties.class)));
        return bound.get();
    }

    @Test
    void clientProperties_reachTheClientsOptions() {
        runner.withPropertyValues(
                        "holdfast.who=till-1",
                        "holdfast.request-timeout=2s",
                        "holdfast.unavailable-timeout=20s",
                        "holdfast.hand-off-limit=7",
                        "holdfast.hand-off-time=5ms",
                        "holdfast.leak-tracing=true",
                        "holdfast.lock.lease=9s")
                .run(context -> {
                    LockClientOptions options = context.getBean(LockClientOptions.class);
                    assertThat(options.who()).isEqualTo("till-1");
                    assertThat(options.requestTimeout()).isEqualTo(Duration.ofSeconds(2));
                    assertThat(options.unavailableTimeout()).isEqualTo(Duration.ofSeconds(20));
                    assertThat(options.handOffLimit()).isEqualTo(7);
                    assertThat(options.handOffTime()).isEqualTo(Duration.ofMillis(5));
                    assertThat(options.leakTracing()).isTrue();
                    assertThat(context.getBean(LockClient.class)
                                    .lock("a")
                                    .options()
                                    .lease())
                            .isEqualTo(Duration.ofSeconds(9));
                });
    }

    /** The first lock with them would be refused otherwise, which may be at night. */
    @Test
    void optionsThatTheStoreRefuses_endTheStart_andNotTheFirstLock() {
        assertThatStoreRefuses("holdfast.lock", "a lease of 50 ms", "holdfast.lock.lease=50ms");
        assertThatStoreRefuses("holdfast.locks.nightly", "a lease of 50 ms", "holdfast.locks.nightly.lease=50ms");
        assertThatStoreRefuses("holdfast.lock", "fair(true)", "holdfast.lock.fair=true");
    }

    private void assertThatStoreRefuses(String property, String reason, String... values) {
        Set<Thread> before = Thread.getAllStackTraces().keySet();
        runner.withPropertyValues("holdfast.uri=jdbc:h2:mem:refused;DB_CLOSE_DELAY=-1;holdfast.createTable=true")
                .withPropertyValues(values)
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .contains(property)
                        .contains(reason));
        // A thread in its last instructions is seen for a moment.
        await().untilAsserted(() -> assertThat(Thread.getAllStackTraces().keySet())
                .filteredOn(
                        thread -> !before.contains(thread) && thread.getName().startsWith("holdfast"))
                .isEmpty());
    }

    @Test
    void who_isTheApplicationsNameByDefault() {
        runner.withPropertyValues("spring.application.name=shop")
                .run(context -> assertThat(
                                context.getBean(LockClientOptions.class).who())
                        .isEqualTo("shop"));
    }

    @Test
    void namedOptions_startFromTheDefaults() {
        runner.withPropertyValues(
                        "holdfast.lock.lease=9s",
                        "holdfast.lock.interrupt-on-loss=true",
                        "holdfast.locks.nightly.max-hold=1h",
                        "holdfast.locks.nightly.min-hold=5m",
                        "holdfast.locks.once.renewal=none",
                        "holdfast.locks.once.fair=true",
                        "holdfast.locks.once.lease=1m")
                .run(context -> {
                    NamedLockOptions options = context.getBean(NamedLockOptions.class);
                    assertThat(options.defaults())
                            .isEqualTo(LockOptions.builder()
                                    .lease(Duration.ofSeconds(9))
                                    .interruptOnLoss(true)
                                    .build());
                    assertThat(options.get("nightly"))
                            .isEqualTo(options.defaults().toBuilder()
                                    .maxHold(Duration.ofHours(1))
                                    .minHold(Duration.ofMinutes(5))
                                    .build());
                    assertThat(options.get("once").renewal()).isEqualTo(Renewal.NONE);
                    assertThat(options.get("once").fair()).isTrue();
                    assertThat(options.get("once").lease()).isEqualTo(Duration.ofMinutes(1));
                    assertThatThrownBy(() -> options.get("nigthly"))
                            .hasMessage(
                                    "no lock options 'nigthly'; there are [nightly, once]; set holdfast.locks.nigthly.*");
                });
    }

    @Test
    void toString_hasNoPassword() {
        runner.withPropertyValues("holdfast.uri=memory:s3cret", "holdfast.who=shop")
                .run(context -> assertThat(
                                context.getBean(HoldfastProperties.class).toString())
                        .contains("uri=memory:******", "who=shop")
                        .doesNotContain("s3cret"));
    }

    @Test
    void annotationProperties_areBound() {
        runner.withPropertyValues(
                        "holdfast.annotation.wait=5s",
                        "holdfast.annotation.order=17",
                        "holdfast.annotation.in-transaction=fail",
                        "holdfast.annotation.enabled=false",
                        "holdfast.metrics.enabled=false",
                        "holdfast.metrics.max-names=10")
                .run(context -> {
                    HoldfastProperties properties = context.getBean(HoldfastProperties.class);
                    assertThat(properties.annotation())
                            .isEqualTo(new HoldfastProperties.Annotation(
                                    false, Duration.ofSeconds(5), 17, InTransaction.FAIL));
                    assertThat(properties.metrics()).isEqualTo(new HoldfastProperties.Metrics(false, 10));
                });
    }

    @Test
    void refusedValues_endTheStartWithTheirName() {
        for (String[] wrong : new String[][] {
            {"holdfast.lock.lease=0s", "holdfast.lock.lease", "lease must be"},
            {"holdfast.locks.nightly.lease=-1s", "holdfast.locks.nightly.lease", "lease must be"},
            {"holdfast.hand-off-limit=2000", "holdfast.hand-off-limit", "0 to 1023"},
            {"holdfast.request-timeout=0s", "holdfast.request-timeout", "requestTimeout must be"},
            {"holdfast.annotation.wait=-1s", "holdfast.annotation.wait", "must not be negative"},
            {"holdfast.metrics.max-names=-1", "holdfast.metrics.max-names", "must not be negative, got -1"},
            {"holdfast.uri=rediss//x", "holdfast.uri", ""},
        }) {
            runner.withPropertyValues(wrong[0]).run(context -> {
                FailureAnalysis analysis = FailureAnalyses.of(context.getStartupFailure());
                assertThat(analysis.getDescription())
                        .startsWith("The value of " + wrong[1] + " is not acceptable: ")
                        .contains(wrong[2]);
                assertThat(analysis.getAction()).contains(wrong[1]);
            });
        }
        runner.withPropertyValues("holdfast.locks.nightly.max-hold=1m", "holdfast.locks.nightly.min-hold=2m")
                .run(context -> assertThat(
                                FailureAnalyses.of(context.getStartupFailure()).getDescription())
                        .contains("holdfast.locks.nightly ", "minHold PT2M is longer than maxHold PT1M"));
    }

    @Test
    void valueOfAnotherType_endsTheStart_withPropertyAndValueAndWhatIsAllowed() {
        List<RecordComponent> leaves = new ArrayList<>();
        List<String> names = new ArrayList<>();
        addLeaves("holdfast", HoldfastProperties.class, names, leaves);
        assertThat(names)
                .contains("holdfast.annotation.enabled", "holdfast.locks.x.lease", "holdfast.clients.x.lock.fair");
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            Class<?> type = leaves.get(i).getType();
            String allowed = type == boolean.class || type == Boolean.class
                    ? "true or false"
                    : type == Duration.class
                            ? "such as 5s"
                            : type.isEnum() ? enumNames(type) : type == String.class ? null : "a whole number";
            if (allowed != null) {
                withAdvice.withPropertyValues(name + "=purple").run(context -> {
                    FailureAnalysis analysis = FailureAnalyses.of(context.getStartupFailure());
                    assertThat(analysis.getDescription())
                            .startsWith("The value of " + name + " is not acceptable: ")
                            .contains("'purple'", allowed);
                    assertThat(analysis.getAction()).contains(name);
                });
            }
        }
    }

    private static String enumNames(Class<?> type) {
        return Arrays.stream(type.getEnumConstants())
                .map(constant -> constant.toString().toLowerCase(Locale.ROOT).replace('_', '-'))
                .collect(Collectors.joining(", "));
    }

    private static void addLeaves(String prefix, Class<?> type, List<String> names, List<RecordComponent> leaves) {
        for (RecordComponent component : type.getRecordComponents()) {
            String name = component.getName().equals("longestWait")
                    ? "wait"
                    : component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
            String path = prefix + "." + name;
            if (component.getType() == Map.class) {
                Class<?> value =
                        (Class<?>) ((ParameterizedType) component.getGenericType()).getActualTypeArguments()[1];
                addLeaves(path + ".x", value, names, leaves);
            } else if (component.getType().isRecord()) {
                addLeaves(path, component.getType(), names, leaves);
            } else {
                names.add(path);
                leaves.add(component);
            }
        }
    }

    @Test
    void valueInPlaceOfAGroup_endsTheStart_withItsName() {
        for (String group : List.of("holdfast.lock", "holdfast.annotation", "holdfast.clients", "holdfast.locks.x")) {
            withAdvice
                    .withPropertyValues(group + "=purple")
                    .run(context -> assertThat(FailureAnalyses.of(context.getStartupFailure())
                                    .getDescription())
                            .startsWith(
                                    "The value of " + group + " is not acceptable: it must be a group of properties"));
        }
    }

    @Test
    void switch_takesEveryWordOfABoolean() {
        for (String off : List.of("false", "off", "no", "0", "OFF")) {
            withAdvice
                    .withPropertyValues("holdfast.annotation.enabled=" + off)
                    .run(context -> assertThat(context)
                            .hasSingleBean(LockClient.class)
                            .hasSingleBean(UnlockedMethodsWarning.class)
                            .doesNotHaveBean(LockedAdvisor.class));
            withAdvice
                    .withPropertyValues("holdfast.enabled=" + off)
                    .run(context -> assertThat(context)
                            .hasNotFailed()
                            .doesNotHaveBean(LockClient.class)
                            .hasSingleBean(UnlockedMethodsWarning.class));
        }
        withAdvice
                .withPropertyValues("holdfast.enabled=on", "holdfast.annotation.enabled=yes")
                .run(context -> assertThat(context)
                        .hasSingleBean(LockedAdvisor.class)
                        .doesNotHaveBean(UnlockedMethodsWarning.class));
    }

    @Test
    void unknownProperties_endTheStart() {
        for (String unknown : List.of("holdfast.leese=1s", "holdfast.lock.leese=1s", "holdfast.locks.a.leese=1s")) {
            runner.withPropertyValues(unknown)
                    .run(context -> assertThat(context.getStartupFailure())
                            .rootCause()
                            .hasMessageContaining(unknown.substring(0, unknown.indexOf('='))));
        }
        runner.withPropertyValues("holdfast.backend=mongo")
                .run(context ->
                        assertThat(context.getStartupFailure()).rootCause().hasMessageContaining("Backend.mongo"));
    }

    @Test
    void metadata_hasTheLibrarysDefaults() throws IOException {
        String metadata =
                Files.readString(Path.of("src/main/resources/META-INF/additional-spring-configuration-metadata.json"));
        String[] pairs = {
            "request-timeout", "unavailable-timeout", "hand-off-limit", "hand-off-time", "lock.lease", "lock.fair",
        };
        LockClientOptions defaults = LockClientOptions.defaults();
        Object[] values = {
            defaults.requestTimeout(),
            defaults.unavailableTimeout(),
            defaults.handOffLimit(),
            defaults.handOffTime(),
            defaults.lockOptions().lease(),
            defaults.lockOptions().fair(),
        };
        for (int i = 0; i < pairs.length; i++) {
            Matcher found = Pattern.compile(
                            "\"name\": \"holdfast." + pairs[i] + "\",\\s+\"defaultValue\": \"?([^\"\\s]+)")
                    .matcher(metadata);
            assertThat(found.find()).as(pairs[i]).isTrue();
            assertThat(values[i] instanceof Duration ? DurationStyle.detectAndParse(found.group(1)) : found.group(1))
                    .as(pairs[i])
                    .isEqualTo(values[i] instanceof Duration ? values[i] : values[i].toString());
        }
    }

    @Test
    void metadata_describesEveryProperty() throws IOException {
        String metadata = Files.readString(Path.of("target/classes/META-INF/spring-configuration-metadata.json"));
        assertThat(metadata)
                .contains(
                        "\"holdfast.enabled\"",
                        "\"holdfast.uri\"",
                        "\"holdfast.backend\"",
                        "\"holdfast.lock.max-hold\"",
                        "\"holdfast.locks\"",
                        "\"holdfast.jdbc.initialize-schema\"",
                        "\"holdfast.redis.prefix\"",
                        "\"holdfast.annotation.wait\"",
                        "\"holdfast.annotation.in-transaction\"",
                        "\"holdfast.metrics.enabled\"");
        String section = metadata.substring(metadata.indexOf("\"properties\""));
        List<String> properties = Arrays.stream(section.split("\\{"))
                .filter(property -> property.contains("\"name\": \"holdfast."))
                .toList();
        assertThat(properties)
                .hasSizeGreaterThan(25)
                .allSatisfy(property -> assertThat(property).contains("\"description\""));
    }
}
