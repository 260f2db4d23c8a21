package dev.holdfast.lock.consul.internal.http;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.StoreFinding;
import dev.holdfast.lock.testkit.server.ConsulServer;
import java.net.URI;
import java.net.http.HttpClient;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class AgentExaminationTest {

    private static List<StoreFinding> examined(ConsulConnection connection) throws Exception {
        ConsulHttp http = new ConsulHttp(connection);
        return AgentExamination.examine(http, Deadline.in(30_000)).get(1, TimeUnit.MINUTES);
    }

    private static FakeAgent agent(String peers, String self) throws Exception {
        return new FakeAgent((path, body) -> path.startsWith("/v1/status/peers") ? peers : self);
    }

    @Test
    void server_thatIsAlone_isAWarning_andItsDatacenterIsNamed() throws Exception {
        try (ConsulServer server = ConsulServer.start()) {
            URI address = URI.create("http://127.0.0.1:" + server.agent().port());
            List<StoreFinding> findings =
                    examined(new ConsulConnection(HttpClient.newHttpClient(), List.of(address), null, () -> {}));
            assertThat(findings)
                    .extracting(StoreFinding::grade)
                    .containsExactly(StoreFinding.Grade.WARNING, StoreFinding.Grade.OK);
            assertThat(findings.get(0).observation()).contains("servers: 1");
            assertThat(findings.get(1).observation()).contains("datacenter dc1");
        }
    }

    @Test
    void developmentAgent_isAWarning() throws Exception {
        String self = "{\"Config\":{\"Datacenter\":\"eu\"},\"DebugConfig\":{\"DevMode\":true}}";
        try (FakeAgent agent = agent("200 [1,2,3]", "200 " + self)) {
            List<StoreFinding> findings = examined(agent.connection());
            assertThat(findings.get(0).grade()).isEqualTo(StoreFinding.Grade.OK);
            assertThat(findings.get(2).grade()).isEqualTo(StoreFinding.Grade.WARNING);
            assertThat(findings.get(2).observation()).contains("-dev");
        }
        try (FakeAgent agent = agent("200 [1,2,3]", "403 Permission denied")) {
            assertThat(examined(agent.connection()))
                    .extracting(StoreFinding::grade)
                    .containsOnly(StoreFinding.Grade.OK);
        }
    }
}
