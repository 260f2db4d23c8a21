package dev.holdfast.lock.consul.internal.http;

import com.google.gson.JsonObject;
import dev.holdfast.lock.StoreFinding;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** Examines the agent and its servers: the datacenter, their number, and whether they keep what they store. Stateless. */
public final class AgentExamination {
    private static final int MIN_SERVERS = 3;

    private AgentExamination() {}

    public static CompletableFuture<List<StoreFinding>> examine(ConsulHttp http, Deadline deadline) {
        CompletableFuture<Reply> self = http.get("/v1/agent/self", deadline);
        return http.get("/v1/status/peers", deadline)
                .thenCombine(
                        self,
                        (peers, agent) -> Unchecked.run(() -> {
                            List<StoreFinding> findings = new ArrayList<>();
                            findings.add(servers(peers.expect(Reply.OK)));
                            findings.addAll(agent(agent.expect(Reply.OK, Reply.FORBIDDEN)));
                            return List.copyOf(findings);
                        }));
    }

    private static StoreFinding servers(Reply peers) {
        int number = peers.json().getAsJsonArray().size();
        return number < MIN_SERVERS
                ? StoreFinding.warning(
                        "Consul has servers: " + number + "; while one is down there are no locks", "run three servers")
                : StoreFinding.ok("Consul has servers: " + number);
    }

    private static List<StoreFinding> agent(Reply self) {
        if (self.status() == Reply.FORBIDDEN) {
            return List.of(StoreFinding.ok(
                    "the agent's configuration cannot be read with this token, which locks do not need"));
        }
        JsonObject agent = self.json().getAsJsonObject();
        String datacenter = agent.getAsJsonObject("Config").get("Datacenter").getAsString();
        StoreFinding place = StoreFinding.ok("the agent is of datacenter " + datacenter + ", whose locks these are");
        return isDevelopment(agent)
                ? List.of(
                        place,
                        StoreFinding.warning(
                                "the agent runs with -dev and keeps nothing: after its restart all locks are free, and"
                                        + " tokens begin again",
                                "run servers with a data_dir"))
                : List.of(place);
    }

    private static boolean isDevelopment(JsonObject agent) {
        JsonObject debug = agent.getAsJsonObject("DebugConfig");
        return debug != null && debug.has("DevMode") && debug.get("DevMode").getAsBoolean();
    }
}
