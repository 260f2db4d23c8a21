package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The body of a transaction, and the meaning of its answer. */
final class TransactionTest {

    private static Transaction.Outcome outcome(int status, String body) throws ConsulException {
        return Transaction.Outcome.of(new Reply(status, 1, body));
    }

    private static String errors(String what) {
        return "{\"Results\":null,\"Errors\":[{\"OpIndex\":1,\"What\":\"" + what + "\"}]}";
    }

    @Test
    void body_hasTheOperationsInTheirOrder() {
        assertThat(new Transaction()
                        .checkAbsent("a")
                        .checkIndex("b", 7)
                        .lock("c", "s", "dg==")
                        .delete("d", 8)
                        .body())
                .isEqualTo("[{\"KV\":{\"Verb\":\"check-not-exists\",\"Key\":\"a\"}},"
                        + "{\"KV\":{\"Verb\":\"check-index\",\"Key\":\"b\",\"Index\":7}},"
                        + "{\"KV\":{\"Verb\":\"lock\",\"Key\":\"c\",\"Session\":\"s\",\"Value\":\"dg==\"}},"
                        + "{\"KV\":{\"Verb\":\"delete-cas\",\"Key\":\"d\",\"Index\":8}}]");
    }

    @Test
    void done_hasWhatWasWritten_theLatestOfAKey() throws ConsulException {
        Transaction.Outcome outcome = outcome(
                200,
                "{\"Results\":[{\"KV\":{\"Key\":\"a\",\"CreateIndex\":1,\"ModifyIndex\":2}},"
                        + "{\"KV\":{\"Key\":\"a\",\"CreateIndex\":1,\"ModifyIndex\":3,\"Session\":\"s\",\"Value\":\"v\"}},"
                        + "{\"KV\":{\"Key\":\"b\",\"CreateIndex\":4,\"ModifyIndex\":5,\"Session\":null}}],\"Errors\":null}");
        assertThat(outcome.done()).isTrue();
        assertThat(outcome.says("")).isFalse();
        assertThat(outcome.written("a")).isEqualTo(new Reply.Entry("a", 1, 3, "s", "v"));
        assertThat(outcome.written("b")).isEqualTo(new Reply.Entry("b", 4, 5, "", ""));
        assertThatIllegalStateException().isThrownBy(() -> outcome.written("c"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "key x exists",
                "failed index check for key x, current modify index 1 != 2",
                "failed to check index, key x does not exist",
                "failed to delete key x, index is stale",
                "failed to lock key x, lock is already held",
                "failed to lock key x due to lock delay",
                "invalid session s"
            })
    void refusal_thatIsKnown_isNoFailure(String what) throws ConsulException {
        Transaction.Outcome outcome = outcome(409, errors(what));
        assertThat(outcome.done()).isFalse();
        assertThat(outcome.refusals()).containsEntry(1, what);
        assertThat(outcome.says(what.substring(3))).isTrue();
        assertThat(outcome.says("something else")).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"disk is full", "the key x exists still", "rpc error: invalid session"})
    void refusal_thatIsNotKnown_isAFailure(String what) {
        assertThatExceptionOfType(ConsulException.class)
                .isThrownBy(() -> outcome(409, errors(what)))
                .satisfies(e -> assertThat(e.status()).isEqualTo(409))
                .withMessageContaining(what);
    }

    @ParameterizedTest
    @ValueSource(strings = {"Permission denied: token lacks", "rpc: ACL not found"})
    void refusal_forLackOfPermission_isForbidden(String what) {
        assertThatExceptionOfType(ConsulException.class)
                .isThrownBy(() -> outcome(409, errors(what)))
                .satisfies(e -> assertThat(e.status()).isEqualTo(403));
    }

    @Test
    void conflict_withoutAReason_isAFailure() {
        assertThatExceptionOfType(ConsulException.class).isThrownBy(() -> outcome(409, "{\"Results\":null}"));
    }
}
