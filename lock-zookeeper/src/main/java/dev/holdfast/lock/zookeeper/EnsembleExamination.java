package dev.holdfast.lock.zookeeper;

import dev.holdfast.lock.StoreFinding;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** What of an ensemble matters to its locks: its servers, and the session that it grants. Stateless. */
final class EnsembleExamination {
    /** Where servers from 3.5 on keep their configuration, readable by all unless its rights were changed. */
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

    /** A server that stands alone has no lines for servers. */
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
