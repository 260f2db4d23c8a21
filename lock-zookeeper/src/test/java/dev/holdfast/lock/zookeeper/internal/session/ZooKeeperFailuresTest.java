package dev.holdfast.lock.zookeeper.internal.session;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.LockConfigurationException;
import dev.holdfast.lock.LockUnavailableException;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which refusals of an ensemble a repeated request cannot help, and what to do about them. */
final class ZooKeeperFailuresTest {

    private static Throwable of(Code code) {
        return new CompletionException(KeeperException.create(code, "/locks/a"));
    }

    @ParameterizedTest
    @CsvSource({
        "NOAUTH, permissions create",
        "INVALIDACL, permissions create",
        "AUTHFAILED, permissions create",
        "SESSIONCLOSEDREQUIRESASLAUTH, permissions create",
        "UNIMPLEMENTED, 3.5.3",
        "QUOTAEXCEEDED, quota",
        "NOCHILDRENFOREPHEMERALS, ephemeral",
        "BADARGUMENTS, not compatible",
        "MARSHALLINGERROR, not compatible",
        "APIERROR, not compatible"
    })
    void refusal_isOfConfiguration(Code code, String remedy) {
        assertThat(ZooKeeperFailures.isFinal(of(code))).isTrue();
        assertThat(ZooKeeperFailures.TRANSLATOR.translate("", of(code)))
                .isInstanceOf(LockConfigurationException.class)
                .hasMessageStartingWith(code + " at /locks/a; ")
                .hasMessageContaining(remedy);
    }

    @Test
    void whatMayPass_isUnavailable() {
        for (Code code : new Code[] {Code.CONNECTIONLOSS, Code.SESSIONEXPIRED, Code.NONODE}) {
            assertThat(ZooKeeperFailures.isFinal(of(code))).isFalse();
            assertThat(ZooKeeperFailures.TRANSLATOR.translate("", of(code)))
                    .isInstanceOf(LockUnavailableException.class)
                    .hasMessage(code + " at /locks/a; the outcome is unknown, try again when the ensemble answers");
        }
        assertThat(ZooKeeperFailures.isFinal(new IOException("cut"))).isFalse();
        assertThat(ZooKeeperFailures.TRANSLATOR.translate("", new IOException("cut")))
                .isInstanceOf(LockUnavailableException.class)
                .hasMessageStartingWith("cut; ");
    }

    @Test
    void clientThatIsNotStarted_isOfConfiguration() {
        for (RuntimeException misuse :
                new RuntimeException[] {new IllegalStateException("not started"), new IllegalArgumentException("path")
                }) {
            assertThat(ZooKeeperFailures.TRANSLATOR.translate("", misuse))
                    .isInstanceOf(LockConfigurationException.class)
                    .hasMessageContaining("start the CuratorFramework");
        }
    }

    @Test
    void kinds_areToldApart() {
        assertThat(ZooKeeperFailures.is(of(Code.NONODE), Code.NONODE)).isTrue();
        assertThat(ZooKeeperFailures.is(of(Code.NONODE), Code.NOAUTH)).isFalse();
        assertThat(ZooKeeperFailures.is(new IOException(), Code.NONODE)).isFalse();
        assertThat(ZooKeeperFailures.isSessionEnd(of(Code.SESSIONEXPIRED))).isTrue();
        assertThat(ZooKeeperFailures.isSessionEnd(of(Code.CONNECTIONLOSS))).isFalse();
    }

    @Test
    void stage_saysWhatWasDone() {
        assertThat(ZooKeeperFailures.translate("list", CompletableFuture.completedFuture(1)))
                .isCompletedWithValue(1);
        assertThat(ZooKeeperFailures.translate("list", CompletableFuture.failedFuture(new IOException("cut"))))
                .failsWithin(Duration.ZERO)
                .withThrowableOfType(ExecutionException.class)
                .withMessageContaining("ZooKeeper failed to list: cut");
    }
}
