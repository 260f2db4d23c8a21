package dev.holdfast.lock.spring.actuate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.DistributedLock;
import dev.holdfast.lock.HolderInfo;
import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.memory.MemoryStore;
import dev.holdfast.lock.spring.boot.HoldfastAutoConfiguration;
import dev.holdfast.lock.testkit.fault.ForwardingClient;
import java.lang.reflect.Method;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.web.server.servlet.context.ServletWebServerApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;

/** The endpoint over HTTP, as an operator sees it. */
class LocksEndpointTest {
    private final HttpClient http = HttpClient.newHttpClient();

    @Test
    void endpoint_showsHoldersAndWaitersHere_andTheHolderOnTheServer() throws Exception {
        try (ConfigurableApplicationContext context = start();
                LockClient other = MemoryStore.named("endpoint")
                        .newClient(LockClientOptions.builder().who("other").build())) {
            DistributedLock lock = context.getBean(LockClient.class).lock("orders/42");
            long theirs;
            try (Lease mine = lock.acquire();
                    Lease their = other.lock("a b/ü?").acquire()) {
                theirs = their.token();
                var waiting = lock.acquireAsync(Duration.ofMinutes(1));
                String all = get(context, "/actuator/locks");
                assertThat(all)
                        .startsWith(
                                "{\"clients\":{\"holdfastLockClient\":[{\"name\":\"orders/42\",\"holders\":[{\"token\":"
                                        + mine.token())
                        .contains("\"thread\":\"" + Thread.currentThread().getName() + "\"", "\"lease\":true")
                        .containsPattern("\"remainingMillis\":1[0-9]{4}\\b")
                        .contains("\"waiters\":[{\"thread\":", "\"async\":true")
                        .doesNotContain("a b");
                waiting.cancel(true);
                assertThat(get(context, "/actuator/locks/orders/42"))
                        .startsWith("{\"name\":\"orders/42\",\"holders\":{\"holdfastLockClient\":[{\"who\":\"shop\"")
                        .contains(
                                "\"pid\":" + ProcessHandle.current().pid(),
                                "\"token\":" + mine.token(),
                                "\"demand\":\"exclusive\",\"slot\":0}]}");
                assertThat(get(context, "/actuator/locks/a%20b/%C3%BC%3F"))
                        .startsWith("{\"name\":\"a b/ü?\"")
                        .contains("\"who\":\"other\"", "\"token\":" + theirs);
            }
            Awaitility.await()
                    .untilAsserted(() -> assertThat(get(context, "/actuator/locks"))
                            .isEqualTo("{\"clients\":{\"holdfastLockClient\":[]}}"));
            assertThat(get(context, "/actuator/locks/orders/42")).isEqualTo("{\"name\":\"orders/42\",\"holders\":{}}");
            assertThat(get(context, "/actuator/health/locks"))
                    .contains("\"status\":\"UP\"", "\"held\":{\"holdfastLockClient\":0}");
        }
    }

    @Test
    void endpoint_showsAllWhoShareALockOrHavePermits() throws Exception {
        try (ConfigurableApplicationContext context = start();
                LockClient other = MemoryStore.named("endpoint").newClient(LockClientOptions.defaults())) {
            LockClient client = context.getBean(LockClient.class);
            try (Lease here = client.readWriteLock("prices").readLock().acquire();
                    Lease there = other.readWriteLock("prices").readLock().acquire();
                    Lease two = client.semaphore("printers", 4).acquire(2);
                    Lease one = client.semaphore("printers", 4).acquire()) {
                assertThat(get(context, "/actuator/locks"))
                        .containsPattern("\"prices\",\"holders\":\\[\\{\"token\":" + here.token()
                                + ",[^{}]*\"demand\":\"shared\"}]")
                        .containsPattern("\"printers\",\"holders\":\\[\\{\"token\":" + two.token()
                                + ",[^{}]*\"demand\":\"2 of 4 permits\"},\\{\"token\":" + one.token()
                                + ",[^{}]*\"demand\":\"1 of 4 permits\"}]");
                assertThat(get(context, "/actuator/locks/prices"))
                        .containsPattern("\\[\\{[^{}]*\"token\":" + here.token()
                                + ",\"demand\":\"shared\",\"slot\":0},\\{[^{}]*\"token\":" + there.token()
                                + ",\"demand\":\"shared\",\"slot\":0}]");
                assertThat(get(context, "/actuator/locks/printers"))
                        .contains(
                                "\"demand\":\"2 of 4 permits\",\"slot\":1}",
                                "\"demand\":\"1 of 4 permits\",\"slot\":2}");
            }
        }
    }

    @Test
    void nameThatIsNotAcceptable_isABadRequest_andASilentStoreIsNotAvailable() throws Exception {
        try (ConfigurableApplicationContext context = start()) {
            HttpResponse<String> answer = answer(context, "/actuator/locks/" + "a".repeat(600));
            assertThat(answer.statusCode()).isEqualTo(400);
            assertThat(answer.body()).contains("{\"error\":\"", "600");
            LockClient silent = new ForwardingClient(context.getBean(LockClient.class)) {
                @Override
                public List<HolderInfo> holders(String name) {
                    throw new LockUnavailableException("no answer");
                }
            };
            WebEndpointResponse<Object> failed =
                    new LocksEndpointWebExtension(new LocksEndpoint(Map.of("lockClient", silent))).lock("a");
            assertThat(failed.getStatus()).isEqualTo(503);
            assertThat(failed.getBody()).isEqualTo(Map.of("error", "no answer"));
        }
    }

    @Test
    void endpoint_onlyReads() {
        assertThat(Arrays.stream(LocksEndpoint.class.getDeclaredMethods())
                        .map(Method::getAnnotations)
                        .flatMap(Arrays::stream))
                .isNotEmpty()
                .noneMatch(annotation -> annotation instanceof WriteOperation || annotation instanceof DeleteOperation);
    }

    @Test
    void endpoint_isThereOnlyIfItIsExposed() {
        ApplicationContextRunner runner = new ApplicationContextRunner()
                .withConfiguration(
                        AutoConfigurations.of(HoldfastAutoConfiguration.class, LocksActuatorAutoConfiguration.class))
                .withPropertyValues("holdfast.uri=memory:");
        runner.run(context -> assertThat(context).doesNotHaveBean(LocksEndpoint.class));
        runner.withPropertyValues("management.endpoints.web.exposure.include=locks")
                .run(context -> assertThat(context).hasSingleBean(LocksEndpoint.class));
        runner.withPropertyValues("management.endpoints.web.exposure.include=locks", "holdfast.enabled=false")
                .run(context -> assertThat(context).doesNotHaveBean(LocksEndpoint.class));
    }

    private static ConfigurableApplicationContext start() {
        return new SpringApplicationBuilder(Application.class)
                .web(WebApplicationType.SERVLET)
                .properties(
                        "server.port=0",
                        "spring.application.name=shop",
                        "holdfast.uri=memory:endpoint",
                        "management.endpoints.web.exposure.include=locks,health",
                        "management.endpoint.health.show-details=always",
                        "management.health.locks.enabled=true")
                .run();
    }

    private String get(ConfigurableApplicationContext context, String path) throws Exception {
        HttpResponse<String> answer = answer(context, path);
        assertThat(answer.statusCode()).as(answer.body()).isEqualTo(200);
        return answer.body();
    }

    private HttpResponse<String> answer(ConfigurableApplicationContext context, String path) throws Exception {
        int port = ((ServletWebServerApplicationContext) context).getWebServer().getPort();
        return http.send(
                HttpRequest.newBuilder(URI.create("http://localhost:" + port + path))
                        .build(),
                HttpResponse.BodyHandlers.ofString());
    }

    @SpringBootConfiguration
    @EnableAutoConfiguration
    static class Application {}
}
