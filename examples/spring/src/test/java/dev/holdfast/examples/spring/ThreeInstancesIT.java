package dev.holdfast.examples.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.PostgresServer;
import java.io.IOException;
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
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Three processes of the application on one PostgreSQL, one of them processed ahead of time, two shut down. {@code
 * -Dholdfast.spring.aot=false} starts that one like the others, for another version of Spring than the one that has processed it.
 */
@House("containers:rolling")
class ThreeInstancesIT {
    private static final boolean AHEAD_OF_TIME = !"false".equals(System.getProperty("holdfast.spring.aot"));
    private static final String LEADS = "this instance leads, token ";

    @TempDir
    Path folder;

    @Test
    void oneReports_oneLeads_noneOverdraws_andWhoIsToldToEndLeavesNoLockBehind() throws Exception {
        try (PostgresServer database = PostgresServer.start();
                Instance first = Instance.start(folder, "first", database)) {
            first.awaitLine(LEADS);
            try (Instance second = Instance.start(folder, "second", database);
                    Instance third =
                            Instance.start(folder, "third", database, "-Dspring.aot.enabled=" + AHEAD_OF_TIME)) {
                List<Instance> all = List.of(first, second, third);
                second.awaitLine("Started ShopApplication");
                third.awaitLine("Started ShopApplication");
                assertThat(third.count("Starting AOT-processed ShopApplication"))
                        .isEqualTo(AHEAD_OF_TIME ? 1 : 0);

                transfer(all);
                number(all);
                await().atMost(Duration.ofMinutes(1)).untilAsserted(() -> {
                    for (Instance instance : all) {
                        assertThat(skippedReports(instance)).isGreaterThanOrEqualTo(2);
                    }
                });
                int reports = 0;
                for (Instance instance : all) {
                    reports += Integer.parseInt(instance.get("/reports").body());
                }
                assertThat(reports)
                        .as("reports of three instances, each of which has skipped several")
                        .isEqualTo(1);

                assertThat(first.get("/actuator/locks").body())
                        .contains(
                                "{\"name\":\"shop/leader\",\"holders\":[{\"token\":",
                                "\"thread\":\"holdfast-election-shop/leader\"");
                assertThat(second.get("/actuator/locks").body())
                        .contains(
                                "{\"name\":\"shop/leader\",\"holders\":[],\"waiters\":[{\"thread\":\"holdfast-election-shop/leader\"");
                assertThat(third.get("/actuator/locks/shop/leader").body()).contains("\"pid\":" + first.pid());

                long once = terminateLeader(first, List.of(second, third));
                Instance next = second.count(LEADS) > 0 ? second : third;
                long again = terminateLeader(next, List.of(next == second ? third : second));
                assertThat(Math.min(once, again))
                        .as("milliseconds to the next grant, the faster of two times: the machine may be busy")
                        .isLessThan(10_000);
                for (Instance instance : all) {
                    assertThat(instance.lines()).noneMatch(line -> line.contains(" WARN ") || line.contains(" ERROR "));
                }
            }
        }
    }

    /** Tells the leader to end while it holds its lock; returns how many milliseconds later another one leads. */
    private static long terminateLeader(Instance leader, List<Instance> others) throws Exception {
        long begin = System.nanoTime();
        leader.terminate();
        await().atMost(Duration.ofSeconds(30))
                .pollInterval(Duration.ofMillis(5))
                .until(() -> isLed(others));
        long millis = (System.nanoTime() - begin) / 1_000_000;
        System.out.println("next grant " + millis + " ms after SIGTERM to the holder");
        assertThat(leader.awaitExit())
                .as("exit status of a process that ended by SIGTERM")
                .isEqualTo(143);
        assertThat(millis).as("by its lease it would be 60 s").isLessThan(15_000);
        return millis;
    }

    private static boolean isLed(List<Instance> instances) throws IOException {
        for (Instance instance : instances) {
            if (instance.count(LEADS) > 0) {
                return true;
            }
        }
        return false;
    }

    private static int skippedReports(Instance instance) throws Exception {
        HttpResponse<String> skipped =
                instance.get("/actuator/metrics/holdfast.lock.acquire?tag=lock:jobs&tag=outcome:busy");
        Matcher count = Pattern.compile("\"COUNT\",\"value\":(\\d+)").matcher(skipped.body());
        return count.find() ? Integer.parseInt(count.group(1)) : 0;
    }

    /** Twenty transfers of 10 from an account of 100, at three instances at once. */
    private static void transfer(List<Instance> all) throws Exception {
        List<HttpResponse<String>> answers = twenty(all, "/accounts/1/transfer?to=2&amount=10");
        assertThat(answers).extracting(HttpResponse::statusCode).containsOnly(200, 409);
        assertThat(answers)
                .filteredOn(answer -> answer.statusCode() == 200)
                .as("of 20 transfers of 10 from 100")
                .hasSize(10);
        assertThat(all.get(0).get("/accounts/1").body()).isEqualTo("0");
        assertThat(all.get(1).get("/accounts/2").body()).isEqualTo("100");
    }

    /** Twenty statements of an account, numbered in a file of all three instances. */
    private static void number(List<Instance> all) throws Exception {
        assertThat(twenty(all, "/accounts/1/statements"))
                .extracting(answer -> Integer.valueOf(answer.body()))
                .as("numbers without gaps and without a second time")
                .containsExactlyInAnyOrderElementsOf(
                        IntStream.rangeClosed(1, 20).boxed().toList());
    }

    private static List<HttpResponse<String>> twenty(List<Instance> all, String path) throws Exception {
        ExecutorService executor = Executors.newFixedThreadPool(6);
        try {
            List<Callable<HttpResponse<String>>> calls = new ArrayList<>();
            for (int i = 0; i < 20; i++) {
                Instance instance = all.get(i % all.size());
                calls.add(() -> instance.post(path));
            }
            List<HttpResponse<String>> answers = new ArrayList<>();
            for (var call : executor.invokeAll(calls)) {
                answers.add(call.get());
            }
            return answers;
        } finally {
            executor.shutdown();
        }
    }
}
