package dev.holdfast.lock.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.RedisServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** {@code holdfast elect}: one of two nodes runs the command; the other takes over. */
class ElectIT {
    private static final String SCRIPT =
            "echo leads $HOLDFAST_TOKEN; trap 'echo stopped; exit 0' TERM; while :; do sleep 0.1; done";

    private static RedisServer redis;

    @BeforeAll
    static void startServer() throws Exception {
        redis = RedisServer.start();
    }

    @AfterAll
    static void stopServer() {
        redis.close();
    }

    private static CliRun elect(String name, String script) throws Exception {
        return CliRun.start(
                "redis://" + redis.host() + ":" + redis.port(),
                "elect",
                "--lease",
                "3s",
                "--back-off",
                "100ms",
                name,
                "--",
                "sh",
                "-c",
                script);
    }

    @Test
    void nodeThatIsStopped_stopsItsCommand_andTheOtherTakesOver() throws Exception {
        try (CliRun first = elect("leader", SCRIPT)) {
            long firstToken = token(first);
            try (CliRun second = elect("leader", SCRIPT)) {
                second.await("it stands", () -> redis.list("KEYS", "*{leader}*").size() > 1);
                assertThat(second.out()).isEmpty();

                first.signal("TERM");

                assertThat(first.status()).isEqualTo(143);
                assertThat(first.out()).endsWith("stopped\n");
                assertThat(token(second)).isGreaterThan(firstToken);
                second.signal("TERM");
                assertThat(second.status()).isEqualTo(143);
            }
        }
    }

    @Test
    void nodeThatIsKilled_theOtherTakesOverWhenItsLeaseHasEnded() throws Exception {
        try (CliRun first = elect("killed", SCRIPT)) {
            token(first);
            try (CliRun second = elect("killed", SCRIPT)) {
                first.close();
                assertThat(token(second)).isPositive();
            }
        }
    }

    @Test
    void commandThatEnds_isStartedAgain_underANewToken() throws Exception {
        try (CliRun node = elect("again", "echo leads $HOLDFAST_TOKEN; exit 1")) {
            node.await("elected twice", () -> node.out().lines().distinct().count() >= 2);
            assertThat(node.err()).contains("the command ended with 1");
        }
    }

    @Test
    void lostLease_stopsTheCommand_andTheNodeStandsAgain() throws Exception {
        try (CliRun node = elect("lost", SCRIPT)) {
            token(node);
            redis.command("FLUSHALL");
            node.await(
                    "elected twice",
                    () -> node.out()
                                    .lines()
                                    .filter(line -> line.startsWith("leads"))
                                    .count()
                            == 2);
            assertThat(node.err()).contains("the lease is lost").contains("ended with 79");
        }
    }

    @Test
    void commandsOwn127_doesNotEndTheCandidacy() throws Exception {
        try (CliRun node = elect("own", "echo leads $HOLDFAST_TOKEN; exit 127")) {
            node.await("elected twice", () -> node.out().lines().distinct().count() >= 2);
        }
    }

    @Test
    void hupAndUsr1ToAStandby_doNotEndIt() throws Exception {
        try (CliRun first = elect("hup", SCRIPT)) {
            token(first);
            try (CliRun second = elect("hup", SCRIPT)) {
                second.await("it stands", () -> redis.list("KEYS", "*{hup}*").size() > 1);
                second.signal("HUP");
                second.signal("USR1");
                first.signal("TERM");
                assertThat(token(second)).isPositive();
                second.signal("TERM");
                assertThat(second.status()).isEqualTo(143);
            }
        }
    }

    @Test
    void commandThatDoesNotExist_127() throws Exception {
        try (CliRun node = CliRun.start(
                "redis://" + redis.host() + ":" + redis.port(), "elect", "missing", "--", "/no/such/command")) {
            assertThat(node.status()).isEqualTo(127);
        }
    }

    private static long token(CliRun node) {
        String out = node.awaitOut("leads ");
        return Long.parseLong(out.lines().findFirst().orElseThrow().substring("leads ".length()));
    }
}
