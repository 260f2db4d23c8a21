package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.StoreFinding;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Examines the ensemble: its servers, and the session time-out that it grants. Stateless. */
final class EnsembleExamination {
    /** The configuration node of servers since 3.5. Every client can read it unless its ACL was changed. */
    private static final String CONFIG = "/zookeeper/config";

    private EnsembleExamination() {}

    static CompletableFuture<List<StoreFinding>> examine(Session session) {
        StoreFinding granted = StoreFinding.ok("the servers grant a session of " + session.timeoutMillis()
                + " ms: after a crash a lock is free when that has passed");
        return session.data(CONFIG)
                .thenApply(data -> servers(new String(data.bytes(), StandardCharsets.UTF_8)))
                .exceptionally(failure ->
                        StoreFinding.ok("the ensemble's configuration cannot be read, which locks do not need"))
                .thenApply(servers -> List.of(granted, servers));
    }

    /** A standalone server has no {@code server.} lines. */
    static StoreFinding servers(String config) {
        long voters = config.lines()
                .filter(line -> line.startsWith("server.") && !line.contains(":observer"))
                .count();
        return voters < 3
                ? StoreFinding.warning(
                        "servers that vote: " + Math.max(1, voters) + "; while one is down there are no locks",
                        "run three: list them as server.N in zoo.cfg")
                : StoreFinding.ok("servers that vote: " + voters);
    }
}
