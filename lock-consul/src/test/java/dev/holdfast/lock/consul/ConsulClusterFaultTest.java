package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import dev.holdfast.lock.LockClientOptions;
import dev.holdfast.lock.LockOptions;
import dev.holdfast.lock.testkit.server.ConsulNode;
import dev.holdfast.lock.testkit.server.ConsulServer;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Servers and agents that die, stand still or leave while locks are held. */
final class ConsulClusterFaultTest {
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static ConsulServer server;

    private final String name = "fault-" + System.nanoTime();

    @BeforeAll
    static void start() throws Exception {
        server = ConsulServer.startCluster(3);
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    @BeforeEach
    void healthy() throws Exception {
        server.awaitHealthy();
    }

    private static LockClient client(String agents, Duration lease) {
        return LockClient.connect(
                "consul://" + agents + "/test?session-ttl-min=1s",
                LockClientOptions.builder()
                        .requestTimeout(Duration.ofSeconds(3))
                        .lockOptions(LockOptions.builder().lease(lease).build())
                        .build());
    }

    private static String agent() {
        return "127.0.0.1:" + server.agent().port();
    }

    private static void stays(Lease lease, Duration time) {
        long startNanos = System.nanoTime();
        await().atMost(PATIENCE).until(() -> {
            assertThat(lease.isValid()).isTrue();
            return System.nanoTime() - startNanos > time.toNanos();
        });
    }

    /** The new leader keeps sessions for their full TTLs. The token rises over the change. */
    @Test
    void leader_isKilled_theLockIsKept() throws Exception {
        try (LockClient holder = client(agent(), Duration.ofSeconds(10));
                LockClient other = client(agent(), Duration.ofSeconds(10))) {
            Lease held = holder.lock(name).acquire();
            CompletableFuture<Lease> waiting = other.lock(name).acquireAsync(PATIENCE);
            ConsulNode leader = server.awaitLeader();
            leader.kill();
            try {
                stays(held, Duration.ofSeconds(12));
                assertThat(waiting).isNotDone();
                held.close();
                Lease next = waiting.get(1, TimeUnit.MINUTES);
                assertThat(next.token()).isGreaterThan(held.token());
                next.close();
            } finally {
                leader.start();
            }
        }
    }

    /** Sessions have no health check: the death of the agent through which they were made ends none of them. */
    @Test
    void agent_isKilledAndStartsAgain_theLockIsKept() throws Exception {
        try (LockClient holder = client(agent(), Duration.ofSeconds(10))) {
            Lease held = holder.lock(name).acquire();
            server.agent().kill();
            server.agent().start();
            stays(held, Duration.ofSeconds(11));
            held.close();
        }
    }

    @Test
    void agent_dies_anotherIsAsked() throws Exception {
        String all = server.servers().stream()
                .map(node -> "127.0.0.1:" + node.port())
                .collect(Collectors.joining(","));
        try (LockClient holder = client(agent() + "," + all, Duration.ofSeconds(10))) {
            Lease held = holder.lock(name).acquire();
            server.agent().kill();
            try {
                stays(held, Duration.ofSeconds(11));
                held.close();
                holder.lock(name).acquire().close();
            } finally {
                server.agent().start();
            }
        }
    }

    /**
     * A node that leaves takes its sessions with it, at once: the default of an agent that is no server when it is stopped.
     * The lock-delay keeps the lock until the holder's lease is over.
     */
    @Test
    void agent_leaves_nobodyGetsTheLockWithinTheLease() throws Exception {
        String others = "127.0.0.1:" + server.servers().get(0).port();
        Duration lease = Duration.ofSeconds(4);
        try (LockClient holder = client(agent(), lease);
                LockClient other = client(others, lease)) {
            Lease held = holder.lock(name).acquire();
            CompletableFuture<Lease> waiting = other.lock(name).acquireAsync(PATIENCE);
            server.agent().request("PUT", "/v1/agent/leave", "");
            try {
                await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(() -> {
                    boolean granted = waiting.isDone(); // first: a lease that is valid after it was valid then
                    assertThat(granted && held.isValid()).as("two holders").isFalse();
                    return granted;
                });
                Lease next = waiting.get(1, TimeUnit.MINUTES);
                assertThat(next.token()).isGreaterThan(held.token());
                next.close();
            } finally {
                server.agent().kill();
                server.agent().start();
            }
        }
    }

    /** A leader that stood still for longer than the sessions live wakes up with their timers run out. */
    @Test
    void leader_standsStillBeyondTheTtl_theLockIsKept() throws Exception {
        try (LockClient holder = client(agent(), Duration.ofSeconds(4));
                LockClient other = client(agent(), Duration.ofSeconds(4))) {
            Lease held = holder.lock(name).acquire();
            ConsulNode leader = server.awaitLeader();
            leader.pause();
            try {
                stays(held, Duration.ofSeconds(10));
            } finally {
                leader.resume();
            }
            stays(held, Duration.ofSeconds(3));
            assertThat(other.lock(name).tryLock()).isFalse();
            held.close();
        }
    }
}
