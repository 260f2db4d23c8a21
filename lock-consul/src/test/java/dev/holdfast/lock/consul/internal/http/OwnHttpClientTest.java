package dev.holdfast.lock.consul.internal.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import org.junit.jupiter.api.Test;

final class OwnHttpClientTest {

    @Test
    void client_isBounded_andFollowsNobody_andItsThreadsKeepNoProcessAlive() throws Exception {
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(null, null, null);
        OwnHttpClient own = new OwnHttpClient(Duration.ofMillis(1_234), tls);
        HttpClient client = own.to(List.of(), null, null).client();
        assertThat(client.connectTimeout()).contains(Duration.ofMillis(1_234));
        assertThat(client.followRedirects())
                .as("a redirect would take the token elsewhere")
                .isEqualTo(HttpClient.Redirect.NEVER);
        assertThat(client.proxy()).as("the JVM's proxy would get the token").contains(HttpClient.Builder.NO_PROXY);
        assertThat(own.to(List.of(), null, null).renewals()).isNotSameAs(client);
        assertThat(client.sslContext()).isSameAs(tls);
        ThreadPoolExecutor executor = (ThreadPoolExecutor) client.executor().orElseThrow();
        assertThat(executor.getCorePoolSize()).isEqualTo(2);
        assertThat(executor.getMaximumPoolSize()).isEqualTo(2);
        assertThat(executor.allowsCoreThreadTimeOut()).isTrue();
        assertThat(executor.getKeepAliveTime(TimeUnit.SECONDS)).isEqualTo(5);
        for (int i = 1; i <= 2; i++) {
            Thread thread = executor.getThreadFactory().newThread(() -> {});
            assertThat(thread.getName()).isEqualTo("holdfast-consul-" + i);
            assertThat(thread.isDaemon()).isTrue();
        }
        own.close();
        assertThat(executor.isShutdown()).isTrue();
        own.close();
    }

    @Test
    void withoutTls_itIsThePlatforms() throws Exception {
        OwnHttpClient own = new OwnHttpClient(Duration.ofSeconds(1), null);
        assertThat(own.to(List.of(), null, null).client().sslContext()).isSameAs(SSLContext.getDefault());
        own.close();
    }

    @Test
    void connection_doesNotShowTheToken() {
        assertThat(new ConsulConnection(
                        HttpClient.newHttpClient(), List.of(URI.create("http://a:1")), () -> "secret", () -> {}))
                .hasToString("ConsulConnection[http://a:1]");
    }
}
