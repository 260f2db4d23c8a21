package dev.holdfast.examples.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.testkit.server.PostgresServer;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Three processes of the application on one PostgreSQL, one of them processed ahead of time, one told to end. */
class ThreeInstancesIT {
    private static final String LEADS = "this instance leads, token ";

    @TempDir
    Path folder;

    @Test
    void oneReports_oneLeads_noneOverdraws_andARestartLeavesNoLockBehind() throws Exception {
        try (PostgresServer database = PostgresServer.start();
                Instance first = Instance.start(folder, "first", database)) {
            first.awaitLine(LEADS);
            try (Instance second = Instance.start(folder, "second", database);
                    Instance third = Instance.start(folder, "third", database, "-Dspring.aot.enabled=true")) {
                List<Instance> all = List.of(first, second, third);
                second.awaitLine("Started ShopApplication");
                third.awaitLine("Started ShopApplication");
                assertThat(third.lines()).anyMatch(line -> line.contains("Starting AOT-processed ShopApplication"));

                withdraw(all);
                await().atMost(Duration.ofMinutes(1)).untilAsserted(() -> {
                    for (Instance instance : all) {
                        assertThat(reports(instance, "begun")).isGreaterThanOrEqualTo(3);
                    }
                });
                assertThat(reports(first, "made") + reports(second, "made") + reports(third, "made"))
                        .as("reports of three instances, each of which began several")
                        .isEqualTo(1);

                assertThat(first.get("/actuator/locks").body())
                        .contains("{\"name\":\"shop/leader\",\"holder\":{\"token\":", "\"thread\":\"leader\"");
                assertThat(second.get("/actuator/locks").body())
                        .contains("{\"name\":\"shop/leader\",\"holder\":null,\"waiters\":[{\"thread\":\"leader\"");
                assertThat(third.get("/actuator/locks/shop/leader").body()).contains("\"pid\":" + first.pid());

                long terminated = System.nanoTime();
                first.terminate();
                await().atMost(Duration.ofSeconds(30))
                        .pollInterval(Duration.ofMillis(5))
                        .until(() -> second.count(LEADS) + third.count(LEADS) == 1);
                long millis = (System.nanoTime() - terminated) / 1_000_000;
                System.out.println("next grant " + millis + " ms after SIGTERM to the holder");
                assertThat(first.awaitExit())
                        .as("exit status of a process that ended by SIGTERM")
                        .isEqualTo(143);
                // On an idle machine it is below half a second. By its lease it would be 60.
                assertThat(millis).isLessThan(15_000);
                for (Instance instance : all) {
                    assertThat(instance.lines()).noneMatch(line -> line.contains(" WARN ") || line.contains(" ERROR "));
                }
            }
        }
    }

    private static int reports(Instance instance, String what) throws Exception {
        Matcher number = Pattern.compile("\"" + what + "\":(\\d+)")
                .matcher(instance.get("/reports").body());
        assertThat(number.find()).isTrue();
        return Integer.parseInt(number.group(1));
    }

    /** Twenty withdrawals of 10 from an account of 100, at three instances at once. */
    private static void withdraw(List<Instance> all) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(6);
        List<Callable<HttpResponse<String>>> calls = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Instance instance = all.get(i % all.size());
            calls.add(() -> instance.post("/accounts/1/withdraw?amount=10"));
        }
        int done = 0;
        for (var call : executor.invokeAll(calls)) {
            HttpResponse<String> answer = call.get();
            assertThat(answer.statusCode()).as(answer.body()).isIn(200, 409);
            done += answer.statusCode() == 200 ? 1 : 0;
        }
        executor.shutdown();
        assertThat(done).isEqualTo(10);
        assertThat(all.get(0).get("/accounts/1").body()).isEqualTo("0");
    }
}
