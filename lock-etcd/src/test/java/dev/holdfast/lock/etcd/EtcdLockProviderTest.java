package dev.holdfast.lock.etcd;

import static org.assertj.core.api.Assertions.assertThat;

import io.etcd.jetcd.ByteSequence;
import io.etcd.jetcd.Client;
import io.etcd.jetcd.KV;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.kv.GetResponse;
import io.etcd.jetcd.options.GetOption;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** What connecting asks for: without a server. */
final class EtcdLockProviderTest {

    /** Of hundreds of thousands of locks, all keys would be more than a message may have. */
    @Test
    void connecting_readsOneKeyAtMost() {
        List<GetOption> reads = new ArrayList<>();
        KV kv = proxy(KV.class, (self, method, arguments) -> {
            assertThat(method.getName()).isEqualTo("get");
            reads.add((GetOption) arguments[1]);
            return CompletableFuture.completedFuture(
                    new GetResponse(RangeResponse.getDefaultInstance(), ByteSequence.EMPTY));
        });
        Client client = proxy(Client.class, (self, method, arguments) -> {
            assertThat(method.getName()).isEqualTo("getKVClient");
            return kv;
        });

        EtcdLockProvider.probe(client, EtcdUri.parse("etcd://localhost"), "b/", Duration.ofMinutes(1), 0);

        assertThat(reads).singleElement().satisfies(read -> {
            assertThat(read.getLimit()).isEqualTo(1);
            assertThat(read.isKeysOnly()).isTrue();
        });
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }
}
