package dev.holdfast.lock.consul;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

/** Expected and unexpected answers of an agent. */
final class ReplyTest {
    private static final String HELD =
            "[{\"Key\":\"k\",\"CreateIndex\":3,\"ModifyIndex\":5,\"Session\":\"s\",\"Value\":\"dg==\"}]";

    @Test
    void expected_isTheReply_anythingElseIsAFailure() throws Exception {
        Reply reply = new Reply(Reply.NOT_FOUND, 0, "no such key");
        assertThat(reply.expect(Reply.OK, Reply.NOT_FOUND)).isSameAs(reply);
        assertThatThrownBy(() -> reply.expect(Reply.OK))
                .isInstanceOfSatisfying(
                        ConsulException.class,
                        failure -> assertThat(failure.status()).isEqualTo(Reply.NOT_FOUND))
                .hasMessage("no such key");
    }

    @Test
    void entry_isTheKey_orNothing() {
        assertThat(new Reply(Reply.OK, 9, HELD).entry()).isEqualTo(new Reply.Entry("k", 3, 5, "s", "dg=="));
        assertThat(new Reply(Reply.OK, 9, HELD.replace("\"s\"", "null")).entry())
                .isEqualTo(new Reply.Entry("k", 3, 5, "", "dg=="));
        assertThat(new Reply(Reply.NOT_FOUND, 9, "").entry()).isNull();
        assertThat(new Reply(Reply.OK, 9, "[]").entry()).isNull();
    }
}
